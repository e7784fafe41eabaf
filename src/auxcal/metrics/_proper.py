"""Proper scores of confidence as a forecast of correctness."""

import numpy as np

from auxcal._core.arrays import Bools, Floats, Weight
from auxcal.metrics._ranking import Ties
from auxcal.metrics.sample import checked_as_given


@checked_as_given
def brier(confidence: Floats, correct: Bools, *, sample_weight: Weight | None = None) -> float:
    """Brier score: the mean squared difference between confidence and correctness.

    Examples
    --------
    >>> from auxcal.metrics import brier
    >>> brier([1.0, 0.5], [True, False])
    0.125
    """
    return _mean(np.square(confidence - correct), sample_weight)


@checked_as_given
def nll(confidence: Floats, correct: Bools, *, sample_weight: Weight | None = None) -> float:
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
    probability = np.abs(confidence - ~correct)  # the same bits as 1 − c where wrong, and several times faster
    likelihood = np.maximum(probability, step)
    if sample_weight is None:
        return -_mean_log(likelihood)
    return -_mean(np.log(likelihood, dtype=np.float64), sample_weight)


def brier_of(ties: Ties) -> Floats:
    """Return the Brier score of many resamples."""
    return _mean_loss(ties, np.square(1 - ties.confidence), np.square(ties.confidence))


def nll_of(ties: Ties) -> Floats:
    """Return the negative log-likelihood of many resamples."""
    c, step = ties.confidence, np.finfo(ties.confidence.dtype).eps / 2
    return _mean_loss(ties, -np.log(np.maximum(c, step)), -np.log(np.maximum(1 - c, step)))


def _mean_loss(ties: Ties, if_right: Floats, if_wrong: Floats) -> Floats:
    at = ties.thresholds
    return np.asarray((ties.right @ if_right + ties.wrong @ if_wrong) / (at.wrong[..., -1] + at.right[..., -1]))


def _mean_log(values: Floats) -> float:
    """Return the mean logarithm of numbers of at least 1e-17, multiplied by sixteens before each logarithm."""
    whole = len(values) // 16 * 16
    products = np.multiply.reduce(values[:whole].reshape(16, -1), axis=0, dtype=np.float64)
    return float(np.log(products).sum() + np.log(values[whole:], dtype=np.float64).sum()) / len(values)


def _mean(values: Floats, sample_weight: Weight | None) -> float:
    if sample_weight is None:
        return float(np.mean(values, dtype=np.float64))
    return float(np.dot(values.astype(np.float64), sample_weight) / sample_weight.sum())
