"""CCAC-X as a whole: what it promises for any rows."""

import warnings

import numpy as np
import pytest
from scipy.special import expit, log_softmax, logsumexp
from threadpoolctl import threadpool_limits

from auxcal import (
    CCACX,
    NO_CLASS,
    ConvergenceWarning,
    InvalidInputError,
    IsotonicCalibration,
    NotFittedError,
    Predictions,
    TemperatureScaling,
)
from auxcal._core import chunks
from auxcal._core.logits import relative, top_scores
from auxcal.calibrators.ccac_x import correction, method, open_map, score_maps
from auxcal.calibrators.ccac_x.correction import Correction, describe
from auxcal.metrics import auroc, brier, ece


def draw(n, k, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, k), scale=2).astype(np.float32)
    if ties:
        logits = np.round(logits)
    y = (logits / 1.5 + rng.gumbel(size=logits.shape)).argmax(axis=1)
    y[::7] = NO_CLASS
    return Predictions(logits, y)


def fit(data, **parameters):
    return CCACX(**{"random_state": 0} | parameters).fit(data.logits, data.y, features=data.features)


def confidence_after(data, logits):
    return fit(data).predict_confidence(logits)


@pytest.fixture(scope="module")
def parts(shifted):
    return shifted.split(2500, 1500, random_state=0)


@pytest.fixture(scope="module")
def fitted(parts):
    return fit(parts[0])


@pytest.fixture(scope="module")
def small():
    return draw(120, 3)


# Quality --------------------------------------------------------------------------------------------------------------


def test_it_beats_each_method_that_sees_one_score(fitted, parts):
    labelled, test = parts
    confidence = fitted.predict_confidence(test.logits)
    for other in (TemperatureScaling(), TemperatureScaling(no_class="uniform"), IsotonicCalibration()):
        theirs = other.fit(labelled.logits, labelled.y).predict_confidence(test.logits)
        assert brier(confidence, test.correct) < brier(theirs, test.correct) - 0.02
        assert auroc(confidence, test.correct) > auroc(theirs, test.correct) + 0.02
    assert ece(confidence, test.correct) < 0.05


def test_with_a_hundred_labels_it_is_no_worse_than_temperature_scaling(calibrated):
    labelled, test = calibrated.split(100, 2500, random_state=0)
    ours, theirs = (
        brier(kind.fit(labelled.logits, labelled.y).predict_confidence(test.logits), test.correct)
        for kind in (CCACX(random_state=0), TemperatureScaling())
    )
    assert ours < theirs + 0.005


def test_many_classes_and_samples_of_none():
    rng = np.random.default_rng(0)
    y = rng.integers(250, size=1200)
    logits = (rng.normal(size=(1200, 250)) + 4 * np.eye(250)[y]).astype(np.float32)
    logits[::3] = rng.normal(size=(400, 250)) + 2 * np.eye(250)[rng.integers(250, size=400)]
    y[::3] = NO_CLASS
    labelled, test = Predictions(3 * logits, y).split(800, 400, random_state=0)
    ours = confidence_after(labelled, test.logits)
    theirs = TemperatureScaling().fit(labelled.logits, labelled.y).predict_confidence(test.logits)
    assert brier(ours, test.correct) < brier(theirs, test.correct)


# What it says ---------------------------------------------------------------------------------------------------------


def test_its_confidence_can_be_written_down(fitted, parts):
    z = parts[1].logits.astype(np.float32)
    n, top, score = len(z), z.argmax(axis=1), top_scores(z)
    own, shared, bias, (centre, basis) = fitted.open_map_
    x = ((z - centre) @ basis).astype(np.float32)
    seen = np.column_stack([z - z.max(axis=1, keepdims=True), score])
    scores = (own * seen + x @ shared.T + bias).astype(np.float64)
    log_mu = log_softmax(scores, axis=1)
    others = log_mu.copy()
    others[np.arange(n), top] = -np.inf
    of_prediction = log_mu[np.arange(n), top] - logsumexp(others, axis=1)
    readings = np.stack([of_prediction, log_mu[:, -1], others[:, :-1].max(axis=1)])
    (a, b, c), knots = fitted.score_maps_
    beta = a * np.log(expit(score)) - b * np.log(expit(-score)) + c
    stacked = np.clip([beta, np.interp(score, *knots), of_prediction], -15, 15)
    inputs = describe(relative(z), readings.astype(np.float32), x)
    log_odds = Correction(*fitted.correction_).log_odds(inputs, fitted.voices_ @ stacked)
    expected = expit(log_odds + fitted.effects_[top])
    assert fitted.predict_confidence(z) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("weight", [0.0, 4e-10, 6e-10])
