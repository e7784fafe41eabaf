"""CCAC-X: the auxiliary class, cross-fitted."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit
from sklearn.base import clone

from auxcal._arrays import Floats, Ints, as_rng
from auxcal._errors import InvalidInputError
from auxcal.calibrators._auxiliary import forward
from auxcal.calibrators._base import ProbaCalibrator, SelectPart, as_select
from auxcal.calibrators._binary import top_scores
from auxcal.calibrators._open_map import Coordinates, OpenMap, cross_fit, read, start_map
from auxcal.calibrators._ranked import Inputs, describe, learn_inputs
from auxcal.calibrators._selection import as_whole
from auxcal.calibrators._softmax import softmax
from auxcal.calibrators._stack import stack
from auxcal.calibrators._threads import one_thread
from auxcal.calibrators.isotonic_calibration import IsotonicCalibration
from auxcal.calibrators.temperature_scaling import fit_temperature
from auxcal.predictions import Predictions
from auxcal.training.recipes import CORRECTIONS

_FARTHEST = 15.0  # log-odds beyond which nothing is added to the certainty of a voice
_START = np.array([0.4, 0.2, 0.2, 0.2, 0.0])  # temperature, isotonic, open map, networks; and the offset


class CrossFittedCCAC(ProbaCalibrator):
    """CCAC-X: four voices on whether the prediction is right, each heard on rows that it has not seen, and weighed.

    The open map is a linear map of the logits onto the K classes and one more for samples of none of them, with a
    prior around temperature scaling. Small networks see ranked logits and what the open map says, and decide between
    the prediction and the auxiliary class. Temperature scaling and isotonic regression speak beside them. Each is
    fitted without one fold of the rows in turn, so that all rows can tell how far each is to be believed.

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
    temperature_ : float
        T of temperature scaling.
    knots_ : array of shape (2, t)
        The map of isotonic regression.
    open_map_ : tuple of arrays
        θ, and the centre and basis of the coordinates.
    width_ : float
        The deviation of the prior around temperature scaling that was chosen.
    inputs_ : tuple of arrays
        The centre and scale of the networks' inputs, and the quantiles.
    committee_ : tuple of arrays
        The mean of the networks as one network: the weights and biases of its layers, and what it makes of the open
        map's log-odds and of the predicted class.
    voices_ : array of shape (5,)
        The weights of temperature scaling, isotonic regression, the open map and the networks, and the offset.

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

    inputs_: tuple[Any, ...]
    committee_: tuple[Any, ...]

    def __init__(
        self,
        n_folds: int = 5,
        hidden_size: int = 16,
        random_state: int | None = None,
    ) -> None:
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
            problem = new._learn(data, self._open_map())
        return new._fitted(data, problem)

    def _parts(
        self,
        logits: ArrayLike,
        y: ArrayLike,
        select: SelectPart | None,
        features: ArrayLike | None = None,
        *,
        share: float,
        n_classes: int | None = None,
    ) -> tuple[Predictions, Predictions | None]:
        """Return all rows as one part: each of them is held out once."""
        data, _ = super()._parts(logits, y, select, features, share=share, n_classes=n_classes)
        if select is not None:
            data = data.joined(as_select(select, data))
        if len(data) < 2:
            raise InvalidInputError(
                f"{type(self).__name__} holds rows out in turn, and so needs at least 2 rows; got {len(data)} "
                f"(n_samples=1). Give more rows."
            )
        return data, None

    def _fit(self, data: Predictions, select: Predictions | None) -> str | None:
        return self._learn(data, None)

    def _learn(self, data: Predictions, start: OpenMap | None) -> str | None:
        """Learn all, the open map with a prior around `start` or, where there is none, temperature scaling."""
        folds = data.folds(min(as_whole(self.n_folds, "n_folds", least=2), len(data)), self.random_state)
        self.temperature_, problem = fit_temperature(data.with_class())
        found = cross_fit(data, folds, start_map(data, self.temperature_) if start is None else start)
        self.open_map_, self.width_ = (*found.map[:2], *found.map.coordinates), found.width
        voices = _voices(
            top_scores(data.logits / data.logits.dtype.type(self.temperature_), data.prediction),
            self._learn_isotonic(data, folds),
            found.readings[:, 0],
            self._learn_committee(data, folds, found.readings),
        )
        self.voices_ = stack(voices, data.correct, _START)
        return problem or found.problem

    def _learn_isotonic(self, data: Predictions, folds: Ints) -> Floats:
        """Learn the map of isotonic regression; return what those that had not seen a row say of it."""
        confidence = np.empty(len(data))
        for fold in range(folds.max() + 1):
            seen, held_out = data.take(folds != fold), data.take(folds == fold)
            fitted = IsotonicCalibration().fit(seen.logits, seen.y)
            confidence[folds == fold] = fitted.predict_confidence(held_out.logits)
        # A level of 0 or 1 says that no error was among its rows, not that there is none.
        doubt = min(0.02, 0.25 / np.sqrt(len(data)))
        self.knots_ = IsotonicCalibration().fit(data.logits, data.y).knots_[0]
        self.knots_[1] = np.clip(self.knots_[1], doubt, 1 - doubt)
        return np.asarray(logit(np.clip(confidence, doubt, 1 - doubt)))

    def _learn_committee(self, data: Predictions, folds: Ints, readings: Floats) -> Floats:
        """Train the networks; return what those that had not seen a row say of it."""
        from auxcal.training.correctness import Rows, train_committee

        coordinates = self._open_map().coordinates(data.logits, data.features)
        numbers = describe(data.logits, readings, top_scores(data.logits))
        inputs = learn_inputs(numbers, coordinates)
        rows = Rows(
            inputs(numbers, coordinates),
            _within(readings[:, 0]),
            data.prediction,
            data.correct,
            folds,
            data.n_classes,
        )
        size, rng = as_whole(self.hidden_size, "hidden_size", least=1), as_rng(self.random_state)
        committee, held_out = train_committee(rows, size, CORRECTIONS, rng)
        self.inputs_, self.committee_ = tuple(inputs), tuple(committee)
        return held_out

    def _open_map(self) -> OpenMap:
        theta, temperature, *coordinates = self.open_map_
        return OpenMap(theta, temperature, Coordinates(*coordinates))

    def _confidence(self, logits: Floats, features: Floats | None = None) -> Floats:
        return self._score(logits, features)[0]

    def _proba(self, logits: Floats, features: Floats | None = None) -> Floats:
        """Return the confidence at the prediction, and what is left shared out as the open map has it."""
        confidence, scores = self._score(logits, features)
        at = np.arange(len(logits)), logits.argmax(axis=1)
        scores[at] = -np.inf
        proba = softmax(scores).astype(logits.dtype) * (1 - confidence)[:, None]
        proba[at] = confidence
        return proba

    def _score(self, logits: Floats, features: Floats | None) -> tuple[Floats, Floats]:
        """Return the confidence, and the scores of the open map."""
        prediction = logits.argmax(axis=1)
        score = top_scores(logits, prediction)
        design = self._open_map().design(logits, prediction, features)
        scores = design.scores(self.open_map_[0])
        readings = read(scores, prediction)
        base = _within(readings[:, 0])
        x = Inputs(*self.inputs_)(describe(logits, readings, score), design.coordinates)
        weights, biases, slope, offsets = self.committee_
        networks = forward(weights, biases, x)[:, 0] + np.float32(slope) * base + offsets[prediction]
        scaled = top_scores(logits / logits.dtype.type(self.temperature_), prediction)
        isotonic = logit(np.interp(score, *self.knots_))
        log_odds = _voices(scaled, isotonic, base, networks) @ self.voices_[:-1].astype(np.float32)
        return expit(log_odds + np.float32(self.voices_[-1])).astype(logits.dtype), scores


def _voices(*log_odds: Floats) -> Floats:
    return np.stack([_within(each) for each in log_odds], axis=1)


def _within(log_odds: Floats) -> Floats:
    return np.clip(log_odds, -_FARTHEST, _FARTHEST).astype(np.float32, copy=False)
