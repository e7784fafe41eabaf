"""How often each confidence occurs, right and wrong; beyond 65,536 different ones, how often it lies in each cell.

A cell holds the confidences with the same leading bits: 2,048 cells for every power of two that the confidence, or what
it lacks of 1, goes down. So cells are fine where confidences crowd, and counts of cells add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Bools, Floats, Ints, Weight
from auxcal.metrics._ties import ties

MOST_EXACT = 2**16
"""How many different confidences are kept apart; where there are more, cells are counted."""

_BITS = 11  # of the mantissa
_OCTAVES = 29  # from 2⁻³⁰, below which all is one cell, to ½
_MIDDLE = _OCTAVES << _BITS  # the cell of ½
N_CELLS = 2 * _MIDDLE + 1
_LEAST = 2.0**-30
_CHUNK = 1 << 17  # rows: more would be new memory each time, and fewer would add up all cells too often


@dataclass(frozen=True, eq=False)
class Cells:
    """Counts of the rows with each confidence, in ascending order.

    Parameters
    ----------
    confidence : array of shape (m,)
        The confidences that occur; the middle of each cell where they are not exact.
    right, wrong : arrays of shape (m,)
        The weighted numbers of correct and of wrong predictions there.
    exact : bool
        Whether these are the confidences themselves.
    """

    confidence: Floats
    right: NDArray[Any]
    wrong: NDArray[Any]
    exact: bool = True

    @classmethod
    def empty(cls) -> Cells:
        """Return the cells of no rows."""
        return cls(np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64))

    @classmethod
    def of(cls, confidence: Floats, correct: Bools, sample_weight: Weight | None) -> Cells:
        """Count the rows."""
        if _has_many(confidence):
            return _counted(confidence, correct, sample_weight)
        found = ties(confidence, correct, sample_weight)
        return cls(found.confidence.astype(np.float64), found.right, found.wrong)._bounded()

    def __add__(self, other: Cells) -> Cells:
        parts = (self, other)
        if not (self.exact and other.exact):
            return _from_counts(_counts(self) + _counts(other))
        confidence, place = np.unique(np.concatenate([part.confidence for part in parts]), return_inverse=True)
        right, wrong = np.zeros((2, len(confidence)), np.result_type(self.right, other.right))
        for part, at in zip(parts, np.split(place, [len(self.confidence)]), strict=True):
            right[at] += part.right
            wrong[at] += part.wrong
        return Cells(confidence, right, wrong)._bounded()

    @property
    def half_width(self) -> Floats:
        """How far a confidence can be from the middle of its cell."""
        if self.exact:
            return np.zeros(len(self.confidence))
        return np.maximum(np.minimum(self.confidence, 1 - self.confidence) * 2.0 ** -(_BITS + 1), _LEAST)

    def _bounded(self) -> Cells:
        return self if len(self.confidence) <= MOST_EXACT else _from_counts(_counts(self))


def _has_many(confidence: Floats) -> bool:
    """Whether there are too many different confidences to keep them apart, as far as a part of the rows can tell."""
    some = confidence[: 2 * MOST_EXACT]
    return len(some) > MOST_EXACT and len(np.unique(some)) > MOST_EXACT


def _counted(confidence: Floats, correct: Bools, sample_weight: Weight | None) -> Cells:
    counts = np.zeros(2 * N_CELLS, np.intp if sample_weight is None else np.float64)
    for start in range(0, len(confidence), _CHUNK):
        rows = slice(start, start + _CHUNK)
        cell = (_cell(confidence[rows]) << 1 | correct[rows]).astype(np.intp, copy=False)
        counts += np.bincount(cell, None if sample_weight is None else sample_weight[rows], minlength=len(counts))
    return _from_counts(counts)


def _cell(confidence: Floats) -> Ints:
    """Return the cell of every confidence, numbered in ascending order."""
    kind = confidence.dtype
    bits, shift = f"i{kind.itemsize}", np.finfo(kind).nmant - _BITS
    smaller = np.maximum(np.minimum(confidence, 1 - confidence), kind.type(_LEAST))
    place = (smaller.view(bits) >> shift) - (kind.type(_LEAST).view(bits) >> shift)
    upper = (confidence >= 0.5).astype(place.dtype)
    return (place ^ -upper) + upper * (2 * _MIDDLE + 1)  # the last cell minus place, where the confidence is above ½


def _middle(cell: Ints) -> Floats:
    """Return the confidence in the middle of each cell."""
    shift = np.finfo(np.float64).nmant - _BITS
    place = np.minimum(cell, 2 * _MIDDLE - cell) + (np.float64(_LEAST).view(np.int64) >> shift)
    smaller = np.minimum((place << shift | 1 << (shift - 1)).view(np.float64), 0.5)  # which has a cell of its own
    return np.where(cell < _MIDDLE, smaller, 1 - smaller)


def _counts(cells: Cells) -> NDArray[Any]:
    """Return the counts of all cells, wrong and right in turn."""
    place = _cell(cells.confidence)
    counts = np.zeros((N_CELLS, 2), cells.right.dtype)
    if cells.exact:
        np.add.at(counts, place, np.stack([cells.wrong, cells.right], axis=1))
    else:  # each cell once
        counts[place, 0], counts[place, 1] = cells.wrong, cells.right
    return counts.ravel()


def _from_counts(counts: NDArray[Any]) -> Cells:
    wrong, right = counts.reshape(N_CELLS, 2).T
    used = np.flatnonzero(wrong + right)
    return Cells(_middle(used), right[used], wrong[used], exact=False)
