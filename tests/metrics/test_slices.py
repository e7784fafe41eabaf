"""Every metric for each slice of the rows."""

import numpy as np
import pytest

from auxcal import InvalidInputError, evaluate, evaluate_by
from auxcal.metrics import METRICS

RNG = np.random.default_rng(0)
N = 400
CONFIDENCE = RNG.uniform(size=N)
CORRECT = RNG.random(N) < CONFIDENCE
CAMERA = np.repeat(["left", "right", "top"], [230, 130, 40])
WEIGHT = RNG.exponential(size=N)


def test_a_slice_has_the_scores_of_its_rows_the_largest_first():
    slices = evaluate_by(CONFIDENCE, CORRECT, CAMERA, bootstrap=5, sample_weight=WEIGHT, groups=np.arange(N) // 2)
    assert [(each.value, each.rows) for each in slices] == [("left", 230), ("right", 130), ("top", 40)]
    for each in slices:
        rows = each.value == CAMERA
        expected = evaluate(
            CONFIDENCE[rows], CORRECT[rows], bootstrap=5, sample_weight=WEIGHT[rows], groups=np.arange(N)[rows] // 2
        )
        assert each.scores == expected
        assert each.accuracy == pytest.approx(np.average(CORRECT[rows], weights=WEIGHT[rows]))
        assert each.confidence == pytest.approx(np.average(CONFIDENCE[rows], weights=WEIGHT[rows]))


def test_what_chance_explains_is_noise_and_so_are_few_rows():
    off = CONFIDENCE.copy()
    off[CAMERA != "right"] /= 3
    noise = {each.value: each.is_noise for each in evaluate_by(off, CORRECT, CAMERA)}
    assert noise == {"left": False, "right": True, "top": True}


def test_named_metrics_come_with_the_ece_that_tells_noise():
    (whole,) = evaluate_by(CONFIDENCE, CORRECT, np.zeros(N, int), metrics=["brier"])
    assert set(whole.scores) == {"brier", "ece", "ece_floor", "ece_floor_p95"} < {*METRICS, *whole.scores}
    assert whole.value == "0"


def test_progress_is_told_in_rows():
    shares = []
    evaluate_by(CONFIDENCE, CORRECT, CAMERA, metrics=["brier"], report=shares.append)
    assert shares == [230 / 400, 360 / 400, 1.0]


def test_a_slice_for_each_row_is_asked_for():
    with pytest.raises(InvalidInputError, match="by must be one number, string or date for each of the 400 rows"):
        evaluate_by(CONFIDENCE, CORRECT, CAMERA[1:])


def test_a_slice_of_no_weight_is_left_out():
    slices = evaluate_by([0.9, 0.8, 0.6], [1, 1, 0], ["day", "night", "day"], sample_weight=[1, 0, 2], metrics=["ece"])
    assert [(each.value, each.rows) for each in slices] == [("day", 2)]
