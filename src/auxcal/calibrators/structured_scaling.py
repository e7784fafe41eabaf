"""Structured vector and matrix scaling (SVS, SMS): a temperature and penalised corrections for every class."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from auxcal._core.arrays import Floats
from auxcal._core.logits import log_softmax, softmax
from auxcal._core.memory import check_memory
from auxcal._core.state import numbers
from auxcal.calibrators.base import DistributionCalibrator
from auxcal.calibrators.fitting import as_strength
from auxcal.calibrators.solvers.linear import BYTES_PER_WEIGHT, Diagonal, Full, Ridge
from auxcal.calibrators.solvers.newton import Design, minimise
from auxcal.calibrators.solvers.targets_and_weights import NoClass, rows_to_learn
from auxcal.calibrators.temperature_scaling import TEMPERATURE, fit_temperature
from auxcal.predictions import Predictions
from auxcal.programs import Operations, Rows, Value, softmax_at


class StructuredVectorScaling(DistributionCalibrator):
    """Structured vector scaling (SVS): softmax(x + v ∘ x + b) of x = log softmax(z / T).

    T is that of temperature scaling. Then v and b minimise the negative log-likelihood + K/n · (Σ v² + Σ b²). With few
    labels per class the result is close to temperature scaling, with many to vector scaling.

    Parameters
    ----------
    strength : float
        A factor that multiplies the penalties.
    no_class : {"leave-out", "uniform"}
        What the fit does with rows of `NO_CLASS`: leave them out, or use the uniform distribution as their target.

    Attributes
    ----------
    temperature_ : float
        T.
    weight_, bias_ : arrays of shape (K,)
        1 + v and b.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal import StructuredVectorScaling
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=(5000, 2))
    >>> y = (logits + [0, 1] + rng.gumbel(size=logits.shape)).argmax(axis=1)
    >>> many, few = (StructuredVectorScaling().fit(logits[:n], y[:n]) for n in (5000, 20))
    >>> np.diff(many.bias_).round(1), np.diff(few.bias_).round(1)
    (array([1.]), array([0.6]))
    """

    abbreviation = "SVS"
    reference = "Berta et al., arXiv 2511.03685"
    learned = {"temperature_": TEMPERATURE, "weight_": numbers("K"), "bias_": numbers("K")}  # noqa: RUF012
    uses_weights = True

    def __init__(self, strength: float = 1.0, no_class: NoClass = "leave-out") -> None:
        self.strength = strength
        self.no_class = no_class

    def _fit(self, data: Predictions) -> str | None:
        k = data.n_classes
        identity = np.column_stack([np.ones(k), np.zeros(k)])
        ridge = Ridge(identity, as_strength(self.strength, "strength") * np.full((k, 2), k))
        found = _fit_structured(rows_to_learn(data, self.no_class), Diagonal, ridge)
        self.temperature_, (self.weight_, self.bias_) = found.temperature, found.theta.T
        return found.problem

    def _proba(self, logits: Floats) -> Floats:
        x = _scaled(logits, self.temperature_)
        return softmax(x * self.weight_.astype(x.dtype) + self.bias_.astype(x.dtype))

    def _program(self, ops: Operations, rows: Rows) -> Value:
        x = ops.log_softmax(rows.logits / ops.constant(self.temperature_, "temperature"))
        scores = x * ops.constant(self.weight_, "weight") + ops.constant(self.bias_, "bias")
        return softmax_at(ops, scores, rows.prediction)


class StructuredMatrixScaling(DistributionCalibrator):
    """Structured matrix scaling (SMS): softmax(x + v ∘ x + M x + b) of x = log softmax(z / T).

    T is that of temperature scaling. Then v, b and M, which has a zero diagonal, minimise the negative log-likelihood +
    K/n · (Σ v² + Σ b²) + K (K − 1)/n · Σ M². With few labels per class the result is close to temperature scaling, with
    many to matrix scaling.

    Parameters
    ----------
    strength : float
        A factor that multiplies the penalties.
    no_class : {"leave-out", "uniform"}
        What the fit does with rows of `NO_CLASS`: leave them out, or use the uniform distribution as their target.

    Attributes
    ----------
    temperature_ : float
        T.
    weight_ : array of shape (K, K)
        I + diag v + M.
    bias_ : array of shape (K,)
        b.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal import StructuredMatrixScaling
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=(5000, 3))
    >>> neighbours = logits[:, [1, 2, 0]]  # are evidence for the class before them too
    >>> y = (logits + neighbours / 2 + rng.gumbel(size=logits.shape)).argmax(axis=1)
    >>> StructuredMatrixScaling().fit(logits, y).weight_ > 0
    array([[ True,  True, False],
           [False,  True,  True],
           [ True, False,  True]])
    """

    abbreviation = "SMS"
    reference = "Berta et al., arXiv 2511.03685"
    learned = {"temperature_": TEMPERATURE, "weight_": numbers("K", "K"), "bias_": numbers("K")}  # noqa: RUF012
    uses_weights = True

    def __init__(self, strength: float = 1.0, no_class: NoClass = "leave-out") -> None:
        self.strength = strength
        self.no_class = no_class

    def _fit(self, data: Predictions) -> str | None:
        check_memory(BYTES_PER_WEIGHT * data.n_classes**2, f"{type(self).__name__} with {data.n_classes:,} classes")
        k = data.n_classes
        counts = np.full((k, k + 1), k * (k - 1))
        np.fill_diagonal(counts, k)
        counts[:, k] = k
        ridge = Ridge(np.eye(k, k + 1), as_strength(self.strength, "strength") * counts)
        found = _fit_structured(rows_to_learn(data, self.no_class), _full, ridge)
        self.temperature_, self.weight_, self.bias_ = found.temperature, found.theta[:, :k], found.theta[:, k]
        return found.problem

    def _proba(self, logits: Floats) -> Floats:
        x = _scaled(logits, self.temperature_)
        return softmax(x @ self.weight_.T.astype(x.dtype) + self.bias_.astype(x.dtype))

    def _program(self, ops: Operations, rows: Rows) -> Value:
        x = ops.log_softmax(rows.logits / ops.constant(self.temperature_, "temperature"))
        scores = ops.matmul(x, ops.constant(self.weight_.T, "weight")) + ops.constant(self.bias_, "bias")
        return softmax_at(ops, scores, rows.prediction)


class Found(NamedTuple):
    """T and θ = [W, b], and what is wrong with them, if anything."""

    temperature: float
    theta: Floats
    problem: str | None


def _fit_structured(data: Predictions | None, design: Callable[[Floats], Design], penalty: Ridge) -> Found:
    """Fit the temperature, then the penalised corrections; the penalty is divided by the number of rows.

    The order and the strengths are those of the paper's second version and of its authors' package, probmetrics 1.1.
    Unlike there, the scaled probabilities are not mixed with a little of the uniform distribution.
    """
    temperature, problem = fit_temperature(data)
    if data is None:
        return Found(temperature, penalty.centre, problem)
    ridge = Ridge(penalty.centre, penalty.strengths / data.total_weight)
    x = _scaled(data.logits, temperature).astype(np.float32, copy=False)
    theta, _, unsolved = minimise(design(x), data.y, penalty.centre, ridge, sample_weight=data.sample_weight)
    return Found(temperature, theta, problem or unsolved)


def _full(x: Floats) -> Full:
    return Full(np.column_stack([x, np.ones_like(x[:, 0])]))


def _scaled(logits: Floats, temperature: float) -> Floats:
    """Return log softmax(z / T), so that a constant added to a row of logits does not change the penalties."""
    return log_softmax(logits / logits.dtype.type(temperature))
