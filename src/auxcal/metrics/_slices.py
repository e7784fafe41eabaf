"""Every metric for each slice of the rows: each camera, each hospital, each month."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import as_groups, as_sample_weight
from auxcal._core.float_errors import ignore_float_errors
from auxcal._core.progress import Report, silent
from auxcal.metrics._checked import check
from auxcal.metrics._evaluate import evaluate


@dataclass(frozen=True)
class Slice:
    """The scores of the rows that have the same value.

    Parameters
    ----------
    value : str
        What these rows have in common.
    rows : int
        How many there are, without those of weight 0.
    accuracy, confidence : float
        The share of correct predictions, and the mean confidence.
    scores : dict of str to float
        What `evaluate` gives of them.
    """

    FEW_ROWS: ClassVar[int] = 50
    """The rows below which nothing is concluded from a slice."""

    value: str
    rows: int
    accuracy: float
    confidence: float
    scores: dict[str, float]

    @property
    def is_noise(self) -> bool:
        """Whether its ECE says nothing: it is within its noise floor, or there are fewer than 50 rows."""
        return self.rows < self.FEW_ROWS or self.scores["ece"] <= self.scores["ece_floor_p95"]

    def as_dict(self) -> dict[str, Any]:
        """Return all that is known of the slice, for a table or for JSON."""
        known = {"value": self.value, "rows": self.rows, "accuracy": self.accuracy, "confidence": self.confidence}
        return known | self.scores | {"noise": self.is_noise}


@ignore_float_errors
def evaluate_by(
    confidence: ArrayLike,
    correct: ArrayLike,
    by: ArrayLike,
    *,
    metrics: Sequence[str] | None = None,
    bootstrap: int = 0,
    level: float = 0.95,
    random_state: int | None = 0,
    report: Report = silent,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> list[Slice]:
    """Return what `evaluate` gives, for each slice of the rows, the largest slice first.

    Parameters
    ----------
    confidence : array of shape (n,)
        The probability that each prediction is correct.
    correct : array of shape (n,)
        Whether it is.
    by : array of shape (n,)
        The slice that each row is in: numbers, strings or dates.
    metrics, bootstrap, level, random_state, sample_weight, groups
        As in `evaluate`. The ECE and its noise floor are always there.
    report : callable
        Called after every slice with the share of the rows that is done.

    Returns
    -------
    list of Slice
        Where many slices are tried, some look bad by chance alone: one in twenty lies above its noise floor. A slice
        of which every row has weight 0 is left out.

    Examples
    --------
    >>> import auxcal
    >>> confidence, correct = [0.9, 0.8, 0.6, 0.3] * 20, [1, 1, 0, 0] * 20
    >>> time = ["day", "day", "night", "day"] * 20
    >>> slices = auxcal.evaluate_by(confidence, correct, time, metrics=["brier"])
    >>> [(each.value, each.rows, round(each.scores["brier"], 3), each.is_noise) for each in slices]
    [('day', 60, 0.047, False), ('night', 20, 0.36, True)]
    """
    checked, hits = check(confidence, correct)
    n = len(checked)
    weight = as_sample_weight(sample_weight, n_rows=n)
    labels = None if groups is None else as_groups(groups, n_rows=n)
    values, of_row = np.unique(as_groups(by, n_rows=n, name="by"), return_inverse=True)
    counted = np.ones(n, dtype=bool) if weight is None else weight > 0
    counts = np.bincount(of_row[counted], minlength=len(values))
    asked: dict[str, Any] = {"bootstrap": bootstrap, "level": level, "random_state": random_state}
    asked["metrics"] = metrics if metrics is None else list(dict.fromkeys([*metrics, "ece"]))
    slices, done = [], 0
    for place in np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]:
        rows = np.flatnonzero((of_row == place) & counted)
        times, kin = (None if each is None else each[rows] for each in (weight, labels))
        scores = evaluate(checked[rows], hits[rows], sample_weight=times, groups=kin, **asked)
        right, says = (float(np.average(each[rows].astype(np.float64), weights=times)) for each in (hits, checked))
        slices.append(Slice(str(values[place]), len(rows), right, says, scores))
        done += len(rows)
        report(done / counts.sum())
    return slices
