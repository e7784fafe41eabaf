"""Matrix scaling (MS): a linear map of the logits."""

import numpy as np

from auxcal._core.arrays import Floats
from auxcal._core.logits import softmax
from auxcal._core.memory import check_memory
from auxcal._core.state import numbers
from auxcal.calibrators.base import DistributionCalibrator
from auxcal.calibrators.fitting import as_strength
from auxcal.calibrators.solvers.linear import BYTES_PER_WEIGHT, LinearMap, Penalty, fit_full
from auxcal.calibrators.solvers.targets_and_weights import NoClass, rows_to_learn
from auxcal.calibrators.temperature_scaling import fit_temperature
from auxcal.predictions import Predictions
from auxcal.programs import Operations, Rows, Value, softmax_at


class MatrixScaling(DistributionCalibrator):
    """Matrix scaling (MS): softmax(W z + b), fitted by maximum likelihood.

    With K (K + 1) parameters it needs many labels; with penalties it needs fewer.

    Parameters
    ----------
    off_diagonal : float
        λ, the strength of the penalty on the mean squared off-diagonal weight.
    intercept : float
        μ, the strength of the penalty on the mean squared bias.
    no_class : {"leave-out", "uniform"}
        What the fit does with rows of `NO_CLASS`: leave them out, or use the uniform distribution as their target.

    Attributes
    ----------
    weight_ : array of shape (K, K)
        W.
    bias_ : array of shape (K,)
        b.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal import MatrixScaling
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=(5000, 3))
    >>> y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    >>> swapped = MatrixScaling().fit(logits[:, [1, 0, 2]], y)  # two columns in the wrong order
    >>> swapped.weight_.argmax(axis=1)
    array([1, 0, 2])
    """

    abbreviation = "MS"
    reference = "Guo et al., ICML 2017"
    learned = {"weight_": numbers("K", "K"), "bias_": numbers("K")}  # noqa: RUF012
    uses_weights = True

    def __init__(self, off_diagonal: float = 0.0, intercept: float = 0.0, no_class: NoClass = "leave-out") -> None:
        self.off_diagonal = off_diagonal
        self.intercept = intercept
        self.no_class = no_class

    def _fit(self, data: Predictions) -> str | None:
        check_memory(BYTES_PER_WEIGHT * data.n_classes**2, f"{type(self).__name__} with {data.n_classes:,} classes")
        penalty = Penalty(as_strength(self.off_diagonal, "off_diagonal"), as_strength(self.intercept, "intercept"))
        learned = rows_to_learn(data, self.no_class)
        temperature, problem = fit_temperature(learned)
        found = LinearMap(np.eye(data.n_classes) / temperature, np.zeros(data.n_classes), np.nan, problem)
        if learned is not None:
            found = fit_full(learned.logits, learned.y, found, penalty, learned.sample_weight)
        self.weight_, self.bias_ = found.weight, found.bias
        return found.problem

    def _proba(self, logits: Floats) -> Floats:
        return softmax(logits @ self.weight_.T.astype(logits.dtype) + self.bias_.astype(logits.dtype))

    def _n_free(self) -> int:
        return self.weight_.size + self.bias_.size

    def _program(self, ops: Operations, rows: Rows) -> Value:
        scores = ops.matmul(rows.logits, ops.constant(self.weight_.T, "weight")) + ops.constant(self.bias_, "bias")
        return softmax_at(ops, scores, rows.prediction)
