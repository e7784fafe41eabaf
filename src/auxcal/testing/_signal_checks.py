"""What a calibrator of signals promises: one function for each check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone

from auxcal._core.arrays import Bools
from auxcal._core.errors import InvalidInputError, NotFittedError
from auxcal.calibrators import SignalCalibrator
from auxcal.persistence import from_bytes, to_bytes
from auxcal.testing._trials import require, require_confidence, require_error

Table: TypeAlias = dict[str, Any]

_ROUNDING = 1e-9  # of float64: how far a row may move with the rows around it


def answers(n: int = 300, random_state: int = 0) -> tuple[Table, Bools]:
    """Return made-up answers: a number with gaps, another one, a category, and whether each is right."""
    rng = np.random.default_rng(random_state)
    ability, topic = rng.normal(size=n), rng.choice(np.array(["art", "law"], dtype=object), n)
    correct = rng.random(n) < 1 / (1 + np.exp(-(ability + np.where(topic == "law", 1.0, -1.0))))
    stated = np.where(rng.random(n) < 0.2, np.nan, ability)
    return {"stated": stated, "noise": rng.normal(size=n), "topic": topic}, correct


def an_unfitted_one_refuses(calibrator: SignalCalibrator) -> None:
    """Before `fit` there is no confidence, and a failed fit leaves none."""
    table, correct = answers()
    new = clone(calibrator)
    require_error(NotFittedError, lambda: new.predict_confidence(table), "an unfitted calibrator was scored")
    new.fit(table, correct)
    require_error(InvalidInputError, lambda: new.fit(table, correct[:3]), "too few marks were accepted by fit")
    require_error(NotFittedError, lambda: new.predict_confidence(table), "a failed fit left a fitted state")


def a_row_stands_alone(calibrator: SignalCalibrator) -> None:
    """A confidence is a probability, and does not depend on the other rows, on their order or that of the columns."""
    table, correct = answers()
    fitted = clone(calibrator).fit(table, correct)
    confidence = fitted.predict_confidence(table)
    require_confidence(confidence, len(correct), "after a fit")
    turned = {name: column[::-1] for name, column in reversed(table.items())}
    off = np.abs(fitted.predict_confidence(turned)[::-1] - confidence).max()
    require(bool(off < _ROUNDING), "the order of rows or columns changes the confidence")
    first = {name: column[:1] for name, column in table.items()}
    off = np.abs(fitted.predict_confidence(first) - confidence[:1]).max()
    require(bool(off < _ROUNDING), "a row alone has another confidence than among others")


def a_saved_one_is_the_same(calibrator: SignalCalibrator) -> None:
    """A calibrator that was saved gives the same bits, and a second fit with the same random state does too."""
    table, correct = answers()
    fitted = clone(calibrator).set_params(random_state=0).fit(table, correct)
    confidence = fitted.predict_confidence(table)
    again = clone(fitted).fit(*answers(random_state=1)).fit(table, correct)
    others: tuple[Any, ...] = from_bytes(to_bytes(fitted)), again
    for other in others:
        require(np.array_equal(other.predict_confidence(table), confidence), "saved or fitted again, it differs")


def odd_rows_are_scored(calibrator: SignalCalibrator) -> None:
    """Gaps everywhere, new levels and infinities have a confidence; a missing column is an error."""
    table, correct = answers()
    fitted = clone(calibrator).fit(table, correct)
    odd = {"stated": [np.nan, np.inf, -np.inf], "noise": [np.nan, 0.0, 1e300], "topic": [None, "history", "law"]}
    require_confidence(fitted.predict_confidence(odd), 3, "odd rows")
    less = {name: table[name] for name in ("stated", "noise")}
    require_error(InvalidInputError, lambda: fitted.predict_confidence(less), "a missing column was accepted")


def one_kind_of_answer_is_enough(calibrator: SignalCalibrator) -> None:
    """If all answers are right, or all are wrong, the confidence is on their side."""
    table, correct = answers()
    for right in (True, False):
        fitted = clone(calibrator).fit(table, np.full(len(correct), right))
        confidence = fitted.predict_confidence(table)
        require(bool(np.all((confidence > 0.5) == right)), "all answers are alike, and the confidence is not")


def inputs_stay_as_they_are(calibrator: SignalCalibrator) -> None:
    """Neither a fit nor scoring changes the table or the global random state."""
    table, correct = answers()
    before = {name: column.copy() for name, column in table.items()}
    state = _global_state()
    clone(calibrator).fit(table, correct).predict_confidence(table)
    same = all(np.array_equal(table[name], column, equal_nan=column.dtype != object) for name, column in before.items())
    require(same, "the table was changed")
    require(np.array_equal(_global_state(), state), "the global random state was changed")


def _global_state() -> Any:
    return np.random.get_state(legacy=False)["state"]["key"].copy()  # noqa: NPY002


SIGNAL_CHECKS: tuple[Callable[[SignalCalibrator], None], ...] = (
    an_unfitted_one_refuses,
    a_row_stands_alone,
    a_saved_one_is_the_same,
    odd_rows_are_scored,
    one_kind_of_answer_is_enough,
    inputs_stay_as_they_are,
)
"""All checks of a calibrator of signals."""
