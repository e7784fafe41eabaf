"""The output of a target classifier on labelled samples: logits, true classes, and features if there are any."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from auxcal._arrays import (
    NO_CLASS,
    Bools,
    Floats,
    Ints,
    as_features,
    as_log_probabilities,
    as_logits,
    as_rng,
    as_y,
)
from auxcal._errors import AuxcalError, FileFormatError, InvalidInputError
from auxcal._files import as_path, open_arrays, written_whole
from auxcal._inputs import Inputs


@dataclass(frozen=True, eq=False)
class Predictions:
    """Logits of a target classifier and the true class of every sample.

    Parameters
    ----------
    logits : array of shape (n, K)
        The raw scores of the classifier. Log-probabilities are fine; probabilities need `probabilities`.
    y : array of shape (n,)
        The true class, 0..K-1, or `NO_CLASS` = -1 for an out-of-distribution sample, which has none of the classes.
    features : array of shape (n, d), optional
        Further inputs of each sample, for instance the output of the classifier's last hidden layer. Only a calibrator
        with `uses_features` reads them.
    probabilities : bool
        `logits` holds probabilities, whose logarithms are then the logits.
    class_names : sequence of str, optional
        The names of the K classes, which a calibrator that is fitted on these rows remembers.

    Attributes
    ----------
    inputs : Inputs
        Whether logits or probabilities were given, and the names of classes and columns, as far as they are known.

    Examples
    --------
    >>> from auxcal import NO_CLASS, Predictions
    >>> part = Predictions(logits=[[2.0, 0.1], [0.3, 0.9], [1.5, 0.2]], y=[0, 0, NO_CLASS])
    >>> part.prediction
    array([0, 1, 0])
    >>> part.correct
    array([ True, False, False])
    """

    logits: Floats
    y: Ints
    features: Floats | None
    inputs: Inputs

    def __init__(
        self,
        logits: ArrayLike,
        y: ArrayLike,
        features: ArrayLike | None = None,
        *,
        probabilities: bool = False,
        class_names: Sequence[str] | None = None,
    ) -> None:
        checked = as_log_probabilities(logits) if probabilities else as_logits(logits)
        n, k = checked.shape
        inputs = Inputs.of(logits, features, n_classes=k, probabilities=probabilities, class_names=class_names)
        object.__setattr__(self, "logits", checked)
        object.__setattr__(self, "y", as_y(y, n_rows=n, n_classes=k))
        object.__setattr__(self, "features", None if features is None else as_features(features, n_rows=n))
        object.__setattr__(self, "inputs", inputs)

    @classmethod
    def _trusted(cls, logits: Floats, y: Ints, features: Floats | None, inputs: Inputs) -> Predictions:
        """Make one of parts of what was checked already; only that there are any rows is not known."""
        if np.ndim(y) != 1 or len(y) == 0:
            raise InvalidInputError(
                f"a part must have at least one row; got shape {np.shape(y)}. Check what chooses the rows."
            )
        part = cls.__new__(cls)
        for name, value in (("logits", logits), ("y", y), ("features", features), ("inputs", inputs)):
            object.__setattr__(part, name, value)
        return part

    def _described(self, inputs: Inputs) -> Predictions:
        """Return the same rows, with what else is known of them."""
        return self._trusted(self.logits, self.y, self.features, inputs)

    @property
    def n_classes(self) -> int:
        """K, the number of the target classifier's classes."""
        return int(self.logits.shape[1])

    @property
    def n_features(self) -> int:
        """d, the number of features of each sample; 0 where there are none."""
        return 0 if self.features is None else int(self.features.shape[1])

    @cached_property
    def prediction(self) -> Ints:
        """The class with the largest logit; the first one in a tie."""
        return self.logits.argmax(axis=1)

    @cached_property
    def correct(self) -> Bools:
        """Whether the prediction is the true class; never for `NO_CLASS`."""
        return self.prediction == self.y

    @cached_property
    def w(self) -> Ints:
        """The paper's extended label: y where the prediction is correct, else K, the auxiliary class."""
        return np.where(self.correct, self.y, self.n_classes)

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        no_class = int((self.y == NO_CLASS).sum())
        features = f", features={self.n_features}" if self.n_features else ""
        return (
            f"Predictions(n={len(self)}, K={self.n_classes}, accuracy={self.correct.mean():.3f}, "
            f"no_class={no_class}{features})"
        )

    def take(self, rows: Ints | Bools | slice) -> Predictions:
        """Return the given rows as new `Predictions`."""
        features = None if self.features is None else self.features[rows]
        return self._trusted(self.logits[rows], self.y[rows], features, self.inputs)

    def without_features(self) -> Predictions:
        """Return the same rows without their features."""
        return self._trusted(self.logits, self.y, None, replace(self.inputs, feature_names=None))

    def joined(self, other: Predictions) -> Predictions:
        """Return the rows of both, which must come from the same target classifier and have the same features."""
        features = None
        if self.features is not None and other.features is not None:
            features = np.concatenate([self.features, other.features])
        logits, y = np.concatenate([self.logits, other.logits]), np.concatenate([self.y, other.y])
        return self._trusted(logits, y, features, self.inputs)

    def folds(self, n_folds: int, random_state: int | None = None) -> Ints:
        """Return a fold for each row, 0..n_folds-1, stratified by `w`.

        They do not depend on the order in which the rows are given.

        Examples
        --------
        >>> import numpy as np
        >>> from auxcal import Predictions
        >>> Predictions(np.eye(2).repeat(3, axis=0), [0, 0, 0, 1, 1, 1]).folds(3, random_state=0)
        array([1, 2, 0, 0, 2, 1])
        """
        order = self._ordered_rows()[as_rng(random_state).permutation(len(self))]
        order = order[np.argsort(self.w[order], kind="stable")]
        folds = np.empty(len(self), dtype=np.intp)
        folds[order] = np.arange(len(self)) % n_folds
        return folds

    def spread_rows(self, most: int) -> Ints:
        """Return all rows, or so many of them, in which every class, and the misclassified, has its share.

        Which they are does not depend on the order in which the rows are given.

        Examples
        --------
        >>> import numpy as np
        >>> from auxcal import Predictions
        >>> Predictions(np.eye(2).repeat(3, axis=0), [0, 0, 0, 1, 1, 1]).spread_rows(2)
        array([0, 3])
        """
        if len(self) <= most:
            return np.arange(len(self))
        return np.sort(self._ordered_rows()[np.arange(most) * len(self) // most])

    def _ordered_rows(self) -> Ints:
        """Return the rows in an order of their contents: by label, by the largest and the smallest logit, by the rest.

        The rest is one number that different rows hardly share. Rows that are equal may be in any order.
        """
        rest = _mark(self.logits) if self.features is None else _mark(self.logits) + _mark(self.features)
        return np.lexsort((rest, self.logits.min(axis=1), self.logits.max(axis=1), self.y, self.w))

    def with_class(self) -> Predictions | None:
        """Return the rows whose true class is one of the K classes, or None if there are none."""
        known = self.y != NO_CLASS
        if known.all():
            return self
        return self.take(known) if known.any() else None

    def split(self, *sizes: int, random_state: int | None = None) -> tuple[Predictions, ...]:
        """Draw disjoint random parts of the given sizes, such as a fit, a select and a test part.

        Examples
        --------
        >>> import numpy as np
        >>> from auxcal import Predictions
        >>> whole = Predictions(np.eye(10), np.arange(10))
        >>> [len(part) for part in whole.split(6, 1, 3, random_state=0)]
        [6, 1, 3]
        """
        whole = all(isinstance(size, int | np.integer) and size >= 1 for size in sizes)
        if not sizes or not whole or sum(sizes) > len(self):
            raise InvalidInputError(
                f"sizes must be whole numbers of at least 1 that add up to at most the {len(self)} rows; got {sizes}. "
                f"Ask for smaller parts."
            )
        order = as_rng(random_state).permutation(len(self))
        ends = np.cumsum(sizes)
        return tuple(self.take(order[end - size : end]) for size, end in zip(sizes, ends, strict=True))

    def split_stratified(self, share: float, random_state: int | None = None) -> tuple[Predictions, Predictions]:
        """Split off a share of the rows, stratified by `w`; return the rest and that share."""
        rest, aside = self.stratified_rows(share, random_state)
        return self.take(rest), self.take(aside)

    def stratified_rows(self, share: float, random_state: int | None = None) -> tuple[Ints, Ints]:
        """Return the row numbers of both parts of `split_stratified`, in order.

        Examples
        --------
        >>> import numpy as np
        >>> from auxcal import Predictions
        >>> rest, aside = Predictions(np.eye(2).repeat(4, axis=0), [0, 0, 0, 0, 1, 1, 1, 1]).stratified_rows(0.25, 0)
        >>> len(rest), (aside < 4).sum(), (aside >= 4).sum()
        (6, np.int64(1), np.int64(1))
        """
        in_share = isinstance(share, Real) and 0 < share < 1
        if not in_share or not 1 <= np.floor(len(self) * share + 0.5) < len(self):
            raise InvalidInputError(
                f"share must be a number in (0, 1) that leaves at least one of the {len(self)} rows on both sides; got "
                f"{share!r}. Use 0.2."
            )
        order = as_rng(random_state).permutation(len(self))
        order = order[np.argsort(self.w[order], kind="stable")]
        # Systematic sampling along the sorted labels: the share of every label is exact to within one row.
        aside = np.floor(np.arange(1, len(self) + 1) * share + 0.5) > np.floor(np.arange(len(self)) * share + 0.5)
        return np.sort(order[~aside]), np.sort(order[aside])

    def save(self, path: str | os.PathLike[str], *, half: bool = False) -> None:
        """Write a bundle, an `.npz` file with `logits`, `y` and `features`; `half` stores the floats as float16."""
        path = as_path(path)
        if path.suffix != ".npz":
            raise InvalidInputError(f"a bundle is an .npz file; got {path.name!r}. Save it as {path.stem}.npz.")
        stored = _halved if half else lambda array, name: array
        arrays = {"logits": stored(self.logits, "logits"), "y": self.y.astype(np.int32)}
        if self.features is not None:
            arrays["features"] = stored(self.features, "features")
        with written_whole(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Predictions:
        """Read a bundle that `save` or `numpy.savez(path, logits=..., y=...)` wrote, with `features` if it has them."""
        path = as_path(path)
        try:
            with open_arrays(path) as arrays:
                return cls(arrays["logits"], arrays["y"], arrays.get("features"))
        except FileNotFoundError:
            raise
        except AuxcalError as error:
            raise type(error)(f"{path}: {error}") from None
        except Exception as error:  # a damaged file can make the zip, zlib and NumPy readers raise nearly anything
            raise FileFormatError(
                f"{path}: expected a bundle, an .npz file with the arrays 'logits' and 'y'; reading it failed with "
                f"{type(error).__name__}: {error}. Write one with numpy.savez(path, logits=logits, y=y)."
            ) from error


def _mark(x: Floats) -> Floats:
    """Return a sum of each row with weights of which none is a simple fraction of another."""
    return np.asarray(np.einsum("nk,k->n", x, np.sqrt(np.arange(2, x.shape[1] + 2) + 1 / np.pi)))


def _halved(array: Floats, name: str) -> Floats:
    if np.abs(array).max() > np.finfo(np.float16).max:
        raise InvalidInputError(f"these {name} do not fit into float16 (beyond 65504). Save them with half=False.")
    return array.astype(np.float16)
