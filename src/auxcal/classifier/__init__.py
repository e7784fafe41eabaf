"""A scikit-learn classifier and its calibrator as one estimator."""

from auxcal.classifier._calibrated_classifier import CalibratedClassifier
from auxcal.classifier._scorer import confidence_scorer

__all__ = ["CalibratedClassifier", "confidence_scorer"]
