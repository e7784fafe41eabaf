"""CCAC-X: the auxiliary class, cross-fitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from auxcal._arrays import Floats
from auxcal._errors import InvalidInputError
from auxcal.calibrators._binary import RelativeLogits, near_program, relative
from auxcal.calibrators._distributions import ProbaCalibrator
from auxcal.calibrators._selection import as_whole
from auxcal.calibrators.ccac_x.correction import FEW_ROWS, Correction, describe, describe_program, fit_correction
from auxcal.calibrators.ccac_x.evidence import log_likelihoods, weights_by_evidence
from auxcal.calibrators.ccac_x.fits import cross_fit
from auxcal.calibrators.ccac_x.open_map import Coordinates, OpenMap, read, read_program
from auxcal.calibrators.ccac_x.score_maps import ScoreMaps, cross_fit_maps
from auxcal.calibrators.solvers.sigmoid import expit
from auxcal.calibrators.solvers.softmax import softmax
from auxcal.predictions import Predictions
from auxcal.programs import Operations, Rows, Value

_PRIOR = np.array([0.1, 0.01, 0.89])  # of beta calibration, isotonic regression and the open map, with no rows at all
_FARTHEST = 15.0  # log-odds at which a voice is clipped: nothing is surer than one in three million
_ENOUGH = 100_000  # rows; not measured: so many should settle a few hundred numbers


class CrossFittedCCAC(ProbaCalibrator):
    """CCAC-X: three voices on whether the prediction is right, weighed on rows that they have not seen, and corrected.

    The open map is a linear map of the logits onto the K classes and one more for samples of none of them, with a
    prior around temperature scaling. Beta calibration and isotonic regression speak beside it. Each is fitted without
    one fold of the rows in turn, so that all rows can tell how far each is to be believed. A sum of curves, of ranked
    logits and of what the open map says, then corrects what the three say together. How far each of them may go is
    decided by evidence: with few rows hardly anywhere. Every fit is convex, and there is no validation set: rows that
    are given as one are used like the others.

    Parameters
    ----------
    n_folds : int
        The folds, each of which is left out once.
    random_state : int or None
        The source of the folds.

    Attributes
    ----------
    score_maps_ : tuple
        The coefficients of beta calibration, and the knots of isotonic regression in log-odds.
    open_map_ : tuple
        The weights of the open map, and the centre and basis of its coordinates.
    voices_ : array of shape (3,)
        The weights of beta calibration, isotonic regression and the open map.
    correction_ : tuple
        The range and the knots of the inputs, the weights of the curves, the slope and the offset.
    widths_ : dict
        The standard deviations of the priors that suit the rows: of the open map's biases and shared weights, and of
        the correction.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal import NO_CLASS, CrossFittedCCAC
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=2000)
    >>> logits = 3 * np.eye(3)[y] + rng.normal(size=(2000, 3))
    >>> logits[1000:] = rng.normal(size=(1000, 3)) + [4, 4, 4]  # samples of no class give other logits
    >>> y[1000:] = NO_CLASS
    >>> calibrator = CrossFittedCCAC(random_state=0).fit(logits, y)
    >>> calibrator.predict_confidence([[3.5, 0.0, 0.0], [6.5, 3.5, 3.5]]).round(1)
    array([1., 0.])
    """

    abbreviation = "CCAC-X"
    reference = "this library, after Shao et al., 2020"
    uses_features = True
    former_designs: ClassVar[Mapping[str, str]] = {"width_": "the first design of CCAC-X, which had networks"}

    score_maps_: tuple[Any, ...]
    open_map_: tuple[Any, ...]
    correction_: tuple[Any, ...]

    def __init__(self, n_folds: int = 5, random_state: int | None = None) -> None:
        self.n_folds = n_folds
        self.random_state = random_state

    def _parts(
        self, data: Predictions, select: Predictions | None, *, share: float
    ) -> tuple[Predictions, Predictions | None]:
        """Return all rows as one part: each of them is held out once."""
        data = data if select is None else data.joined(select)
        if len(data) < 2:
            raise InvalidInputError(
                f"{type(self).__name__} holds rows out in turn, and so needs at least 2 rows; got {len(data)} "
                f"(n_samples=1). Give more rows."
            )
        return data, None

    def _fit(self, data: Predictions) -> str | None:
        n_folds = as_whole(self.n_folds, "n_folds", least=2)
        data = data.take(data.spread_rows(_ENOUGH))
        # So that the kind of array does not matter, all is float32.
        data = Predictions(data.logits.astype(np.float32, copy=False), data.y, data.features)
        folds = data.folds(min(n_folds, len(data)), self.random_state)
        near = relative(data.logits)
        maps, of_score, *problems = cross_fit_maps(near.top_scores, data.correct, folds)
        found = cross_fit(data, near, folds)
        voices = _voices(of_score, found.readings)
        self.voices_ = weights_by_evidence(log_likelihoods(voices, data.correct), _PRIOR)
        inputs = describe(near, found.readings, found.map.coordinates(data.logits, data.features))
        correction, width, problem = fit_correction(inputs, self._weighed(voices), data.correct)
        self.score_maps_, self.open_map_, self.correction_ = tuple(maps), tuple(found.map), tuple(correction)
        self.widths_ = {**found.widths._asdict(), "correction": width}
        return next(filter(None, [found.problem, *problems, problem]), None)

    def _confidence(self, logits: Floats, features: Floats | None = None) -> Floats:
        return self._score(logits, _near(logits), features)[0].astype(logits.dtype, copy=False)

    def _proba(self, logits: Floats, features: Floats | None = None) -> Floats:
        """Return the confidence at the prediction, and what is left shared out as the open map has it."""
        near = _near(logits)
        confidence, scores = self._score(logits, near, features)
        scores[near.top] = -np.inf
        proba = softmax(scores) * (1 - confidence)[:, None]
        proba[near.top] = confidence
        return proba.astype(logits.dtype, copy=False)

    def _score(self, logits: Floats, near: RelativeLogits, features: Floats | None) -> tuple[Floats, Floats]:
        """Return the confidence and the scores of the open map."""
        own, shared, bias, coordinates = self.open_map_
        open_map = OpenMap(own, shared, bias, Coordinates(*coordinates))
        x = open_map.coordinates(logits, features, near.z.dtype)
        scores = open_map.scores(x, near)
        readings = read(scores, near.top[1])
        voices = _voices(ScoreMaps(*self.score_maps_).log_odds(near.top_scores), readings)
        log_odds = Correction(*self.correction_).log_odds(describe(near, readings, x), self._weighed(voices))
        return expit(log_odds), scores.T

    def _program(self, ops: Operations, rows: Rows) -> Value:
        k = self.n_features_in_
        own, shared, bias, coordinates = self.open_map_
        open_map = OpenMap(own, shared, bias, Coordinates(*coordinates))
        near = near_program(ops, rows, k)
        x = open_map.coordinates.program(ops, rows)
        readings = read_program(ops, open_map.program(ops, x, near.z, near.score), rows.prediction, k)
        voices = ops.concatenate([ScoreMaps(*self.score_maps_).program(ops, near.score), ops.columns(readings, 0, 1)])
        voices = ops.minimum(ops.maximum(voices, -_FARTHEST), _FARTHEST)
        base = ops.matmul(voices, ops.constant(self.voices_[:, None], "voices"))
        inputs = describe_program(ops, near, readings, x, open_map.coordinates.basis.shape[1], k)
        return ops.sigmoid(Correction(*self.correction_).program(ops, inputs, base))

    def _weighed(self, voices: Floats) -> Floats:
        """Return what the voices say together, as log-odds."""
        return voices @ self.voices_.astype(voices.dtype)


def _near(logits: Floats) -> RelativeLogits:
    """Return what all of scoring starts from, in float32.

    A few rows are scored in float64, which costs nothing there: the place of a row then makes no difference.
    """
    return relative(logits, np.float64 if len(logits) <= FEW_ROWS else np.float32)


def _voices(of_score: Floats, readings: Floats) -> Floats:
    """Return the log-odds of the prediction by beta calibration, isotonic regression and the open map."""
    said = np.empty((len(of_score), 3), dtype=readings.dtype)
    said[:, :2], said[:, 2] = of_score, readings[0]
    np.maximum(said, -_FARTHEST, out=said)
    return np.minimum(said, _FARTHEST, out=said)
