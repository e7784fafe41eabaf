"""Mixtures: samples drawn from several sources, with a label map for each."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from auxcal._core.arrays import NO_CLASS, Ints
from auxcal._core.errors import InvalidInputError


@dataclass(frozen=True)
class Mixture:
    """Draw samples from several sources, each with its class or `NO_CLASS`.

    It only reads labels and returns indices, so it works for images, documents and anything else.

    Parameters
    ----------
    sizes : sequence of int
        How many samples to draw, without replacement, from each source.
    label_maps : sequence of mapping or None
        For each source, a map from its labels (names or numbers) to the target classifier's class indices. A label that
        is not in the map becomes `NO_CLASS`. None keeps the labels of that source.

    Examples
    --------
    A classifier of (cat, dog) meets samples of both and of other labels; only "tabby" is one of its classes.

    >>> from auxcal_paper.shifts import Mixture
    >>> mixture = Mixture(sizes=(2, 3), label_maps=(None, {"tabby": 0}))
    >>> mixed = mixture(([0, 1, 1], ["tabby", "bus", "oak"]), 0)
    >>> mixed.source
    array([0, 0, 1, 1, 1])
    >>> sorted(mixed.y[2:].tolist())
    [-1, -1, 0]
    >>> mixed.take(["cat.png", "dog1.png", "dog2.png"], ["t.png", "b.png", "o.png"])[:2]
    ['dog2.png', 'cat.png']
    """

    sizes: Sequence[int]
    label_maps: Sequence[Mapping[Any, int] | None]

    def __post_init__(self) -> None:
        if not self.sizes or len(self.sizes) != len(self.label_maps) or any(size < 0 for size in self.sizes):
            raise InvalidInputError(
                f"a Mixture must have a size of at least 0 and a label map (or None) for each source; "
                f"got sizes {tuple(self.sizes)} and {len(self.label_maps)} label maps. Give "
                f"both for every source."
            )

    def __call__(self, labels: Sequence[Sequence[Hashable] | Ints], rng: np.random.Generator | int) -> Mixed:
        """Draw from sources with the given labels.

        Parameters
        ----------
        labels : sequence of sequences
            The labels of every sample of every source.
        rng : numpy Generator or int
            The only source of randomness.

        Returns
        -------
        Mixed
            Source, index and class of every drawn sample, source by source.
        """
        if len(labels) != len(self.sizes):
            raise InvalidInputError(
                f"labels must be given for each of the {len(self.sizes)} sources of this Mixture; got "
                f"{len(labels)}. Pass one sequence of labels for each source."
            )
        rng = np.random.default_rng(rng)
        drawn = [
            _draw(size, source, mapping, rng, position)
            for position, (size, source, mapping) in enumerate(zip(self.sizes, labels, self.label_maps, strict=True))
        ]
        return Mixed(
            source=np.repeat(np.arange(len(drawn)), list(self.sizes)),
            index=np.concatenate([index for index, _ in drawn]),
            y=np.concatenate([y for _, y in drawn]),
        )


@dataclass(frozen=True, eq=False)
class Mixed:
    """What a `Mixture` drew: for every sample its source, its index there and its class.

    Parameters
    ----------
    source, index, y : arrays of shape (n,)
        The number of the source, the position in it, the class index or `NO_CLASS`.
    """

    source: Ints
    index: Ints
    y: Ints

    def __len__(self) -> int:
        return len(self.y)

    def of(self, source: int) -> Ints:
        """Return the drawn indices of one source."""
        drawn: Ints = self.index[self.source == source]
        return drawn

    def take(self, *data: Sequence[Any]) -> list[Any]:
        """Pick the drawn samples from the sources' data, in the order of `y`."""
        return [data[source][index] for source, index in zip(self.source, self.index, strict=True)]


def _draw(
    size: int,
    labels: Sequence[Hashable] | Ints,
    mapping: Mapping[Any, int] | None,
    rng: np.random.Generator,
    position: int,
) -> tuple[Ints, Ints]:
    if size > len(labels):
        raise InvalidInputError(
            f"source {position} must have at least the {size} samples to draw; got {len(labels)}. Draw "
            f"fewer, or add samples to it."
        )
    index = rng.permutation(len(labels))[:size]
    picked = [labels[i] for i in index]
    y = picked if mapping is None else [mapping.get(label, NO_CLASS) for label in picked]
    return index, np.array(y, dtype=np.intp)
