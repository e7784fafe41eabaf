"""The correction: what it sees, that it is the optimum of its loss, and that it invents nothing."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

from auxcal._core.logits import relative, top_scores
from auxcal.calibrators.ccac_x import correction
from auxcal.calibrators.ccac_x.correction import describe, fit_correction
from auxcal.calibrators.ccac_x.evidence import WIDTHS

KNOTS = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95)


def sample(n=400, d=2, curve=lambda x: 0 * x, seed=0):
    """Return inputs, log-odds to be corrected, and whether it was right: the truth adds a curve of the first input."""
    rng = np.random.default_rng(seed)
    inputs, base = rng.normal(size=(d, n)).astype(np.float32), (2 * rng.normal(size=n)).astype(np.float32)
    return inputs, base, rng.random(n) < expit(base + curve(inputs[0]))


def bent(x):
    return 3 * np.abs(x) - 2


# The inputs -----------------------------------------------------------------------------------------------------------


def described(logits, d=2):
    logits = np.asarray(logits, dtype=np.float32)
    n = len(logits)
    readings, coordinates = np.arange(3 * n).reshape(3, n), -np.arange(n * d).reshape(n, d)
    return describe(relative(logits), readings.astype(np.float32), coordinates.astype(np.float32))


def test_it_sees_readings_score_margin_entropy_energy_ranked_logits_and_coordinates():
    z = 3 * np.random.default_rng(0).normal(size=(40, 5))
    found = described(z)
    ranked = -np.sort(-z, axis=1)
    p = softmax(z, axis=1)
    energy = ranked[:, 0] - log_softmax(z, axis=1).max(axis=1)  # the logarithm of the sum of the exponentials
    expected = [
        *np.arange(120).reshape(3, 40),
        top_scores(z),
        ranked[:, 0] - ranked[:, 1],
        -np.sum(p * np.log(p), axis=1),
        energy - z.mean(axis=1),
        *(ranked - z.mean(axis=1, keepdims=True)).T,
        *-np.arange(80).reshape(40, 2).T,
    ]
    assert found == pytest.approx(np.stack(expected), abs=1e-4)


@pytest.mark.parametrize(("k", "ranks", "coordinates"), [(2, 2, 7), (10, 10, 7), (21, 10, 7), (32, 10, 7), (33, 10, 0)])
def test_ten_ranks_are_enough_and_coordinates_are_for_few_classes(k, ranks, coordinates):
    z = np.random.default_rng(0).normal(size=(6, k))
    found = described(z, d=7)
    assert len(found) == 3 + 4 + ranks + coordinates
    expected = -np.sort(-z, axis=1)[:, :ranks] - z.mean(axis=1, keepdims=True)
    ranked = found[7 : 7 + ranks].T
    assert ranked == pytest.approx(expected, abs=1e-5)


def test_which_class_is_which_does_not_matter():
    z = np.random.default_rng(0).normal(size=(20, 6))
    assert described(z[:, ::-1], d=0) == pytest.approx(described(z, d=0), abs=1e-5)


# The fit --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("curve", [bent, lambda x: 0 * x], ids=["something to learn", "nothing to learn"])
def test_it_is_the_least_of_its_loss(curve):
    inputs, base, correct = sample(curve=curve)
    found, width, problem = fit_correction(inputs, base, correct)
    x = inputs.astype(np.float64)
    features = np.concatenate([x, *(np.maximum(x - np.quantile(x, q, axis=1)[:, None], 0) for q in KNOTS)])
    features = (features - features.mean(axis=1, keepdims=True)) / features.std(axis=1, keepdims=True)
    widths = np.append(np.full(len(features), width / np.sqrt(len(features))), [0.6 * width, 0.2 * width])

    def log_odds(theta):
        return theta[:-2] @ features + theta[-2] + (1 + theta[-1]) * base

    def loss(theta):
        score = log_odds(theta)
        return np.logaddexp(0, np.where(correct, -score, score)).sum() + np.sum((theta / widths) ** 2) / 2

    oracle = minimize(loss, np.zeros(len(widths)), method="BFGS", options={"gtol": 1e-4})
    assert problem is None
    assert found.log_odds(inputs, base) == pytest.approx(log_odds(oracle.x), abs=2e-3)


def test_beyond_the_range_of_the_fit_every_curve_is_flat():
    inputs, base, correct = sample(curve=bent)
    found, *_ = fit_correction(inputs, base, correct)
    for far, edge in ((1e6, inputs.max(axis=1)), (-1e6, inputs.min(axis=1))):
        at_edge, beyond = (
            found.log_odds(np.broadcast_to(x, (len(base), 2)).T.astype(np.float32), base) for x in (edge, far)
        )
        assert np.array_equal(at_edge, beyond)


def test_where_the_base_is_right_it_adds_next_to_nothing():
    inputs, base, correct = sample(n=3000, d=12)
    found, width, _ = fit_correction(inputs, base, correct)
    assert WIDTHS[0] <= width < 0.2
    assert found.slope == pytest.approx(1, abs=0.1)
    assert np.abs(expit(found.log_odds(inputs, base)) - expit(base)).mean() < 0.02


def test_where_there_is_a_curve_it_finds_it():
    inputs, base, correct = sample(n=5000, curve=bent)
    found, width, _ = fit_correction(inputs, base, correct)
    added = found.log_odds(inputs, base) - base
    assert width > 1
    assert np.abs(added - bent(inputs[0])).mean() < 0.4
    assert np.corrcoef(added, bent(inputs[0]))[0, 1] > 0.97


def test_few_rows_hardly_move_it():
    inputs, base, correct = sample(n=15, curve=bent)
    found, width, _ = fit_correction(inputs, base, correct)
    assert width < 1
    assert found.log_odds(inputs, base) == pytest.approx(base, abs=1)


def test_an_input_that_does_not_vary_says_nothing():
    inputs, base, correct = sample(curve=bent)
    constant = np.full((1, len(base)), 1e4, np.float32)
    with_it, *_ = fit_correction(np.concatenate([inputs, constant]), base, correct)
    elsewhere = with_it.log_odds(np.concatenate([inputs, 0 * constant]), base)
    assert not with_it.weights[:, -1].any()
    assert np.array_equal(with_it.log_odds(np.concatenate([inputs, constant]), base), elsewhere)


@pytest.mark.parametrize("right", [True, False])
def test_where_all_rows_are_right_or_wrong_it_is_finite(right):
    inputs, base, _ = sample()
    found, _, problem = fit_correction(inputs, base, np.full(len(base), right))
    assert problem is None
    assert np.isfinite(found.log_odds(inputs, base)).all()


def test_it_says_where_it_stopped_short(monkeypatch):
    monkeypatch.setattr(correction, "_MAX_STEPS", 0)
    assert fit_correction(*sample(curve=bent))[2] == "the correction stopped short of its optimum."


def test_a_few_rows_are_corrected_like_many():
    inputs, base, correct = sample(n=2000, d=5, curve=bent)
    found, *_ = fit_correction(inputs, base, correct)
    wide, base = 3 * inputs, 2 * base  # also beyond what the fit has seen
    many = found.log_odds(wide, base)
    few = [found.log_odds(wide[:, rows], base[rows]) for rows in np.array_split(np.arange(2000), 20)]
    np.testing.assert_allclose(np.concatenate(few), many, rtol=0, atol=1e-5)
