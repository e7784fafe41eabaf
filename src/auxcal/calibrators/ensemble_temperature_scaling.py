"""Ensemble temperature scaling (ETS): a mixture of calibrated, raw and uniform probabilities."""

import numpy as np
from scipy.optimize import minimize

from auxcal._arrays import Floats
from auxcal.calibrators._base import DistributionCalibrator
from auxcal.calibrators._softmax import softmax
from auxcal.calibrators._targets import NoClass, entries, rows_to_learn
from auxcal.calibrators.temperature_scaling import fit_temperature
from auxcal.predictions import Predictions


class EnsembleTemperatureScaling(DistributionCalibrator):
    """Ensemble temperature scaling (ETS): w₁ softmax(z / T) + w₂ softmax(z) + w₃ / K.

    T is that of temperature scaling; the weights, which are at least 0 and add up to 1, are those of least negative
    log-likelihood.

    Parameters
    ----------
    no_class : {"leave-out", "uniform"}
        What the fit does with rows of `NO_CLASS`: it leaves them out, or wants the same probability for every class.

    Attributes
    ----------
    temperature_ : float
        T.
    weights_ : array of shape (3,)
        w₁, w₂ and w₃.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal import EnsembleTemperatureScaling
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=(2000, 3))
    >>> y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    >>> y[:1000] = rng.integers(3, size=1000)  # half of the labels are noise, which no temperature can express
    >>> EnsembleTemperatureScaling().fit(logits, y).weights_[2] > 0.3
    np.True_
    """

    abbreviation = "ETS"
    reference = "Zhang et al., ICML 2020"

    def __init__(self, no_class: NoClass = "leave-out") -> None:
        self.no_class = no_class

    def _fit(self, data: Predictions, select: Predictions | None) -> str | None:
        learned = rows_to_learn(data, self.no_class)
        self.temperature_, problem = fit_temperature(learned)
        self.weights_ = np.array([1.0, 0.0, 0.0])
        if learned is not None:
            rows, classes, shares = entries(learned.y, learned.n_classes)
            parts = np.stack([part[rows, classes] for part in self._components(learned.logits)], axis=1)
            found = _fit_weights(parts.astype(np.float64), shares)
            problem = problem if found.success else f"the weights were not found: {found.message}"
            self.weights_ = np.clip(found.x, 0, 1) / np.clip(found.x, 0, 1).sum()
        return problem

    def _components(self, logits: Floats) -> tuple[Floats, Floats, Floats]:
        uniform = np.full_like(logits, 1 / logits.shape[1])
        return softmax(logits / logits.dtype.type(self.temperature_)), softmax(logits), uniform

    def _proba(self, logits: Floats) -> Floats:
        weights = self.weights_.astype(logits.dtype)
        calibrated, raw, uniform = self._components(logits)
        return np.asarray(weights[0] * calibrated + weights[1] * raw + weights[2] * uniform)


def _fit_weights(parts: Floats, shares: Floats):  # type: ignore[no-untyped-def]
    """Minimise the mean of −log(parts · w) over the simplex: convex, with three numbers."""
    tiny = np.finfo(np.float64).tiny

    def loss(w: Floats) -> tuple[float, Floats]:
        mixed = np.maximum(parts @ w, tiny)
        slope = -np.average(parts / mixed[:, None], axis=0, weights=shares)
        return float(-np.average(np.log(mixed), weights=shares)), slope

    return minimize(
        loss,
        x0=[0.8, 0.1, 0.1],
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * 3,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": lambda w: np.ones(3)},
        options={"ftol": 1e-12, "maxiter": 500},
    )
