"""Bins of equal width and of equal mass; the only file that bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Bools, Floats, Ints, as_whole
from auxcal._core.errors import InvalidInputError

Strategy = Literal["width", "mass"]

_CHUNK = 1 << 16  # rows per block, which fit into the CPU cache


@dataclass(frozen=True)
class Bins:
    """Sums over bins of confidence, in float64 however many rows there are.

    Parameters
    ----------
    count, confidence, correct : arrays of shape (M,)
        The rows of each bin, and the sums of their confidence and of their correctness.
    """

    count: NDArray[Any]
    confidence: NDArray[Any]
    correct: NDArray[Any]

    @property
    def gap(self) -> Floats:
        """Mean confidence minus accuracy of each bin; 0 for an empty one."""
        return (self.confidence - self.correct) / np.where(self.count > 0, self.count, 1)

    @property
    def share(self) -> Floats:
        """The share of all rows that each bin holds."""
        return self.count / self.count.sum()


def bin_confidence(
    confidence: Floats, correct: Bools, n_bins: int, strategy: Strategy, sample_weight: NDArray[Any] | None = None
) -> Bins:
    """Sum confidence and correctness over `n_bins` bins of equal width or equal mass."""
    check_bins(n_bins, strategy)
    count, mass = np.zeros(2 * n_bins, dtype=np.intp if sample_weight is None else np.float64), np.zeros(2 * n_bins)
    index = _mass_index(confidence, n_bins, sample_weight) if strategy == "mass" else None
    for start in range(0, len(confidence), _CHUNK):
        rows = slice(start, start + _CHUNK)
        bins = _width_index(confidence[rows], n_bins) if index is None else index[rows]
        # Wrong and correct rows are counted separately, so that two counts give three sums.
        cell = (2 * bins | correct[rows].view(np.int8)).astype(np.intp, copy=False)
        times = None if sample_weight is None else sample_weight[rows]
        count += np.bincount(cell, times, minlength=len(count))
        mass += np.bincount(cell, confidence[rows] if times is None else confidence[rows] * times, minlength=len(mass))
    wrong, right = count.reshape(n_bins, 2).T
    return Bins(wrong + right, mass.reshape(n_bins, 2).sum(axis=1), right)


def bin_index(confidence: Floats, n_bins: int, strategy: Strategy, sample_weight: NDArray[Any] | None = None) -> Ints:
    """Return the bin of every confidence."""
    if strategy == "mass":
        return _mass_index(confidence, n_bins, sample_weight)
    return _width_index(confidence, n_bins)


def _width_index(confidence: Floats, n_bins: int) -> NDArray[np.int32]:
    """Return the bin of every confidence: [m/M, (m+1)/M), the last one closed.

    So a confidence of 1 is in the last bin and one of 0 in the first.
    """
    product = confidence * confidence.dtype.type(n_bins)
    index = product.astype(np.int32)
    # Rounding can put a product next to an edge into the wrong bin. The edges have the array's own precision, so
    # that a float32 0.7 lies on the edge 0.7, as a float64 one does.
    product -= np.rint(product)
    near = np.abs(product, out=product) <= 4 * n_bins * np.finfo(confidence.dtype).eps
    if near.any():
        edges = (np.arange(1, n_bins) / n_bins).astype(confidence.dtype)
        index[near] = np.searchsorted(edges, confidence[near], side="right")
    return index


def _mass_index(confidence: Floats, n_bins: int, sample_weight: NDArray[Any] | None) -> Ints:
    """Return the bin of every confidence: the same number of rows to within one, equal confidences in one bin."""
    _, inverse = np.unique(confidence, return_inverse=True)
    counts = np.bincount(inverse, sample_weight)
    middle = np.cumsum(counts) - counts / 2  # so that repeating the whole sample changes no bin
    index = (middle * n_bins / counts.sum()).astype(np.intp)
    return np.asarray(np.minimum(index, n_bins - 1)[inverse])  # rows of weight 0 may come last


def check_bins(n_bins: int, strategy: Strategy) -> None:
    """Check the number of bins and the strategy."""
    as_whole(n_bins, "n_bins", least=1, advice="The paper uses 20.")
    if strategy not in get_args(Strategy):
        raise InvalidInputError(f"strategy must be 'width' or 'mass'; got {strategy!r}. The paper uses 'width'.")


def equal_mass_edges(values: Floats, n_bins: int, sample_weight: NDArray[Any] | None = None) -> Floats:
    """Return the n_bins − 1 inner edges that cut the values into bins of equal mass."""
    last = (len(values) if sample_weight is None else sample_weight.sum()) - 1
    at = last * np.arange(1, n_bins) / n_bins  # in this order: an edge at a row is its value to the last digit
    if sample_weight is not None:
        order = np.argsort(values, kind="stable")
        return np.interp(at, *steps(values[order], sample_weight[order]))
    # The same as np.quantile, but many times faster for few values.
    return np.interp(at, np.arange(last + 1), np.sort(values))


def steps(ordered: Floats, sample_weight: NDArray[Any]) -> tuple[Floats, Floats]:
    """Return places and values for `np.interp` to give what it would among as many rows as the weights count."""
    ends = np.cumsum(sample_weight)
    places = np.stack([ends - sample_weight, ends - np.minimum(sample_weight, 1)], axis=1)
    return places.ravel(), ordered.repeat(2)


def index_by_edges(values: Floats, edges: Floats) -> Ints:
    """Return the bin of every value; `edges` are the inner edges, one row of them for each value."""
    return np.asarray((values[:, None] >= edges).sum(axis=1))
