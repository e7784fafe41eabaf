"""Metrics of a confidence: pure functions of (confidence, correct), and METRICS, the registry."""

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
from auxcal.metrics.sample import checked

__all__ = [
    "METRICS",
    "Metric",
    "NoiseFloor",
    "RiskCoverage",
    "Slice",
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
    "mce",
    "nll",
    "precision_at_recall",
    "risk_coverage",
]
