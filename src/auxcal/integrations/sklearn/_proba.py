"""A distribution over the classes from a confidence in one of them."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from auxcal._core.arrays import Floats, Ints
from auxcal._core.float_errors import ignore_float_errors
from auxcal.calibrators import Calibrator, ProbaCalibrator


@ignore_float_errors
def class_proba(calibrator: Calibrator, logits: Floats) -> Floats:
    """Put the confidence at the prediction, and divide the rest among the other classes."""
    top = logits.argmax(axis=1)[:, None]
    confidence = calibrator.predict_confidence(logits)[:, None]
    says_more = isinstance(calibrator, ProbaCalibrator)
    shares = calibrator.predict_proba(logits)[:, : logits.shape[1]] if says_more else softmax(logits, axis=1)
    shares = shares + np.finfo(shares.dtype).tiny  # evenly, where nothing is said of the others
    np.put_along_axis(shares, top, 0, axis=1)
    others = shares / shares.sum(axis=1, keepdims=True) * (1 - confidence)
    return _with_top(others, confidence, top)


def _with_top(others: Floats, confidence: Floats, top: Ints) -> Floats:
    """Put the confidence at the prediction; project onto the nearest distribution in which no class exceeds it."""
    largest_first = -np.sort(-np.concatenate([others, np.ones_like(confidence)], axis=1), axis=1)
    largest_first[:, :1] = confidence
    running_means = largest_first.cumsum(axis=1) / np.arange(1, largest_first.shape[1] + 1)
    level = running_means.max(axis=1, keepdims=True)
    proba = np.minimum(others, level * (1 - 1e-12))  # a hair less, for argmax
    np.put_along_axis(proba, top, level, axis=1)
    return proba
