"""What scored tables show: their metrics, the thresholds that its rows promise, and the certificate of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from auxcal._core.arrays import check_total
from auxcal._core.deferred_warnings import collect_warnings
from auxcal._core.errors import InvalidInputError
from auxcal._core.progress import Report, silent
from auxcal._core.text import percent
from auxcal.calibrators import Calibrator, Certificate
from auxcal.metrics import Slice, evaluate, evaluate_by
from auxcal.tables.scored import MOST_IN_FIT, Scored
from auxcal.thresholds import (
    Threshold,
    risk_at_coverage,
    threshold_at_risk,
    thresholds_at_risks,
    thresholds_by_class,
    why_no_promise,
)
from auxcal.thresholds.certificate import FoundOn


class Evaluation(NamedTuple):
    """The number of rows, their accuracy and mean confidence, the metrics, and those of each slice, if any."""

    rows: int
    accuracy: float
    confidence: float
    scores: dict[str, float]
    slices: list[Slice] | None


def evaluate_scored(
    scored: Scored, *, bootstrap: int = 0, random_state: int = 0, report: Report = silent
) -> Evaluation:
    """Return all metrics of what `read_scored` read; one that a small slice leaves undefined needs no warning.

    Parameters
    ----------
    scored : Scored
        The rows.
    bootstrap, random_state, report
        As in `auxcal.evaluate`.
    """
    how: dict[str, Any] = {"bootstrap": bootstrap, "random_state": random_state, "report": report}
    how |= {"sample_weight": scored.sample_weight, "groups": scored.groups}
    scores, slices = evaluate(scored.confidence, scored.correct, **how), None
    if scored.by is not None:
        with collect_warnings():
            slices = evaluate_by(scored.confidence, scored.correct, scored.by, **how)
    accuracy, confidence = (
        float(np.mean(column, dtype=np.float64) if weight is None else np.average(column, weights=weight))
        for column, weight in ((scored.correct, scored.sample_weight), (scored.confidence, scored.sample_weight))
    )
    return Evaluation(len(scored.y), accuracy, confidence, scores, slices)


def find_thresholds(
    scored: Scored,
    risks: Sequence[float],
    *,
    coverage: float | None = None,
    level: float = 0.95,
    per_class: bool = False,
    promise: bool = True,
) -> Threshold | dict[str, Threshold | str]:
    """Return the threshold of one risk or coverage, or one for each class or risk; where there is none, the reason.

    Parameters
    ----------
    scored : Scored
        Labelled rows; for a promise, none of the fit.
    risks, coverage, level, promise
        As in `auxcal.thresholds`: one risk, several, or none and a coverage.
    per_class : bool
        Find a threshold of the one risk for each predicted class.
    """
    if promise and scored.share_in_fit is not None and scored.share_in_fit > MOST_IN_FIT:
        raise InvalidInputError(
            f"{percent(scored.share_in_fit, decimals=0)} of these rows were in the fit of the calibrator: no promise. "
            f"On its own rows a calibrator looks better than on new ones. Find the threshold on other labelled rows."
        )
    if scored.sample_weight is not None:
        check_total(scored.sample_weight)
    rows = scored.confidence, scored.correct
    draws: Any = {"level": level} | {name: getattr(scored, name) for name in ("sample_weight", "max_weight", "groups")}
    if coverage is not None:
        return risk_at_coverage(*rows, coverage, **draws)
    if per_class:
        names = scored.class_names
        by_class = thresholds_by_class(*rows, scored.prediction, risks[0], **draws)
        return {
            names[label] if names else f"class {label}": threshold or _why_not(scored, risks[0], level, label)
            for label, threshold in by_class.items()
        }
    if len(risks) > 1:
        by_risk = thresholds_at_risks(*rows, risks, **draws)
        return {f"risk {risk:g}": threshold or _why_not(scored, risk, level) for risk, threshold in by_risk.items()}
    return threshold_at_risk(*rows, risks[0], promise=promise, **draws)


def _why_not(scored: Scored, risk: float, level: float, label: int | None = None) -> str:
    """Return why no threshold can be promised, for all rows or those of one predicted class."""
    rows = slice(None) if label is None else scored.prediction == label
    weight, groups = (None if column is None else column[rows] for column in (scored.sample_weight, scored.groups))
    correct = scored.correct[rows]
    why = why_no_promise(scored.confidence[rows], correct, risk, level=level, sample_weight=weight, groups=groups)
    return why if label is None else f"labelled rows: {len(correct):,}; {why}"


def certify(calibrator: Calibrator, found: Threshold, scored: Scored) -> None:
    """Keep a promise, and what its rows look like, with the calibrator that scored them."""
    prediction, n_classes = scored.prediction, calibrator.n_features_in_
    if scored.class_names is not None:
        index_of = {name: index for index, name in enumerate(calibrator.inputs_.class_names or ())}
        prediction = np.array([index_of.get(name, -1) for name in scored.class_names])[prediction]
    known = prediction.min() >= 0 and prediction.max() < n_classes
    weights = scored.sample_weight, scored.groups
    found_on = FoundOn.of(scored.confidence, prediction if known else None, n_classes, *weights)
    calibrator.certificate_ = Certificate.of(found, n_rows=len(scored.y), found_on=found_on)
