"""Signals in torch and ONNX: numbers give the same confidence, and the rest is refused in a sentence."""

import numpy as np
import pytest

from auxcal import InvalidInputError, SignalCalibrator

rng = np.random.default_rng(0)
X = rng.normal(size=(800, 3)) * [1, 10, 100]
CORRECT = rng.random(800) < 1 / (1 + np.exp(-X[:, 0] - 0.1 * X[:, 1] * np.sign(X[:, 2])))


@pytest.fixture(scope="module")
def fitted():
    return SignalCalibrator(random_state=0).fit(X, CORRECT)


def test_torch_says_the_same(fitted):
    torch = pytest.importorskip("torch")
    from auxcal.torch import as_module

    found = as_module(fitted)(torch.from_numpy(X).float()).numpy()
    np.testing.assert_allclose(found, fitted.predict_confidence(X.astype(np.float32)), atol=2e-5)


def test_onnx_says_the_same(fitted):
    onnxruntime = pytest.importorskip("onnxruntime")
    from auxcal.onnx import to_onnx

    session = onnxruntime.InferenceSession(to_onnx(fitted).SerializeToString())
    _, found = session.run(None, {"signals": X.astype(np.float32)})
    np.testing.assert_allclose(found, fitted.predict_confidence(X.astype(np.float32)), atol=2e-5)


@pytest.mark.parametrize("kind", ["category", "probability"])
def test_what_is_no_plain_number_is_refused(kind):
    pytest.importorskip("onnx")
    from auxcal.onnx import to_onnx

    table = {"a": rng.random(200), "b": rng.choice(["x", "y"], 200) if kind == "category" else rng.random(200)}
    fitted = SignalCalibrator(probabilities=["b"] if kind == "probability" else [], random_state=0)
    fitted.fit(table, rng.random(200) < 0.5)
    with pytest.raises(InvalidInputError, match="torch and ONNX take numbers as they are"):
        to_onnx(fitted)
