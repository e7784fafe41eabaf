"""Validation of what only the plots take: a distribution with its logits, and class names."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import Floats, to_numpy
from auxcal._core.errors import InvalidInputError
from auxcal._core.float_errors import ignore_float_errors
from auxcal.predictions import Predictions


@ignore_float_errors
def as_proba(proba: ArrayLike, part: Predictions) -> Floats:
    """Check `proba` and return it as floats of shape (n, K) or (n, K + 1), for the n rows and K classes of `part`."""
    array = to_numpy(proba, "proba")
    n, k = part.logits.shape
    if array.shape not in ((n, k), (n, k + 1)):
        raise InvalidInputError(
            f"proba must have shape {(n, k)}, or {(n, k + 1)} with an auxiliary class, for logits of shape {(n, k)}; "
            f"got {array.shape}. Use calibrator.predict_proba(logits)."
        )
    if array.dtype.kind != "f" or not (np.isfinite(array).all() and array.min() >= 0 and array.max() <= 1):
        raise InvalidInputError(
            f"proba must hold probabilities in [0, 1]; got other values (dtype {array.dtype}). "
            f"Use calibrator.predict_proba(logits), not the logits themselves."
        )
    return array.astype(np.float64)


def check_count(value: int, name: str) -> None:
    """Check that a number of samples is a whole number above 0."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise InvalidInputError(f"{name} must be a whole number of at least 1; got {value!r}. The paper uses 50.")
