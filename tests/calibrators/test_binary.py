"""Platt, beta, isotonic, spline, histogram and scaling-binning: maps of one score."""

import numpy as np
import pytest
from scipy.interpolate import BSpline
from scipy.linalg import null_space
from scipy.special import expit, logsumexp, softmax
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from auxcal import (
    NO_CLASS,
    BetaCalibration,
    HistogramBinning,
    InvalidInputError,
    IsotonicCalibration,
    PlattScaling,
    ScalingBinning,
    SplineCalibration,
)
from auxcal._core.logits import top_scores
from auxcal.calibrators.binary import _scores

from .conftest import draw

KINDS = [PlattScaling, BetaCalibration, IsotonicCalibration, SplineCalibration, HistogramBinning, ScalingBinning]


def log_odds(logits):
    p = softmax(logits, axis=1)
    return np.log(p / (1 - p))


def top_log_odds(logits):
    ordered = np.sort(logits, axis=1)
    return ordered[:, -1] - logsumexp(ordered[:, :-1], axis=1)


def test_log_odds_are_those_of_softmax_and_finite_where_it_saturates():
    logits, _ = draw(n=100)
    assert pytest.approx(log_odds(logits), rel=1e-5, abs=1e-5) == _scores(logits).T
    assert top_scores(logits) == pytest.approx(log_odds(logits).max(axis=1), rel=1e-5, abs=1e-6)
    saturated = np.array([[1e4, -1e4, 0.0]])
    assert top_scores(saturated) == pytest.approx(1e4)
    assert _scores(saturated)[:, 0] == pytest.approx([1e4, -2e4, -1e4])


@pytest.mark.parametrize("scale", [0.01, 1, 100])
def test_platt_is_logistic_regression_with_its_targets(scale):
    logits, y = draw(n=2000)
    logits = logits * scale
    correct = logits.argmax(axis=1) == y
    score = top_log_odds(logits)
    # Platt's targets as weights: each row counts as a hit with its target and as a miss with the rest.
    hits = correct.sum()
    target = np.where(correct, (hits + 1) / (hits + 2), 1 / (len(y) - hits + 2))
    oracle = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(
        np.concatenate([score, score])[:, None] / scale,
        np.repeat([1, 0], len(y)),
        sample_weight=np.concatenate([target, 1 - target]),
    )
    expected = oracle.predict_proba(score[:, None] / scale)[:, 1]
    assert PlattScaling().fit(logits, y).predict_confidence(logits) == pytest.approx(expected, abs=1e-5)


def test_isotonic_is_scikit_learns():
    logits, y = draw(n=500)
    score = top_log_odds(logits)
    oracle = IsotonicRegression(out_of_bounds="clip").fit(score, logits.argmax(axis=1) == y)
    new = np.random.default_rng(1).normal(size=(200, 4), scale=3)
    confidence = IsotonicCalibration().fit(logits, y).predict_confidence(new)
    assert confidence == pytest.approx(oracle.predict(top_log_odds(new)))


def test_isotonic_maps_of_tied_scores_are_scikit_learns():
    logits, y = draw(n=500, n_classes=2)
    logits = logits.round()
    scores, prediction = log_odds(logits), logits.argmax(axis=1)
    confidence = IsotonicCalibration(scheme="per-class").fit(logits, y).predict_confidence(logits)
    for k in range(2):
        oracle = IsotonicRegression().fit(scores[:, k], y == k).predict(scores[:, k])
        assert confidence[prediction == k] == pytest.approx(oracle[prediction == k])


@pytest.mark.parametrize("n_knots", [3, 6, 12])
def test_a_spline_is_the_one_of_least_squares(n_knots):
    logits, y = draw(n=900)
    logits = 2 * logits
    order = np.argsort(top_log_odds(logits))
    p, correct = softmax(logits, axis=1).max(axis=1)[order], (logits.argmax(axis=1) == y)[order]
    # Natural splines as those B-splines that are straight at both ends; h(0) = 0 takes the first away.
    breaks = np.linspace(0, 1, n_knots)
    bases = BSpline(np.r_[[0] * 3, breaks, [1] * 3], np.eye(n_knots + 2), 3)
    natural = null_space(np.stack([bases(0, 2), bases(1, 2), bases(0)]))
    t = np.arange(1, len(y) + 1) / len(y)
    heights = np.linalg.lstsq(bases(t) @ natural, np.cumsum(correct - p) / len(y), rcond=None)[0]
    expected = np.clip(p + bases(t - 0.5 / len(y), 1) @ natural @ heights, 0, 1)
    confidence = SplineCalibration(n_knots).fit(logits, y).predict_confidence(logits)
    assert confidence[order] == pytest.approx(expected, abs=1e-3)


def test_a_spline_of_few_scores_gives_the_accuracy_of_each():
    scores = np.repeat([0.5, 1.5, 3.0], [10, 20, 30])
    logits = np.stack([np.zeros(60), scores], axis=1)
    y = np.concatenate([[1] * 4 + [0] * 6, [1] * 15 + [0] * 5, [1] * 27 + [0] * 3])
    backwards = SplineCalibration().fit(logits[::-1], y[::-1])
    new = [[0.0, 0.5], [0.0, 1.5], [0.0, 3.0]]
    for fitted in (SplineCalibration().fit(logits, y), backwards):
        assert fitted.predict_confidence(new) == pytest.approx([0.4, 0.75, 0.9], abs=1e-6)


