"""SignalCalibrator: the probability that an answer is right, from signals in place of logits."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import Bools, Floats, Ints, as_correct, as_sample_weight, as_whole
from auxcal._core.deferred_warnings import warn
from auxcal._core.errors import InputWarning, InvalidInputError
from auxcal._core.logits import expit, logit
from auxcal.calibrators.additive_model import AdditiveModel, base_rate, cross_fit_additive
from auxcal.calibrators.base import Calibrator
from auxcal.calibrators.ccac_x.evidence import log_likelihoods, weights_by_evidence
from auxcal.calibrators.copies import merge_copies, weigh_units
from auxcal.calibrators.single_signals import SignalMaps, cross_fit_signal
from auxcal.metrics import brier
from auxcal.predictions import Predictions
from auxcal.programs import Operations, Rows, Value
from auxcal.signals import SignalColumns, check_names, places_of_levels

# Chosen on other random states than those reported, over the sets of benchmarks/evidence/signals.py.
# The weights of base rate, lines and curves without any rows, and that of all maps of one signal together.
_PRIOR, _SINGLE = (0.03, 0.4, 0.22), 0.35
_FIRST = len(_PRIOR)  # place of the first map
_FARTHEST = 15.0  # log-odds at which a base calibrator is clipped: one in three million
_BISECTIONS = 40  # of a range of log-odds below 30: to eleven digits
_NEGLIGIBLE = 1e-9  # weights of base calibrators below this make no difference in float32
_ENOUGH = 100_000  # rows that the fit learns from; more change the fourth digit of a confidence
_FEWEST_OF_EACH = 10  # right and wrong answers, below which a signal may separate them by chance
_TOO_GOOD = 0.01  # of the rarer kind of answers: fewer errors of one signal alone are too good to be true
_MOST_READINGS = 8  # signals that checks and monitors look at, those that count most: as many as of logits
_PLACES = np.linspace(0, 1, 21)  # quantiles between which a reading is linear
_GAP_PLACE, _NEW_PLACE = -0.5, 1.5  # of a gap and of a new level, among places from 0 to 1


class SignalCalibrator(Calibrator):
    """The probability that an answer is right, by what is known of it: signals in place of logits.

    Signals are the columns of a table: numbers with gaps, booleans, and categories as text. An additive model has a
    curve of each number, a level for its gaps, and a shrunken effect of each category; straight lines serve where
    answers are few; and each number has beta calibration and isotonic regression of its own. All are fitted once
    without each fold, and their out-of-fold predictions give the weights by which their log-odds are averaged. The
    widths of the priors are chosen by evidence, so that useless signals leave the base rate. The answers of a group
    stay together, and count by the information they hold; copies count as one.

    Parameters
    ----------
    probabilities : sequence of str
        The columns that are probabilities; they count by their log-odds.
    increasing : sequence of str
        The columns that may only raise the confidence.
    n_folds : int
        The number of folds.
    random_state : int or None
        The source of the folds.

    Attributes
    ----------
    model_, line_ : tuple
        The additive model, and one of straight lines.
    maps_ : tuple
        The maps of each number alone.
    base_rate_ : float
        The log-odds of a right answer.
    offset_ : float
        What is added to the average log-odds, so that the mean confidence is the share of right answers, half an answer
        of each kind added.
    shares_ : array
        The weights of the base rate, the lines, the additive model, and the two maps of each number.
    widths_ : dict
        The standard deviations of the priors, by evidence: of each number's curve, and of each category's effects.
    places_ : tuple of arrays
        Of each signal the quantiles of the fit, or the places of the levels, which checks compare new answers with.
    read_ : array
        The signals that checks read, those that count most.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal import SignalCalibrator
    >>> rng = np.random.default_rng(0)
    >>> verbal, topic = rng.choice([0.8, 0.9, 1.0], 2000), rng.choice(["law", "maths"], 2000)
    >>> correct = rng.random(2000) < np.where(topic == "law", 0.3, 0.6) + 0.3 * (verbal > 0.85)
    >>> calibrator = SignalCalibrator(random_state=0).fit({"verbal": verbal, "topic": topic}, correct)
    >>> calibrator.predict_confidence({"verbal": [0.8, 1.0], "topic": ["law", "maths"]}).round(2)
    array([0.24, 0.89])
    """

    abbreviation = "Signals"
    reference = "this library"
    uses_weights = True
    uses_features = True
    cross_fits = True

    model_: tuple[Any, ...]
    line_: tuple[Any, ...]
    maps_: tuple[Any, ...]

    learned = {"base_rate_": (), "offset_": (), "shares_": ("s",), "read_": ("r",)} | dict.fromkeys(
        ("model_", "line_", "maps_", "widths_", "places_")
    )

    def __init__(
        self,
        probabilities: Sequence[str] = (),
        increasing: Sequence[str] = (),
        n_folds: int = 5,
        random_state: int | None = None,
    ) -> None:
        self.probabilities = probabilities
        self.increasing = increasing
        self.n_folds = n_folds
        self.random_state = random_state

    def fit(  # type: ignore[override]
        self,
        signals: Any,
        correct: ArrayLike,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from answers that are marked right or wrong.

        Parameters
        ----------
        signals : DataFrame, mapping of columns, or array of shape (n, d)
            What is known of each answer. Columns are remembered by name and type: numbers, booleans, and text for
            categories, each with gaps. Those of an array have no names.
        correct : array of shape (n,)
            Whether each answer is right.
        groups : array of shape (n,), optional
            What each answer belongs to, such as a question or a user. Answers of one group stay together in folds.
        sample_weight : array of shape (n,), optional
            How often each answer counts.

        Returns
        -------
        self
        """
        fresh = copy.copy(self)
        try:
            rows: dict[str, Any] = {"groups": groups, "sample_weight": sample_weight}
            fresh._fit_on(Predictions.from_signals(signals, correct, probabilities=self.probabilities, **rows))
        except BaseException:
            self._forget()
            raise
        self.__dict__ = fresh.__dict__
        return self

    def predict_confidence(self, signals: Any) -> Floats:  # type: ignore[override]
        """Return the probability that each answer is right.

        Parameters
        ----------
        signals : DataFrame, mapping of columns, or array of shape (n, d)
            The signals of the fit, in any order if they have names; others are ignored. A level that the fit did not
            have counts as the average one.

        Returns
        -------
        array of shape (n,)
        """
        return super().predict_confidence(signals)

    def score(  # type: ignore[override]
        self, signals: Any, correct: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the negative Brier score of the confidence: higher is better.

        Parameters
        ----------
        signals : DataFrame, mapping of columns, or array of shape (n, d)
            The signals of the fit.
        correct : array of shape (n,)
            Whether each answer is right.
        sample_weight : array of shape (n,), optional
            How often each answer counts.
        """
        confidence = self.predict_confidence(signals)
        weight = as_sample_weight(sample_weight, n_rows=len(confidence))
        return -brier(confidence, as_correct(correct, n_rows=len(confidence)), sample_weight=weight)

    @property
    def columns(self) -> SignalColumns:
        """The names of the signals, what they are, and the levels of categories."""
        return self.inputs_.signal_columns

    @property
    def reading_names(self) -> tuple[str, ...]:
        """The signals that checks and monitors read."""
        return tuple(self.columns.names[j] for j in self.read_)

    def read(self, logits: Floats, features: Floats | None) -> Floats:
        """Return where each signal lies among those of the fit, from 0 to 1; gaps are below, and new levels above."""
        x = np.asarray(features)
        readings = np.empty((len(x), len(self.read_)), np.float16)
        numeric, levels = self.columns.are_numbers, self.columns.levels
        for i, j in enumerate(self.read_):
            if numeric[j]:
                readings[:, i] = np.interp(x[:, j], self.places_[j], _PLACES)
                readings[np.isnan(x[:, j]), i] = _GAP_PLACE
            else:
                readings[:, i] = self.places_[j][places_of_levels(x[:, j], len(levels[j]))]
        return readings

    def _fit(self, data: Predictions) -> str | None:
        n_folds = as_whole(self.n_folds, "n_folds", least=2)
        columns = self.columns
        check_names(self.increasing, dict.fromkeys(columns.names), "increasing")
        data, of_row = merge_copies(data)
        n_rows, data = len(data), data.take(data.spread_rows(_ENOUGH))
        data = weigh_units(data)
        folds = data.folds(min(n_folds, data.n_units), self.random_state)
        correct, weight = data.correct, data.sample_weight
        values, codes = columns.parts(np.asarray(data.features))
        rises, n_levels = np.isin(columns.names, self.increasing)[columns.are_numbers], columns.n_levels
        curves = cross_fit_additive(values, codes, n_levels, correct, folds, weight, rises)
        line = cross_fit_additive(values, codes, n_levels, correct, folds, weight, rises, linear=True)
        base = self.base_rate_ = base_rate(correct, weight)
        single = [
            cross_fit_signal(x, correct, folds, base, weight, rises=bool(up))
            for x, up in zip(values.T, rises, strict=True)
        ]
        stacked = _clipped([np.full(len(data), base), line.log_odds, curves.log_odds, *(held for _, held in single)])
        self.shares_ = weights_by_evidence(log_likelihoods(stacked, correct, weight), _prior(len(single)))
        self.model_, self.line_ = tuple(curves.model), tuple(line.model)
        self.maps_ = tuple(tuple(maps) for maps, _ in single)
        self.widths_ = curves.widths._asdict()
        self._remember(values, codes, curves.model)
        self.offset_ = 0.0
        self.offset_ = _offset(logit(self._confidence(data.logits, data.features)), base, weight)
        self._warn_of_labels(values, codes, [held[:, 1] for _, held in single], correct, folds)
        if len(data) == n_rows:
            confidence = expit(stacked @ self.shares_ + self.offset_)
            self._held_out = np.stack([confidence, 1 - confidence], axis=1)[of_row]
        return None

    def _confidence(self, logits: Floats, features: Floats | None = None) -> Floats:
        x = np.asarray(features)
        values, codes = self.columns.parts(x)
        lines, curves = (AdditiveModel(*state).log_odds(values, codes) for state in (self.line_, self.model_))
        parts = [np.full(len(x), self.base_rate_), lines, curves]
        for j, maps in enumerate(self.maps_):
            if self.shares_[_FIRST + 2 * j :][:2].sum() > _NEGLIGIBLE:
                parts.append(SignalMaps(*maps).log_odds(values[:, j]))
            else:
                parts.append(np.zeros((len(x), 2)))
        return np.asarray(expit(_clipped(parts) @ self.shares_ + self.offset_))

    def _program(self, ops: Operations, rows: Rows) -> Value:
        if set(self.columns.kinds) != {"number"}:
            raise InvalidInputError(
                "torch and ONNX take numbers as they are, and this calibrator has categories or probabilities; score "
                "with predict_confidence, or fit it on numbers alone."
            )
        x = rows.features
        additive, line = (AdditiveModel(*state).program(ops, x) for state in (self.model_, self.line_))
        maps = [SignalMaps(*maps).program(ops, ops.columns(x, j, j + 1)) for j, maps in enumerate(self.maps_)]
        parts = ops.concatenate([additive * 0.0 + float(self.base_rate_), line, additive, *maps])
        parts = ops.minimum(ops.maximum(parts, -_FARTHEST), _FARTHEST)
        return ops.sigmoid(ops.matmul(parts, ops.constant(self.shares_[:, None], "shares")) + float(self.offset_))

    def _overfits(self) -> bool:
        return False  # the reference has out-of-fold confidences, and widths by evidence keep the rest honest

    def _remember(self, values: Floats, codes: Ints, model: AdditiveModel) -> None:
        """Keep where each signal lies in the fit, and which signals count most."""
        is_number = self.columns.are_numbers
        places: list[Floats] = []
        spread = np.zeros(len(is_number))
        for j, number in enumerate(is_number):
            at = int(np.sum(is_number[:j] == number))
            if number:
                known = values[~np.isnan(values[:, at]), at]
                places.append(np.quantile(known, _PLACES) if len(known) else np.zeros(len(_PLACES)))
                spread[j] = model.curve(at, values[:, at]).std()
            else:
                places.append(_level_places(codes[:, at], model.effects[at]))
                spread[j] = model.effects[at][codes[:, at]].std()
        self.places_ = tuple(places)
        self.read_ = np.sort(np.argsort(-spread, kind="stable")[:_MOST_READINGS])

    def _warn_of_labels(self, values: Floats, codes: Ints, held_out: list[Floats], correct: Bools, folds: Ints) -> None:
        """Warn of a signal that separates right from wrong alone: it may have been made from the labels."""
        rarer = min(int(correct.sum()), int((~correct).sum()))
        if rarer < _FEWEST_OF_EACH:
            return
        guesses = [log_odds > 0 for log_odds in held_out] + [_guess_by_level(code, correct, folds) for code in codes.T]
        is_number = self.columns.are_numbers
        names = [*np.array(self.columns.names)[is_number], *np.array(self.columns.names)[~is_number]]
        good = [name for name, one in zip(names, guesses, strict=True) if np.sum(one != correct) <= _TOO_GOOD * rarer]
        if good:
            named = ", ".join(repr(str(name)) for name in good)
            warn(
                f"{named} alone separates right answers from wrong ones: too good to be true. Check that it is known "
                f"before the answer is marked; leave it out if it is made from the labels.",
                InputWarning,
                stacklevel=5,
            )


def _level_places(codes: Ints, effects: Floats) -> Floats:
    """Return the places of levels from 0 to 1, in the order of their effects, by how many answers they have."""
    order = np.argsort(effects[:-2], kind="stable")
    counts = np.bincount(codes, minlength=len(effects))[order]
    places = np.full(len(effects), _NEW_PLACE)
    places[order] = (np.cumsum(counts) - counts / 2) / max(int(counts.sum()), 1)
    places[-2] = _GAP_PLACE
    return places


def _guess_by_level(codes: Ints, correct: Bools, folds: Ints) -> Bools:
    """Return what most of the other answers of the same level are, out of fold."""
    guess = np.zeros(len(codes), bool)
    for fold in range(folds.max() + 1):
        others, rows = folds != fold, folds == fold
        balance = np.bincount(codes[others], np.where(correct[others], 1, -1), minlength=codes.max() + 1)
        guess[rows] = balance[codes[rows]] > 0
    return guess


def _offset(log_odds: Floats, base: float, weight: Any) -> float:
    """Return what to add to log-odds for a mean confidence at the base rate.

    Averages of log-odds, and priors of curves that stay around nothing, are surer than that where nearly all answers
    are right, or wrong.
    """
    share = 1 / (1 + np.exp(-base))
    low, high = base - float(log_odds.max()), base - float(log_odds.min())
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        above = np.average(expit(log_odds + middle), weights=weight) > share
        low, high = (low, middle) if above else (middle, high)
    return (low + high) / 2


def _prior(n_maps: int) -> Floats:
    """Return the weights of the base calibrators without any rows."""
    return np.concatenate([_PRIOR, np.full(2 * n_maps, _SINGLE / max(2 * n_maps, 1))])


def _clipped(parts: list[Floats]) -> Floats:
    return np.asarray(np.column_stack(parts).clip(-_FARTHEST, _FARTHEST))
