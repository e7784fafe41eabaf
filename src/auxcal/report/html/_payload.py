"""What the charts of the pages show, computed with the library's own metrics and displays, and packed into JSON."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auxcal._core.arrays import Floats
from auxcal._core.errors import InvalidInputError
from auxcal._core.labels import as_class_names
from auxcal.metrics import NoiseFloor
from auxcal.monitoring import Chunk, Timeline
from auxcal.plots import ConfidenceHistogramDisplay, ReliabilityDisplay, RiskCoverageDisplay
from auxcal.predictions import Predictions
from auxcal.report.comparison import Comparison, Entry
from auxcal.thresholds import thresholds_at_risks

LEVELS = 60_000
"""The steps of a packed confidence: a multiple of 1000, so that a threshold of three decimals lies on a step."""

RISKS = (0.01, 0.02, 0.05, 0.1)
"""The errors that the picker has buttons for."""

CURVE_POINTS = 200  # one for each half per cent of coverage
MOST_LISTED = 15  # wrong answers, as many as mistakes.js lists


def payload(comparison: Comparison) -> dict[str, Any]:
    """Return what the page needs of one comparison, ready for JSON."""
    test = comparison.test
    mistakes = np.flatnonzero(~test.correct).tolist()  # which alone the page may list
    return {
        "name": comparison.name,
        "classes": as_class_names(comparison.class_names, test.n_classes),
        "before": comparison.before.method,
        "best": comparison.best.method,
        "rows": packed(comparison.rows),
        "ids": {place: comparison.ids[place] for place in mistakes} if comparison.ids else {},
        "y": packed(test.y),
        "prediction": packed(test.prediction),
        "methods": {entry.method: _method(comparison, entry) for entry in comparison.entries if not entry.failed},
        "signals": _signals(comparison, mistakes),
    }


def _signals(comparison: Comparison, mistakes: list[int]) -> list[dict[str, Any]] | None:
    """Return the effect of each signal, and its values in wrong answers that are listed; None for logits."""
    if not comparison.signals:
        return None
    confidences = [entry.measured()[1] for entry in comparison.entries if not entry.failed]
    first = {place for sure in confidences for place in sorted(mistakes, key=lambda i: -sure[i])[:MOST_LISTED]}
    written = comparison.test.inputs.signal_columns.write(np.asarray(comparison.test.features), sorted(first))
    return [signal.as_dict() | {"values": written[signal.name]} for signal in comparison.signals]


def _method(comparison: Comparison, entry: Entry) -> dict[str, Any]:
    _, confidence = entry.measured()
    scores, correct = entry.scores, comparison.test.correct
    floor = NoiseFloor(scores["ece_floor"], scores["ece_floor_p95"])
    reliability = ReliabilityDisplay.from_predictions(confidence, correct, floor=floor)
    histogram = ConfidenceHistogramDisplay.from_predictions(confidence, correct)
    curve = RiskCoverageDisplay.from_predictions(confidence, correct, n_points=CURVE_POINTS)
    bins = {name: rounded(getattr(reliability, name)) for name in ("confidence", "accuracy", "low", "high")}
    # ECE and floor are the table's, so that the numbers agree.
    of_all = {"ece": scores["ece"], "floor": scores["ece_floor_p95"]}
    return {
        "label": entry.label,
        "confidence": packed(quantise(confidence)),
        "reliability": {"count": reliability.count.tolist(), **bins, **of_all},
        "histogram": {"correct": histogram.correct.tolist(), "wrong": histogram.wrong.tolist()},
        "promised": _promised(confidence, comparison.test),
        "curve": {name: rounded(getattr(curve, name)) for name in ("coverage", "risk", "best")},
    }


def _promised(confidence: Floats, test: Predictions) -> dict[str, list[float] | None]:
    """Return threshold and coverage of each risk that the picker offers; None where the rows promise none.

    Weighted rows promise nothing, since it is not known how much a row could have weighed; nor do copies.
    """
    try:
        certificates = thresholds_at_risks(
            confidence, test.correct, RISKS, sample_weight=test.sample_weight, groups=test.groups
        )
    except InvalidInputError:
        return dict.fromkeys(f"{risk:g}" for risk in RISKS)
    return {
        f"{risk:g}": None if promised is None else [promised.threshold, promised.coverage]
        for risk, promised in certificates.items()
    }


def timeline_payload(timeline: Timeline) -> dict[str, Any]:
    """Return what the charts of a timeline show, ready for JSON."""
    return {
        "level": timeline.level,
        "accuracy": timeline.accuracy_before,
        "ood": timeline.no_class_before,
        "chunks": [_chunk(chunk) for chunk in timeline.chunks],
    }


def _chunk(chunk: Chunk) -> dict[str, Any]:
    check = chunk.check
    accuracy, ood = (None, None) if check is None else (check.accuracy, check.no_class)
    estimates = {"accuracy": accuracy, "measured": chunk.measured, "ood": ood}
    return {
        "name": chunk.name,
        "rows": chunk.n_rows,
        "labels": chunk.n_labels,
        "verdict": chunk.verdict,
        **{name: None if estimate is None else rounded(estimate) for name, estimate in estimates.items()},
        "data": chunk.evidence.data,
        "labelled": chunk.evidence.labels,
        "alarms": [str(alarm) for alarm in chunk.alarms],
    }


def quantise(confidence: Floats) -> NDArray[np.uint16]:
    """Return the step that each confidence reaches, so that comparing it with a step's threshold stays exact."""
    # In the array's own precision, so that a float32 0.7 reaches 0.7 as a float64 one does.
    steps = (np.arange(LEVELS + 1) / LEVELS).astype(confidence.dtype)
    return (np.searchsorted(steps, confidence, side="right") - 1).astype(np.uint16)


def packed(values: ArrayLike) -> dict[str, Any]:
    """Return whole numbers in the narrowest type that holds them, as base64."""
    array = np.asarray(values)
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    kinds = (np.uint8, np.uint16, np.uint32) if low >= 0 else (np.int8, np.int16, np.int32)
    kind = np.dtype(next(kind for kind in kinds if low >= np.iinfo(kind).min and high <= np.iinfo(kind).max))
    data = base64.b64encode(array.astype(kind.newbyteorder("<")).tobytes()).decode("ascii")
    return {"type": kind.name, "data": data}


def rounded(values: ArrayLike, digits: int = 4) -> list[float | None]:
    """Return floats that are short in JSON; NaN, which JSON lacks, is None."""
    array = np.asarray(values, dtype=np.float64)
    return [None if np.isnan(value) else round(float(value), digits) for value in array]


def script_json(value: Any) -> str:
    r"""Return JSON that is safe inside a script element, whatever its strings hold.

    Examples
    --------
    >>> from auxcal.report.html._payload import script_json
    >>> script_json(["</script>"])
    '["\\u003c/script\\u003e"]'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
