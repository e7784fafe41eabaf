"""CCAC-X: the auxiliary class, cross-fitted."""

from __future__ import annotations

from typing import Any

import numpy as np

from auxcal._core.arrays import Floats, Ints, as_whole
from auxcal._core.logits import RelativeLogits, expit, relative
from auxcal.calibrators.base import ProbaCalibrator
from auxcal.calibrators.ccac_x.correction import FEW_ROWS, Correction, describe, describe_program, fit_correction
from auxcal.calibrators.ccac_x.evidence import log_likelihoods, weights_by_evidence
from auxcal.calibrators.ccac_x.open_map import (
    OpenMap,
    cross_fit,
    distribute,
    held_out_strata,
    near_program,
    read,
    read_program,
)
from auxcal.calibrators.ccac_x.score_maps import ScoreMaps, cross_fit_maps
from auxcal.calibrators.ccac_x.shared_curve import SharedCurve, cross_fit_curve
from auxcal.calibrators.copies import merge_copies, weigh_units
from auxcal.predictions import Predictions
from auxcal.programs import Operations, Rows, Value

# Chosen on other random states than those reported (docs/evidence/design.md); benchmarks/evidence/ablation.py
# varies it. Without any rows, of beta calibration, isotonic regression, the open map and the shared curve, unscaled.
_PRIOR = np.array([0.1, 0.01, 0.89, 0.03])
_FARTHEST = 15.0  # log-odds at which a base calibrator is clipped: one in three million
_NEGLIGIBLE = 1e-9  # weights of base calibrators below this make no difference in float32
_LEAST_SHARE = 0.02  # of the curve: a smaller one makes next to no difference, and scoring is faster without it
_ENOUGH = 300_000  # rows: at 100,000 the error still falls (benchmarks/evidence/enough_rows.py); a million take minutes
_MOST_LOGITS = 10**8  # 400 MB of float32, and a fit keeps several copies


