"""Labelled texts, as every data set of documents gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from auxcal._arrays import NO_CLASS, Ints
from auxcal._errors import InvalidInputError


@dataclass(frozen=True)
class Documents:
    """Texts and the name of the topic of each.

    Parameters
    ----------
    texts : tuple of str
        The documents.
    topics : tuple of str
        The topic of each document, as its data set names it.

    Examples
    --------
    >>> from auxcal.experiments.datasets._documents import Documents
    >>> documents = Documents(("rates rose", "a cargo left", "wages rose"), ("interest", "ship", "income"))
    >>> documents.y(["interest", "ship"])
    array([ 0,  1, -1])
    >>> documents.of(["ship"]).texts
    ('a cargo left',)
    """

    texts: tuple[str, ...]
    topics: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: Iterable[int] | Ints) -> Documents:
        """Return the given documents, in the given order."""
        chosen = [int(row) for row in rows]
        return Documents(tuple(self.texts[i] for i in chosen), tuple(self.topics[i] for i in chosen))

    def of(self, topics: Iterable[str]) -> Documents:
        """Return the documents of the given topics."""
        wanted = frozenset(topics)
        return self.take(row for row, topic in enumerate(self.topics) if topic in wanted)

    def draw(self, size: int, rng: np.random.Generator) -> Documents:
        """Return `size` different documents, drawn at random."""
        return self.take(rng.choice(len(self), size=size, replace=False))

    def y(self, classes: Sequence[str], label_map: Mapping[str, str] | None = None) -> Ints:
        """Return the class index of every document, `NO_CLASS` where its topic has no class.

        `label_map` names the class of a topic that is not itself a class.
        """
        index = {name: number for number, name in enumerate(classes)}
        index |= {topic: index[name] for topic, name in (label_map or {}).items()}
        return np.array([index.get(topic, NO_CLASS) for topic in self.topics], dtype=np.intp)

    def __add__(self, other: Documents) -> Documents:
        return Documents(self.texts + other.texts, self.topics + other.topics)


def missing_data(name: str, expected: Path, source: str) -> InvalidInputError:
    """Return the error that says which file was expected and where the data set comes from."""
    return InvalidInputError(f"the data set {name!r} is not here: expected {expected}. Get it from {source}.")
