"""The two base calibrators of CCAC-X that map one score, the classifier's own log-odds of the prediction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auxcal._core.arrays import Bools, Floats, Ints, Weight
from auxcal._core.logits import logit
from auxcal.calibrators.beta_calibration import beta_log_odds, beta_program, fit_beta
from auxcal.calibrators.binary import Sample
from auxcal.calibrators.isotonic_calibration import fit_isotonic
from auxcal.calibrators.solvers.targets_and_weights import size
from auxcal.programs import Operations, Value, between_knots


class ScoreMaps(NamedTuple):
    """a, b and c of beta calibration, and the knots of isotonic regression in log-odds."""

    coefficients: Floats
    knots: Floats

    def log_odds(self, scores: Floats) -> Floats:
        """Return the log-odds of the prediction by each of the two, of shape (n, 2)."""
        log_odds = np.empty((len(scores), 2))
        log_odds[:, 0] = beta_log_odds(scores, self.coefficients)
        log_odds[:, 1] = np.interp(scores, *self.knots)
        return log_odds

    def program(self, ops: Operations, score: Value) -> Value:
        """Write `log_odds` as a program for torch and ONNX."""
        beta = beta_program(ops, score, self.coefficients[None], None)
        return ops.concatenate([beta, between_knots(ops, score, [self.knots])])


def cross_fit_maps(
    scores: Floats, correct: Bools, folds: Ints, weight: Weight | None = None
) -> tuple[ScoreMaps, Floats, str | None]:
    """Return the maps of all rows, the out-of-fold log-odds of each row, and what is wrong with a fit, if anything."""
    held_out = np.empty((len(scores), 2))
    for fold in range(folds.max() + 1):
        rows = folds == fold
        others = None if weight is None else weight[~rows]
        held_out[rows] = _fit_maps(scores[~rows], correct[~rows], others)[0].log_odds(scores[rows])
    maps, converged = _fit_maps(scores, correct, weight)
    return maps, held_out, None if converged else "beta calibration did not reach its optimum."


def _fit_maps(scores: Floats, correct: Bools, weight: Weight | None) -> tuple[ScoreMaps, bool]:
    sample = Sample.of(scores, correct, slice(None), weight)
    coefficients, converged = fit_beta(sample)
    x, levels = fit_isotonic(sample)
    # A level of 0 or 1 only means that its rows had no hit or no miss: no level is surer than half a row of all.
    doubt = 0.5 / (size(len(scores), weight) + 1)
    return ScoreMaps(coefficients, np.stack([x, logit(np.clip(levels, doubt, 1 - doubt))])), converged