class CCACX(ProbaCalibrator):
    """CCAC-X: four calibrators, stacked by their out-of-fold predictions, and an additive correction.

    The first, the open map, is a linear map of the logits onto the K classes and one more for samples of none of them,
    with a prior around temperature scaling. The others are beta calibration, isotonic regression, and a softmax of
    logits that were bent by one curve. Each is fitted once without each fold, and the out-of-fold predictions give the
    stacking weights. An additive model of ranked logits, of the open map's readings and of the predicted class then
    corrects their weighted mean. The widths of all priors are chosen by evidence; with few rows they stay narrow. Every
    fit is convex, and no validation set is needed: one that is given is used like the other rows. The rows of a group
    stay together, and count by the information they hold: copies as one row. Copies and nearly equal rows are found
    without groups.

    Parameters
    ----------
    n_folds : int
        The number of folds.
    random_state : int or None
        The source of the folds.

    Attributes
    ----------
    score_maps_ : tuple
        The coefficients of beta calibration, and the knots of isotonic regression in log-odds.
    open_map_ : tuple
        The weights of the open map, and the centre and basis of its coordinates.
    voices_ : array of shape (3,)
        The stacking weights of beta calibration, isotonic regression and the open map.
    curve_ : tuple, or None
        The share that the shared curve has instead of these three, whether it sees the logits less their median, their
        mean, the range, knots and weights of the curve, and the score of none of the classes. None where it has no
        share.
    correction_ : tuple
        The range and the knots of the inputs, the weights of the curves, the slope and the offset.
    effects_ : array of shape (K,), or None
        What is added to the log-odds of each predicted class, if there are such effects.
    widths_ : dict
        The standard deviations of the priors, chosen by evidence: of the open map's biases and shared weights, and of
        the correction.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal import NO_CLASS, CCACX
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=2000)
    >>> logits = 3 * np.eye(3)[y] + rng.normal(size=(2000, 3))
    >>> logits[1000:] = rng.normal(size=(1000, 3)) + [4, 4, 4]  # samples of no class give other logits
    >>> y[1000:] = NO_CLASS
    >>> calibrator = CCACX(random_state=0).fit(logits, y)
    >>> calibrator.predict_confidence([[3.5, 0.0, 0.0], [6.5, 3.5, 3.5]]).round(1)
    array([1., 0.])
    """

    abbreviation = "CCAC-X"
    reference = "this library, after Shao et al., 2020"
    uses_weights = True
    uses_features = True
    cross_fits = True
    has_ood_column = True

    score_maps_: tuple[Any, ...]
    open_map_: tuple[Any, ...]
    correction_: tuple[Any, ...]
    effects_: Floats | None
    curve_: tuple[Any, ...] | None

    learned = {"voices_": (3,)} | dict.fromkeys(
        ("score_maps_", "open_map_", "correction_", "effects_", "curve_", "widths_")
    )

    def __init__(self, n_folds: int = 5, random_state: int | None = None) -> None:
        self.n_folds = n_folds
        self.random_state = random_state

    def _fit(self, data: Predictions) -> str | None:
        n_folds = as_whole(self.n_folds, "n_folds", least=2)
        data, of_row = merge_copies(data)
        n_rows, data = len(data), data.take(data.spread_rows(min(_ENOUGH, _MOST_LOGITS // data.n_classes)))
        # So that the kind of array does not matter, all is float32.
        data = weigh_units(data._with(logits=data.logits.astype(np.float32, copy=False)))
        folds, weight = data.folds(min(n_folds, data.n_units), self.random_state), data.sample_weight
        near = relative(data.logits)
        maps, of_score, *problems = cross_fit_maps(near.top_scores, data.correct, folds, weight)
        fits = cross_fit(data, near, folds)
        curve, of_curve = cross_fit_curve(data, near, folds)
        stacked = _stacked(of_score, fits.readings, of_curve)
        voices, share = _weigh(log_likelihoods(stacked, data.correct, weight))
        inputs = describe(near, fits.readings, fits.map.coordinates(data.logits, data.features))
        base = stacked @ np.append((1 - share) * voices, share).astype(stacked.dtype)
        corrected = fit_correction(inputs, base, data.prediction, data.n_classes, data.correct, weight)
        self.score_maps_, self.open_map_, self.correction_ = tuple(maps), tuple(fits.map), tuple(corrected.correction)
        self.voices_, self.curve_ = voices, (share, *curve) if share > 0 else None
        self.effects_ = corrected.effects
        self.widths_ = {**fits.widths._asdict(), "correction": corrected.widths[0]}
        if len(data) == n_rows:
            log_odds = self._corrected(inputs, base, data.prediction)
            self._held_out = held_out_strata(expit(log_odds), fits, near)[of_row]
        return next(filter(None, [fits.problem, *problems, corrected.problem]), None)

    def _confidence(self, logits: Floats, features: Floats | None = None) -> Floats:
        return self._score(logits, _near(logits), features)[0].astype(logits.dtype, copy=False)

    def _proba(self, logits: Floats, features: Floats | None = None) -> Floats:
        """Return the confidence at the prediction, and divide the rest in proportion to the open map."""
        near = _near(logits)
        confidence, scores = self._score(logits, near, features)
        return distribute(confidence, scores, near).astype(logits.dtype, copy=False)

    def _score(self, logits: Floats, near: RelativeLogits, features: Floats | None) -> tuple[Floats, Floats]:
        """Return the confidence and the scores of the open map."""
        open_map = OpenMap.of(self.open_map_)
        x = open_map.coordinates(logits, features, near.z.dtype)
        scores = open_map.scores(x, near)
        readings = read(scores, near.top[1])
        base = self._base(logits, near, readings)
        log_odds = self._corrected(describe(near, readings, x), base, near.top[1])
        return expit(log_odds), scores.T

    def _corrected(self, inputs: Floats, base: Floats, prediction: Ints) -> Floats:
        log_odds = Correction(*self.correction_).log_odds(inputs, base)
        return log_odds if self.effects_ is None else log_odds + self.effects_.take(prediction)

    def _program(self, ops: Operations, rows: Rows) -> Value:
        k = self.n_features_in_
        open_map = OpenMap.of(self.open_map_)
        near = near_program(ops, rows, k)
        x = open_map.coordinates.program(ops, rows)
        readings = read_program(ops, open_map.program(ops, x, near.z, near.score), rows.prediction, k)
        stacked = ops.concatenate([ScoreMaps(*self.score_maps_).program(ops, near.score), ops.columns(readings, 0, 1)])
        stacked = ops.minimum(ops.maximum(stacked, -_FARTHEST), _FARTHEST)
        base = ops.matmul(stacked, ops.constant(self.voices_[:, None], "voices"))
        if self.curve_ is not None:
            share, *curve = self.curve_
            bent = ops.minimum(ops.maximum(SharedCurve(*curve).program(ops, rows, k), -_FARTHEST), _FARTHEST)
            base = base + (bent - base) * share
        inputs = describe_program(ops, near, readings, x, open_map.coordinates.basis.shape[1], k)
        log_odds = Correction(*self.correction_).program(ops, inputs, base)
        if self.effects_ is not None:
            log_odds = log_odds + ops.rows(ops.constant(self.effects_[:, None], "effects"), rows.prediction)
        return ops.sigmoid(log_odds)

    def _base(self, logits: Floats, near: RelativeLogits, readings: Floats) -> Floats:
        """Return the weighted mean of the base calibrators, as log-odds; maps of negligible weight are skipped."""
        share, *curve = (0.0,) if self.curve_ is None else self.curve_
        if (1 - share) * self.voices_[:2].sum() < _NEGLIGIBLE:
            base = _clipped(readings[0])
        else:
            stacked = _stacked(ScoreMaps(*self.score_maps_).log_odds(near.top_scores), readings)
            base = stacked @ self.voices_.astype(stacked.dtype)
        if not curve:
            return base
        bent = _clipped(SharedCurve(*curve).log_odds(logits, near.top[1], near.z.dtype.type))
        return np.asarray(base + np.float32(share) * (bent - base))


def _near(logits: Floats) -> RelativeLogits:
    """Return the relative logits that scoring starts from, in float32.

    A few rows are scored in float64, which costs little, so that the position of a row makes no difference.
    """
    return relative(logits, np.float64 if len(logits) <= FEW_ROWS else np.float32)


def _weigh(evidence: Floats) -> tuple[Floats, float]:
    """Return the weights of the maps, which add up to 1, and the share that the curve has instead of them."""
    share = float(weights_by_evidence(evidence, _PRIOR)[3])
    return weights_by_evidence(evidence[:3], _PRIOR[:3]), share if share >= _LEAST_SHARE else 0.0


def _stacked(of_score: Floats, readings: Floats, *of_curve: Floats) -> Floats:
    """Return the log-odds of the prediction by beta calibration, isotonic regression, the open map and the curve."""
    return _clipped(np.column_stack([of_score, readings[0], *of_curve]).astype(readings.dtype))


def _clipped(log_odds: Floats) -> Floats:
    return np.asarray(np.minimum(np.maximum(log_odds, -_FARTHEST), _FARTHEST))
