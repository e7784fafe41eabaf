"""Proper scores of confidence as a forecast of correctness."""

import numpy as np

from auxcal._arrays import Bools, Floats, Weight
from auxcal.metrics._checked import checked


@checked
def brier(confidence: Floats, correct: Bools, *, weight: Weight | None = None) -> float:
    """Brier score: the mean squared difference between confidence and correctness.

    Examples
    --------
    >>> from auxcal.metrics import brier
    >>> brier([1.0, 0.5], [True, False])
    0.125
    """
    return _mean(np.square(confidence - correct), weight)


@checked
def nll(confidence: Floats, correct: Bools, *, weight: Weight | None = None) -> float:
    """Negative log-likelihood of correctness: the mean of −log c where correct, −log(1 − c) where wrong.

    The probability of the outcome is clipped from below at half the machine epsilon of the array's dtype, so that a
    single saturated mistake does not make the mean infinite.

    Examples
    --------
    >>> from auxcal.metrics import nll
    >>> round(nll([0.5, 0.5], [True, False]), 4)
    0.6931
    """
    step = np.finfo(confidence.dtype).eps / 2
    probability = np.where(correct, confidence, 1 - confidence)
    return -_mean(np.log(np.maximum(probability, step)), weight)


def _mean(values: Floats, weight: Weight | None) -> float:
    if weight is None:
        return float(np.mean(values, dtype=np.float64))
    return float(np.dot(values.astype(np.float64), weight) / weight.sum())
