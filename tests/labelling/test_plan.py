"""Forecasts: what more labels would bring, and how many a goal takes."""

import numpy as np
import pytest

from auxcal import InvalidInputError
from auxcal.labelling import Forecast, Outlook, plan
from auxcal.thresholds import labels_to_promise, thresholds_at_risks


def sample(seed, n):
    rng = np.random.default_rng(seed)
    confidence = rng.beta(5, 1, size=n)
    return confidence, rng.uniform(size=n) < confidence


def test_the_accuracy_is_known_as_well_as_forecast():
    rest, correct = sample(0, 20_000)
    needed = plan(*sample(1, 100), rest, accuracy_within=0.02).needed["accuracy_within"]
    error = 1.96 * np.sqrt(correct.mean() * (1 - correct.mean()) / needed)
    assert error == pytest.approx(0.02, rel=0.15)


def test_with_the_rows_that_are_said_to_be_needed_most_samples_give_the_promise():
    rest, _ = sample(0, 20_000)
    found = plan(rest, risk=0.1, coverage=0.5)
    low, high = found.between["risk"]
    assert low < found.needed["risk"] < (high or np.inf)
    limit = np.quantile(rest, 0.5)
    enough = []
    for seed in range(100):
        promised = thresholds_at_risks(*sample(seed, found.needed["risk"]), [0.1])[0.1]
        enough.append(promised is not None and promised.threshold <= limit)
    assert 0.65 < np.mean(enough) < 0.92


def test_a_goal_that_nothing_reaches():
    found = plan([0.6] * 50, risk=0.05)
    assert (found.needed, found.between) == ({"risk": None}, {"risk": (None, None)})


def test_a_pilot_counts_both_ways_and_makes_the_range_narrower():
    rest, _ = sample(0, 5000)
    pilot = sample(1, 400)[0]
    needed = [plan(rest, risk=0.1, coverage=0.5)]
    for off in (-0.1, 0.04):
        correct = np.random.default_rng(2).uniform(size=400) < pilot + off
        needed.append(plan(pilot, correct, rest, risk=0.1, coverage=0.5))
    alone, worse, better = (found.needed["risk"] or np.inf for found in needed)
    assert better < alone < worse
    widths = [(high or np.inf) / low for low, high in (needed[2].between["risk"], needed[0].between["risk"])]
    assert widths[0] <= widths[1]


def test_a_classifiers_own_confidence_is_taken_for_too_high():
    own = np.random.default_rng(0).beta(20, 1, size=5000)
    taken = plan(own, accuracy_within=0.02, risk=0.3, coverage=0.5, calibrated=False)
    at_its_word = plan(own, accuracy_within=0.02, risk=0.3, coverage=0.5)
    for goal in ("accuracy_within", "risk"):
        assert taken.needed[goal] > 1.5 * at_its_word.needed[goal]
        low, high = taken.between[goal]
        assert low < taken.needed[goal] <= (high or np.inf)


def test_a_pilot_may_be_picked_by_its_confidence():
    """What the forecast is about are the unlabelled rows, and how they were picked says nothing about a shift."""
    rest, correct = sample(0, 20_000)
    chance = np.where(rest < 0.8, 10.0, 1.0)
    needed = []
    for p in (None, chance / chance.sum()):
        rows = np.random.default_rng(1).choice(len(rest), size=400, replace=False, p=p)
        needed.append(plan(rest[rows], correct[rows], rest, accuracy_within=0.02).needed["accuracy_within"])
    assert needed[1] == pytest.approx(needed[0], rel=0.1)


def test_a_pilot_that_contradicts_the_confidence_is_believed():
    rest, _ = sample(0, 5000)
    pilot = sample(1, 300)[0]
    wrong = plan(pilot, np.zeros(300, dtype=bool), rest, accuracy_within=0.02).needed["accuracy_within"]
    assert wrong < 0.2 * plan(rest, accuracy_within=0.02).needed["accuracy_within"]


def test_more_labels_bring_more():
    outlooks = plan(sample(0, 200)[0]).outlooks
    assert all(isinstance(each, Forecast) for each in outlooks)
    assert Outlook is Forecast  # the former name goes on working
    assert [each.n for each in outlooks] == [100, 200, 500, 1000]
    for numbers in zip(*[(each.accuracy_within, each.ece, each.brier) for each in outlooks], strict=True):
        assert list(numbers) == sorted(numbers, reverse=True)


def test_goals_are_shares():
    with pytest.raises(InvalidInputError, match="ece must be a share"):
        plan([0.5], ece=2)


@pytest.mark.parametrize("times", [(), (0, 1), (-1,), (1.5,)])
def test_what_is_no_multiple_is_explained(times):
    with pytest.raises(InvalidInputError, match="times must be whole numbers of at least 1"):
        plan([0.9, 0.8], times=times)


def test_a_range_is_wide_where_errors_are_too_rare_to_be_known():
    """Few labels do not show whether 0.5 or 2 % of the accepted are wrong."""
    rng = np.random.default_rng(0)
    rest = np.where(rng.random(5000) < 0.85, 0.995, 0.6)
    pilot = rng.choice(rest, size=100)
    low, high = plan(pilot, rng.random(100) < pilot, rest, risk=0.03, coverage=0.8).between["risk"]
    truly = labels_to_promise(rest, np.where(rest > 0.9, 0.98, 0.6), 0.03, coverage=0.8)
    assert low < labels_to_promise(rest, np.where(rest > 0.9, 1.0, 0.6), 0.03, coverage=0.8) * 1.2
    assert truly <= (high or np.inf)