def test_base_calibrators_of_a_weight_below_float32_make_no_difference(weight, small):
    calibrator = fit(small)
    calibrator.voices_ = np.array([0, 0, 1.0])
    alone = calibrator.predict_confidence(small.logits)
    calibrator.voices_ = np.array([weight, weight, 1 - 2 * weight])
    np.testing.assert_allclose(calibrator.predict_confidence(small.logits), alone, rtol=0, atol=1e-7)


def test_its_weights_add_up_to_one_and_its_widths_are_named(fitted):
    assert fitted.voices_.shape == (3,)
    assert fitted.voices_.sum() == pytest.approx(1)
    assert (fitted.voices_ >= 0).all()
    assert fitted.widths_.keys() == {"bias", "shared", "correction"}


def test_its_distribution_has_the_confidence_at_the_prediction(fitted, parts):
    logits = parts[1].logits
    proba = fitted.predict_proba(logits)
    assert proba.shape == (1500, 5)
    assert proba.sum(axis=1) == pytest.approx(1, abs=1e-6)
    assert (proba >= 0).all()
    at_prediction = proba[np.arange(1500), logits.argmax(axis=1)]
    assert at_prediction == pytest.approx(fitted.predict_confidence(logits), abs=1e-6)


def test_the_auxiliary_class_is_for_what_has_none(fitted, parts):
    none = fitted.predict_proba(parts[1].logits)[:, -1]
    assert auroc(none, parts[1].y == NO_CLASS) > 0.9


# What does not matter -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_the_order_of_the_rows_whatever_they_are(seed):
    # Near the optimum of the open map the loss is rounding, which must not decide whether the last step is taken.
    data, logits = draw(300, 4, seed=seed, ties=True), draw(200, 4, seed=99).logits
    shuffled = data.take(np.random.default_rng(seed).permutation(300))
    assert confidence_after(shuffled, logits) == pytest.approx(confidence_after(data, logits), abs=1e-5)


def test_the_order_of_rows_that_only_features_tell_apart():
    data = draw(300, 3, ties=True)
    logits = data.logits[np.arange(300) % 20]
    features = np.random.default_rng(0).normal(size=(300, 2)).astype(np.float32)
    data = Predictions(logits, data.y, features)
    shuffled = data.take(np.random.default_rng(1).permutation(300))
    ours, theirs = (fit(each).predict_confidence(logits, features) for each in (data, shuffled))
    assert ours == pytest.approx(theirs, abs=1e-5)


def test_a_constant_that_is_added_to_all_logits(small):
    moved = Predictions(small.logits + 5, small.y)
    expected = confidence_after(small, small.logits)
    assert confidence_after(moved, small.logits + 5) == pytest.approx(expected, abs=1e-4)


def test_the_scale_of_the_logits_hardly():
    data, logits = draw(300, 4), draw(500, 4, seed=1).logits
    doubled = Predictions(2 * data.logits, data.y)
    ours, theirs = confidence_after(doubled, 2 * logits), confidence_after(data, logits)
    assert ours == pytest.approx(theirs, abs=0.03)  # the classifier's own log-odds are not doubled with them
    assert np.abs(ours - theirs).mean() < 0.005


def test_the_number_of_threads(small):
    bits = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            calibrator = fit(small)
            bits.append((calibrator.predict_proba(small.logits).tobytes(), calibrator.correction_[3].tobytes()))
    assert bits[0] == bits[1]


def test_whether_rows_are_given_as_a_select_part(parts):
    data, logits = parts[0].take(slice(800)), parts[1].logits
    first, rest = data.take(slice(500)), data.take(slice(500, None))
    given = CCACX(random_state=0).fit(first.logits, first.y, select=(rest.logits, rest.y))
    assert np.array_equal(given.predict_confidence(logits), confidence_after(data, logits))


# Rows of every kind ---------------------------------------------------------------------------------------------------

PREDICTION = draw(60, 3).prediction
UNUSUAL = {
    "every row correct": PREDICTION,
    "every row wrong": (PREDICTION + 1) % 3,
    "all NO_CLASS": np.full(60, NO_CLASS),
    "one row of a class": np.where(np.arange(60) == 3, PREDICTION, NO_CLASS),
}


@pytest.mark.filterwarnings("ignore::auxcal.ConvergenceWarning")
@pytest.mark.parametrize("y", UNUSUAL.values(), ids=UNUSUAL.keys())
def test_labels_of_one_kind_give_a_confidence_to_match(y):
    logits = draw(60, 3).logits
    data = Predictions(logits, y)
    confidence = confidence_after(data, logits)
    assert ((confidence > 0) & (confidence < 1)).all()
    assert confidence.mean() == pytest.approx(data.correct.mean(), abs=0.1)


