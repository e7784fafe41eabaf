"""How far a metric of cells can be from that of the rows in them: the order of the rows of a cell is not known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from auxcal._core.arrays import Floats
from auxcal.metrics._cells import Cells
from auxcal.metrics._ranking import Thresholds
from auxcal.metrics._risk_coverage import aurc


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
