"""Metrics of a confidence: pure functions of (confidence, correct), and METRICS, the registry."""

from auxcal.metrics._calibration_error import NoiseFloor, ece, ece_mass, ece_noise_floor, mce
from auxcal.metrics._checked import checked
from auxcal.metrics._evaluate import METRICS, Metric, evaluate
from auxcal.metrics._power import labels_to_promise
from auxcal.metrics._promise import rows_to_promise
from auxcal.metrics._proper import brier, nll
from auxcal.metrics._ranking import aupr, auroc, fpr_at_tpr, precision_at_recall
from auxcal.metrics._risk_coverage import RiskCoverage, aurc, excess_aurc, risk_coverage
from auxcal.metrics._slices import Slice, evaluate_by
from auxcal.metrics._tally import Tally
from auxcal.metrics._threshold import (
    Threshold,
    risk_at_coverage,
    threshold_at_risk,
    thresholds_at_risks,
    thresholds_by_class,
    why_no_promise,
)

__all__ = [
    "METRICS",
    "Metric",
    "NoiseFloor",
    "RiskCoverage",
    "Slice",
    "Tally",
    "Threshold",
    "aupr",
    "aurc",
    "auroc",
    "brier",
    "checked",
    "ece",
    "ece_mass",
    "ece_noise_floor",
    "evaluate",
    "evaluate_by",
    "excess_aurc",
    "fpr_at_tpr",
    "labels_to_promise",
    "mce",
    "nll",
    "precision_at_recall",
    "risk_at_coverage",
    "risk_coverage",
    "rows_to_promise",
    "threshold_at_risk",
    "thresholds_at_risks",
    "thresholds_by_class",
    "why_no_promise",
]
