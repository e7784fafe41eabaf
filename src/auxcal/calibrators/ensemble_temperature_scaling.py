"""Ensemble temperature scaling (ETS): a mixture of calibrated, raw and uniform probabilities."""

import numpy as np

from auxcal._core.arrays import Floats
from auxcal._core.logits import softmax
from auxcal.calibrators.base import DistributionCalibrator
from auxcal.calibrators.solvers.targets_and_weights import NoClass, entries, rows_to_learn
from auxcal.calibrators.temperature_scaling import fit_temperature
from auxcal.predictions import Predictions
from auxcal.programs import Operations, Rows, Value, softmax_at

_MAX_STEPS = 100  # a safeguard: a fit that reaches it warns
_MAX_HALVINGS = 30  # a billionth of the step is left
_WORTHWHILE = 1e-12  # nats for each row: what Newton's step must promise for another to follow it
_RIDGE = 1e-12  # decides only what the data leave open: at T = 1 two of the parts are one


class EnsembleTemperatureScaling(DistributionCalibrator):
    """Ensemble temperature scaling (ETS): w₁ softmax(z / T) + w₂ softmax(z) + w₃ / K.

    T is that of temperature scaling. The weights are non-negative, sum to 1, and minimise the negative log-likelihood.

    Parameters
    ----------
    no_class : {"leave-out", "uniform"}
        What the fit does with rows of `NO_CLASS`: leave them out, or use the uniform distribution as their target.

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
    learned = {"temperature_": (), "weights_": (3,)}  # noqa: RUF012
    uses_weights = True

    def __init__(self, no_class: NoClass = "leave-out") -> None:
        self.no_class = no_class

    def _fit(self, data: Predictions) -> str | None:
        learned = rows_to_learn(data, self.no_class)
        self.temperature_, problem = fit_temperature(learned)
        self.weights_ = np.array([1.0, 0.0, 0.0])
        if learned is not None:
            self.weights_, converged = _fit_weights(*_likelihoods(learned, self.temperature_))
            problem = problem if converged else "the weights were not found."
        return problem

    def _components(self, logits: Floats) -> tuple[Floats, Floats, Floats]:
        uniform = np.full_like(logits, 1 / logits.shape[1])
        return softmax(logits / logits.dtype.type(self.temperature_)), softmax(logits), uniform

    def _proba(self, logits: Floats) -> Floats:
        weights = self.weights_.astype(logits.dtype)
        calibrated, raw, uniform = self._components(logits)
        return np.asarray(weights[0] * calibrated + weights[1] * raw + weights[2] * uniform)

    def _program(self, ops: Operations, rows: Rows) -> Value:
        scaled = rows.logits / ops.constant(self.temperature_, "temperature")
        parts = [softmax_at(ops, scores, rows.prediction) for scores in (scaled, rows.logits)]
        weights = ops.constant(self.weights_[:2, None], "weights")
        return ops.matmul(ops.concatenate(parts), weights) + float(self.weights_[2]) / self.n_features_in_


def _likelihoods(data: Predictions, temperature: float) -> tuple[Floats, Floats]:
    """Return the probability of y under each of the three parts, of shape (3, m), and the weight of each column."""
    rows, classes, shares = entries(data.y, data.n_classes)
    z = data.logits - data.logits.max(axis=1, keepdims=True)
    e = np.exp(z / z.dtype.type(temperature)), np.exp(z, out=z)
    parts = [part[rows, classes] / part.sum(axis=1)[rows] for part in e]
    parts.append(np.full_like(parts[0], 1 / data.n_classes))
    if data.sample_weight is not None:
        shares *= data.sample_weight[rows]
    return np.stack(parts, dtype=np.float64), shares / data.total_weight


def _fit_weights(parts: Floats, shares: Floats) -> tuple[Floats, bool]:
    """Return the weights that minimise the mean of −log(w · parts), and whether the search converged.

    Adding Σ w to the loss makes its minimum one with Σ w = 1, so the only constraint left is w ≥ 0, and a Newton step
    is a non-negative least-squares problem.
    """
    from scipy.optimize import nnls

    w = np.array([0.8, 0.1, 0.1])
    for _ in range(_MAX_STEPS):
        mixed = w @ parts
        ratio = parts / mixed
        mean, curvature = ratio @ shares, ratio * shares @ ratio.T
        root = np.linalg.cholesky(curvature + _RIDGE * np.trace(curvature) * np.eye(3))
        optimum, _ = nnls(root.T, np.linalg.solve(root, 2 * mean - 1))
        if (optimum - w) @ curvature @ (optimum - w) <= _WORTHWHILE:
            return optimum / optimum.sum(), True
        # At 0 the logarithm can be steep beyond any return: no weight loses more than nine tenths at once.
        step = (optimum - w) * 0.9 / max(0.9, np.max(1 - optimum / w))
        before = _loss(mixed, w, shares)
        for _ in range(_MAX_HALVINGS):
            if _loss((w + step) @ parts, w + step, shares) <= before:
                break
            step /= 2
        w = w + step
    return w / w.sum(), False


def _loss(mixed: Floats, w: Floats, shares: Floats) -> float:
    return float(w.sum() - shares @ np.log(np.maximum(mixed, np.finfo(np.float64).tiny)))
