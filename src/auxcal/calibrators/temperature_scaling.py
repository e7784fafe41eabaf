"""Temperature scaling (TS): one number for all logits."""

import numpy as np

from auxcal._arrays import Floats
from auxcal.calibrators._base import DistributionCalibrator
from auxcal.calibrators._softmax import softmax
from auxcal.predictions import Predictions

_REACH = 1e6  # the temperature is sought within this factor of the spread of the logits
_MAX_STEPS = 200


class TemperatureScaling(DistributionCalibrator):
    """Temperature scaling (TS): softmax(z / T) with the T of least negative log-likelihood.

    Rows with `NO_CLASS` have no class to be likely, and are left out of the fit.

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

    def _fit(self, data: Predictions, select: Predictions | None) -> str | None:
        self.temperature_, problem = fit_temperature(data)
        return problem

    def _proba(self, logits: Floats) -> Floats:
        return softmax(logits / logits.dtype.type(self.temperature_))


def fit_temperature(data: Predictions) -> tuple[float, str | None]:
    """Return the temperature of least negative log-likelihood, and what is wrong with it, if anything.

    In β = 1/T the loss is convex, so its slope has one root: Newton's steps find it, and a bracket that shrinks
    with every step keeps them from running away. The bracket is relative to the spread of the logits, so that
    logits on any scale are fitted alike.
    """
    known = data.with_class()
    if known is None:
        return 1.0, "no row has a class (all are NO_CLASS), so the temperature stays at 1. Label some rows."
    z = known.logits.astype(np.float64)
    z -= z.max(axis=1, keepdims=True)
    at_y = z[np.arange(len(z)), known.y]
    spread = float(-z.mean())
    if spread == 0:
        return 1.0, "every row has K equal logits, so no temperature changes anything; it stays at 1."
    low, high, beta = 1 / _REACH / spread, _REACH / spread, 1 / spread
    for _ in range(_MAX_STEPS):
        slope, curvature = _slope_and_curvature(z, at_y, beta)
        low, high = (beta, high) if slope < 0 else (low, beta)
        newton = beta - slope / curvature if curvature > 0 else np.inf
        # Far out the curvature vanishes and Newton overshoots: halve the bracket on the log scale instead.
        step = newton if low < newton < high else np.sqrt(low * high)
        if abs(step - beta) <= 1e-10 * beta:
            break
        beta = step
    return float(1 / beta), _problem(known, beta * spread)


def _slope_and_curvature(z: Floats, at_y: Floats, beta: float) -> tuple[float, float]:
    p = softmax(beta * z)
    mean = np.einsum("nk,nk->n", p, z)
    square = np.einsum("nk,nk,nk->n", p, z, z)
    return float(np.mean(mean - at_y)), float(np.mean(np.maximum(square - mean**2, 0)))


def _problem(known: Predictions, relative_beta: float) -> str | None:
    if known.correct.all():
        return (
            "the temperature sits at its lower bound: every labelled prediction is correct, so the likelihood grows "
            "with every confidence. Fit on rows that hold errors too."
        )
    if relative_beta < 2 / _REACH:
        return (
            "the temperature sits at its upper bound: the logits say nothing about y, or the contrary of it. "
            "Check that the columns of logits and the labels y have the same order."
        )
    return None
