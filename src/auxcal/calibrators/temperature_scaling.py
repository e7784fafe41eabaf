"""Temperature scaling (TS): one number for all logits."""

import numpy as np

from auxcal._core.arrays import Floats, Weight
from auxcal._core.logits import softmax
from auxcal.calibrators.base import DistributionCalibrator
from auxcal.calibrators.solvers.targets_and_weights import NoClass, expected, mean, rows_to_learn, size, total
from auxcal.predictions import Predictions
from auxcal.programs import Operations, Rows, Value, softmax_at

"""The range of a temperature that float32 can divide by and multiply with."""

_REACH = 1e6  # the temperature is sought within this factor of the spread of the logits
_MAX_STEPS = 200  # a safeguard: halving the bracket alone takes about twenty
_LAST_STEP = 1e-4  # of β: Newton's error is squared with every step, so the one after it would be some 1e-8
_FEW_ROWS = 1000  # where the root is sought first; all rows follow, so it affects time alone
_CHUNK = 2**16  # numbers: 256 KB of float32, which stay in the processor's cache


class TemperatureScaling(DistributionCalibrator):
    """Temperature scaling (TS): softmax(z / T), with T fitted by maximum likelihood.

    Parameters
    ----------
    no_class : {"leave-out", "uniform"}
        What the fit does with rows of `NO_CLASS`: leave them out, or use the uniform distribution as their target.

    Attributes
    ----------
    temperature_ : float
        T. Above 1 it lowers every confidence.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal import TemperatureScaling
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=(5000, 3))
    >>> y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)  # softmax(logits) is right as it is
    >>> round(TemperatureScaling().fit(3 * logits, y).temperature_, 1)
    3.0
    """

    abbreviation = "TS"
    reference = "Guo et al., ICML 2017"
    enough_rows = 20  # for the one or two numbers that it learns
    learned = {"temperature_": ()}  # noqa: RUF012
    uses_weights = True

    def __init__(self, no_class: NoClass = "leave-out") -> None:
        self.no_class = no_class

    def _fit(self, data: Predictions) -> str | None:
        self.temperature_, problem = fit_temperature(rows_to_learn(data, self.no_class))
        return problem

    def _proba(self, logits: Floats) -> Floats:
        return softmax(logits / logits.dtype.type(self.temperature_))

    def _program(self, ops: Operations, rows: Rows) -> Value:
        return softmax_at(ops, rows.logits / ops.constant(self.temperature_, "temperature"), rows.prediction)


def fit_temperature(data: Predictions | None) -> tuple[float, str | None]:
    """Return the temperature of least negative log-likelihood, and what is wrong with it, if anything.

    The target of rows of `NO_CLASS`, if any, is the uniform distribution.

    In β = 1/T the loss is convex, so its slope has one root. The logits are divided by their spread first, so that
    logits on any scale are fitted alike.
    """
    if data is None:
        return 1.0, "no row has a class (all are NO_CLASS), so the temperature stays at 1. Give rows that have a class."
    # Differences are taken in the precision of the logits; after that float32 is enough, and three times as fast.
    z = data.logits - data.logits.max(axis=1, keepdims=True)
    spread = -float(z.mean(dtype=np.float64))
    if spread == 0:
        return 1.0, "every row has K equal logits, so no temperature changes anything; it stays at 1."
    z /= spread
    z = z.astype(np.float32, copy=False)
    at_y = expected(z, data.y)
    beta = 1.0
    for stride in (1 + len(z) // _FEW_ROWS, 1):  # a few rows show about where the root is, so that all take few steps
        weight = None if data.sample_weight is None else data.sample_weight[::stride]
        beta = _root(z[::stride], at_y[::stride], beta, weight)
    return spread / beta, _problem(at_y, beta)


def _root(z: Floats, at_y: Floats, beta: float, weight: Weight | None) -> float:
    """Return the β at which the slope is 0, by Newton's method safeguarded by a bracket."""
    low, high = 1 / _REACH, _REACH
    target = float(mean(at_y, weight))
    for _ in range(_MAX_STEPS):
        level, variance = _moments(z, beta, weight)
        slope = level - target
        low, high = (beta, high) if slope < 0 else (low, beta)
        newton = beta - slope / variance if variance > 0 else np.inf
        # Far out the curvature vanishes and Newton overshoots: halve the bracket on the log scale instead.
        before, beta = beta, newton if low < newton < high else float(np.sqrt(low * high))
        if abs(beta - before) <= _LAST_STEP * before:
            break
    return beta


def _moments(z: Floats, beta: float, weight: Weight | None) -> tuple[float, float]:
    """Return the mean and the variance of z under softmax(β z), averaged over the rows, which have their maximum at 0.

    Rows are processed in chunks that fit into the cache.
    """
    ones = np.ones(z.shape[1], dtype=z.dtype)
    sums = np.zeros(2)
    chunk = 1 + _CHUNK // z.shape[1]
    for start in range(0, len(z), chunk):
        part, times = z[start : start + chunk], None if weight is None else weight[start : start + chunk]
        e = part * z.dtype.type(beta)
        np.exp(e, out=e)
        norm = e @ ones
        e *= part
        level, square = e @ ones / norm, np.vecdot(e, part) / norm
        sums += total(np.stack([level, np.maximum(square - level**2, 0)]), times)
    level, variance = sums / size(len(z), weight)
    return float(level), float(variance)


def _problem(at_y: Floats, beta: float) -> str | None:
    if (at_y == 0).all():
        return (
            "are these rows that the classifier was trained on? Every labelled prediction is correct, so the "
            "temperature sits at its lower bound. Fit on rows that hold errors too."
        )
    if beta < 2 / _REACH:
        return (
            "the temperature sits at its upper bound: the logits hold no information about y, or the contrary. "
            "Check that some rows have a class, and that the columns of logits and the labels y have the same order."
        )
    return None
