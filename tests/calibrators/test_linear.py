"""Vector, matrix, Dirichlet and structured calibration reach the optimum of their convex losses."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from auxcal import (
    NO_CLASS,
    Dirichlet,
    MatrixScaling,
    StructuredMatrixScaling,
    StructuredVectorScaling,
    TemperatureScaling,
    VectorScaling,
)
from auxcal._core.logits import log_softmax
from auxcal.calibrators.solvers.linear import Penalty, centred

from .conftest import draw

STRUCTURED = [StructuredVectorScaling, StructuredMatrixScaling]


def loss_of(fitted, logits, y):
    return log_loss(y, fitted.predict_proba(logits.astype(np.float64)))


def test_matrix_scaling_is_multinomial_logistic_regression():
    logits, y = draw(n=2000)
    oracle = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(logits, y)
    fitted = MatrixScaling().fit(logits, y)
    assert fitted.predict_proba(logits) == pytest.approx(oracle.predict_proba(logits), abs=1e-3)
    assert loss_of(fitted, logits, y) <= log_loss(y, oracle.predict_proba(logits)) + 1e-8


@pytest.mark.parametrize("scale", [0.01, 1, 100])
def test_each_richer_method_is_at_least_as_likely_on_its_fit_part(scale):
    logits, y = draw(n=2000)
    logits = scale * logits * [1, 2, 3, 4] + scale * np.array([0, 1, 0, -1])
    temperature, vector, matrix = (
        loss_of(kind().fit(logits, y), logits, y) for kind in (TemperatureScaling, VectorScaling, MatrixScaling)
    )
    assert matrix <= vector + 1e-7 <= temperature + 2e-7
    assert vector < temperature - 0.01


def test_vector_scaling_recovers_known_numbers():
    logits, y = draw(n=20_000)
    fitted = VectorScaling().fit((logits - [0, 1, 2, 3]) * [1, 2, 3, 4], y)
    assert fitted.weight_ == pytest.approx(1 / np.array([1, 2, 3, 4]), rel=0.1)
    assert fitted.bias_ - fitted.bias_[0] == pytest.approx([0, 1, 2, 3], abs=0.15)


@pytest.mark.parametrize("penalty", [Penalty(0.01, 0.01), Penalty(1, 0.1), Penalty(10, 10)])
def test_the_gradient_of_the_dirichlet_loss_vanishes_at_the_fit(penalty):
    logits, y = draw(n=2000)
    fitted = Dirichlet(off_diagonal=penalty.off_diagonal, intercept=penalty.intercept).fit(2 * logits, y)
    x = log_softmax(2 * logits)
    residual = fitted.predict_proba(2 * logits)
    residual[np.arange(len(y)), y] -= 1
    _, gradient = penalty(np.column_stack([fitted.weight_, fitted.bias_]))
    assert residual.T @ x / len(y) + gradient[:, :-1] == pytest.approx(0, abs=2e-4)
    assert residual.mean(axis=0) + gradient[:, -1] == pytest.approx(0, abs=2e-4)


def test_a_strong_penalty_leaves_the_diagonal_free_only():
    logits, y = draw(n=2000)
    fitted = Dirichlet(off_diagonal=1e6, intercept=1e6).fit(2 * logits, y)
    off = fitted.weight_ - np.diag(np.diagonal(fitted.weight_))
    assert np.abs(off).max() < 1e-4
    assert np.abs(fitted.bias_).max() < 1e-4
    assert np.diagonal(fitted.weight_) == pytest.approx(0.5, abs=0.1)


def test_centring_changes_no_probability_and_lowers_the_penalty():
    rng = np.random.default_rng(0)
    weight, bias, x = rng.normal(size=(4, 4)), rng.normal(size=4), rng.normal(size=(50, 4))
    new = centred(np.column_stack([weight, bias]))
    new_weight, new_bias = new[:, :4], new[:, 4]
    assert log_softmax(x @ new_weight.T + new_bias) == pytest.approx(log_softmax(x @ weight.T + bias))
    off = ~np.eye(4, dtype=bool)
    assert (new_weight[off] ** 2).sum() < (weight[off] ** 2).sum()
    assert (new_bias**2).sum() < (bias**2).sum()


def test_the_search_keeps_every_candidate_and_takes_the_best():
    logits, y = draw()
    fitted = Dirichlet(random_state=0).fit(2 * logits[:2000], y[:2000], select=(2 * logits[2000:], y[2000:]))
    scores = fitted.candidates_["score"]
    best = scores.argmin()
    assert len(scores) == 9
    assert fitted.off_diagonal_ == fitted.candidates_["off_diagonal"][best]
    assert fitted.intercept_ == fitted.candidates_["intercept"][best]


@pytest.mark.parametrize("kind", [VectorScaling, MatrixScaling, lambda: Dirichlet(0.1, 0.1), *STRUCTURED])
def test_rows_of_no_class_do_not_count(kind):
    logits, y = draw(n=1500)
    with_ood = np.where(np.arange(len(y)) < 500, NO_CLASS, y)
    everything, known = kind().fit(logits, with_ood), kind().fit(logits[500:], y[500:])
    assert np.array_equal(everything.weight_, known.weight_)


@pytest.mark.filterwarnings("ignore:.*the rows can be separated")
@pytest.mark.parametrize("kind", [MatrixScaling, lambda: Dirichlet(0.001, 0.001)])
def test_rounding_noise_separates_no_rows(kind):
    rng = np.random.default_rng(0)
    # 50 logits of 32 features: the other 18 dimensions hold what float32 rounds away, and nothing else.
    logits = (rng.normal(size=(2000, 32)) @ rng.normal(size=(32, 50))).astype(np.float32)
    y = (1.5 * logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    fitted = kind().fit(logits, y)
    assert np.abs(fitted.weight_).max() < 100
    assert (fitted.predict_proba(logits).argmax(axis=1) == y).mean() > 0.99


def test_rows_are_not_told_apart_by_the_rounding_of_their_logits():
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(30, 8))  # so the logits have rank 8, and beyond it float32 rounding only
    points = centres[rng.integers(30, size=600)] + 0.8 * rng.normal(size=(600, 8))
    logits = (points @ centres.T).astype(np.float32)
    y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    fitted = MatrixScaling().fit(logits, y)
    single, double = (fitted.predict_proba(logits.astype(dtype)) for dtype in (np.float32, np.float64))
    assert single == pytest.approx(double, abs=0.02)
    at_y = np.arange(len(y)), y
    assert np.log(single[at_y]).mean() > log_softmax(logits)[at_y].mean() + 0.1


def structured_loss(theta, x, y, *, matrix):
    """The objective of arXiv 2511.03685, version 2, with its gradient, written for v, b and the rest apart."""
    n, k = x.shape
    v, b, rest = theta[:k], theta[k : 2 * k], np.zeros((k, k))
    rest[~np.eye(k, dtype=bool)] = theta[2 * k :] if matrix else 0
    log_p = log_softmax(x + v * x + x @ rest.T + b)
    penalty = k / n * (v @ v + b @ b) + k * (k - 1) / n * (rest**2).sum()
    residual = (np.exp(log_p) - np.eye(k)[y]) / n
    by_rest = (residual.T @ x + 2 * k * (k - 1) / n * rest)[~np.eye(k, dtype=bool)]
    by_v, by_b = np.sum(residual * x, axis=0) + 2 * k / n * v, residual.sum(axis=0) + 2 * k / n * b
    slope = np.concatenate([by_v, by_b, by_rest if matrix else []])
    return penalty - log_p[np.arange(n), y].mean(), slope


@pytest.mark.parametrize("n", [60, 2000])
@pytest.mark.parametrize("kind", STRUCTURED)
def test_structured_scaling_is_the_optimum_of_the_papers_loss(kind, n):
    logits, y = draw(n=n)
    logits = 2 * logits * [1, 1, 2, 1] + [0, 1, 0, 0]
    temperature = TemperatureScaling().fit(logits, y).temperature_
    x, matrix = log_softmax(logits / temperature), kind is StructuredMatrixScaling
    oracle = minimize(
        lambda theta: structured_loss(theta, x, y, matrix=matrix),
        np.zeros(20 if matrix else 8),
        jac=True,
        options={"gtol": 1e-8},
    )
    fitted = kind().fit(logits, y)
    diagonal = np.diagonal(fitted.weight_) if matrix else fitted.weight_
    assert fitted.temperature_ == temperature
    assert diagonal - 1 == pytest.approx(oracle.x[:4], abs=2e-3)
    assert fitted.bias_ == pytest.approx(oracle.x[4:8], abs=2e-3)
    if matrix:
        assert fitted.weight_[~np.eye(4, dtype=bool)] == pytest.approx(oracle.x[8:], abs=2e-3)


@pytest.mark.parametrize("kind", STRUCTURED)
def test_structured_scaling_lies_between_the_temperature_and_the_map(kind):
    logits, y = draw(n=500)
    logits = logits * [1, 2, 3, 4]
    stiff, free = (kind(strength=strength).fit(logits, y) for strength in (1e9, 0))
    temperature = TemperatureScaling().fit(logits, y)
    x = log_softmax(logits / temperature.temperature_)
    bare = (VectorScaling if kind is StructuredVectorScaling else MatrixScaling)().fit(x, y)
    assert stiff.predict_proba(logits) == pytest.approx(temperature.predict_proba(logits), abs=1e-4)
    assert free.predict_proba(logits) == pytest.approx(bare.predict_proba(x), abs=2e-3)


@pytest.mark.parametrize("kind", STRUCTURED)
def test_a_shift_of_all_logits_of_a_row_changes_nothing(kind):
    logits, y = draw(n=500)
    shifted = logits + np.linspace(-50, 50, len(y))[:, None]
    expected = kind().fit(logits, y).predict_proba(logits)
    assert kind().fit(shifted, y).predict_proba(shifted) == pytest.approx(expected, abs=1e-3)


def test_with_few_labels_structure_beats_the_bare_matrix():
    logits, y = draw(n=3000, n_classes=10)
    few, many = slice(0, 150), slice(150, None)
    bare, structured, temperature = (
        loss_of(kind().fit(3 * logits[few], y[few]), 3 * logits[many], y[many])
        for kind in (MatrixScaling, StructuredMatrixScaling, TemperatureScaling)
    )
    assert structured < bare - 0.5
    assert structured < temperature + 0.05
