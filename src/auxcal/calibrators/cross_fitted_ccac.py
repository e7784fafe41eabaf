"""CCAC-X: the auxiliary class, cross-fitted."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import clone

from auxcal._arrays import Floats
from auxcal._errors import InvalidInputError
from auxcal.calibrators._base import ProbaCalibrator, SelectPart, as_select
from auxcal.calibrators._binary import Relative, relative
from auxcal.calibrators._committee import Committee, Inputs, Seen, cross_fit_committee, within_reason
from auxcal.calibrators._last_map import fit_last_map
from auxcal.calibrators._open_map import Coordinates, OpenMap, cross_fit, read, start_map
from auxcal.calibrators._score_maps import ScoreMaps, cross_fit_maps
from auxcal.calibrators._selection import as_whole
from auxcal.calibrators._softmax import softmax
from auxcal.calibrators._stack import by_evidence, log_losses, stack
from auxcal.calibrators._threads import one_thread
from auxcal.calibrators.beta_calibration import beta_log_odds
from auxcal.calibrators.temperature_scaling import fit_temperature
from auxcal.predictions import Predictions

_PRIOR = (0.2, 0.03, 0.77)  # the weights of beta calibration, isotonic regression and the open map with no rows at all
_HOLD_VOICES = np.array([200.0, 200.0, 200.0, 20.0])


class CrossFittedCCAC(ProbaCalibrator):
    """CCAC-X: three voices on whether the prediction is right, weighed on rows that they have not seen, and corrected.

    The open map is a linear map of the logits onto the K classes and one more for samples of none of them, with a
    prior around temperature scaling. Beta calibration and isotonic regression speak beside it. Each is fitted without
    one fold of the rows in turn, so that all rows can tell how far each is to be believed. Small networks, which see
    ranked logits and what the open map says, then add to what the three say together; with few rows next to nothing.
    It needs no select part: rows that are given as one are used like the others.

    Parameters
    ----------
    n_folds : int
        The folds, and so the number of maps and networks that are averaged.
    hidden_size : int
        The units of the one hidden layer of a network.
    random_state : int or None
        The source of the folds, of the first weights and of the order of the rows.

    Attributes
    ----------
    score_maps_ : tuple
        The coefficients of beta calibration, and the knots of isotonic regression in log-odds.
    open_map_ : tuple
        θ, its temperature, and the centre and basis of the coordinates.
    width_ : float
        The deviation of the prior around temperature scaling that suits the rows.
    voices_ : array of shape (4,)
        The weights of beta calibration, isotonic regression and the open map, and the offset.
    committee_ : tuple
        The mean of the networks as one: how its inputs are made, its layers, and what it makes of the voices' log-odds
        and of the predicted class.
    last_map_ : array of shape (3,)
        The coefficients of beta calibration of what comes from the networks.

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

    score_maps_: tuple[Any, ...]
    open_map_: tuple[Any, ...]
    committee_: tuple[Any, ...]

    def __init__(self, n_folds: int = 5, hidden_size: int = 8, random_state: int | None = None) -> None:
        self.n_folds = n_folds
        self.hidden_size = hidden_size
        self.random_state = random_state

    def transfer(
        self,
        logits: ArrayLike,
        y: ArrayLike,
        select: SelectPart | None = None,
        features: ArrayLike | None = None,
    ) -> Self:
        """Carry the fitted calibrator over to another shift with a few hundred labels.

        The prior of the new open map is around this one instead of temperature scaling. All else is learned anew.

        Parameters
        ----------
        logits : array of shape (n, K)
            The raw scores of the same target classifier on the new data.
        y : array of shape (n,)
            The true class, or `NO_CLASS`.
        select : tuple of (logits, y) or (logits, y, features), optional
            More such rows.
        features : array of shape (n, d), optional
            Where this one was fitted with such.

        Returns
        -------
        CrossFittedCCAC
            A new calibrator; this one is unchanged.
        """
        self._check_fitted()
        new = clone(self)
        data, _ = new._parts(logits, y, select, features, share=0, n_classes=self.n_features_in_)
        self._as_features(data.features, len(data))
        with one_thread():
            problem = new._fit(data, None, self._open_map())
        return new._fitted(data, problem)

    def _parts(
        self, logits: ArrayLike, y: ArrayLike, select: SelectPart | None, features: ArrayLike | None = None, **more: Any
    ) -> tuple[Predictions, Predictions | None]:
        """Return all rows as one part: each of them is held out once."""
        data, _ = super()._parts(logits, y, select, features, **more)
        if select is not None:
            data = data.joined(as_select(select, data))
        if len(data) < 2:
            raise InvalidInputError(
                f"{type(self).__name__} holds rows out in turn, and so needs at least 2 rows; got {len(data)} "
                f"(n_samples=1). Give more rows."
            )
        return data, None

    def _fit(self, data: Predictions, select: Predictions | None, around: OpenMap | None = None) -> str | None:
        """Learn all, the open map with a prior around another or, where there is none, temperature scaling."""
        # A training turns differences in the last digit into some in the third: so that the kind of array does not
        # matter, all is float32.
        data = Predictions(data.logits.astype(np.float32, copy=False), data.y, data.features)
        folds = data.folds(min(as_whole(self.n_folds, "n_folds", least=2), len(data)), self.random_state)
        problem = None
        if around is None:
            temperature, problem = fit_temperature(data.with_class())
            around = start_map(data, temperature)
        found = cross_fit(data, folds, around)
        maps, heard = cross_fit_maps(data, folds)
        voices = _voices(heard, found.readings)
        start = np.append(by_evidence(log_losses(voices, data.correct), _PRIOR), 0)
        self.voices_ = stack(voices, data.correct, start, _HOLD_VOICES)
        x, near = found.map.coordinates(data.logits, data.features), relative(data.logits)
        seen = Seen(near, found.readings, x, self._weighed(voices))
        size = as_whole(self.hidden_size, "hidden_size", least=1)
        committee, corrected = cross_fit_committee(data, seen, folds, size, self.random_state)
        self.last_map_ = fit_last_map(corrected, data.correct)
        self.score_maps_, self.committee_ = tuple(maps), tuple(committee)
        self.open_map_, self.width_ = tuple(found.map), found.width
        return problem or found.problem

    def _confidence(self, logits: Floats, features: Floats | None = None) -> Floats:
        return self._score(logits, relative(logits), features)[0].astype(logits.dtype, copy=False)

    def _proba(self, logits: Floats, features: Floats | None = None) -> Floats:
        """Return the confidence at the prediction, and what is left shared out as the open map has it."""
        near = relative(logits)
        confidence, scores = self._score(logits, near, features)
        scores[near.top] = -np.inf
        proba = softmax(scores) * (1 - confidence)[:, None]
        proba[near.top] = confidence
        return proba.astype(logits.dtype, copy=False)

    def _score(self, logits: Floats, near: Relative, features: Floats | None) -> tuple[Floats, Floats]:
        """Return the confidence and the scores of the open map, in float32."""
        open_map, committee = self._open_map(), Committee(Inputs(*self.committee_[0]), *self.committee_[1:])
        x = open_map.coordinates(logits, features)
        scores = open_map.scores(x, near)
        readings = read(scores, near.top[1])
        voices = _voices(ScoreMaps(*self.score_maps_).log_odds(near.top_scores()), readings)
        seen = Seen(near, readings, x, self._weighed(voices))
        return expit(beta_log_odds(committee.log_odds(seen), self.last_map_.astype(np.float32))), scores.T

    def _weighed(self, voices: Floats) -> Floats:
        """Return what the voices say together, as log-odds."""
        return voices @ self.voices_[:-1].astype(np.float32) + np.float32(self.voices_[-1])

    def _open_map(self) -> OpenMap:
        theta, temperature, coordinates = self.open_map_
        return OpenMap(theta, temperature, Coordinates(*coordinates))


def _voices(of_score: Floats, readings: Floats) -> Floats:
    """Return the log-odds of the prediction by beta calibration, isotonic regression and the open map."""
    return within_reason(np.column_stack([of_score, readings[:, 0]]))
