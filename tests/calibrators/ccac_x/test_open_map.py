"""The open map: its coordinates, its optimum, the widths that the rows support, and what is read from it."""

import tracemalloc

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

from auxcal import NO_CLASS, MatrixScaling, Predictions, TemperatureScaling
from auxcal._core.logits import relative, top_scores
from auxcal.calibrators.ccac_x import open_map
from auxcal.calibrators.ccac_x.evidence import WIDTHS
from auxcal.calibrators.ccac_x.open_map import cross_fit, learn_coordinates, read
from auxcal.metrics import auroc

from ..conftest import draw


def as_float32(data):
    return Predictions(data.logits.astype(np.float32), data.y, data.features)


def cross_fitted(data, n_folds=3):
    data = as_float32(data)
    return cross_fit(data, relative(data.logits), data.folds(n_folds, 0))


def scores_of(found, logits, features=None):
    logits = logits.astype(np.float32)
    return found.map.scores(found.map.coordinates(logits, features), relative(logits)).T


@pytest.fixture(scope="module")
def few(shifted):
    return as_float32(shifted.take(slice(300)))


@pytest.fixture(scope="module")
def found(few):
    return cross_fitted(few)


# Coordinates ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(300, 4), (300, 120), (50, 300), (5, 3), (2, 2)])
def test_coordinates_are_centred_and_of_unit_mean_squared_length(shape):
    rng = np.random.default_rng(0)
    data = Predictions((5 * rng.normal(size=shape) + 3).astype(np.float32), rng.integers(shape[1], size=shape[0]))
    x = learn_coordinates(data)(data.logits, None).astype(np.float64)
    assert x.mean(axis=0) == pytest.approx(0, abs=1e-5)
    assert np.mean(np.vecdot(x, x)) == pytest.approx(1, abs=1e-4)
    products = x.T @ x / len(x)
    assert products == pytest.approx(np.diag(np.diag(products)), abs=1e-5)


@pytest.mark.parametrize(("n", "k", "expected"), [(300, 4, 4), (300, 100, 100), (300, 101, 32), (20, 300, 19)])
def test_all_components_of_few_logits_are_kept_and_the_leading_ones_of_many(n, k, expected):
    rng = np.random.default_rng(0)
    data = Predictions(rng.normal(size=(n, k)).astype(np.float32), rng.integers(k, size=n))
    assert learn_coordinates(data).basis.shape == (k, expected)


@pytest.mark.parametrize("shape", [(40, 110), (150, 110)])
def test_the_components_are_those_of_a_singular_value_decomposition(shape):
    rng = np.random.default_rng(0)
    logits = (rng.normal(size=shape) * np.linspace(3, 0.1, 110)).astype(np.float32)
    data = Predictions(logits, rng.integers(110, size=shape[0]))
    x = learn_coordinates(data)(logits, None)
    u, s, _ = np.linalg.svd(logits - logits.mean(axis=0), full_matrices=False)
    expected = (u * s)[:, :32]
    expected /= np.sqrt(np.mean(np.vecdot(expected, expected)))
    assert x @ x.T == pytest.approx(expected @ expected.T, abs=1e-3)


def test_the_components_of_few_rows_of_thousands_of_classes_take_no_matrix_of_all_pairs():
    rng = np.random.default_rng(0)
    data = Predictions(rng.normal(size=(50, 3000)).astype(np.float32), rng.integers(3000, size=50))
    tracemalloc.start()
    try:
        assert learn_coordinates(data).basis.shape == (3000, 32)
        assert tracemalloc.get_traced_memory()[1] < 3000**2
    finally:
        tracemalloc.stop()


def test_logits_that_are_all_equal_have_coordinates_of_nought():
    data = Predictions(np.ones((6, 3), np.float32), [0, 1, 2] * 2)
    assert not learn_coordinates(data)(data.logits, None).any()


