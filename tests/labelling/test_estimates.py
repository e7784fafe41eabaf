"""Prediction-powered estimates: true whatever the calibrator is worth, and sharper with a good one."""

import numpy as np
import pytest

from auxcal import InvalidInputError
from auxcal.labelling import estimate


def sample(seed, n, shift=0.0):
    rng = np.random.default_rng(seed)
    confidence = rng.uniform(size=n)
    return confidence, rng.uniform(size=n) < np.clip(confidence - shift, 0, 1)


@pytest.mark.parametrize("shift", [0.0, 0.3])
def test_intervals_cover_the_truth_with_a_good_and_with_a_bad_calibrator(shift):
    unlabelled, truth = sample(1, 50_000, shift)
    brier = ((unlabelled - truth) ** 2).mean()
    found = [estimate(*sample(seed, 100, shift), unlabelled) for seed in range(2, 152)]
    for name, true in (("accuracy", truth.mean()), ("brier", brier)):
        assert np.mean([each[name].low <= true <= each[name].high for each in found]) > 0.9
        assert np.mean([each[name].value for each in found]) == pytest.approx(true, abs=0.02)
    ece = np.abs(np.bincount((unlabelled * 20).astype(int), truth - unlabelled)).sum() / len(truth)
    assert np.mean([each["ece"].low <= ece <= each["ece"].high for each in found]) > 0.94


def test_a_good_calibrator_makes_the_interval_of_the_accuracy_narrower():
    found = estimate(*sample(0, 400), sample(1, 20_000)[0])["accuracy"]
    assert found.width < 0.9 * 2 * 1.96 * np.sqrt(0.25 / 400)


def test_labels_without_an_error_do_not_show_that_there_is_none():
    found = estimate([0.95] * 30, [True] * 30, [0.95] * 500)["accuracy"]
    assert found.low < 0.95 < found.high


def test_level_is_a_share():
    with pytest.raises(InvalidInputError, match="level must be a share"):
        estimate([0.5], [True], [0.5], level=95)


def test_sure_confidences_do_not_make_few_labels_sure():
    accuracy = estimate(np.ones(50), np.ones(50, dtype=bool), np.ones(500))["accuracy"]
    assert accuracy.low == pytest.approx(1 - 4 / 54, abs=0.003)  # Wilson's interval of 50 rows without an error


def test_a_confidence_that_is_far_too_low_does_not_narrow_the_interval():
    """It expects errors where there are few: labels are not worth more than they show."""
    rng = np.random.default_rng(0)
    confidence = rng.beta(0.3, 0.3, size=20_000)
    correct = rng.random(20_000) < 0.98 - 0.06 * confidence
    held = []
    for _ in range(200):
        rows = rng.choice(20_000, size=100, replace=False)
        found = estimate(confidence[rows], correct[rows], confidence)["accuracy"]
        held.append(found.low <= correct.mean() <= found.high)
    assert np.mean(held) > 0.92


@pytest.mark.parametrize("n", range(1, 60))
def test_the_interval_holds_an_accuracy_of_1_or_0_that_all_labels_show(n):
    confidence = np.random.default_rng(n).beta(200, 2, size=n)
    assert estimate(confidence, np.ones(n, dtype=bool), confidence)["accuracy"].high == 1
    assert estimate(1 - confidence, np.zeros(n, dtype=bool), 1 - confidence)["accuracy"].low == 0


def test_sure_confidences_leave_room_for_an_error_in_brier_score_and_ece():
    rng = np.random.default_rng(0)
    drawn = [estimate(np.ones(50), rng.random(50) < 0.99, np.ones(500)) for _ in range(200)]
    for name in ("brier", "ece"):  # both are the share of errors
        assert np.mean([each[name].low <= 0.01 <= each[name].high for each in drawn]) > 0.94


def test_rows_of_weight_0_are_left_out():
    confidence, correct = sample(0, 100)
    weight = np.where(np.arange(100) < 40, 2.0, 0.0)
    unlabelled = sample(1, 500)[0]
    found = estimate(confidence, correct, unlabelled, sample_weight=weight)
    assert found == estimate(confidence[:40], correct[:40], unlabelled)


def test_rows_that_are_sure_and_wrong_are_expected_where_a_sample_has_none():
    rng = np.random.default_rng(0)
    confidence = np.where(np.arange(4000) < 2000, 0.5, 0.999)
    correct = rng.random(4000) < np.where(confidence == 0.5, 0.5, 0.97)
    brier, held = np.mean((confidence - correct) ** 2), []
    for state in range(200):
        rows = np.random.default_rng(state).choice(4000, size=50, replace=False)
        found = estimate(confidence[rows], correct[rows], confidence)["brier"]
        held.append(found.low <= brier <= found.high)
    assert np.mean(held) > 0.94
