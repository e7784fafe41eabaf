"""What `SignalCalibrator` is compared with: the base rate, each signal alone, and scikit-learn's methods of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Self

import numpy as np
from scipy.stats import rankdata

from auxcal._core.arrays import Bools, Floats
from auxcal._core.errors import InvalidInputError
from auxcal._core.logits import expit
from auxcal.calibrators import Calibrator, SignalCalibrator
from auxcal.inputs import FittedOn
from auxcal.predictions import Predictions
from auxcal.signals import LARGEST

TOGETHER = "signals"
"""The method of `SignalCalibrator`."""

BASE_RATE = "base rate"
"""The confidence that all are compared with, where no signal is a probability: the share of right answers."""

AS_IT_IS = " as it is"
"""What the name of a method ends with that takes a probability for the confidence."""

LABELS = {TOGETHER: "all signals"}

_MOST_LEVELS = 250  # of a category that histogram boosting takes, below its 255 bins


def signal_methods(
    data: Predictions, random_state: int | None, increasing: Sequence[str] = ()
) -> dict[str, Calibrator]:
    """Return unfitted methods by name: first what is there without a fit, then ours, then all others."""
    columns = data.inputs.signal_columns
    named = dict(zip(columns.names, columns.kinds, strict=True))
    methods: dict[str, Calibrator] = {
        name + AS_IT_IS: Peer("as it is", name) for name, kind in named.items() if kind == "probability"
    }
    methods[BASE_RATE] = Peer(BASE_RATE)
    methods[TOGETHER] = SignalCalibrator(increasing=increasing, random_state=random_state)
    for how in ("logistic regression", "histogram boosting"):
        methods[f"{how} (scikit-learn)"] = Peer(how, random_state=random_state)
    for name, kind in named.items():
        if kind == "category":
            methods[f"{name}: logistic"] = Peer("logistic regression", name)
        else:
            methods |= {
                f"{name}: isotonic": Peer("isotonic", name),
                f"{name}: Platt": Peer("logistic regression", name),
            }
    return methods


class Peer(SignalCalibrator):
    """A method of scikit-learn, or the base rate, to compare with."""

    reference = "scikit-learn"
    cross_fits = False

    def __init__(self, how: str = BASE_RATE, signal: str | None = None, random_state: int | None = None) -> None:
        self.how = how
        self.signal = signal
        self.random_state = random_state

    def _fit(self, data: Predictions) -> None:
        columns = data.inputs.signal_columns
        self.used_ = np.array([self.signal in (None, name) for name in columns.names])
        fit: Callable[..., Any] = _FITS[self.how]
        x = self._read(data.features)
        self.scored_ = fit(x, data.correct, data.sample_weight, columns.are_numbers[self.used_], self.random_state)

    def _fitted(self, data: Predictions, *_: Any, **__: Any) -> Self:
        self.converged_, self.inputs_, self.fitted_on_ = True, data.inputs, FittedOn.now(data.y)
        self.n_features_in_, self.n_further_features_ = data.n_classes, data.n_features
        return self

    def _confidence(self, logits: Floats, features: Floats | None = None) -> Floats:
        return np.asarray(self.scored_(self._read(features)), dtype=np.float64)

    def _read(self, features: Floats | None) -> Floats:
        """Return the signals that it uses as they came, with infinities as gaps."""
        x = np.asarray(features)
        x = np.where(np.abs(x) < LARGEST, x, np.nan)
        were_odds = np.array(self.columns.kinds) == "probability"
        return np.where(were_odds, expit(x), x)[:, self.used_]

    def save(self, path: Any) -> NoReturn:
        """Refuse: a file would hold code."""
        raise InvalidInputError(
            f"{self.how} is here to compare with, and is not saved. Save the calibrator of comparison.best instead."
        )


def _base_rate(x: Floats, correct: Bools, weight: Any, *_: Any) -> Any:
    share = float(np.average(correct, weights=weight))
    return lambda x: np.full(len(x), share)


def _as_it_is(x: Floats, correct: Bools, weight: Any, *_: Any) -> Any:
    share = float(np.average(correct, weights=weight))
    return lambda x: np.where(np.isnan(x[:, 0]), share, x[:, 0])


def _isotonic(x: Floats, correct: Bools, weight: Any, *_: Any) -> Any:
    """Fit isotonic regression of one signal, up or down; gaps get their own share."""
    from sklearn.isotonic import IsotonicRegression

    known = ~np.isnan(x[:, 0])
    gap = float(np.average(correct[~known] if (~known).any() else correct))
    weight = None if weight is None else weight[known]
    up = bool(rankdata(x[known, 0]) @ (correct[known] - correct[known].mean()) >= 0)
    fitted = IsotonicRegression(out_of_bounds="clip", increasing=up).fit(x[known, 0], correct[known], weight)
    return lambda x: np.where(np.isnan(x[:, 0]), gap, fitted.predict(np.nan_to_num(x[:, 0])))


def _logistic(x: Floats, correct: Bools, weight: Any, are_numbers: Bools, *_: Any) -> Any:
    """Fit logistic regression: gaps at the mean and marked, categories one-hot; of one number it is Platt scaling."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = make_pipeline(SimpleImputer(add_indicator=True, keep_empty_features=True), StandardScaler())
    levels = OneHotEncoder(handle_unknown="ignore")
    columns = make_column_transformer((numbers, np.flatnonzero(are_numbers)), (levels, np.flatnonzero(~are_numbers)))
    fitted = make_pipeline(columns, LogisticRegression(max_iter=1000))
    fitted.fit(x, correct, logisticregression__sample_weight=weight)
    return lambda x: fitted.predict_proba(x)[:, 1]


def _boosting(x: Floats, correct: Bools, weight: Any, are_numbers: Bools, random_state: int | None) -> Any:
    """Fit histogram boosting with its defaults; of a category's levels it takes the most frequent."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    levels = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=np.nan, max_categories=_MOST_LEVELS, encoded_missing_value=-1
    )
    columns = make_column_transformer((levels, np.flatnonzero(~are_numbers)), remainder="passthrough")
    first = np.arange(int(np.sum(~are_numbers)))
    trees = HistGradientBoostingClassifier(random_state=random_state, categorical_features=first)
    fitted = make_pipeline(columns, trees)
    fitted.fit(x, correct, histgradientboostingclassifier__sample_weight=weight)
    return lambda x: fitted.predict_proba(x)[:, 1]


_FITS: dict[str, Callable[..., Any]] = {
    BASE_RATE: _base_rate,
    "as it is": _as_it_is,
    "isotonic": _isotonic,
    "logistic regression": _logistic,
    "histogram boosting": _boosting,
}
