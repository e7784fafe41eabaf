"""Proper scores of confidence as a forecast of correctness."""

import numpy as np
from numpy.typing import ArrayLike

from auxcal._arrays import as_confidence, as_correct


def brier(confidence: ArrayLike, correct: ArrayLike) -> float:
    """Brier score: the mean squared difference between confidence and correctness.

    Examples
    --------
    >>> from auxcal.metrics import brier
    >>> brier([1.0, 0.5], [True, False])
    0.125
    """
    confidence = as_confidence(confidence)
    correct = as_correct(correct, n_rows=len(confidence))
    return float(np.mean(np.square(confidence - correct, dtype=np.float64)))


def nll(confidence: ArrayLike, correct: ArrayLike) -> float:
    """Negative log-likelihood of correctness: the mean of −log c where correct, −log(1 − c) where wrong.

    The probability of what happened is taken as at least half a step of the array's precision, so that one saturated
    confidence that is wrong does not cost infinitely much and hide all other rows.

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
    return float(-np.mean(np.log(np.maximum(probability, step)), dtype=np.float64))
