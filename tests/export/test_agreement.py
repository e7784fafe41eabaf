"""Every calibrator gives the same in Python, in torch and in ONNX, for any number of classes and rows."""

import numpy as np
import pytest
import torch

from auxcal import CALIBRATORS
from auxcal.onnx import to_onnx
from auxcal.torch import as_module

from .conftest import fitted, rng_features, rows, session

pytestmark = pytest.mark.usefixtures("quick_training")

SQUARE = {"dirichlet", "matrix", "structured-matrix"}  # a million weights for 1000 classes: too long to learn


def with_weights(name, k):
    """Give a calibrator with weights of its own, as if they were learned."""
    rng = np.random.default_rng(0)
    calibrator = fitted(name, 4)
    calibrator.weight_ = np.eye(k) / 3 + rng.normal(size=(k, k), scale=0.3 / k)
    calibrator.bias_ = rng.normal(size=k, scale=0.1)
    calibrator.n_features_in_ = k
    return calibrator


def cases():
    """Yield what the promises of every calibrator, tried with two classes and four, leave open."""
    for name, kind in CALIBRATORS.items():
        schemes = [{"scheme": scheme} for scheme in ("per-class", "top-label")]
        for arguments in schemes if "scheme" in kind().get_params() else [{}]:
            yield name, 10, 0, arguments
        yield name, 1000, 0, {}
        if kind.uses_features:
            yield name, 10, 30, {}


@pytest.mark.parametrize(("name", "k", "d", "arguments"), list(cases()))
def test_the_same_prediction_and_confidence(name, k, d, arguments):
    calibrator = with_weights(name, k) if name in SQUARE and k > 100 else fitted(name, k, d, **arguments)
    module, model = as_module(calibrator), session(to_onnx(calibrator))
    many = 10_000 if k < 100 else 500
    for logits in (*(rows(n, k, 1)[0] for n in (1, 7, many)), ties(k), extreme(k)):
        features = rng_features(len(logits), d)
        expected = calibrator.predict_confidence(logits, features)
        given = {"logits": logits} | ({"features": features} if d else {})
        prediction, confidence = model.run(None, given)
        np.testing.assert_array_equal(prediction, logits.argmax(axis=1))
        in_torch = module(*map(torch.tensor, given.values())).numpy()
        # At ±1e4 float32 has three digits after the point: what networks make of it is no sharper.
        steep = name == "isotonic" or (name in ("ccac", "ccac-s") and np.abs(logits).max() == 1e4)
        for each in (confidence, in_torch):
            off = np.abs(each - expected)
            assert each.dtype == np.float32
            assert np.mean(off <= 1e-5) >= (0.995 if steep else 1)
            assert off.max() <= 1e-3


def ties(k):
    return np.random.default_rng(0).integers(2, size=(50, k)).astype(np.float32)


def extreme(k):
    return np.random.default_rng(0).choice([-1e4, 0.0, 1e4], size=(50, k)).astype(np.float32)


@pytest.mark.parametrize("name", ["ccac-x", "scaling-binning"])
def test_no_rows_give_no_confidences(name):
    calibrator = fitted(name, 3)
    none = np.zeros((0, 3), dtype=np.float32)
    assert [each.shape for each in session(to_onnx(calibrator)).run(None, {"logits": none})] == [(0,), (0,)]
    assert as_module(calibrator)(torch.tensor(none)).shape == (0,)


def test_rows_on_an_edge_stay_in_their_bin():
    """An edge is the score of a row where the quantile falls on one; there an engine may round a bit lower."""
    calibrator = fitted("histogram", 10, n_bins=9)  # of 1000 rows: every edge is a score
    logits, _ = rows(1000, 10, 0)
    _, confidence = session(to_onnx(calibrator)).run(None, {"logits": logits})
    np.testing.assert_allclose(confidence, calibrator.predict_confidence(logits), atol=1e-5)


def test_many_knots_are_searched_in_two_looks():
    calibrator = fitted("isotonic", 3)
    x = np.cumsum(np.random.default_rng(0).uniform(0.01, 0.1, size=500)) - 10
    calibrator.knots_ = (np.stack([x, np.linspace(0, 1, 500)]),)
    logits = np.zeros((2000, 3), dtype=np.float32)
    logits[:, 0] = np.linspace(0, 30, 2000)
    _, confidence = session(to_onnx(calibrator)).run(None, {"logits": logits})
    np.testing.assert_allclose(confidence, calibrator.predict_confidence(logits), atol=1e-5)


@pytest.mark.parametrize("name", ["ccac-x", "temperature", "beta"])
def test_what_was_fitted_on_probabilities_takes_probabilities(name):
    logits, y = rows(300, 4, 0)
    proba = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)).astype(np.float32)
    proba[0] = [1, 0, 0, 0]  # of which the logarithm is clipped
    calibrator = CALIBRATORS[name]().fit(proba, y, probabilities=True, class_names=list("abcd"))
    prediction, confidence = session(to_onnx(calibrator)).run(None, {"logits": proba})
    np.testing.assert_array_equal(prediction, proba.argmax(axis=1))
    np.testing.assert_allclose(confidence, calibrator.predict_confidence(proba), atol=1e-5)
    np.testing.assert_allclose(
        as_module(calibrator)(torch.tensor(proba)), calibrator.predict_confidence(proba), atol=1e-5
    )
    facts = {each.key: each.value for each in to_onnx(calibrator).metadata_props}
    assert (facts["auxcal.inputs"], facts["auxcal.class_names"]) == ("probabilities", '["a", "b", "c", "d"]')
