"""The plain voices of CCAC-X: two maps of one score, the classifier's own log-odds of the prediction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logit

from auxcal._arrays import Floats, Ints
from auxcal.calibrators._binary import top_scores
from auxcal.calibrators.beta_calibration import BetaCalibration, beta_log_odds
from auxcal.calibrators.isotonic_calibration import IsotonicCalibration
from auxcal.predictions import Predictions


class ScoreMaps(NamedTuple):
    """a, b and c of beta calibration, and the knots of isotonic regression in log-odds."""

    coefficients: Floats
    knots: Floats

    def log_odds(self, scores: Floats) -> Floats:
        """Return the log-odds of the prediction by each of the two, of shape (n, 2)."""
        return np.stack([beta_log_odds(scores, self.coefficients), np.interp(scores, *self.knots)], axis=1)


def cross_fit_maps(data: Predictions, folds: Ints) -> tuple[ScoreMaps, Floats]:
    """Return the maps of all rows, and for each row the log-odds by the maps that have not seen it."""
    scores = top_scores(data.logits)
    held_out = np.empty((len(data), 2))
    for fold in range(folds.max() + 1):
        rows = folds == fold
        held_out[rows] = _fit_maps(data.take(~rows)).log_odds(scores[rows])
    return _fit_maps(data), held_out


def _fit_maps(data: Predictions) -> ScoreMaps:
    (coefficients,) = BetaCalibration().fit(data.logits, data.y).coefficients_
    (knots,) = IsotonicCalibration().fit(data.logits, data.y).knots_
    # A level of 0 or 1 says that no error was among its rows, or no hit, not that there is none.
    doubt = min(0.02, 0.25 / np.sqrt(len(data)))
    return ScoreMaps(coefficients, np.stack([knots[0], logit(np.clip(knots[1], doubt, 1 - doubt))]))
