"""The tests behind a verdict: what they look at, and that few rows do not mislead them."""

from types import SimpleNamespace

import numpy as np
import pytest

from auxcal import CCACX, PlattScaling
from auxcal.monitoring import _compare
from auxcal.monitoring._mix import represent
from auxcal.monitoring._two_samples import combine, compare, mix_p_value, rows_behind


def compared(calibrator, logits):
    return compare(calibrator, represent(calibrator, np.asarray(logits, dtype=np.float32), None))


def test_equal_p_values_combine_to_themselves():
    assert combine([0.03]) == pytest.approx(0.03)
    assert combine([0.03, 0.03, 0.03]) == pytest.approx(0.03)


def test_one_small_p_value_among_large_ones_counts_as_bonferroni_has_it():
    assert combine([1e-6, 0.5]) == pytest.approx(2e-6, rel=1e-3)
    assert combine([0.0, 1.0]) < 1e-10
    assert combine([1.0, 1.0]) > 0.5


def test_p_values_that_depend_on_each_other_keep_the_level():
    rng = np.random.default_rng(0)
    uniform = rng.random(4000)
    other = np.where(rng.random(4000) < 0.5, uniform, rng.random(4000))
    alarms = np.mean([combine(pair) < 0.025 for pair in zip(uniform, other, strict=True)])
    assert alarms < 0.025 + 3 * np.sqrt(0.025 / 4000)


def test_a_change_of_one_share_is_not_lost_among_the_others(draw, calibrator, monkeypatch):
    drawn = [compared(calibrator, draw(300, foreign=0.22, random_state=i)[0]) for i in range(40)]
    monkeypatch.setattr(_compare, "combine", lambda p_values: p_values[0])  # of all shares together
    whole = [mix_p_value(found.estimate.groups, found.estimate.new, found.target) for found in drawn]
    assert np.sum([found.p_mix < 0.025 for found in drawn]) > np.sum(np.array(whole) < 0.025)


def test_other_predictions_with_the_same_readings_are_something_new(draw, platt):
    """A class that is called another has the readings that it had."""
    logits, _ = draw(2000, random_state=11)
    assert compared(platt, logits).p_new > 0.01
    assert compared(platt, logits[:, [1, 1, 2]] + [0, -0.1, 0]).p_new < 1e-6


def test_a_number_that_rests_on_few_rows_is_left_out():
    """Of the reference, as the first number, or of the new rows, where next to nothing is left of a class."""
    deviations = np.zeros((100, 3))
    deviations[:3, 0] = 1
    deviations[:, 1] = np.tile([-1, 1], 50)
    deviations[:50, 2] = 1
    row_share = np.where(np.arange(100) < 50, 0.001, 0.95) / 50
    estimate = SimpleNamespace(
        variance_weight=np.ones(100), row_weight=row_share / row_share.sum(), new=np.zeros((2000, 4))
    )
    assert rows_behind(estimate, deviations) == pytest.approx([0.126, 100, 2.1], rel=0.01)


def test_a_class_that_was_predicted_once_alarms_nobody(draw):
    logits, y = draw(300, weights=(1, 1, 0), random_state=5)
    logits[:, 2] -= 20  # no prediction of the last class
    fitted = PlattScaling().fit(logits, y)
    new, _ = draw(300, weights=(1, 1, 0), random_state=6)
    new[1:, 2] -= 20
    new[0] = [0.0, 0.1, 0.2]
    assert compared(fitted, new).p_new > 0.001


def test_where_most_classes_have_few_rows_chance_picks_none_of_them():
    """Classes that have ten rows by chance alone would seem to have become rarer."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(400, 60)).astype(np.float32)
    y = rng.integers(60, size=400)
    logits[np.arange(400), y] += 4
    fitted = CCACX(random_state=0).fit(logits, y)
    assert np.bincount(y).max() >= 10
    assert len(compared(fitted, logits).estimate.shares) == 1
