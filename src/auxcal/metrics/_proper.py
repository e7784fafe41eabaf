"""Proper scores of confidence as a forecast of correctness."""

import numpy as np
from numpy.typing import ArrayLike

from auxcal._arrays import Floats, as_confidence, as_correct, as_weight


def brier(confidence: ArrayLike, correct: ArrayLike, *, weight: ArrayLike | None = None) -> float:
    """Brier score: the mean squared difference between confidence and correctness.

    Examples
    --------
    >>> from auxcal.metrics import brier
    >>> brier([1.0, 0.5], [True, False])
    0.125
    """
    confidence = as_confidence(confidence)
    correct = as_correct(correct, n_rows=len(confidence))
    return _mean(np.square(confidence - correct), weight)


def nll(confidence: ArrayLike, correct: ArrayLike, *, weight: ArrayLike | None = None) -> float:
    """Negative log-likelihood of correctness: the mean of −log c where correct, −log(1 − c) where wrong.

    The probability of the outcome is clipped from below at half the machine epsilon of the array's dtype, so that a
    single saturated mistake does not make the mean infinite.

    Examples
    --------
    >>> from auxcal.metrics import nll
    >>> round(nll([0.5, 0.5], [True, False]), 4)
    0.6931
    """
    confidence = as_confidence(confidence)
    correct = as_correct(correct, n_rows=len(confidence))
    step = np.finfo(confidence.dtype).eps / 2
    probability = np.where(correct, confidence, 1 - confidence)
    return -_mean(np.log(np.maximum(probability, step)), weight)


def _mean(values: Floats, weight: ArrayLike | None) -> float:
    checked = as_weight(weight, n_rows=len(values))
    if checked is None:
        return float(np.mean(values, dtype=np.float64))
    return float(np.dot(values.astype(np.float64), checked) / checked.sum())
