"""The metrics of a scored table, whether its rows are held or were counted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from auxcal._core.deferred_warnings import collect_warnings
from auxcal._core.progress import Report, silent
from auxcal.metrics import Slice, Tally, evaluate, evaluate_by
from auxcal.tables._scored import Scored
from auxcal.tables._tallied import Tallied


class Evaluation(NamedTuple):
    """The number of rows, their accuracy and mean confidence, the metrics, and those of each slice, if any."""

    rows: int
    accuracy: float
    confidence: float
    scores: dict[str, float]
    slices: list[Slice] | None


def evaluate_scored(
    found: Scored | Tallied, *, bootstrap: int = 0, random_state: int = 0, report: Report = silent
) -> Evaluation:
    """Return all metrics of what `read_scored_or_tally` read; one that a small slice leaves undefined needs no warning.

    Parameters
    ----------
    found : Scored or Tallied
        The rows, or their tally.
    bootstrap, random_state, report
        As in `auxcal.evaluate`.
    """
    how: dict[str, Any] = {"bootstrap": bootstrap, "random_state": random_state, "report": report}
    if isinstance(found, Tallied):
        whole = found.tally
        scores = whole.evaluate(**how)
        with collect_warnings():
            slices = None if found.by is None else _slices(found.by, how)
        return Evaluation(whole.n_rows, whole.accuracy, whole.confidence, scores, slices)
    how |= {"sample_weight": found.sample_weight, "groups": found.groups}
    scores = evaluate(found.confidence, found.correct, **how)
    with collect_warnings():
        slices = None if found.by is None else evaluate_by(found.confidence, found.correct, found.by, **how)
    accuracy, confidence = (
        float(np.average(column.astype(np.float64), weights=found.sample_weight))
        for column in (found.correct, found.confidence)
    )
    return Evaluation(len(found.y), accuracy, confidence, scores, slices)


def _slices(tallies: dict[str, Tally], how: dict[str, Any]) -> list[Slice]:
    """Return the metrics of each slice, the largest first."""
    slices = []
    for name, each in sorted(tallies.items(), key=lambda item: (-item[1].n_rows, item[0])):
        scores = each.evaluate(**how | {"report": silent})
        slices.append(Slice(name, each.n_rows, each.accuracy, each.confidence, scores))
        how["report"](len(slices) / len(tallies))
    return slices
