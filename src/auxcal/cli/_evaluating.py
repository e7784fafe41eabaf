"""What `auxcal evaluate` computes, of rows that are held and of those that are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from auxcal._core.progress import silent

if TYPE_CHECKING:
    from auxcal._core.progress import Report
    from auxcal.metrics import Slice, Tally
    from auxcal.tables import Scored, Tallied


class Evaluated(NamedTuple):
    """The number of rows, accuracy and mean confidence, the metrics, and the slices if such were asked for."""

    rows: int
    averages: dict[str, float]
    scores: dict[str, float]
    slices: list[Slice] | None


def evaluated(found: Scored | Tallied, resamples: int, random_state: int, report: Report) -> Evaluated:
    """Return all metrics; one that a small slice leaves undefined needs no warning."""
    from auxcal.tables import Tallied

    asked = {"bootstrap": resamples, "random_state": random_state, "report": report}
    return _of_tallies(found, asked) if isinstance(found, Tallied) else _of_rows(found, asked)


def _of_rows(rows: Scored, asked: dict[str, Any]) -> Evaluated:
    import numpy as np

    from auxcal._core.deferred_warnings import collect_warnings
    from auxcal.metrics import evaluate, evaluate_by

    both = {"accuracy": rows.correct, "confidence": rows.confidence}
    averages = {
        name: float(np.average(column.astype(np.float64), weights=rows.sample_weight)) for name, column in both.items()
    }
    asked = asked | {"sample_weight": rows.sample_weight, "groups": rows.groups}
    scores = evaluate(rows.confidence, rows.correct, **asked)
    with collect_warnings():
        slices = None if rows.by is None else evaluate_by(rows.confidence, rows.correct, rows.by, **asked)
    return Evaluated(len(rows.y), averages, scores, slices)


def _of_tallies(found: Tallied, asked: dict[str, Any]) -> Evaluated:
    from auxcal._core.deferred_warnings import collect_warnings

    whole = found.tally
    averages = {"accuracy": whole.accuracy, "confidence": whole.confidence}
    scores = whole.evaluate(**asked)
    with collect_warnings():
        slices = None if found.by is None else _slices(found.by, asked)
    return Evaluated(whole.n_rows, averages, scores, slices)


def _slices(tallies: dict[str, Tally], asked: dict[str, Any]) -> list[Slice]:
    """Return the metrics of each slice, the largest first."""
    from auxcal.metrics import Slice

    found = []
    for name, each in sorted(tallies.items(), key=lambda item: (-item[1].n_rows, item[0])):
        scores = each.evaluate(**asked | {"report": silent})
        found.append(Slice(name, each.n_rows, each.accuracy, each.confidence, scores))
        asked["report"](len(found) / len(tallies))
    return found


def bounds(scores: dict[str, float]) -> str | None:
    """Return how far metrics can be off because rows were counted in cells, or None where all are exact."""
    from auxcal.metrics import METRICS

    errors = {metric.label: scores[f"{name}_error"] for name, metric in METRICS.items() if f"{name}_error" in scores}
    if not errors:
        return None
    known = ", ".join(f"{label} {error:.0e}" for label, error in errors.items() if error == error)
    return f"Rows were counted in cells of nearly equal confidence. Off by at most: {known}. The others are exact."