def test_features_have_coordinates_of_their_own(featured):
    coordinates = learn_coordinates(featured)
    assert coordinates.basis.shape == (5, 5)
    assert not coordinates.basis[:3, 3:].any()
    assert not coordinates.basis[3:, :3].any()
    x = coordinates(featured.logits, featured.features)
    for part in (x[:, :3], x[:, 3:]):  # neither drowns the other
        assert np.mean(np.vecdot(part, part)) == pytest.approx(1, abs=1e-4)
    hits = featured.correct
    readings = cross_fitted(featured).readings
    without = cross_fitted(Predictions(featured.logits, featured.y)).readings
    assert auroc(expit(readings[0]), hits) > auroc(expit(without[0]), hits) + 0.03


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x * [1e3, 1e-3] + [5, 0],
        lambda x: x + np.array([1.7e9, 0]),  # a time in seconds
        lambda x: np.column_stack([x, np.full((len(x), 6), 7.0)]),
        lambda x: x[:, ::-1],
    ],
    ids=["other units", "far from nought", "columns that do not vary", "another order"],
)
def test_how_features_are_written_changes_nothing(change, featured):
    changed = Predictions(featured.logits, featured.y, change(featured.features.astype(np.float64)))
    assert cross_fitted(changed).readings == pytest.approx(cross_fitted(featured).readings, abs=0.01)


# The fit --------------------------------------------------------------------------------------------------------------


def test_the_map_is_the_least_of_its_loss(few, found):
    n, k = few.logits.shape
    z = few.logits.astype(np.float64)
    y = np.where(few.y == NO_CLASS, k, few.y)
    temperature = TemperatureScaling().fit(*known(few)).temperature_
    own = np.column_stack([z - z.max(axis=1, keepdims=True), top_scores(z)]) / temperature
    x = z - z.mean(axis=0)
    x /= np.sqrt(np.mean(np.vecdot(x, x)))  # the prior does not see in which directions the axes are
    bias, shared = found.widths
    widths = np.column_stack([np.full(k + 1, bias / np.sqrt(np.mean(own**2))), np.full((k + 1, k), shared)])
    widths = np.column_stack([widths, np.full(k + 1, bias)])
    widths[-1] = np.maximum(widths[-1], 1)
    centre = np.zeros((k + 1, k + 2))
    centre[:k, 0] = 1
    centre[k, -1] = np.log((np.sum(few.y == NO_CLASS) + 0.5) / (n + 1))

    def log_proba(theta):
        return log_softmax(own * theta[:, 0] + x @ theta[:, 1:-1].T + theta[:, -1], axis=1)

    def loss(flat):
        theta = flat.reshape(centre.shape)
        return -log_proba(theta)[np.arange(n), y].sum() + np.sum(((theta - centre) / widths) ** 2) / 2

    oracle = minimize(loss, centre.ravel(), method="L-BFGS-B", options={"maxiter": 5000, "maxfun": 200_000})
    expected = np.exp(log_proba(oracle.x.reshape(centre.shape)))
    assert found.problem is None
    assert softmax(scores_of(found, few.logits), axis=1) == pytest.approx(expected, abs=0.005)


def known(data):
    rows = data.y != NO_CLASS
    return data.logits[rows], data.y[rows]


def test_one_step_from_the_map_of_all_rows_is_the_map_without_a_fold(few, found, monkeypatch):
    monkeypatch.setattr(open_map, "_STEPS_WITHOUT_A_FOLD", 200)
    assert expit(found.readings[0]) == pytest.approx(expit(cross_fitted(few).readings[0]), abs=0.02)


def test_held_out_rows_are_not_read_by_who_has_seen_them():
    rng = np.random.default_rng(0)
    logits = 2 * rng.normal(size=(80, 20))  # y is drawn without a look at them: there is nothing to learn
    data = as_float32(Predictions(logits, rng.integers(20, size=80)))
    found = cross_fitted(data)
    by_the_map = read(scores_of(found, data.logits).T, data.prediction)[0]
    assert auroc(expit(found.readings[0]), data.correct) < auroc(expit(by_the_map), data.correct)


def test_few_rows_leave_it_near_temperature_scaling():
    logits, y = draw(n=4000, n_classes=6)
    data, new = Predictions(logits[:60], y[:60]), logits[1000:]
    scores = scores_of(cross_fitted(data), new)
    free = MatrixScaling().fit(data.logits, data.y).predict_proba(new)

    def log_loss(log_proba):
        return -log_proba[np.arange(3000), y[1000:]].mean()

    best = log_loss(log_softmax(new, axis=1))  # the temperature of these is 1
    assert log_loss(log_softmax(scores[:, :-1], axis=1)) < best + 0.15
    assert log_loss(np.log(np.maximum(free, 1e-6))) > best + 1


