"""Metrics of a confidence: pure functions of (confidence, correct), and METRICS, the one list of them."""

from auxcal.metrics._calibration_error import NoiseFloor, ece, ece_mass, ece_noise_floor, mce
from auxcal.metrics._evaluate import METRICS, Metric, evaluate
from auxcal.metrics._proper import brier, nll
from auxcal.metrics._ranking import aupr, aurc, auroc, excess_aurc, fpr_at_tpr, precision_at_recall

__all__ = [
    "METRICS",
    "Metric",
    "NoiseFloor",
    "aupr",
    "aurc",
    "auroc",
    "brier",
    "ece",
    "ece_mass",
    "ece_noise_floor",
    "evaluate",
    "excess_aurc",
    "fpr_at_tpr",
    "mce",
    "nll",
    "precision_at_recall",
]
