"""Rows of NO_CLASS as a uniform target: what it means, and what it brings."""

import numpy as np
import pytest

from auxcal import (
    NO_CLASS,
    ConvergenceWarning,
    Dirichlet,
    EnsembleTemperatureScaling,
    InvalidInputError,
    MatrixScaling,
    StructuredMatrixScaling,
    StructuredVectorScaling,
    TemperatureScaling,
    VectorScaling,
)
from auxcal._core.logits import softmax
from auxcal.testing import check_calibrator

KINDS = {
    "temperature": (TemperatureScaling, {}),
    "ensemble": (EnsembleTemperatureScaling, {}),
    "vector": (VectorScaling, {}),
    "matrix": (MatrixScaling, {"off_diagonal": 0.1}),
    "dirichlet": (Dirichlet, {"off_diagonal": 0.1, "intercept": 0.1}),
    "structured-vector": (StructuredVectorScaling, {}),
    "structured-matrix": (StructuredMatrixScaling, {}),
}
every_kind = pytest.mark.parametrize(("kind", "params"), KINDS.values(), ids=KINDS)


def targets_of(data):
    targets = np.eye(data.n_classes)[data.y]
    targets[data.y == NO_CLASS] = 1 / data.n_classes
    return targets


def cross_entropy(fitted, data):
    return -(targets_of(data) * np.log(fitted.predict_proba(data.logits))).sum(axis=1).mean()


def spelt_out(data):
    """Every row K times: with its class, or with each class in turn where it has none."""
    k = data.n_classes
    y = np.where(data.y == NO_CLASS, np.arange(k)[:, None], data.y)
    return np.tile(data.logits, (k, 1)), y.ravel()


@every_kind
def test_a_uniform_target_is_one_row_of_each_class(kind, params, shifted):
    uniform = kind(**params, no_class="uniform").fit(shifted.logits, shifted.y)
    if "strength" in kind().get_params():
        params = {"strength": shifted.n_classes}  # the penalty is divided among K times as many rows
    expected = kind(**params).fit(*spelt_out(shifted))
    proba = uniform.predict_proba(shifted.logits)
    assert proba == pytest.approx(expected.predict_proba(shifted.logits), abs=2e-3)
    left_out = kind(**params).fit(shifted.logits, shifted.y)
    assert np.abs(proba - left_out.predict_proba(shifted.logits)).max() > 0.1


@every_kind
def test_the_uniform_target_lowers_its_loss(kind, params, shifted):
    uniform, left_out = (
        kind(**params, no_class=no_class).fit(shifted.logits, shifted.y) for no_class in ("uniform", "leave-out")
    )
    assert cross_entropy(uniform, shifted) < cross_entropy(left_out, shifted) - 0.01


def test_the_gradient_vanishes_at_the_fit(shifted):
    fitted = MatrixScaling(no_class="uniform").fit(shifted.logits, shifted.y)
    residual = fitted.predict_proba(shifted.logits) - targets_of(shifted)
    assert residual.T @ shifted.logits / len(shifted) == pytest.approx(0, abs=2e-3)
    assert residual.mean(axis=0) == pytest.approx(0, abs=2e-4)


def test_the_slope_vanishes_at_the_temperature(shifted):
    temperature = TemperatureScaling(no_class="uniform").fit(shifted.logits, shifted.y).temperature_
    residual = softmax(shifted.logits / temperature) - targets_of(shifted)
    assert np.sum(residual * shifted.logits, axis=1).mean() == pytest.approx(0, abs=1e-4)


@every_kind
def test_confident_rows_of_no_class_lower_the_confidence(kind, params, calibrated):
    rng = np.random.default_rng(0)
    sure = 20 * np.eye(4)[rng.integers(4, size=300)] + rng.normal(size=(300, 4))
    logits = np.concatenate([calibrated.logits, sure])
    y = np.concatenate([calibrated.y, np.full(300, NO_CLASS)])
    uniform, left_out = (kind(**params, no_class=way).fit(logits, y) for way in ("uniform", "leave-out"))
    assert uniform.predict_confidence(sure).mean() < left_out.predict_confidence(sure).mean() - 0.02
    if kind is TemperatureScaling:
        assert uniform.temperature_ > 1.2 * left_out.temperature_


def test_where_no_row_has_a_class_all_are_equally_likely():
    logits, y = np.random.default_rng(0).normal(size=(100, 3)), np.full(100, NO_CLASS)
    with pytest.warns(ConvergenceWarning, match="some rows have a class"):
        temperature = TemperatureScaling(no_class="uniform").fit(logits, y)
    matrix = MatrixScaling(no_class="uniform").fit(logits, y)
    for fitted in (temperature, matrix):
        assert fitted.predict_proba(logits) == pytest.approx(1 / 3, abs=1e-3)


@every_kind
def test_another_way_is_refused(kind, params, calibrated):
    with pytest.raises(InvalidInputError, match="'leave-out' or 'uniform'; got 'ignore'"):
        kind(**params, no_class="ignore").fit(calibrated.logits, calibrated.y)


@every_kind
def test_it_keeps_every_promise(kind, params):
    check_calibrator(kind(**params, no_class="uniform"))
