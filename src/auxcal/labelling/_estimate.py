"""How good a confidence is, from a few labelled rows and many unlabelled ones: prediction-powered estimates."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import Bools, Floats, as_confidence, check_shares
from auxcal._core.float_errors import ignore_float_errors
from auxcal.metrics.intervals import PURE_NOISE, Estimate, ece_bounds, wilson, with_one_off
from auxcal.metrics.sample import as_sample

BINS = 20  # of the ECE, as in the paper
# Plain choices; benchmarks/labelling/picks.py measures how often the intervals hold the truth with these.
FEW = 5
"""How many informative labels make the variance that they show count as much as the expected one: the wrong ones, or
the right ones where those are rarer, and for the Brier score the surprises."""
SURPRISE = 0.5
"""The squared error from which on a label is a surprise."""
LEAST_SPREAD = 1e-6
"""The least variance of the correctness of a row: a few labels do not show that a confidence of 1 is right."""


@ignore_float_errors
def estimate(
    confidence: ArrayLike,
    correct: ArrayLike,
    unlabelled: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
) -> dict[str, Estimate]:
    """Estimate accuracy, Brier score and ECE of all rows, from those that are labelled and those that are not.

    The calibrator gives what to expect of every row, the labelled rows show how far that is off, and how much of the
    expectation is used is tuned so that the interval is least (prediction-powered inference, PPI++). Whatever the
    calibrator is worth, accuracy and Brier score stay unbiased; a good one makes them sharper. See
    docs/evidence/labelling.md.

    Parameters
    ----------
    confidence, correct : arrays of shape (n,)
        Of the labelled rows.
    unlabelled : array of shape (N,)
        The confidence in the other rows of the same data.
    sample_weight : array of shape (n,), optional
        The weights of picked rows; without them, the labelled rows are an even draw.
    level : float
        The confidence level of the intervals.

    Returns
    -------
    dict of str to Estimate
        `accuracy`, `brier` and `ece`. The interval of ECE is a bound for any miscalibration, and so a wide one.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.labelling import estimate
    >>> rng = np.random.default_rng(0)
    >>> unlabelled, confidence = rng.random(10_000), rng.random(200)
    >>> estimates = estimate(confidence, rng.random(200) < confidence, unlabelled)
    >>> [round(number, 2) for number in estimates["accuracy"]]
    [0.49, 0.44, 0.55]
    """
    from scipy.special import stdtrit

    labelled = as_sample(confidence, correct, sample_weight)
    others = np.asarray(as_confidence(unlabelled), dtype=np.float64)
    check_shares(level=level)
    c, right, weight, _ = labelled.take(labelled.weight > 0)
    w = np.ones(len(c)) if weight is None else weight / weight.mean()
    rows = c.astype(np.float64), right, w, others, float(stdtrit(max(len(c) - 1, 1), (1 + level) / 2))
    return {"accuracy": _accuracy(*rows), "brier": _brier(*rows), "ece": _ece(*rows)}


def _powered(
    y: Floats, expected: Floats, spread: Floats, w: Floats, expected_others: Floats, n_informative: int
) -> tuple[float, float]:
    """Return the power-tuned estimate of the mean of y, λ mean(expected) + mean of w (y − λ expected), with variance.

    The variance is what the labels show. If few are informative, it is at least the expected one, `spread` for
    each row: a few labels without an error do not show that there is none.
    """
    n, ratio = len(y), len(y) / len(expected_others)
    a, b = w * (y - np.average(y, weights=w)), w * (expected - np.average(expected, weights=w))
    together = float(a @ b) / max(float(b @ b) * (1 + ratio), 1e-300)
    power = min(max(together, 0.0), 1.0)
    value = power * expected_others.mean() + np.average(y - power * expected, weights=w)
    rest = a - power * b
    shown, least = float(rest @ rest) / max(n - 1, 1) / n, float(w**2 @ spread) / n**2
    variance = shown + max(least - shown, 0.0) * FEW / (FEW + n_informative)
    return float(value), float(variance + power**2 * expected_others.var() / len(expected_others))


def _accuracy(c: Floats, right: Bools, w: Floats, others: Floats, z: float) -> Estimate:
    """Return Wilson's interval of the effective sample size."""
    spread = np.maximum(c * (1 - c), LEAST_SPREAD)
    n_rarer = int(min(right.sum(), (~right).sum()))
    value, variance = _powered(right.astype(np.float64), c, spread, w, others, n_rarer)
    p, q = float(np.clip(value, 0, 1)), float(others.mean())
    # Labels without an error are worth what the calibrator expects, but it counts only as far as the labels let it.
    most = (p * len(c) + z**2 / 2) / (len(c) + z**2)
    typical = max(p * (1 - p), min(q * (1 - q), most * (1 - most)), LEAST_SPREAD)
    low, high = map(float, wilson(p, typical / variance, z))
    return Estimate(p, max(0.0, min(p, low)), min(1.0, max(p, high)))  # rounding must not leave out 0 or 1


def _brier(c: Floats, right: Bools, w: Floats, others: Floats, z: float) -> Estimate:
    # Rows that are sure and wrong weigh most, and a small sample may hold none of them: one in n may be such a row.
    spread = np.maximum(c * (1 - c), 1 / len(c)) * (1 - 2 * c) ** 2
    squares = (c - right) ** 2
    n_surprises = int((squares > SURPRISE).sum())
    value, variance = _powered(squares, c * (1 - c), spread, w, others * (1 - others), n_surprises)
    half = z * float(np.sqrt(variance))
    return Estimate(value, max(0.0, value - half), min(1.0, value + half))


def _ece(c: Floats, right: Bools, w: Floats, others: Floats, z: float) -> Estimate:
    """Return the ECE without the bias of its bins, and a bound that holds for any miscalibration."""
    bins = np.minimum((c * BINS).astype(int), BINS - 1)

    def of_bins(values: Floats) -> Floats:
        return np.bincount(bins, values, minlength=BINS).astype(np.float64)

    gap = of_bins(w * (right - c)) / w.sum()
    spread = with_one_off(c * (1 - c), np.ones(len(c)))
    variance = np.maximum(of_bins((w * (right - c)) ** 2), of_bins(w**2 * spread)) / w.sum() ** 2
    plain, noise = float(np.abs(gap).sum()), float(np.sqrt(variance).sum())
    value = float(np.sqrt(max(plain**2 - (PURE_NOISE * noise) ** 2, 0.0)))
    half = z * float(np.sqrt(variance.sum()))
    low, high = ece_bounds(gap, variance, half, half)
    return Estimate(value, low, max(value, high))
