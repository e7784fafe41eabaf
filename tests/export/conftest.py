"""Rows, and calibrators that were fitted on such."""

import warnings

import numpy as np
import onnxruntime
import pytest

from auxcal import CALIBRATORS, ConvergenceWarning


def rows(n, k, seed):
    """Give over-confident logits, with a y that suits them."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, k), scale=1.5)
    y = (truth * (3 if k > 100 else 1) + rng.gumbel(size=truth.shape)).argmax(axis=1)
    y[rng.random(n) < 0.1] = -1
    return (3 * truth).astype(np.float32), y


def fitted(name, k, d=0, **arguments):
    """Give a calibrator fitted for k classes, and d features if it uses such."""
    quick = {"hidden_sizes": (8,), "lambda1": 0, "lambda2": 1} if name in ("ccac", "ccac-s") else {}
    calibrator = CALIBRATORS[name](**quick, **arguments)
    if "random_state" in calibrator.get_params():
        calibrator.set_params(random_state=0)
    logits, y = rows(1000 if k < 100 else 300, k, 0)
    features = rng_features(len(logits), d)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return calibrator.fit(logits, y, features=features)


def rng_features(n, d):
    return np.random.default_rng(2).normal(size=(n, d)).astype(np.float32) if d else None


def session(model):
    """Run an ONNX model."""
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


@pytest.fixture(scope="session")
def platt():
    return fitted("platt", 5)