def test_a_spline_with_many_rows_keeps_a_thousand_points():
    logits, y = draw(n=5000)
    assert SplineCalibration().fit(logits, y).knots_[0].shape == (2, 1000)


@pytest.mark.parametrize("n_knots", [1, 6.0, "six"])
def test_knots_that_are_no_number_of_knots_are_refused(n_knots):
    with pytest.raises(InvalidInputError, match="n_knots must be a whole number"):
        SplineCalibration(n_knots).fit(*draw(n=50))


@pytest.mark.parametrize("strategy", ["mass", "width"])
def test_a_histogram_gives_the_accuracy_of_its_bins(strategy):
    logits, y = draw(n=2000)
    fitted = HistogramBinning(n_bins=10, strategy=strategy).fit(logits, y)
    confidence, correct = fitted.predict_confidence(logits), logits.argmax(axis=1) == y
    for value in np.unique(confidence):
        assert correct[confidence == value].mean() == pytest.approx(value)
    if strategy == "mass":
        assert np.unique(confidence, return_counts=True)[1] == pytest.approx(200, abs=2)


@pytest.mark.parametrize("bins_of", ["all", "predicted"])
def test_scaling_binning_gives_the_mean_of_the_platt_map_in_each_bin(bins_of):
    logits, y = draw(n=2000)
    platt = PlattScaling(scheme="per-class").fit(logits, y)
    binned = ScalingBinning(n_bins=5, bins_of=bins_of).fit(logits, y)
    scores = log_odds(logits)
    for k in range(4):
        slope, intercept = platt.coefficients_[k]
        rows = logits.argmax(axis=1) == k if bins_of == "predicted" else slice(None)
        edges = np.quantile(scores[rows, k], [0.2, 0.4, 0.6, 0.8])
        index = np.searchsorted(edges, scores[:, k], side="right")
        mapped = expit(slope * scores[:, k] + intercept)
        assert binned.values_[k] == pytest.approx([mapped[index == m].mean() for m in range(5)])


def test_scaling_binning_of_the_top_label_is_kumars():
    calibration = pytest.importorskip("calibration")
    logits, y = draw(n=2000)
    p = softmax(logits, axis=1)
    oracle = calibration.PlattBinnerTopCalibrator(len(y), 10)
    oracle.train_calibration(p, y)
    ours = ScalingBinning(n_bins=10, scheme="top-label").fit(logits, y).predict_confidence(logits)
    assert ours == pytest.approx(oracle.calibrate(p), abs=2e-3)


def test_scaling_binning_of_each_class_is_kumars():
    calibration = pytest.importorskip("calibration")
    logits, y = draw(n=2000)
    p = softmax(logits, axis=1)
    oracle = calibration.PlattBinnerMarginalCalibrator(len(y), 10)
    oracle.train_calibration(p, y)
    ours = ScalingBinning(n_bins=10).fit(logits, y).predict_confidence(logits)
    assert ours == pytest.approx(oracle.calibrate(p)[np.arange(len(y)), logits.argmax(axis=1)], abs=2e-3)


def test_beta_finds_a_map_that_no_logistic_curve_can_follow():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.5, 1, size=20_000)
    logits = np.stack([np.log(p), np.log(1 - p)], axis=1)
    y = (rng.random(len(p)) > p**5).astype(int)  # a = 5 in log p, next to nothing in log(1 − p)
    at = np.array([0.6, 0.75, 0.95])
    new = np.stack([np.log(at), np.log(1 - at)], axis=1)
    beta_error = np.abs(BetaCalibration().fit(logits, y).predict_confidence(new) - at**5).max()
    platt_error = np.abs(PlattScaling().fit(logits, y).predict_confidence(new) - at**5).max()
    assert beta_error < 0.02 < platt_error


@pytest.mark.parametrize("seed", range(4))
def test_beta_maps_never_fall(seed):
    logits, y = draw(n=60, seed=seed)
    fitted = BetaCalibration(scheme="per-class").fit(logits, y)
    assert (fitted.coefficients_[:, :2] >= 0).all()


@pytest.mark.parametrize("scheme", ["top-label", "per-class"])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_no_class_are_misses(kind, scheme):
    logits, y = draw(n=1000)
    half = np.where(np.arange(len(y)) % 2, NO_CLASS, y)
    before = kind(scheme=scheme).fit(logits, y).predict_confidence(logits).mean()
    after = kind(scheme=scheme).fit(logits, half).predict_confidence(logits).mean()
    assert after == pytest.approx(before / 2, abs=0.03)


@pytest.mark.parametrize("kind", KINDS)
def test_a_map_for_each_class_finds_that_one_class_is_worse(kind):
    logits, y = draw(n=4000)
    y = np.where((logits.argmax(axis=1) == 2) & (np.arange(len(y)) % 2 == 0), NO_CLASS, y)
    confidence = kind(scheme="per-class").fit(logits, y).predict_confidence(logits)
    prediction = logits.argmax(axis=1)
    gap = [confidence[prediction == k].mean() - (y == k)[prediction == k].mean() for k in range(4)]
    assert gap == pytest.approx([0] * 4, abs=0.05)
