"""A scikit-learn classifier and its calibrator as one estimator."""

from auxcal.integrations.sklearn._calibrated_classifier import CalibratedClassifier
from auxcal.integrations.sklearn._scorer import confidence_scorer

__all__ = ["CalibratedClassifier", "confidence_scorer"]
