"""The select part (the validation set), and the choice of hyper-parameters on it."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import Floats
from auxcal._core.errors import InvalidInputError
from auxcal.inputs import Inputs, by_name
from auxcal.metrics import METRICS
from auxcal.predictions import Predictions

LARGEST = 1e9  # of a weight in a loss; far beyond it float32 overflows

SelectBy = Literal["ece", "brier", "nll"]

SelectPart: TypeAlias = tuple[ArrayLike, ArrayLike] | tuple[ArrayLike, ArrayLike, ArrayLike | None] | Predictions
"""(logits, y), or (logits, y, features), or all that Predictions have."""


def as_select(select: SelectPart, data: Predictions) -> Predictions:
    """Check the select part, which must be of the same target classifier as the fit part."""
    part = select if isinstance(select, Predictions) else _predictions(select, data.inputs)
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
    return part.counted()


def _predictions(select: Any, inputs: Inputs) -> Predictions:
    """Return the rows of the select part, of the same kind as the fit part, columns taken by name."""
    if not isinstance(select, tuple | list) or len(select) not in (2, 3):
        raise InvalidInputError(
            f"select must be a pair (logits, y), with features a triple (logits, y, features); got "
            f"{type(select).__name__}. Give select=(select_logits, select_y)."
        )
    features = by_name(select[2], inputs.feature_names, "features") if len(select) == 3 else None
    try:
        logits = by_name(select[0], inputs.column_names, "logits")
        known: dict[str, Any] = {"class_names": inputs.names, "no_class": inputs.no_class}
        return Predictions(logits, select[1], features, probabilities=inputs.kind == "probabilities", **known)
    except InvalidInputError as error:
        raise InvalidInputError(f"select: {error}") from None


def joined_parts(data: Predictions, select: Predictions) -> Predictions:
    """Return the rows of both parts together, for a method that makes no difference between them."""
    if (data.groups is None) != (select.groups is None):
        raise InvalidInputError(
            "the rows of the select part are used like the others, so both parts must have groups or neither; got "
            "them for one. Give select=Predictions(logits, y, groups=groups)."
        )
    return data.joined(select)


def select_score(select_by: SelectBy, confidence: Floats, select: Predictions) -> float:
    """Return how good a confidence is on the select part; less is better."""
    check_select_by(select_by)
    return METRICS[select_by].function(confidence, select.correct, sample_weight=select.sample_weight)


def check_select_by(select_by: SelectBy) -> None:
    """Reject an unknown score."""
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
    """Return a whole number that is at least `least`."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise InvalidInputError(f"{name} must be a whole number of at least {least}; got {value!r}.")
    return int(value)
