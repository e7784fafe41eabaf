"""Small data to try calibrators on, and assertions with what was expected."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from auxcal._core.arrays import NO_CLASS, Floats
from auxcal._core.errors import AuxcalWarning, ConformanceError
from auxcal.calibrators import Calibrator
from auxcal.predictions import Predictions


def require(holds: bool | np.bool_, message: str) -> None:
    """Raise a `ConformanceError` with the message unless the condition holds."""
    if not holds:
        raise ConformanceError(message)


def require_error(kind: type[Exception], attempt: Callable[[], Any], message: str) -> str:
    """Raise a `ConformanceError` unless the call raises an error of that kind; return its message."""
    try:
        attempt()
    except kind as error:
        return str(error)
    except Exception as error:
        raise ConformanceError(f"{message}: expected {kind.__name__}, got {type(error).__name__}: {error}") from error
    raise ConformanceError(f"{message}: expected {kind.__name__}, and nothing was raised")


def sample(n: int = 400, n_classes: int = 4, seed: int = 0) -> Predictions:
    """Overconfident logits of a classifier that also meets out-of-distribution samples."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, n_classes), scale=1.5)
    y = (truth + rng.gumbel(size=truth.shape)).argmax(axis=1)
    y[rng.random(n) < 0.1] = NO_CLASS
    return Predictions((3 * truth).astype(np.float32), y)


def fit(calibrator: Calibrator, data: Predictions) -> Calibrator:
    """Return a fitted copy, with random state 0 if it has one."""
    new = clone(calibrator)
    if "random_state" in new.get_params():
        new.set_params(random_state=0)
    return refit(new, data)


def refit(calibrator: Calibrator, data: Predictions) -> Calibrator:
    """Fit the calibrator itself, whether it converges or not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AuxcalWarning)  # the rows of a check are few
        return calibrator.fit(
            data.logits, data.y, features=data.features, sample_weight=data.sample_weight, groups=data.groups
        )


def require_confidence(confidence: Floats, n: int, when: str) -> None:
    """Check that this is a confidence of n rows."""
    require(confidence.shape == (n,), f"{when}: predict_confidence gave shape {confidence.shape}, not ({n},)")
    require(bool(np.all((confidence >= 0) & (confidence <= 1))), f"{when}: a confidence is outside [0, 1] or NaN")
