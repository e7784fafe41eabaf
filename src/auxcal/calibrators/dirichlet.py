"""Dirichlet calibration with ODIR regularisation."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from auxcal._core.arrays import Floats
from auxcal._core.logits import at_prediction, log_softmax
from auxcal.calibrators.fitting import SelectBy, as_candidates, check_select_by, select_score
from auxcal.calibrators.linear_scaling import LinearCalibrator, linear_softmax
from auxcal.calibrators.solvers.linear import LinearMap, Penalty, fit_full
from auxcal.calibrators.solvers.targets_and_weights import NoClass
from auxcal.predictions import Predictions
from auxcal.programs import Operations, Value


class Dirichlet(LinearCalibrator):
    """Dirichlet calibration: softmax(W log p + b) with ODIR regularisation.

    The loss is the negative log-likelihood + λ · mean of the squared off-diagonal weights + μ · mean of the squared
    biases.

    Parameters
    ----------
    off_diagonal : float or sequence of float
        λ. A sequence is searched on the select part, a number is fixed.
    intercept : float or sequence of float
        μ, likewise.
    select_by : {"ece", "brier", "nll"}
        The score that the search minimises.
    random_state : int or None
        The source of the select part if none is given.
    no_class : {"leave-out", "uniform"}
        What the fit does with rows of `NO_CLASS`: leave them out, or use the uniform distribution as their target.
        In the select part they always count as wrong.

    Attributes
    ----------
    weight_ : array of shape (K, K)
        W.
    bias_ : array of shape (K,)
        b.
    off_diagonal_, intercept_ : float
        The λ and μ that were chosen.
    candidates_ : dict of str to array
        Every λ, μ and its score on the select part.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal import Dirichlet
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=(3000, 3))
    >>> y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    >>> calibrator = Dirichlet(random_state=1).fit(2 * logits, y)
    >>> np.diagonal(calibrator.weight_).round(1)
    array([0.5, 0.5, 0.5])
    """

    abbreviation = "Dirichlet"
    reference = "Kull et al., NeurIPS 2019"
    learned = {  # noqa: RUF012
        "weight_": ("K", "K"), "bias_": ("K",), "off_diagonal_": (), "intercept_": (), "candidates_": None
    }  # fmt: skip

    def __init__(
        self,
        off_diagonal: float | Sequence[float] = (1e-3, 1e-1, 1e1),
        intercept: float | Sequence[float] = (1e-3, 1e-1, 1e1),
        select_by: SelectBy = "ece",
        random_state: int | None = None,
        no_class: NoClass = "leave-out",
    ) -> None:
        self.off_diagonal = off_diagonal
        self.intercept = intercept
        self.select_by = select_by
        self.random_state = random_state
        self.no_class = no_class

    def _grid(self) -> list[Penalty]:
        strengths = as_candidates(self.off_diagonal, "off_diagonal"), as_candidates(self.intercept, "intercept")
        # From strong to weak, so that each fit starts near its optimum, at the one before.
        return [Penalty(*pair) for pair in sorted(product(*strengths), reverse=True)]

    def _searches(self, n_classes: int) -> bool:
        check_select_by(self.select_by)
        return len(self._grid()) > 1

    def _fit(self, data: Predictions) -> str | None:
        return self._keep(self._fits(data), np.full(1, np.nan))

    def _search(self, data: Predictions, select: Predictions) -> str | None:
        fits = self._fits(data)
        return self._keep(fits, np.array([self._score(fit, select) for fit in fits]))

    def _fits(self, data: Predictions) -> list[LinearMap]:
        """Return the fit of every penalty of the grid."""
        grid = self._grid()
        learned, fit = self._start(data)
        fits = [fit] * len(grid)
        if learned is not None:
            x = self._inputs(learned.logits)
            for index, penalty in enumerate(grid):
                fits[index] = fit = fit_full(x, learned.y, fit, penalty, learned.sample_weight)
        return fits

    def _keep(self, fits: list[LinearMap], scores: Floats) -> str | None:
        """Keep the fit of least score, and return what is wrong with it, if anything."""
        grid, best = self._grid(), int(scores.argmin())
        self.weight_, self.bias_ = fits[best].weight, fits[best].bias
        self.off_diagonal_, self.intercept_ = grid[best].off_diagonal, grid[best].intercept
        self.candidates_ = {
            "off_diagonal": np.array([penalty.off_diagonal for penalty in grid]),
            "intercept": np.array([penalty.intercept for penalty in grid]),
            "score": scores,
        }
        return fits[best].problem

    def _score(self, fit: LinearMap, select: Predictions) -> float:
        proba = linear_softmax(fit.weight, fit.bias, self._inputs(select.logits))
        return select_score(self.select_by, at_prediction(proba, select.logits), select)

    def _inputs(self, logits: Floats) -> Floats:
        return log_softmax(logits)

    def _program_inputs(self, ops: Operations, logits: Value) -> Value:
        return ops.log_softmax(logits)
