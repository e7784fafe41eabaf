"""What every calibrator promises about features: it uses them, or refuses them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from auxcal._core.arrays import Floats
from auxcal._core.chunks import CHUNK_BYTES
from auxcal._core.errors import InvalidInputError
from auxcal.calibrators import Calibrator
from auxcal.persistence import load
from auxcal.predictions import Predictions
from auxcal.testing._assertions import demand, demand_error
from auxcal.testing._trials import demand_confidence, fit, sample


def features_are_used_or_refused(calibrator: Calibrator) -> None:
    """A method that uses features does so in fits, scores and files; any other refuses them and says why."""
    data = sample()
    features = _features_of(data)
    if calibrator.uses_features:
        _demand_use(calibrator, data, features)
        _demand_the_same_number(calibrator, data, features)
        return
    fitted = fit(calibrator, data)
    for attempt in (
        lambda: clone(calibrator).fit(data.logits, data.y, features=features),
        lambda: fitted.predict_confidence(data.logits, features),
    ):
        message = demand_error(InvalidInputError, attempt, "features were taken by a method that does not use them")
        demand("Leave features out" in message, f"the error for features must say what to do: {message!r}")


def _features_of(data: Predictions, d: int = 50) -> Floats:
    """Draw features; the first says more about correctness than the logits do."""
    features = np.random.default_rng(0).normal(size=(len(data), d)).astype(np.float32)
    features[:, 0] += 2 * data.correct
    return features


def _demand_use(calibrator: Calibrator, data: Predictions, features: Floats) -> None:
    fitted = fit(calibrator, Predictions(data.logits, data.y, features))
    confidence = fitted.predict_confidence(data.logits, features)
    demand_confidence(confidence, len(data), "with features")
    others = fitted.predict_confidence(data.logits, features[::-1])
    demand(not np.array_equal(others, confidence), "uses_features is True, and other features change nothing")
    times = 1 + CHUNK_BYTES // (data.logits.nbytes + features.nbytes)
    many = fitted.predict_confidence(np.tile(data.logits, (times, 1)), np.tile(features, (times, 1)))
    demand(np.allclose(many, np.tile(confidence, times), atol=1e-6), "many rows with features give other confidences")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c.safetensors"
        fitted.save(path)
        loaded = load(path).predict_confidence(data.logits, features)
        demand(np.array_equal(loaded, confidence), "with features, load gives other bits than save")


def _demand_the_same_number(calibrator: Calibrator, data: Predictions, features: Floats) -> None:
    z, y = data.logits, data.y
    fitted, plain = fit(calibrator, Predictions(z, y, features)), fit(calibrator, data)
    attempts: dict[str, Callable[[], Any]] = {
        "fewer features than in the fit": lambda: fitted.predict_confidence(z, features[:, 1:]),
        "no features after a fit with them": lambda: fitted.predict_confidence(z),
        "features after a fit without": lambda: plain.predict_confidence(z, features),
        "fewer rows of features than of logits": lambda: fitted.predict_confidence(z, features[1:]),
        "a select part without features": lambda: clone(calibrator).fit(z, y, select=(z, y), features=features),
    }
    for what, attempt in attempts.items():
        message = demand_error(InvalidInputError, attempt, f"{what} must be refused")
        demand("got" in message, f"the error for {what} must say what came: {message!r}")
