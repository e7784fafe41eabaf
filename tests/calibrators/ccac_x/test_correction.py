"""The correction: what it sees, that it is the optimum of its loss, and that it invents nothing."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

from auxcal._core.logits import relative, top_scores
from auxcal.calibrators.ccac_x import correction
from auxcal.calibrators.ccac_x.correction import describe, fit_correction
from auxcal.calibrators.ccac_x.evidence import WIDTHS

PREDICTION = np.random.default_rng(1).integers(3, size=400)
KNOTS = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95)


def sample(n=400, d=2, curve=lambda x: 0 * x, seed=0):
    """Return inputs, log-odds to be corrected, and whether it was right: the truth adds a curve of the first input."""
    rng = np.random.default_rng(seed)
    inputs, base = rng.normal(size=(d, n)).astype(np.float32), (2 * rng.normal(size=n)).astype(np.float32)
    return inputs, base, rng.random(n) < expit(base + curve(inputs[0]))


def fit(inputs, base, correct, prediction=None, n_classes=1):
    """Fit with one predicted class for all rows, unless there are others."""
    prediction = np.zeros(len(base), int) if prediction is None else prediction
    return fit_correction(inputs, base, prediction, n_classes, correct)


def bent(x):
    return 3 * np.abs(x) - 2


# The inputs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 9, 10, 11, 20, 21, 50])
@pytest.mark.parametrize("n", [5, 300])
def test_ranked_logits_are_the_largest_ten_in_order(n, k):
    """However they are sorted; ties too."""
    z = np.random.default_rng(k).normal(size=(n, k)).astype(np.float32).round(1)
    before = z.copy()
    np.testing.assert_array_equal(correction._largest(z), np.sort(z, axis=1)[:, ::-1][:, :10].T)
    np.testing.assert_array_equal(z, before)


def described(logits, d=2):
    logits = np.asarray(logits, dtype=np.float32)
    n = len(logits)
    readings, coordinates = np.arange(3 * n).reshape(3, n), -np.arange(n * d).reshape(n, d)
    return describe(relative(logits), readings.astype(np.float32), coordinates.astype(np.float32))


def test_it_sees_readings_score_margin_entropy_energy_ranked_logits_coordinates_and_scale():
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
        np.log(z.std(axis=1)),
        (ranked[:, 0] - ranked[:, 1]) / z.std(axis=1),
        (ranked[:, 0] - z.mean(axis=1)) / z.std(axis=1),
    ]
    assert found == pytest.approx(np.stack(expected), abs=1e-4)


@pytest.mark.parametrize(("k", "ranks", "coordinates"), [(2, 2, 7), (10, 10, 7), (21, 10, 7), (32, 10, 7), (33, 10, 0)])
def test_ten_ranks_are_enough_and_coordinates_are_for_few_classes(k, ranks, coordinates):
    z = np.random.default_rng(0).normal(size=(6, k))
    found = described(z, d=7)
    assert len(found) == 3 + 4 + ranks + coordinates + (3 if k > 2 else 1)
    expected = -np.sort(-z, axis=1)[:, :ranks] - z.mean(axis=1, keepdims=True)
    ranked = found[7 : 7 + ranks].T
    assert ranked == pytest.approx(expected, abs=1e-5)


def test_which_class_is_which_does_not_matter():
    z = np.random.default_rng(0).normal(size=(20, 6))
    assert described(z[:, ::-1], d=0) == pytest.approx(described(z, d=0), abs=1e-5)


def test_rows_whose_logits_are_equal_have_a_scale_too():
    assert np.isfinite(described(np.ones((3, 4)))).all()


# The fit --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("curve", [bent, lambda x: 0 * x], ids=["something to learn", "nothing to learn"])
def test_it_is_the_least_of_its_loss(curve):
    inputs, base, correct = sample(curve=curve)
    found, effects, (width, of_effects), problem = fit(inputs, base, correct, PREDICTION, 3)
    x = inputs.astype(np.float64)
    features = np.concatenate([x, *(np.maximum(x - np.quantile(x, q, axis=1)[:, None], 0) for q in KNOTS)])
    features = (features - features.mean(axis=1, keepdims=True)) / features.std(axis=1, keepdims=True)
    of_curves = np.full(len(features), width / np.sqrt(len(features)))
    widths = np.concatenate([of_curves, [0.6 * width, 0.2 * width], np.full(3, of_effects)])

    def log_odds(theta):
        return theta[:-5] @ features + theta[-5] + (1 + theta[-4]) * base + theta[-3:][PREDICTION]

    def loss(theta):
        score = log_odds(theta)
        return np.logaddexp(0, np.where(correct, -score, score)).sum() + np.sum((theta / widths) ** 2) / 2

    oracle = minimize(loss, np.zeros(len(widths)), method="BFGS", options={"gtol": 1e-4})
    assert problem is None
    assert found.log_odds(inputs, base) + effects[PREDICTION] == pytest.approx(log_odds(oracle.x), abs=2e-3)


def test_beyond_the_range_of_the_fit_every_curve_is_flat():
    inputs, base, correct = sample(curve=bent)
    found, *_ = fit(inputs, base, correct)
    for far, edge in ((1e6, inputs.max(axis=1)), (-1e6, inputs.min(axis=1))):
        at_edge, beyond = (
            found.log_odds(np.broadcast_to(x, (len(base), 2)).T.astype(np.float32), base) for x in (edge, far)
        )
        assert np.array_equal(at_edge, beyond)


def test_where_the_base_is_right_it_adds_next_to_nothing():
    inputs, base, correct = sample(n=3000, d=12)
    found, _, (width, _), _ = fit(inputs, base, correct)
    assert WIDTHS[0] <= width < 0.2
    assert found.slope == pytest.approx(1, abs=0.1)
    assert np.abs(expit(found.log_odds(inputs, base)) - expit(base)).mean() < 0.02


def test_where_there_is_a_curve_it_finds_it():
    inputs, base, correct = sample(n=5000, curve=bent)
    found, _, (width, _), _ = fit(inputs, base, correct)
    added = found.log_odds(inputs, base) - base
    assert width > 1
    assert np.abs(added - bent(inputs[0])).mean() < 0.4
    assert np.corrcoef(added, bent(inputs[0]))[0, 1] > 0.97


def test_few_rows_hardly_move_it():
    inputs, base, correct = sample(n=15, curve=bent)
    found, _, (width, _), _ = fit(inputs, base, correct)
    assert width < 1
    assert found.log_odds(inputs, base) == pytest.approx(base, abs=1)


def test_an_input_that_does_not_vary_says_nothing():
    inputs, base, correct = sample(curve=bent)
    constant = np.full((1, len(base)), 1e4, np.float32)
    with_it, *_ = fit(np.concatenate([inputs, constant]), base, correct)
    elsewhere = with_it.log_odds(np.concatenate([inputs, 0 * constant]), base)
    assert not with_it.slopes[:, -1].any()
    assert np.array_equal(with_it.log_odds(np.concatenate([inputs, constant]), base), elsewhere)


def test_no_numbers_cancel_where_an_input_bunches_at_its_end():
    """As the largest of three logits does, in deviations of the row: no offset must make up for a slope there."""
    inputs, base, correct = sample(curve=bent)
    inputs[0] = 1.4 - 1e-4 * np.maximum(inputs[0] + 1, 0)
    found, *_ = fit(inputs, base, correct)
    at_middle = found.log_odds(found.middle[:, None], np.zeros(1, np.float32))
    assert at_middle == pytest.approx(found.offset, abs=1e-4)
    assert abs(found.offset) < 5


@pytest.mark.parametrize("right", [True, False])
def test_where_all_rows_are_right_or_wrong_it_is_finite(right):
    inputs, base, _ = sample()
    found, _, _, problem = fit(inputs, base, np.full(len(base), right))
    assert problem is None
    assert np.isfinite(found.log_odds(inputs, base)).all()


def test_it_says_where_it_stopped_short(monkeypatch):
    monkeypatch.setattr(correction, "_MAX_STEPS", 0)
    assert fit(*sample(curve=bent)).problem == "the correction stopped short of its optimum."


def test_a_few_rows_are_corrected_like_many():
    inputs, base, correct = sample(n=2000, d=5, curve=bent)
    found, *_ = fit(inputs, base, correct)
    wide, base = 3 * inputs, 2 * base  # also beyond what the fit has seen
    many = found.log_odds(wide, base)
    few = [found.log_odds(wide[:, rows], base[rows]) for rows in np.array_split(np.arange(2000), 20)]
    np.testing.assert_allclose(np.concatenate(few), many, rtol=0, atol=1e-5)


# The effects of the predicted classes --------------------------------------------------------------------------------


def with_effects(size, n=600, k=20):
    """Return rows of which some classes are right more often than the base says; the last class is never predicted."""
    rng = np.random.default_rng(0)
    inputs, base, _ = sample(n)
    effects, prediction = size * rng.normal(size=k), rng.integers(k - 1, size=n)
    return effects, (inputs, base, rng.random(n) < expit(base + effects[prediction]), prediction, k)


def test_effects_of_classes_are_found():
    truth, rows = with_effects(2.0)
    _, effects, (_, width), problem = fit(*rows)
    assert problem is None
    assert 0.8 < width < 4
    assert np.corrcoef(effects[:-1], truth[:-1])[0, 1] > 0.85
    assert effects[-1] == 0  # nothing is known of it


def test_where_classes_make_no_difference_there_are_hardly_any_effects():
    _, effects, (_, width), _ = fit(*with_effects(0.0)[1])
    assert width < 0.3
    assert np.abs(effects).max() < 0.3


def test_effects_are_those_of_a_regression_with_a_column_for_each_class():
    """The curvature of the effects is eliminated block by block; Newton's step is the same."""
    _, (inputs, base, correct, prediction, k) = with_effects(1.0)
    x = np.concatenate([inputs, np.ones((1, len(base)), np.float32), base[None]])
    regression = correction._Regression.of(x, base, prediction, correct, None)
    widths = regression.widths(1.0, 0.7)
    point = regression.at(np.zeros(len(widths)), widths)
    order = np.argsort(prediction, kind="stable")
    columns = np.concatenate([x, np.eye(k)[:, :-1].T[:, prediction]])[:, order].astype(np.float64)
    p = expit(base[order].astype(np.float64))
    whole = (columns * (p * (1 - p))) @ columns.T
    expected = np.linalg.slogdet(np.eye(len(widths)) + whole * np.outer(widths, widths))[1]
    d = len(x)
    reduced = point.reduced(widths[d:] ** -2.0) * np.outer(widths[:d], widths[:d])
    found = np.linalg.slogdet(np.eye(d) + reduced)[1] + np.log1p(point.of_effects * widths[d:] ** 2).sum()
    assert found == pytest.approx(expected, rel=1e-4)
