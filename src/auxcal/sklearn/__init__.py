"""A scikit-learn classifier and its calibrator as one estimator."""

from auxcal.sklearn._classifier import CalibratedClassifier, confidence_scorer

__all__ = ["CalibratedClassifier", "confidence_scorer"]