def test_rows_of_no_class_raise_the_score_of_none(shifted):
    foreign = shifted.y == NO_CLASS
    none = np.exp(cross_fitted(shifted).readings[1])
    assert none[foreign].mean() > 0.5
    assert none[foreign].mean() > 2 * none[~foreign].mean()
    without = scores_of(cross_fitted(shifted.take(~foreign)), shifted.logits)
    assert softmax(without, axis=1)[foreign, -1].mean() < 0.05


def test_components_of_logits_of_low_rank_lose_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    logits = (rng.normal(size=(400, 4)) @ rng.normal(size=(4, 12))).astype(np.float32)
    data = Predictions(logits, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1))
    full = cross_fitted(data)
    monkeypatch.setattr(open_map, "_ALL_COMPONENTS", 11)
    monkeypatch.setattr(open_map, "_COMPONENTS", 4)
    reduced = cross_fitted(data)
    assert (full.map.shared.shape, reduced.map.shared.shape) == ((13, 12), (13, 4))
    # The prior on weights does not depend on the directions of the axes, so the optimum is the same.
    assert reduced.readings == pytest.approx(full.readings, abs=0.1)


def test_with_many_classes_the_optimum_is_the_same(few, found, monkeypatch):
    monkeypatch.setattr(open_map, "MOST_BLOCKS", 2)  # one matrix of curvature for all classes, as beyond 200
    other = cross_fitted(few)
    assert expit(other.readings[0]) == pytest.approx(expit(found.readings[0]), abs=0.05)


# Widths by evidence ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def truth():
    """Give logits whose softmax is the distribution of y."""
    return draw(n=1500, n_classes=5)


def test_where_the_logits_are_right_the_prior_is_narrow(truth):
    bias, shared = cross_fitted(Predictions(*truth)).widths
    assert WIDTHS[0] <= bias < 0.3
    assert WIDTHS[0] <= shared < 0.5


def test_where_classes_are_biased_the_biases_are_free(truth):
    logits, y = truth
    right, biased = (
        cross_fitted(Predictions(each, y)).widths for each in (logits, logits + np.array([0, 3, -3, 1, -2]))
    )
    assert biased.bias > 1 > 3 * right.bias
    assert biased.shared < 0.5


def test_where_classes_are_mixed_up_the_shared_weights_are_free(truth):
    logits, y = truth
    mixed = logits @ (np.eye(5) + np.eye(5, k=1))
    assert cross_fitted(Predictions(mixed, y)).widths.shared > 1


def test_more_rows_move_the_widths_away_from_the_mean_of_all():
    logits, y = draw(n=2000)
    few, many = (cross_fitted(Predictions(logits[:n], y[:n])).widths for n in (20, 2000))
    assert WIDTHS[0] <= many.bias < few.bias < 1


# Readings -------------------------------------------------------------------------------------------------------------


def test_readings_are_those_of_a_softmax():
    rng = np.random.default_rng(0)
    scores = 5 * rng.normal(size=(50, 6)).astype(np.float32)
    prediction = rng.integers(5, size=50)
    mu = softmax(scores.astype(np.float64), axis=1)
    at = np.arange(50), prediction
    others = mu[:, :-1].copy()
    others[at] = 0
    expected = np.stack([np.log(mu[at] / (1 - mu[at])), np.log(mu[:, -1]), np.log(others.max(axis=1))])
    assert read(scores.T, prediction) == pytest.approx(expected, abs=1e-4)


def test_readings_stay_finite_where_the_softmax_is_certain():
    scores = np.array([[500.0, -500.0, -500.0], [-500.0, 500.0, 400.0]], dtype=np.float32)
    expected = np.array([[1000 - np.log(2), -1000], [-1000, -100], [-1000, 0]])
    assert read(scores.T, np.array([0, 0])) == pytest.approx(expected, rel=1e-5, abs=1e-2)
