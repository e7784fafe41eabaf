"""The select part (the validation set), and the choice of hyper-parameters on it."""

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from auxcal._arrays import Floats
from auxcal._errors import InvalidInputError
from auxcal.metrics import METRICS
from auxcal.predictions import Predictions

LARGEST = 1e9  # of a weight in a loss; far beyond it float32 overflows

SelectBy = Literal["ece", "brier", "nll"]

SelectPart: TypeAlias = tuple[ArrayLike, ArrayLike] | tuple[ArrayLike, ArrayLike, ArrayLike | None]
"""(logits, y), or (logits, y, features)."""


def as_select(select: SelectPart, data: Predictions) -> Predictions:
    """Check the select part, which must be of the same target classifier as the fit part."""
    if not isinstance(select, tuple | list) or len(select) not in (2, 3):
        raise InvalidInputError(
            f"select must be a pair (logits, y), with features a triple (logits, y, features); got "
            f"{type(select).__name__}. Give select=(select_logits, select_y)."
        )
    try:
        part = Predictions(*select)
    except InvalidInputError as error:
        raise InvalidInputError(f"select: {error}") from None
    if part.n_classes != data.n_classes:
        raise InvalidInputError(
            f"select: the logits of the select part must have {data.n_classes} columns as those of the fit part; got "
            f"{part.n_classes}. Use the same target classifier for both."
        )
    if part.n_features != data.n_features:
        raise InvalidInputError(
            f"select: the select part must have {data.n_features} features of each sample as the fit part; got "
            f"{part.n_features}. Give features=features and select=(logits, y, features), or neither."
        )
    return part


def select_score(select_by: SelectBy, confidence: Floats, select: Predictions) -> float:
    """Return how good a confidence is on the select part; less is better."""
    check_select_by(select_by)
    return METRICS[select_by].function(confidence, select.correct)


def check_select_by(select_by: SelectBy) -> None:
    """Refuse a score that is none."""
    if select_by not in get_args(SelectBy):
        raise InvalidInputError(
            f"select_by must be one of {', '.join(map(repr, get_args(SelectBy)))}; got {select_by!r}. "
            f"The paper uses 'ece'."
        )


def as_candidates(value: float | Sequence[float], name: str) -> tuple[float, ...]:
    """Return a fixed number or the numbers to search as a tuple."""
    try:
        numbers = np.atleast_1d(np.asarray(value))
    except ValueError:
        numbers = np.empty(0)
    if numbers.ndim != 1 or not len(numbers) or numbers.dtype.kind not in "iuf":
        raise InvalidInputError(
            f"{name} must be a number, which fixes it, or a sequence of numbers to choose from; got {value!r}."
        )
    if not ((numbers >= 0) & (numbers <= LARGEST)).all():
        raise InvalidInputError(f"{name} must be from 0 to {LARGEST:.0e}; got {value!r}. It weighs a term of the loss.")
    return tuple(float(number) for number in numbers)


def as_strength(value: float, name: str) -> float:
    """Return one number that is at least 0."""
    numbers = as_candidates(value, name)
    if np.ndim(value) != 0:
        raise InvalidInputError(f"{name} must be one number, since nothing is searched here; got {value!r}.")
    return numbers[0]


def as_whole(value: int, name: str, *, least: int) -> int:
    """Return a whole number that is at least as large as the least that makes sense."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise InvalidInputError(f"{name} must be a whole number of at least {least}; got {value!r}.")
    return int(value)
