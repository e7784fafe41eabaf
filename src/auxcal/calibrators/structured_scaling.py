"""Structured vector and matrix scaling (SVS, SMS): a temperature and penalised corrections for every class."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from auxcal._core.arrays import Floats
from auxcal._core.logits import log_softmax
from auxcal.calibrators.fitting import as_strength
from auxcal.calibrators.linear_scaling import LinearCalibrator, check_matrix
from auxcal.calibrators.solvers.linear import Diagonal, Full, Ridge
from auxcal.calibrators.solvers.newton import Design, minimise
from auxcal.calibrators.solvers.targets_and_weights import NoClass, rows_to_learn
from auxcal.calibrators.temperature_scaling import fit_temperature
from auxcal.predictions import Predictions
from auxcal.programs import Operations, Value


class StructuredScaling(LinearCalibrator):
    """A temperature T, then penalised corrections of x = log softmax(z / T).

    So a constant that is added to a row of logits does not change the penalties. The order and the strengths are those
    of the paper's second version and of its authors' package, probmetrics 1.1. Unlike there, the scaled probabilities
    are not mixed with a little of the uniform distribution.
    """

    reference = "Berta et al., arXiv 2511.03685"
    temperature_: float

    def __init__(self, strength: float = 1.0, no_class: NoClass = "leave-out") -> None:
        self.strength = strength
        self.no_class = no_class

    def _corrected(
        self, data: Predictions, design: Callable[[Floats], Design], penalty: Ridge
    ) -> tuple[Floats, str | None]:
        """Fit T and θ = [W, b], with the penalty divided by the number of rows; return θ and what is wrong with it."""
        strengths, learned = (
            as_strength(self.strength, "strength") * penalty.strengths,
            rows_to_learn(data, self.no_class),
        )
        self.temperature_, problem = fit_temperature(learned)
        if learned is None:
            return penalty.centre, problem
        ridge = Ridge(penalty.centre, strengths / learned.total_weight)
        x = self._inputs(learned.logits).astype(np.float32, copy=False)
        theta, _, unsolved = minimise(design(x), learned.y, penalty.centre, ridge, sample_weight=learned.sample_weight)
        return theta, problem or unsolved

    def _inputs(self, logits: Floats) -> Floats:
        return log_softmax(logits / logits.dtype.type(self.temperature_))

    def _program_inputs(self, ops: Operations, logits: Value) -> Value:
        return ops.log_softmax(logits / ops.constant(self.temperature_, "temperature"))


class StructuredVectorScaling(StructuredScaling):
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
    learned = {"temperature_": (), "weight_": ("K",), "bias_": ("K",)}  # noqa: RUF012

    def _fit(self, data: Predictions) -> str | None:
        k = data.n_classes
        identity = np.column_stack([np.ones(k), np.zeros(k)])
        theta, problem = self._corrected(data, Diagonal, Ridge(identity, np.full((k, 2), k)))
        self.weight_, self.bias_ = theta.T
        return problem


class StructuredMatrixScaling(StructuredScaling):
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
    learned = {"temperature_": (), "weight_": ("K", "K"), "bias_": ("K",)}  # noqa: RUF012

    def _fit(self, data: Predictions) -> str | None:
        k = data.n_classes
        check_matrix(self, k)
        counts = np.full((k, k + 1), k * (k - 1))
        np.fill_diagonal(counts, k)
        counts[:, k] = k
        theta, problem = self._corrected(data, Full.of, Ridge(np.eye(k, k + 1), counts))
        self.weight_, self.bias_ = theta[:, :k], theta[:, k]
        return problem