def test_without_rows_of_no_class_none_is_improbable(calibrated):
    data = calibrated.take(slice(500))
    assert fit(data).predict_proba(data.logits)[:, -1].mean() < 0.02


@pytest.mark.filterwarnings("ignore::auxcal.ConvergenceWarning")
@pytest.mark.parametrize("y", [[0, 2], [0, 1], [1, 0], [NO_CLASS, NO_CLASS], [0, NO_CLASS]], ids=str)
def test_two_rows_are_enough(y):
    logits = [[1.0, 0.0, 0.5], [0.0, 2.0, 0.5]]
    confidence = CCACX(random_state=0).fit(logits, y).predict_confidence(logits)
    assert ((confidence > 0) & (confidence < 1)).all()


def test_one_row_is_not():
    with pytest.raises(InvalidInputError, match="at least 2 rows; got 1"):
        CCACX().fit([[2.0, 0.0]], [0])


@pytest.mark.filterwarnings("ignore::auxcal.ConvergenceWarning")
@pytest.mark.parametrize("logits", [np.ones((40, 3)), 1e4 * np.eye(3)[np.arange(40) % 3], np.full((40, 3), -1e15)])
def test_logits_without_measure_give_a_finite_confidence(logits):
    y = np.arange(40) % 4 - 1
    confidence = CCACX(random_state=0).fit(logits, y).predict_confidence(logits)
    assert ((confidence > 0) & (confidence < 1)).all()


def test_of_more_rows_than_enough_a_spread_sample_is_used(monkeypatch, small):
    monkeypatch.setattr(method, "_ENOUGH", 50)
    of_all = fit(small)
    of_fifty = fit(small.take(small.spread_rows(50)))
    assert np.array_equal(of_all.predict_confidence(small.logits), of_fifty.predict_confidence(small.logits))
    monkeypatch.setattr(method, "_ENOUGH", 120)
    assert not np.array_equal(fit(small).predict_confidence(small.logits), of_all.predict_confidence(small.logits))


def test_a_chunk_of_many_rows_is_scored_in_float32():
    assert correction.FEW_ROWS < chunks._LEAST_ROWS


def test_of_many_classes_fewer_rows_are_used(monkeypatch, small):
    monkeypatch.setattr(method, "_MOST_LOGITS", 50 * small.n_classes)
    of_fifty = fit(small.take(small.spread_rows(50)))
    assert np.array_equal(fit(small).predict_confidence(small.logits), of_fifty.predict_confidence(small.logits))


# What it says of itself -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("room", "name", "value", "expected"),
    [
        (score_maps, "fit_beta", lambda *_: (np.array([1.0, 1.0, 0.0]), False), "beta calibration"),
        (correction, "_MAX_STEPS", 0, "the correction stopped short"),
        (open_map, "fit_temperature", lambda _: (1.0, "the temperature."), "the temperature"),
    ],
    ids=["beta", "correction", "temperature"],
)
def test_a_part_that_did_not_converge_is_told_once_in_its_own_name(room, name, value, expected, small, monkeypatch):
    monkeypatch.setattr(room, name, value)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        calibrator = fit(small)
    (warning,) = caught
    assert warning.category is ConvergenceWarning
    assert str(warning.message).startswith(f"CCACX: {expected}")
    assert calibrator.converged_ is False


@pytest.mark.parametrize("y", UNUSUAL.values(), ids=UNUSUAL.keys())
def test_it_warns_at_most_once(y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        calibrator = fit(Predictions(draw(60, 3).logits, y))
    few, *problems = (str(each.message) for each in caught)
    assert few.startswith("60 rows are few")
    assert len(problems) == (not calibrator.converged_)
    assert all(message.startswith("CCACX: ") for message in problems)


def test_it_converges_in_silence(small):
    assert fit(small).converged_ is True


@pytest.mark.parametrize("value", [0, 1, -1, 2.5, "five", True])
def test_folds_that_make_no_sense_are_refused(value, small):
    calibrator = CCACX(n_folds=value)
    with pytest.raises(InvalidInputError, match="n_folds must be a whole number"):
        calibrator.fit(small.logits, small.y)
    with pytest.raises(NotFittedError):
        calibrator.predict_confidence(small.logits)


# Features -------------------------------------------------------------------------------------------------------------


def test_features_help_where_they_know(featured):
    labelled, test = featured.split(400, 200, random_state=0)
    with_them = fit(labelled).predict_confidence(test.logits, test.features)
    without = confidence_after(Predictions(labelled.logits, labelled.y), test.logits)
    assert brier(with_them, test.correct) < 0.8 * brier(without, test.correct)
