"""CCAC-X and its parts: open map, maps of the score, stack, committee, and that no row is judged by who has seen it."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logsumexp, softmax

import auxcal
from auxcal import (
    NO_CLASS,
    BetaCalibration,
    CrossFittedCCAC,
    InvalidInputError,
    IsotonicCalibration,
    MatrixScaling,
    NotFittedError,
    Predictions,
    TemperatureScaling,
)
from auxcal.calibrators import _committee, _open_map
from auxcal.calibrators._auxiliary import forward
from auxcal.calibrators._base import Transferable
from auxcal.calibrators._binary import relative, top_scores
from auxcal.calibrators._committee import Seen, cross_fit_committee, within_reason
from auxcal.calibrators._last_map import fit_last_map
from auxcal.calibrators.solvers.newton import minimise
from auxcal.calibrators._open_map import WIDTHS, cross_fit, read, start_map
from auxcal.calibrators._score_maps import cross_fit_maps
from auxcal.calibrators._stack import by_evidence, log_losses, stack
from auxcal.metrics import auroc, brier, ece
from auxcal.training import correctness
from auxcal.training.correctness import Rows, train_committee
from auxcal.training.networks import GridNetwork
from auxcal.training.recipes import CORRECTIONS, Recipe

from .conftest import draw

START = np.array([0.4, 0.2, 0.2, 0.2, 0.0])
HOLD = np.array([50.0, 50.0, 50.0, 50.0, 10.0])


def as_float32(data):
    return Predictions(data.logits.astype(np.float32), data.y, data.features)


@pytest.fixture(scope="module")
def few(shifted):
    return as_float32(shifted.take(slice(300)))


def cross_fitted(data, temperature=2.0, n_folds=3):
    return cross_fit(data, data.folds(n_folds, 0), start_map(data, temperature))


# Folds ----------------------------------------------------------------------------------------------------------------


@given(y=st.lists(st.integers(-1, 2), min_size=2, max_size=60), n_folds=st.integers(2, 7), seed=st.integers(0, 99))
def test_folds_are_of_one_size_and_each_has_its_share_of_every_label(y, n_folds, seed):
    data = Predictions(np.random.default_rng(seed).normal(size=(len(y), 3)), y)
    folds = data.folds(n_folds, seed)
    sizes = np.bincount(folds, minlength=n_folds)
    assert len(sizes) == n_folds
    assert np.ptp(sizes) <= 1
    for label in range(4):
        # A run of one label in the sorted rows starts anywhere, and so a fold has its share to within one row.
        assert np.ptp(np.bincount(folds[data.w == label], minlength=n_folds)) <= 1
    assert np.array_equal(folds, data.folds(n_folds, seed))


# The open map ---------------------------------------------------------------------------------------------------------


def scores_of(open_map, logits):
    return open_map.scores(open_map.coordinates(logits, None), relative(logits)).T


def design_of(open_map, data):
    return open_map.design(open_map.coordinates(data.logits, None), relative(data.logits))


def scores_by_hand(theta, data, temperature, scale):
    """Return own_k (z_k − z_ŷ) / T + shared_k · x + bias_k; the own number of the last is the score over T."""
    z = data.logits.astype(np.float64)
    own = np.column_stack([z - z.max(axis=1, keepdims=True), top_scores(z)]) / temperature
    x = (z - z.mean(axis=0)) / scale
    return own * theta[:, 0] + x @ theta[:, 1:-1].T + theta[:, -1]


@pytest.mark.parametrize("width", [0.03, 1.0])
def test_the_open_map_is_the_least_of_its_loss(few, width):
    temperature, k = 2.0, few.n_classes
    start = start_map(few, temperature)
    design = design_of(start, few)
    y = np.where(few.y == NO_CLASS, k, few.y)
    prior = _open_map._prior(start.theta, width, 0.5, 1.0, n=len(few))
    found, _, problem = minimise(design, y, start.theta, prior)
    scale = np.sqrt(few.logits.var(axis=0, dtype=np.float64).mean())

    def loss(theta):
        theta = theta.reshape(start.theta.shape)
        fit = -log_softmax(scores_by_hand(theta, few, temperature, scale), axis=1)[np.arange(len(y)), y].mean()
        away = (theta - start.theta) ** 2
        shared = away[:-1, 1:-1].sum() / width**2 + away[-1, 1:-1].sum() / max(width, 0.3) ** 2
        bias = away[:-1, -1].sum() + away[-1, -1] / 3.0**2
        return fit + (away[:, 0].sum() / 0.5**2 + shared + bias) / (2 * len(y))

    oracle = minimize(loss, start.theta.ravel(), method="L-BFGS-B", options={"maxiter": 5000, "maxfun": 200_000})
    assert problem is None
    assert loss(found.ravel()) == pytest.approx(oracle.fun, abs=2e-5)
    expected = softmax(scores_by_hand(oracle.x.reshape(found.shape), few, temperature, scale), axis=1)
    assert softmax(design.scores(found), axis=1) == pytest.approx(expected, abs=0.01)


def test_its_scores_are_those_that_the_fit_has_seen(few):
    open_map = cross_fitted(few).map
    assert open_map.theta[-1, 0] != 0
    expected = design_of(open_map, few).scores(open_map.theta)
    assert scores_of(open_map, few.logits) == pytest.approx(expected, abs=1e-5)


def test_it_starts_as_temperature_scaling_beside_none(few):
    start = start_map(few, 2.0)
    scores = scores_of(start, few.logits)
    assert softmax(scores[:, :-1], axis=1) == pytest.approx(softmax(few.logits / 2, axis=1), abs=1e-5)
    assert scores[:, -1] == pytest.approx(0)


def test_few_rows_leave_it_near_temperature_scaling():
    logits, y = draw(n=4000, n_classes=6)
    data, new = Predictions(logits[:60].astype(np.float32), y[:60]), logits[1000:].astype(np.float32)
    open_map = cross_fitted(data, temperature=1.0).map
    scores = scores_of(open_map, new)
    free = MatrixScaling().fit(data.logits, data.y).predict_proba(new.astype(np.float64))

    def log_loss(log_proba):
        return -log_proba[np.arange(3000), y[1000:]].mean()

    best = log_loss(log_softmax(new, axis=1))  # the temperature of these is 1
    assert log_loss(log_softmax(scores[:, :-1], axis=1)) < best + 0.3
    assert log_loss(np.log(np.maximum(free, 1e-6))) > best + 1


def test_rows_of_no_class_raise_the_score_of_none(shifted):
    data = as_float32(shifted)
    foreign = data.y == NO_CLASS
    found = cross_fitted(data)
    none = np.exp(found.readings[:, 1])
    assert none[foreign].mean() > 2 * none[~foreign].mean()
    without = cross_fitted(data.take(~foreign)).map
    assert np.exp(read(scores_of(without, data.logits).T, data.prediction)[foreign, 1]).mean() < 0.05
    assert none[foreign].mean() > 0.5


def test_more_rows_allow_a_wider_prior():
    logits, y = draw(n=6000)
    logits = (logits @ np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]])).astype(np.float32)
    data = Predictions(logits, y)
    widths = [cross_fitted(data.take(slice(n))).width for n in (30, 6000)]
    assert WIDTHS[0] <= widths[0] < widths[1]
    assert widths[1] in WIDTHS


def test_with_few_rows_it_is_the_mean_over_widths_that_the_rows_support(few):
    folds, start = few.folds(3, 0), start_map(few, 2.0)
    found = cross_fit(few, folds, start)
    thetas = np.empty((len(WIDTHS), 3, *start.theta.shape))
    log_odds = np.empty((len(few), len(WIDTHS)))
    design = design_of(start, few)
    y = np.where(few.y == NO_CLASS, few.n_classes, few.y)
    for i, width in enumerate(WIDTHS):
        for fold in range(3):
            seen, rest = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            prior = _open_map._prior(start.theta, width, 0.5, 1.0, n=len(seen))
            thetas[i, fold], _, _ = minimise(design.take(seen), y[seen], start.theta, prior)
            log_odds[rest, i] = read(design.take(rest).scores(thetas[i, fold]).T, few.prediction[rest])[:, 0]
    losses = np.logaddexp(0, np.where(few.correct, -1, 1)[:, None] * log_odds).sum(axis=0)
    weights = np.exp((losses.min() - losses) / 5)
    weights /= weights.sum()
    assert (weights > 0.02).sum() > 1  # not one of them alone
    mean = design.scores(np.tensordot(weights, thetas.mean(axis=1), axes=1))
    assert softmax(design.scores(found.map.theta), axis=1) == pytest.approx(softmax(mean, axis=1), abs=0.01)
    assert found.width == pytest.approx(np.exp(weights @ np.log(WIDTHS)), rel=0.05)


def test_principal_components_of_logits_of_low_rank_lose_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    logits = (rng.normal(size=(400, 4)) @ rng.normal(size=(4, 12))).astype(np.float32)
    data = Predictions(logits, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1))
    full = cross_fitted(data)
    monkeypatch.setattr(_open_map, "_MOST_LOGITS", 11)
    monkeypatch.setattr(_open_map, "_COMPONENTS_OF_LOGITS", 4)
    reduced = cross_fitted(data)
    assert full.map.coordinates.basis.shape == (12, 12)
    assert reduced.map.coordinates.basis.shape == (12, 4)
    # The prior on weights does not depend on the directions of the axes, so the optimum is the same.
    assert reduced.width == pytest.approx(full.width, rel=0.05)
    assert reduced.readings == pytest.approx(full.readings, abs=0.1)


def test_with_many_classes_the_optimum_is_the_same(few, monkeypatch):
    by_class = cross_fitted(few)
    monkeypatch.setattr(_open_map, "MOST_BLOCKS", 2)  # one matrix of curvature for all classes, as beyond 200
    assert cross_fitted(few).readings == pytest.approx(by_class.readings, abs=0.1)


def test_features_have_coordinates_of_their_own(featured):
    found = cross_fitted(featured)
    coordinates = found.map.coordinates
    assert coordinates.basis.shape == (5, 5)
    assert not coordinates.basis[:3, 3:].any()
    assert not coordinates.basis[3:, :3].any()
    x = coordinates(featured.logits, featured.features)
    assert x.mean(axis=0) == pytest.approx(0, abs=1e-4)
    assert np.sqrt((x[:, 3:] ** 2).mean()) == pytest.approx(1, abs=1e-3)  # whatever the unit of a feature
    without = cross_fitted(as_float32(Predictions(featured.logits, featured.y)))
    hits = featured.correct
    assert auroc(expit(found.readings[:, 0]), hits) > auroc(expit(without.readings[:, 0]), hits) + 0.03


def test_a_feature_far_from_nought_keeps_its_digits(featured):
    far = Predictions(featured.logits, featured.y, featured.features + np.array([1.7e9, 0]))
    near = Predictions(featured.logits, featured.y, featured.features.astype(np.float64))
    assert cross_fitted(far).readings == pytest.approx(cross_fitted(near).readings, abs=0.05)


def test_features_that_do_not_vary_leave_the_others_as_they_are(featured):
    constant = np.column_stack([featured.features, np.full((len(featured), 6), 7.0)])
    found = cross_fitted(Predictions(featured.logits, featured.y, constant))
    x = found.map.coordinates(featured.logits, constant)
    varying = x.std(axis=0)[3:][:2]
    assert np.sqrt(np.mean(varying**2)) == pytest.approx(1, abs=1e-3)


def test_the_unit_of_a_feature_changes_nothing(featured):
    scaled = Predictions(featured.logits, featured.y, featured.features * [1e3, 1e-3] + [5, 0])
    assert cross_fitted(scaled).readings == pytest.approx(cross_fitted(featured).readings, abs=0.05)


def test_readings_are_those_of_a_softmax():
    rng = np.random.default_rng(0)
    scores = 5 * rng.normal(size=(50, 6)).astype(np.float32)
    prediction = rng.integers(5, size=50)
    mu = softmax(scores.astype(np.float64), axis=1)
    at = np.arange(50), prediction
    others = mu[:, :-1].copy()
    others[at] = 0
    expected = np.column_stack([np.log(mu[at] / (1 - mu[at])), np.log(mu[:, -1]), np.log(others.max(axis=1))])
    assert read(scores.T, prediction) == pytest.approx(expected, abs=1e-4)


def test_readings_stay_finite_where_the_softmax_is_certain():
    scores = np.array([[500.0, -500.0, -500.0], [-500.0, 500.0, 400.0]], dtype=np.float32)
    assert read(scores.T, np.array([0, 0])) == pytest.approx(
        np.array([[1000 - np.log(2), -1000, -1000], [-1000, -100, 0]]), abs=1e-2
    )


# Cross-fitting --------------------------------------------------------------------------------------------------------


def relabelled(data, row):
    """Return the data with a hit of the row turned into a miss, or the other way round."""
    y = data.y.copy()
    y[row] = (data.prediction[row] + 1) % data.n_classes if data.correct[row] else data.prediction[row]
    return Predictions(data.logits, y)


@pytest.mark.parametrize("row", [7, 8, 9])
def test_the_label_of_a_row_does_not_reach_the_open_map_that_reads_it(few, row):
    # It comes to what is read there by the weights of the widths alone, which all rows have together.
    folds, start = np.arange(len(few)) % 5, start_map(few, 2.0)
    before, after = (_open_map._Fits(data, folds, start) for data in (few, relabelled(few, row)))
    for fold in range(5):
        same = np.array_equal(before.fit(fold, 1.0, start.theta), after.fit(fold, 1.0, start.theta))
        assert same == (fold == folds[row])


def test_the_label_of_a_row_does_not_reach_its_maps_of_the_score(few):
    folds = np.arange(len(few)) % 5
    before, after = (cross_fit_maps(data, folds)[1] for data in (few, relabelled(few, 11)))
    assert np.array_equal(before[11], after[11])
    assert (before != after).any(axis=0).all()


def test_the_maps_of_the_score_are_beta_calibration_and_isotonic_regression(few):
    maps, _ = cross_fit_maps(few, np.arange(len(few)) % 5)
    doubt = 0.25 / np.sqrt(len(few))
    expected = [
        kind().fit(few.logits, few.y).predict_confidence(few.logits) for kind in (BetaCalibration, IsotonicCalibration)
    ]
    found = expit(maps.log_odds(top_scores(few.logits))).T
    assert found[0] == pytest.approx(expected[0], abs=1e-5)
    assert found[1] == pytest.approx(np.clip(expected[1], doubt, 1 - doubt), abs=0.02)  # straight in log-odds, not in p


def committee_rows(n=400, d=3, copies=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)).astype(np.float32)
    base = rng.normal(size=n).astype(np.float32)
    correct = rng.random(n) < expit(base + 2 * x[:, 0])
    return Rows(x, base, rng.integers(4, size=n), correct, np.arange(n) % copies, 4)


QUICK = Recipe(epochs=1, batch_size=64, learning_rate=1e-2, least_steps=60, one_cycle=True)


def trained(rows, hidden_size=5, widths=(0.7, 2.8), recipe=QUICK):
    return train_committee(rows, hidden_size, widths, recipe, np.random.default_rng(0))


def test_the_label_of_a_row_does_not_reach_the_network_that_speaks_of_it():
    rows = committee_rows()
    correct = rows.correct.copy()
    correct[10] = not correct[10]
    other = Rows(rows.inputs, rows.base, rows.prediction, correct, rows.folds, rows.n_classes)
    (_, before), (_, after) = trained(rows), trained(other)
    same_fold = rows.folds == rows.folds[10]
    assert np.array_equal(before[same_fold], after[same_fold])
    assert (before[~same_fold] != after[~same_fold]).all()


def test_isotonic_levels_of_0_and_1_are_doubted():
    logits = np.column_stack([np.zeros(100), np.linspace(-3, 3, 100)]).astype(np.float32)
    data = Predictions(logits, logits.argmax(axis=1))  # not one mistake
    maps, held_out = cross_fit_maps(data, np.arange(100) % 5)
    assert expit(maps.knots[1]) == pytest.approx(0.98)
    assert expit(held_out[:, 1]) == pytest.approx(0.98)


# The committee --------------------------------------------------------------------------------------------------------


def seen_of(logits, coordinates=None):
    z = np.asarray(logits, dtype=np.float32)
    x = np.zeros((len(z), 0), dtype=np.float32) if coordinates is None else coordinates.astype(np.float32)
    readings = np.zeros((len(z), 3), dtype=np.float32)
    return Seen(relative(z), readings, x, top_scores(z))


def test_the_committee_sees_what_means_the_same_for_all_classes():
    z = 3 * np.random.default_rng(0).normal(size=(40, 5))
    ordered = -np.sort(-z, axis=1)
    p = softmax(z, axis=1)
    expected = np.column_stack(
        [
            np.zeros((40, 3)),
            np.log(p.max(axis=1) / (1 - p.max(axis=1))),
            ordered[:, 0] - ordered[:, 1],
            -(p * np.log(p)).sum(axis=1),
            logsumexp(z, axis=1) - z.mean(axis=1),
            ordered - z.mean(axis=1, keepdims=True),
        ]
    )
    assert _committee._describe(seen_of(z)) == pytest.approx(expected.T, abs=1e-4)
    # So it knows neither the order of the classes nor what is added to all logits.
    assert _committee._describe(seen_of(z[:, ::-1] + 7)) == pytest.approx(expected.T, abs=1e-3)


def test_of_many_logits_it_sees_the_ten_largest():
    z = np.random.default_rng(0).normal(size=(20, 50))
    ranks = _committee._describe(seen_of(z))[7:]
    assert ranks == pytest.approx(-np.sort(-z, axis=1)[:, :10].T - z.mean(axis=1), abs=1e-5)


def test_equal_logits_are_no_trouble():
    numbers = _committee._describe(seen_of(np.ones((6, 4))))
    assert numbers[4] == pytest.approx(0)
    assert numbers[5:7] == pytest.approx(np.log(4), abs=1e-6)
    assert _committee._learn_inputs(numbers)(numbers) == pytest.approx(0, abs=1e-6)


def test_inputs_are_standardised_and_bounded():
    numbers = _committee._describe(seen_of(3 * np.random.default_rng(0).normal(size=(2000, 5))))
    inputs = _committee._learn_inputs(numbers)
    made = inputs(numbers)
    assert made.dtype == np.float32
    assert made.shape[0] == numbers.shape[0] + 1
    varied = made[7]  # the largest logit
    assert (varied.mean(), varied.std()) == (pytest.approx(0, abs=0.01), pytest.approx(1, abs=0.01))
    assert np.abs(inputs(1000 * numbers)).max() == pytest.approx(6)


def test_by_its_quantile_a_number_is_as_fine_as_the_rows_are_dense():
    rng = np.random.default_rng(0)
    # Of half of the rows the two largest logits are equal to within a thousandth, as an attack leaves them.
    z = np.zeros((1000, 3))
    z[:, 0] = np.where(np.arange(1000) < 500, 1e-3 * rng.random(1000), 10 * rng.random(1000))
    numbers = _committee._describe(seen_of(z))
    made = _committee._learn_inputs(numbers)(numbers)
    margin, quantile = made[4, :500], made[-1, :500]
    assert np.ptp(margin) < 0.01
    assert np.ptp(quantile) > 1.5
    assert np.abs(made[-1]).max() == pytest.approx(1.7)
    order = np.argsort(numbers[4], kind="stable")
    assert (np.diff(made[-1, order]) >= 0).all()


@pytest.mark.parametrize(("n_classes", "seen"), [(5, 32), (33, 0)])
def test_only_with_few_classes_it_sees_the_leading_coordinates_too(n_classes, seen):
    rng = np.random.default_rng(0)
    z, x = rng.normal(size=(50, n_classes)), rng.normal(size=(50, 40)).astype(np.float32)
    plain = _committee._describe(seen_of(z))
    numbers = _committee._describe(seen_of(z, x))
    assert np.array_equal(numbers, np.concatenate([plain, x[:, :seen].T]))


def log_odds_of(mean, rows):
    network = forward(mean.weights, mean.biases, rows.inputs)[:, 0]
    return network + mean.slope * rows.base + mean.offsets[rows.prediction]


@pytest.mark.parametrize("shares", [np.full(6, 1 / 6), np.array([0.25, 0.25, 0.5, 0, 0, 0])])
def test_the_mean_network_is_the_mean_of_the_networks(shares):
    rows = committee_rows()
    committee, _ = trained(rows)
    with torch.no_grad():
        given = (torch.from_numpy(part) for part in (rows.inputs, rows.base, rows.prediction))
        each = committee.log_odds(*given).numpy()
    assert np.std(each, axis=0).min() > 1e-4  # they differ
    mean = committee.mean(shares)
    units = 5 * np.count_nonzero(shares)  # those without a share cost nothing
    assert [layer.shape for layer in mean.weights] == [(3, units), (units, 1)]
    assert log_odds_of(mean, rows) == pytest.approx(shares @ each, abs=1e-5)


def test_networks_that_never_saw_a_row_are_near_what_their_mean_says():
    rows = committee_rows()
    committee, held_out = trained(rows)
    assert held_out.shape == (400, 2)
    for width in range(2):
        shares = np.zeros(6)
        shares[3 * width : 3 * width + 3] = 1 / 3
        assert np.corrcoef(log_odds_of(committee.mean(shares), rows), held_out[:, width])[0, 1] > 0.95


def test_a_network_learns_what_the_base_does_not_know():
    rows = committee_rows(n=3000)
    _, held_out = trained(rows, recipe=Recipe(1, 256, 1e-2, least_steps=300, one_cycle=True))
    known, learned = (np.logaddexp(0, np.where(rows.correct, -x, x)).mean() for x in (rows.base, held_out[:, 0]))
    assert learned < known - 0.1


def test_with_few_rows_the_prior_holds_a_network_back():
    def learned_slope(n):
        rows = committee_rows(n=n)
        _, held_out = trained(rows, hidden_size=8, widths=(0.7,), recipe=CORRECTIONS)
        return np.polyfit(rows.inputs[:, 0], held_out[:, 0] - rows.base, 1)[0]  # 2 is what is to be learned

    few, many = learned_slope(12), learned_slope(3000)
    assert few < 0.3 < 1.5 < many


def test_how_unlikely_a_network_is():
    rng = np.random.default_rng(0)
    tensors = [torch.from_numpy(rng.normal(size=size)) for size in ((2, 4, 5), (2, 5, 1), (2, 1, 5), (2, 1, 1))]
    slopes, offsets = torch.full((2, 1), 0.1), torch.full((2, 3), 0.2)
    committee = correctness.Networks(GridNetwork(tensors[:2], tensors[2:]), slopes, offsets)
    widths = np.array([0.5, 2.0])
    into, out, *biases = ((part.numpy() ** 2).sum(axis=(1, 2)) for part in tensors)
    # The inputs are of unit size, and so is what a hidden unit and the output make of them, but for the width.
    expected = (4 * into / widths**2 + 5 * out + sum(biases) + 1 + 3) / 2
    assert committee.far(torch.from_numpy(widths)).numpy() == pytest.approx(expected)


def test_a_width_that_the_rows_do_not_support_costs_no_hidden_units(monkeypatch, few):
    found = cross_fitted(few)
    x = found.map.coordinates(few.logits, None)
    seen = Seen(relative(few.logits), found.readings, x, found.readings[:, 0])
    monkeypatch.setattr(_committee, "WIDTHS", (0.7, 100.0))
    committee, _ = cross_fit_committee(few, seen, few.folds(3, 0), 4, 0)
    assert committee.weights[0].shape[1] <= 3 * 4  # of one width


def test_hidden_units_that_are_silent_on_all_rows_are_left_out():
    rows = committee_rows()
    committee, _ = trained(rows)
    mean = committee.mean(np.full(6, 1 / 6))
    into, at_hidden = mean.weights[0].copy(), mean.biases[0].copy()
    into[:, 3], at_hidden[3] = 0, -1  # is never heard
    idle = mean._replace(weights=(into, mean.weights[1]), biases=(at_hidden, mean.biases[1]))
    busy = _committee._without_idle_units(idle, rows.inputs)
    assert busy.weights[0].shape[1] < idle.weights[0].shape[1]
    assert log_odds_of(busy, rows) == pytest.approx(log_odds_of(idle, rows), abs=1e-3)


def test_the_global_random_state_of_torch_is_left_alone(few):
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    open_map = cross_fitted(few)
    x = open_map.map.coordinates(few.logits, None)
    seen = Seen(relative(few.logits), open_map.readings, x, open_map.readings[:, 0])
    cross_fit_committee(few, seen, few.folds(3, 0), 4, 0)
    assert torch.rand(1) == expected


# The stack ------------------------------------------------------------------------------------------------------------


def voices(n, seed=0):
    """Give log-odds that are true, those with noise, and two that know nothing."""
    rng = np.random.default_rng(seed)
    true = 2 * rng.normal(size=n)
    x = np.column_stack([true, true + 2 * rng.normal(size=n), rng.normal(size=n), rng.normal(size=n)])
    return x, rng.random(n) < expit(true)


def held_loss(weights, x, correct):
    score = x @ weights[:-1] + weights[-1]
    fit = np.logaddexp(0, np.where(correct, -score, score)).sum()
    return fit + (HOLD * (weights - START) ** 2).sum() / 2


@pytest.mark.parametrize("n", [3, 50, 2000])
def test_the_weights_are_the_least_of_the_held_loss(n):
    x, correct = voices(n)
    x[:, 3] *= -1
    found = stack(x, correct, START, HOLD)
    bounds = [(0, None)] * 4 + [(None, None)]
    oracle = minimize(held_loss, START, args=(x, correct), bounds=bounds, method="SLSQP", options={"ftol": 1e-12})
    assert found == pytest.approx(oracle.x, abs=0.01)
    assert held_loss(found, x, correct) <= oracle.fun + 1e-3


def test_no_voice_is_believed_in_reverse():
    x, correct = voices(5000)
    found = stack(np.column_stack([x[:, :3], -x[:, 0]]), correct, START, HOLD)
    assert (found[:4] >= 0).all()
    assert found[3] == 0


def test_few_rows_leave_the_weights_near_their_start():
    x, correct = voices(5)
    assert stack(x, correct, START, HOLD) == pytest.approx(START, abs=0.15)


def test_many_rows_find_the_one_voice_that_knows():
    x, correct = voices(50_000)
    assert stack(x, correct, START, HOLD) == pytest.approx([1, 0, 0, 0, 0], abs=0.06)


def test_with_no_evidence_the_weights_are_the_prior():
    losses = np.full(3, 7.0)
    assert by_evidence(losses, (0.2, 0.3, 0.5)) == pytest.approx([0.2, 0.3, 0.5])
    assert by_evidence(losses) == pytest.approx(1 / 3)


def test_five_nats_are_worth_a_factor_of_e():
    # A row of log-odds x that is right has log-loss log(1 + e^−x).
    x = -np.log(np.expm1([[0.5, 0.5 + 5 / 8]] * 8))
    even, less = by_evidence(log_losses(x, np.ones(8, dtype=bool)))
    assert even / less == pytest.approx(np.e)


# The last map ---------------------------------------------------------------------------------------------------------


def test_the_last_map_mends_what_is_too_sure_and_leaves_alone_what_is_not():
    x, correct = voices(20_000)
    true = x[:, 0]
    assert fit_last_map(true, correct) == pytest.approx([1, 1, 0], abs=0.03)
    assert fit_last_map(2 * true + 1, correct) == pytest.approx([0.5, 0.5, -0.5], abs=0.1)


def test_few_rows_leave_the_last_map_alone():
    x, correct = voices(50)
    assert fit_last_map(1.5 * x[:, 0], correct) == pytest.approx([1, 1, 0], abs=0.05)


# The calibrator -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def parts(shifted):
    return shifted.split(2500, 1500, random_state=0)


@pytest.fixture(scope="module")
def fitted(parts):
    return CrossFittedCCAC(random_state=0).fit(parts[0].logits, parts[0].y)


def test_it_beats_each_voice_that_sees_one_score(fitted, parts):
    fit, test = parts
    confidence = fitted.predict_confidence(test.logits)
    for other in (TemperatureScaling(), TemperatureScaling(no_class="uniform"), IsotonicCalibration()):
        theirs = other.fit(fit.logits, fit.y).predict_confidence(test.logits)
        assert brier(confidence, test.correct) < brier(theirs, test.correct) - 0.02
        assert auroc(confidence, test.correct) > auroc(theirs, test.correct) + 0.02
    assert ece(confidence, test.correct) < 0.05


def test_with_a_hundred_labels_it_is_no_worse_than_temperature_scaling(calibrated):
    fit, test = calibrated.split(100, 2500, random_state=0)
    ours, theirs = (
        brier(kind.fit(fit.logits, fit.y).predict_confidence(test.logits), test.correct)
        for kind in (CrossFittedCCAC(random_state=0), TemperatureScaling())
    )
    assert ours < theirs + 0.005


def test_its_confidence_can_be_written_down(fitted, parts):
    logits = parts[1].logits.astype(np.float32)
    prediction, score = logits.argmax(axis=1), top_scores(logits)
    theta, temperature, (centre, basis) = fitted.open_map_
    x = (logits - centre) @ basis
    own = np.column_stack([logits - logits.max(axis=1, keepdims=True), score]) / temperature
    mu = softmax(own * theta[:, 0] + x @ theta[:, 1:-1].T + theta[:, -1], axis=1)[np.arange(len(logits)), prediction]
    (a, b, c), knots = fitted.score_maps_
    beta = a * np.log(expit(score)) - b * np.log(expit(-score)) + c
    *weights, offset = fitted.voices_
    voices = np.stack([beta, np.interp(score, *knots), np.log(mu / (1 - mu))])
    together = weights @ np.clip(voices, -15, 15) + offset
    near = relative(logits)
    readings = read(scores_of(fitted._open_map(), logits).T, prediction)
    seen = Seen(near, readings, x.astype(np.float32), together.astype(np.float32))
    committee = _committee.Committee(_committee.Inputs(*fitted.committee_[0]), *fitted.committee_[1:])
    corrected = committee.log_odds(seen)
    a, b, c = fitted.last_map_
    expected = expit(a * np.log(expit(corrected)) - b * np.log(expit(-corrected)) + c)
    assert fitted.predict_confidence(logits) == pytest.approx(expected, abs=1e-4)


def test_its_distribution_has_the_confidence_at_the_prediction(fitted, parts):
    logits = parts[1].logits
    proba = fitted.predict_proba(logits)
    prediction = logits.argmax(axis=1)
    assert proba.shape == (1500, 5)
    assert proba.sum(axis=1) == pytest.approx(1, abs=1e-6)
    assert (proba >= 0).all()
    assert proba[np.arange(1500), prediction] == pytest.approx(fitted.predict_confidence(logits), abs=1e-6)


def test_the_auxiliary_class_is_for_what_has_none(fitted, parts):
    test = parts[1]
    none = fitted.predict_proba(test.logits)[:, -1]
    assert auroc(none, test.y == NO_CLASS) > 0.9


def test_rows_of_a_select_part_are_used_like_others(quick_training, parts):
    data = parts[0]
    first, rest = data.take(slice(1000)), data.take(slice(1000, 1600))
    given = CrossFittedCCAC(random_state=0).fit(first.logits, first.y, select=(rest.logits, rest.y))
    both = first.joined(rest)
    at_once = CrossFittedCCAC(random_state=0).fit(both.logits, both.y)
    logits = parts[1].logits
    assert np.array_equal(given.predict_confidence(logits), at_once.predict_confidence(logits))


@pytest.mark.parametrize("name", ["n_folds", "hidden_size"])
@pytest.mark.parametrize("value", [0, -1, 2.5, "five", True])
def test_sizes_that_make_no_sense_are_refused(name, value, few):
    calibrator = CrossFittedCCAC(**{name: value})
    with pytest.raises(InvalidInputError, match=f"{name} must be a whole number"):
        calibrator.fit(few.logits, few.y)
    with pytest.raises(NotFittedError):
        calibrator.predict_confidence(few.logits)


def test_one_fold_holds_nothing_out(few):
    with pytest.raises(InvalidInputError, match="n_folds"):
        CrossFittedCCAC(n_folds=1).fit(few.logits, few.y)


@pytest.mark.filterwarnings("ignore::auxcal.ConvergenceWarning")
@pytest.mark.usefixtures("quick_training")
def test_two_rows_are_enough_and_one_is_not():
    logits = [[1.0, 0.0, 0.5], [0.0, 2.0, 0.5]]
    confidence = CrossFittedCCAC(random_state=0).fit(logits, [0, 2]).predict_confidence(logits)
    assert ((confidence > 0) & (confidence < 1)).all()
    with pytest.raises(InvalidInputError, match="at least 2 rows; got 1"):
        CrossFittedCCAC().fit(logits[:1], [0])


@pytest.mark.usefixtures("quick_training")
def test_more_classes_than_have_a_matrix_of_their_own():
    rng = np.random.default_rng(0)
    y = rng.integers(250, size=1200)
    logits = (rng.normal(size=(1200, 250)) + 4 * np.eye(250)[y]).astype(np.float32)
    logits[::3] = rng.normal(size=(400, 250)) + 2 * np.eye(250)[rng.integers(250, size=400)]
    y[::3] = NO_CLASS
    fit, test = Predictions(3 * logits, y).split(800, 400, random_state=0)
    calibrator = CrossFittedCCAC(random_state=0).fit(fit.logits, fit.y)
    temperature = TemperatureScaling().fit(fit.logits, fit.y)
    ours, theirs = (each.predict_confidence(test.logits) for each in (calibrator, temperature))
    assert calibrator.open_map_[0].shape == (251, 32 + 2)
    assert brier(ours, test.correct) < brier(theirs, test.correct)


def test_the_features_help_where_they_know(featured):
    fit, test = featured.split(400, 200, random_state=0)
    with_them = CrossFittedCCAC(random_state=0).fit(fit.logits, fit.y, features=fit.features)
    without = CrossFittedCCAC(random_state=0).fit(fit.logits, fit.y)
    confidence = with_them.predict_confidence(test.logits, test.features)
    assert brier(confidence, test.correct) < 0.8 * brier(without.predict_confidence(test.logits), test.correct)


def test_voices_do_not_shout():
    assert within_reason(np.array([-1e9, -3.0, 1e9])).tolist() == [-15.0, -3.0, 15.0]


# Transfer -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def elsewhere(shifted):
    """Give the same classifier with more of what has no class, which it is surer of."""
    foreign = shifted.y == NO_CLASS
    logits = np.where(foreign[:, None], 1.3 * shifted.logits, shifted.logits)
    kept = foreign | (np.arange(len(shifted)) % 2 == 0)
    return Predictions(logits[kept], shifted.y[kept]).split(150, 1500, random_state=0)


def test_a_transfer_brings_more_than_as_many_labels_alone(fitted, elsewhere):
    here, test = elsewhere
    carried = fitted.transfer(here.logits, here.y)
    alone = CrossFittedCCAC(random_state=0).fit(here.logits, here.y)
    scores = [brier(each.predict_confidence(test.logits), test.correct) for each in (carried, alone)]
    assert scores[0] < scores[1]


@pytest.mark.usefixtures("quick_training")
def test_a_transfer_leaves_its_source_as_it_was(fitted, elsewhere, tmp_path):
    here, test = elsewhere
    before = fitted.predict_confidence(test.logits)
    carried = fitted.transfer(here.logits, here.y)
    assert isinstance(fitted, Transferable)
    assert type(carried) is CrossFittedCCAC
    assert carried is not fitted
    assert carried.get_params() == fitted.get_params()
    assert np.array_equal(fitted.predict_confidence(test.logits), before)
    confidence = carried.predict_confidence(test.logits)
    assert not np.array_equal(confidence, before)
    carried.save(tmp_path / "here.safetensors")
    loaded = auxcal.load(tmp_path / "here.safetensors")
    assert np.array_equal(loaded.predict_confidence(test.logits), confidence)
    again = loaded.transfer(here.logits, here.y)
    assert np.array_equal(
        again.predict_confidence(test.logits), carried.transfer(here.logits, here.y).predict_confidence(test.logits)
    )


@pytest.mark.usefixtures("quick_training")
def test_a_transfer_keeps_the_coordinates_and_the_features(featured):
    there, here = featured.split(400, 200, random_state=0)
    source = CrossFittedCCAC(random_state=0).fit(there.logits, there.y, features=there.features)
    carried = source.transfer(here.logits, here.y, features=here.features)
    assert carried.n_further_features_ == 2
    for ours, theirs in zip(carried.open_map_[2], source.open_map_[2], strict=True):
        assert np.array_equal(ours, theirs)
    for features, message in ((None, "got none"), (here.features[:, :1], "got 1")):
        with pytest.raises(InvalidInputError, match=f"2 columns.*{message}"):
            source.transfer(here.logits, here.y, features=features)


@pytest.mark.usefixtures("quick_training")
def test_a_transfer_uses_its_select_part_too(fitted, elsewhere):
    here, test = elsewhere
    first, rest = here.take(slice(100)), here.take(slice(100, None))
    given, at_once = (
        fitted.transfer(first.logits, first.y, select=(rest.logits, rest.y)),
        fitted.transfer(here.logits, here.y),
    )
    assert np.array_equal(given.predict_confidence(test.logits), at_once.predict_confidence(test.logits))


def test_what_can_not_be_carried_over_says_why(fitted, few):
    with pytest.raises(NotFittedError):
        CrossFittedCCAC().transfer(few.logits, few.y)
    with pytest.raises(InvalidInputError, match="4 columns"):
        fitted.transfer(few.logits[:, :3], np.zeros(len(few), dtype=int))
    with pytest.raises(InvalidInputError, match="without features"):
        fitted.transfer(few.logits, few.y, features=np.ones((len(few), 1)))
