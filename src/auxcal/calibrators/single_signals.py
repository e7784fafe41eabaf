"""Base calibrators of one signal each: beta calibration and isotonic regression of a number, up or down."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auxcal._core.arrays import Bools, Floats, Ints, Weight
from auxcal._core.logits import logit
from auxcal.calibrators.ccac_x.score_maps import ScoreMaps, cross_fit_maps
from auxcal.calibrators.solvers.targets_and_weights import deviation, mean
from auxcal.programs import Operations, Value

_FEWEST = 20  # known values that a map learns from; the base rate serves for fewer
_GAP_ROWS = 2.0  # answers at the base rate that are added to those with a gap


class SignalMaps(NamedTuple):
    """Maps of one number's score, (x − centre) · slope, and the log-odds where it is missing."""

    centre: float
    slope: float
    coefficients: Floats
    knots: Floats
    gap: float

    def log_odds(self, x: Floats) -> Floats:
        """Return the log-odds by each of the two maps, of shape (n, 2)."""
        missing = np.isnan(x)
        scores = (np.where(missing, self.centre, x) - self.centre) * self.slope
        both = ScoreMaps(self.coefficients, self.knots).log_odds(scores)
        both[missing] = self.gap
        return both

    def program(self, ops: Operations, x: Value) -> Value:
        """Write `log_odds` as a program for torch and ONNX, without gaps."""
        return ScoreMaps(self.coefficients, self.knots).program(ops, (x - self.centre) * self.slope)


def cross_fit_signal(
    x: Floats, correct: Bools, folds: Ints, base: float, weight: Weight | None, *, rises: bool
) -> tuple[SignalMaps, Floats]:
    """Return the maps of a number, with NaN for gaps, and its out-of-fold log-odds by both of them.

    `base` is the log-odds of a right answer. The maps must rise if `rises`; otherwise the correlation decides.
    """
    known = ~np.isnan(x)
    of_known = None if weight is None else weight[known]
    held_out = np.full((len(x), 2), base)
    gap = _gap(correct, ~known, base, weight)
    for fold in range(folds.max() + 1):
        held_out[~known & (folds == fold)] = _gap(correct, ~known & (folds != fold), base, weight)
    spread = float(deviation(x[known], of_known)) if known.any() else 0.0
    in_fold = np.bincount(folds[known], minlength=1)
    if known.sum() < _FEWEST or in_fold.max() == known.sum() or not spread > 0:
        flat = np.array([[-1.0, 1.0], [base, base]])
        return SignalMaps(0.0, 0.0, np.array([0.0, 0.0, base]), flat, gap), held_out
    centre = float(mean(x[known], of_known))
    ranks = np.argsort(np.argsort(x[known], kind="stable"), kind="stable")
    up = rises or np.cov(ranks, correct[known], aweights=of_known)[0, 1] >= 0
    slope = (1 if up else -1) / spread
    maps, out_of_fold, _ = cross_fit_maps((x[known] - centre) * slope, correct[known], _dense(folds[known]), of_known)
    held_out[known] = out_of_fold
    return SignalMaps(centre, slope, maps.coefficients, maps.knots, gap), held_out


def _gap(correct: Bools, rows: Bools, base: float, weight: Weight | None) -> float:
    """Return the log-odds of a right answer among some rows, drawn towards the base rate."""
    counted = rows.astype(float) if weight is None else rows * weight
    prior = _GAP_ROWS / (1 + np.exp(-base))
    return float(logit((counted @ correct + prior) / (counted.sum() + _GAP_ROWS)))


def _dense(folds: Ints) -> Ints:
    """Return folds numbered without the empty ones."""
    return np.unique(folds, return_inverse=True)[1]
