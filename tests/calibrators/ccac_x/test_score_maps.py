"""The base calibrators of one score: beta calibration and isotonic regression, on rows held out of their fits."""

import numpy as np
import pytest
from scipy.special import expit

from auxcal import BetaCalibration, IsotonicCalibration
from auxcal._core.logits import top_scores
from auxcal.calibrators.ccac_x import score_maps
from auxcal.calibrators.ccac_x.score_maps import cross_fit_maps


@pytest.fixture(scope="module")
def few(shifted):
    data = shifted.take(slice(300))
    return data, top_scores(data.logits), np.arange(300) % 5


def test_they_are_beta_calibration_and_isotonic_regression(few):
    data, scores, folds = few
    maps, _, problem = cross_fit_maps(scores, data.correct, folds)
    beta, isotonic = (
        kind().fit(data.logits, data.y).predict_confidence(data.logits)
        for kind in (BetaCalibration, IsotonicCalibration)
    )
    found = expit(maps.log_odds(scores))
    doubt = 0.5 / 301
    assert problem is None
    assert found[:, 0] == pytest.approx(beta, abs=1e-5)
    assert found[:, 1] == pytest.approx(np.clip(isotonic, doubt, 1 - doubt), abs=0.02)  # straight in log-odds, not in p


def test_each_fold_is_read_by_maps_of_the_others(few):
    data, scores, folds = few
    _, held_out, _ = cross_fit_maps(scores, data.correct, folds)
    for fold in range(5):
        rows = folds == fold
        alone, *_ = cross_fit_maps(scores[~rows], data.correct[~rows], folds[~rows] % 2)
        assert np.array_equal(held_out[rows], alone.log_odds(scores[rows]))


def test_the_label_of_a_row_does_not_reach_what_they_say_of_it(few):
    data, scores, folds = few
    other = data.correct.copy()
    other[11] = not other[11]
    before, after = (cross_fit_maps(scores, correct, folds)[1] for correct in (data.correct, other))
    assert np.array_equal(before[folds == folds[11]], after[folds == folds[11]])
    assert (before != after).any(axis=0).all()


@pytest.mark.parametrize(("right", "expected"), [(True, 1 - 0.5 / 101), (False, 0.5 / 101)])
def test_no_level_is_surer_than_half_a_row_of_all(right, expected):
    scores = np.linspace(0, 3, 100).astype(np.float32)
    maps, held_out, _ = cross_fit_maps(scores, np.full(100, right), np.arange(100) % 5)
    assert expit(maps.knots[1]) == pytest.approx(expected)
    assert abs(held_out[:, 1]) == pytest.approx(np.log(80.5 / 0.5))


def test_beta_calibration_that_did_not_converge_is_told(few, monkeypatch):
    data, scores, folds = few
    monkeypatch.setattr(score_maps, "fit_beta", lambda *_: (np.array([1.0, 1.0, 0.0]), False))
    assert cross_fit_maps(scores, data.correct, folds)[2] == "beta calibration did not reach its optimum."
