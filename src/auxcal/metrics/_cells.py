"""Counts of each confidence, right and wrong; beyond 65,536 different ones, of cells, with a bound of the error.

A cell holds the confidences with the same leading bits: 2,048 cells for every power of two that the confidence, or what
it lacks of 1, goes down. So cells are fine where confidences crowd, and counts of cells add up. The order of rows
within a cell is lost; `error_of` bounds how far that puts a metric off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Bools, Floats, Ints, Weight
from auxcal.metrics._ranking import Thresholds, aurc, ties

MOST_EXACT = 2**16
"""How many different confidences are kept apart; where there are more, cells are counted."""

_BITS = 11  # of the mantissa
_OCTAVES = 29  # from 2⁻³⁰, below which all is one cell, to ½
_MIDDLE = _OCTAVES << _BITS  # the cell of ½
N_CELLS = 2 * _MIDDLE + 1  # as many above ½ as below
_LEAST = 2.0**-30  # _OCTAVES below ½
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
        some = confidence[: 2 * MOST_EXACT]  # which tell whether there are too many different ones to keep apart
        if len(some) > MOST_EXACT and len(np.unique(some)) > MOST_EXACT:
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


# How far the metrics of cells can be off ------------------------------------------------------------------------------


def _of_auroc(cells: Cells, value: float) -> float:
    """A cell's pairs of a wrong and a right row count half, and each may count as nothing or as one."""
    return float(np.dot(cells.wrong / cells.wrong.sum(), cells.right / cells.right.sum()) / 2)


def _of_fpr95(cells: Cells, value: float) -> float:
    """The threshold lies somewhere in its cell."""
    at = _first(cells, 0.95)
    return float(cells.right[at] / cells.right.sum())


def _of_p90(cells: Cells, value: float) -> float:
    """The threshold lies somewhere in its cell."""
    at, ends = _first(cells, 0.9), _ends(cells)
    least, most = 0.9 * ends.wrong[-1], ends.wrong[at]
    before = ends.right[at] - cells.right[at]
    return _farther(value, least / (least + ends.right[at]), most / (most + before))


def _of_aupr(cells: Cells, value: float) -> float:
    """In each cell all wrong rows come first, or all right ones; between them precision is concave."""
    ends, share = _ends(cells), cells.wrong / cells.wrong.sum()
    wrong, right = ends.wrong - cells.wrong, ends.right - cells.right
    worst = (_precision(wrong, ends.right) + _precision(ends.wrong, ends.right)) / 2
    return _farther(value, float(np.dot(share, worst)), float(np.dot(share, _precision(ends.wrong, right))))


def _of_area(cells: Cells, value: float) -> float:
    """In each cell all wrong rows are the more confident ones, or all right ones are."""
    middle, first, last = (_area(cells, *order) for order in ((0.0, 0.0), (0.0, 0.5), (0.5, 0.0)))
    return _farther(middle, first, last)


def _of_ece_mass(cells: Cells, value: float) -> float:
    """Each of the 19 edges cuts a cell, whose rows may lie on either side; and the middle stands for all rows."""
    count = cells.wrong + cells.right
    total = np.cumsum(count)
    cut = np.searchsorted(total, total[-1] * np.arange(1, 20) / 20)
    return float((2 * count[cut].sum() + np.dot(count, cells.half_width)) / total[-1])


_ERRORS: dict[str, Callable[[Cells, float], float]] = {
    "auroc": _of_auroc,
    "aupr": _of_aupr,
    "p90": _of_p90,
    "fpr95": _of_fpr95,
    "aurc": _of_area,
    "excess_aurc": _of_area,
    "ece_mass": _of_ece_mass,
}


def error_of(name: str, cells: Cells, value: float) -> float:
    """Return how far a metric of cells can be off; NaN where that is not known, or the metric is undefined."""
    return _ERRORS[name](cells, value) if name in _ERRORS and not np.isnan(value) else float("nan")


def _ends(cells: Cells) -> Thresholds:
    return Thresholds(np.cumsum(cells.wrong), np.cumsum(cells.right))


def _first(cells: Cells, recall: float) -> int:
    """Return the cell in which a share of the wrong rows is reached."""
    return int(np.searchsorted(_ends(cells).recall, recall))


def _precision(wrong: Floats, right: Floats) -> Floats:
    """Return the share of the rejected rows that are wrong; 1 where none is rejected yet."""
    rejected = wrong + right
    return np.divide(wrong, rejected, out=np.ones(len(rejected)), where=rejected > 0)


def _farther(value: float, low: float, high: float) -> float:
    return float(max(value - low, high - value, 0.0))


def _area(cells: Cells, wrong: float, right: float) -> float:
    """Return the area under the risk–coverage curve where wrong and right rows lie so far up in their cells."""
    place = np.arange(len(cells.confidence))
    confidence: Floats = np.concatenate([place + wrong, place + right]) / (len(place) + 1)
    correct = np.arange(2 * len(place)) >= len(place)
    return aurc(confidence, correct, sample_weight=np.concatenate([cells.wrong, cells.right]).astype(np.float64))
