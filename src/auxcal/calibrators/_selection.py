"""The choice of hyper-parameters on the select part."""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from auxcal._arrays import Floats
from auxcal._errors import InvalidInputError
from auxcal.metrics import METRICS
from auxcal.predictions import Predictions

SelectBy = Literal["ece", "brier", "nll"]


def select_score(select_by: SelectBy, confidence: Floats, select: Predictions) -> float:
    """Return how good a confidence is on the select part; less is better."""
    if select_by not in get_args(SelectBy):
        raise InvalidInputError(
            f"select_by must be one of {', '.join(map(repr, get_args(SelectBy)))}; got {select_by!r}. "
            f"The paper uses 'ece'."
        )
    return METRICS[select_by].function(confidence, select.correct)


def as_candidates(value: float | Sequence[float], name: str) -> tuple[float, ...]:
    """Return a fixed number or the numbers to search as a tuple."""
    numbers = np.atleast_1d(np.asarray(value))
    if numbers.ndim != 1 or not len(numbers) or numbers.dtype.kind not in "iuf":
        raise InvalidInputError(
            f"{name} must be a number, which fixes it, or a sequence of numbers to choose from; got {value!r}."
        )
    if not (np.isfinite(numbers).all() and (numbers >= 0).all()):
        raise InvalidInputError(f"{name} must be finite and at least 0; got {value!r}.")
    return tuple(float(number) for number in numbers)
