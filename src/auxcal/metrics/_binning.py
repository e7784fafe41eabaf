"""Bins of equal width and of equal mass; the only file that bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from auxcal._arrays import Bools, Floats, Ints
from auxcal._errors import InvalidInputError

Strategy = Literal["width", "mass"]


@dataclass(frozen=True)
class Bins:
    """Sums over bins of confidence, in float64 however many rows there are.

    Parameters
    ----------
    count, confidence, correct : arrays of shape (M,)
        The rows of each bin, and the sums of their confidence and of their correctness.
    """

    count: Ints
    confidence: NDArray[Any]
    correct: NDArray[Any]

    @property
    def gap(self) -> Floats:
        """Mean confidence minus accuracy of each bin; 0 for an empty one."""
        return (self.confidence - self.correct) / np.maximum(self.count, 1)

    @property
    def share(self) -> Floats:
        """The share of all rows that each bin holds."""
        return self.count / self.count.sum()


def bin_confidence(confidence: Floats, correct: Bools, n_bins: int, strategy: Strategy) -> Bins:
    """Sum confidence and correctness over `n_bins` bins of equal width or equal mass."""
    check_bins(n_bins, strategy)
    index = bin_index(confidence, n_bins, strategy)
    return Bins(
        count=np.bincount(index, minlength=n_bins),
        confidence=np.bincount(index, weights=confidence, minlength=n_bins),
        correct=np.bincount(index, weights=correct, minlength=n_bins),
    )


def bin_index(confidence: Floats, n_bins: int, strategy: Strategy) -> Ints:
    """Return the bin of every confidence.

    Bins of equal width are [m/M, (m+1)/M), the last one closed, so that a confidence of 1 is in the last bin and
    one of 0 in the first. Bins of equal mass hold the same number of rows to within one, except that equal
    confidences always share a bin.
    """
    if strategy == "width":
        # In the array's own precision, so that a float32 0.7 lies on the edge 0.7 as a float64 one does.
        edges = (np.arange(1, n_bins) / n_bins).astype(confidence.dtype)
        return np.searchsorted(edges, confidence, side="right")
    _, inverse, counts = np.unique(confidence, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2  # so that a repetition of the whole sample changes no bin
    return np.asarray((middle * n_bins / len(confidence)).astype(np.intp)[inverse])


def check_bins(n_bins: int, strategy: Strategy) -> None:
    """Refuse a number of bins or a strategy that does not exist."""
    if not isinstance(n_bins, int | np.integer) or isinstance(n_bins, bool) or n_bins < 1:
        raise InvalidInputError(f"n_bins must be a whole number of at least 1; got {n_bins!r}. The paper uses 20.")
    if strategy not in get_args(Strategy):
        raise InvalidInputError(f"strategy must be 'width' or 'mass'; got {strategy!r}. The paper uses 'width'.")


def equal_mass_edges(values: Floats, n_bins: int) -> Floats:
    """Return the n_bins − 1 inner edges that cut the values into bins of equal mass."""
    return np.quantile(values, np.arange(1, n_bins) / n_bins)


def index_by_edges(values: Floats, edges: Floats) -> Ints:
    """Return the bin of every value; `edges` are the inner edges, one row of them for each value."""
    return np.asarray((values[:, None] >= edges).sum(axis=1))
