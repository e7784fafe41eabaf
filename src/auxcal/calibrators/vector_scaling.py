"""Vector scaling (VS): a temperature and an offset for each class."""

from auxcal.calibrators.linear_scaling import LinearCalibrator
from auxcal.calibrators.solvers.linear import fit_diagonal
from auxcal.calibrators.solvers.targets_and_weights import NoClass
from auxcal.predictions import Predictions


class VectorScaling(LinearCalibrator):
    """Vector scaling (VS): softmax(v ∘ z + b), fitted by maximum likelihood.

    It starts from the optimal temperature.

    Parameters
    ----------
    no_class : {"leave-out", "uniform"}
        What the fit does with rows of `NO_CLASS`: leave them out, or use the uniform distribution as their target.

    Attributes
    ----------
    weight_, bias_ : arrays of shape (K,)
        v and b.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal import VectorScaling
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=(5000, 2))
    >>> y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    >>> VectorScaling().fit(logits * [2, 4], y).weight_.round(1)
    array([0.5, 0.3])
    """

    abbreviation = "VS"
    reference = "Guo et al., ICML 2017"
    learned = {"weight_": ("K",), "bias_": ("K",)}  # noqa: RUF012

    def __init__(self, no_class: NoClass = "leave-out") -> None:
        self.no_class = no_class

    def _fit(self, data: Predictions) -> str | None:
        learned, fit = self._start(data, diagonal=True)
        if learned is not None:
            fit = fit_diagonal(learned.logits, learned.y, fit, learned.sample_weight)
        self.weight_, self.bias_ = fit.weight, fit.bias
        return fit.problem

    def _n_free(self) -> int:
        return self.weight_.size + self.bias_.size
