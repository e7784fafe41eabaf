"""Thresholds of the confidence with a promise: at most so many of the accepted are wrong."""

from auxcal.thresholds._promises import rows_to_promise
from auxcal.thresholds._threshold import (
    Threshold,
    risk_at_coverage,
    threshold_at_risk,
    thresholds_at_risks,
    thresholds_by_class,
    why_no_promise,
)

__all__ = [
    "Threshold",
    "risk_at_coverage",
    "rows_to_promise",
    "threshold_at_risk",
    "thresholds_at_risks",
    "thresholds_by_class",
    "why_no_promise",
]
