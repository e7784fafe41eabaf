"""Metrics of a confidence: pure functions of (confidence, correct), and METRICS, the registry."""

from typing import TYPE_CHECKING

from auxcal._core.lazy import lazy_exports
from auxcal.metrics._calibration_error import NoiseFloor, ece, ece_mass, ece_noise_floor, mce
from auxcal.metrics._evaluate import METRICS, Metric, Slice, evaluate, evaluate_by
from auxcal.metrics._evaluate import evaluate_sample as evaluate_sample
from auxcal.metrics._proper import brier, nll
from auxcal.metrics._ranking import (
    RiskCoverage,
    aupr,
    aurc,
    auroc,
    excess_aurc,
    fpr_at_tpr,
    precision_at_recall,
    risk_coverage,
)
from auxcal.metrics._tally import Tally
from auxcal.metrics.edge import checked

if TYPE_CHECKING:
    from auxcal.thresholds import (
        Threshold,
        labels_to_promise,
        risk_at_coverage,
        rows_to_promise,
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

# Thresholds lie above the metrics, and were here before they had a package of their own.
_ELSEWHERE = dict.fromkeys(set(__all__) - set(globals()), "auxcal.thresholds")
__getattr__, __dir__ = lazy_exports(__name__, _ELSEWHERE)
