"""Matrix scaling (MS): a linear map of the logits."""

from auxcal.calibrators.fitting import as_strength
from auxcal.calibrators.linear_scaling import LinearCalibrator
from auxcal.calibrators.solvers.linear import Penalty, fit_full
from auxcal.calibrators.solvers.targets_and_weights import NoClass
from auxcal.predictions import Predictions


class MatrixScaling(LinearCalibrator):
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
    learned = {"weight_": ("K", "K"), "bias_": ("K",)}  # noqa: RUF012

    def __init__(self, off_diagonal: float = 0.0, intercept: float = 0.0, no_class: NoClass = "leave-out") -> None:
        self.off_diagonal = off_diagonal
        self.intercept = intercept
        self.no_class = no_class

    def _fit(self, data: Predictions) -> str | None:
        penalty = Penalty(as_strength(self.off_diagonal, "off_diagonal"), as_strength(self.intercept, "intercept"))
        learned, fit = self._start(data)
        if learned is not None:
            fit = fit_full(learned.logits, learned.y, fit, penalty, learned.sample_weight)
        self.weight_, self.bias_ = fit.weight, fit.bias
        return fit.problem

    def _n_free(self) -> int:
        return self.weight_.size + self.bias_.size
