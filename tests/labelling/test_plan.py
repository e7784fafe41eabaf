"""Plans: how many labels a goal takes, and how wide a range the pilot leaves."""

import numpy as np
import pytest

from auxcal import InvalidInputError
from auxcal.labelling import plan
from auxcal.thresholds import rows_to_promise, thresholds_at_risks


def sample(seed, n):
    rng = np.random.default_rng(seed)
    confidence = rng.beta(5, 1, size=n)
    return confidence, rng.uniform(size=n) < confidence


def test_so_many_labels_show_the_accuracy_to_the_goal():
    correct = sample(0, 100_000)[1].mean()
    found = plan(*sample(1, 1000), accuracy_within=0.02)
    assert found.needed["accuracy_within"] == pytest.approx(1.96**2 * correct * (1 - correct) / 0.02**2, rel=0.1)
    assert found.outlooks[0] == (1000, pytest.approx(1.96 * np.sqrt(correct * (1 - correct) / 1000), rel=0.1))
    assert [each.n for each in found.outlooks] == [1000, 2000, 5000, 10_000]


@pytest.mark.parametrize("n", [50, 200])
def test_the_ranges_hold_the_truth_in_four_of_five_pilots(n):
    rows, correct = sample(0, 100_000)
    p, accepted = correct.mean(), rows >= np.quantile(rows, 0.5)
    labels, likely = 1.96**2 * p * (1 - p) / 0.03**2, 1 - correct[accepted].mean()
    truth = rows_to_promise(likely, 0.15, coverage=0.5)
    held = []
    for seed in range(200):
        between = plan(*sample(seed, n), rows, accuracy_within=0.03, risk=0.15).between
        (low, high), (fewest, most) = between["accuracy_within"], between["risk"]
        held.append((low <= labels + 1 and labels <= high, fewest <= truth <= (most or np.inf)))
    assert (np.mean(held, axis=0) > 0.78).all()


def test_with_the_labels_that_are_needed_most_samples_give_the_promise():
    rows, correct = sample(0, 100_000)
    found = plan(rows, correct, risk=0.1)
    limit, enough = np.quantile(rows, 0.5), []
    for seed in range(100):
        promised = thresholds_at_risks(*sample(seed, found.needed["risk"]), [0.1])[0.1]
        enough.append(promised is not None and promised.threshold <= limit)
    assert np.mean(enough) > 0.6


def test_a_larger_pilot_makes_the_ranges_narrower():
    def width(n):
        low, high = plan(*sample(0, n), accuracy_within=0.02).between["accuracy_within"]
        return high - low

    assert width(1000) < 0.5 * width(100)


def test_a_risk_that_no_threshold_keeps():
    confidence = np.linspace(0.5, 1, 1000)
    found = plan(confidence, np.arange(1000) % 3 > 0, risk=0.05)
    assert (found.needed, found.between) == ({"risk": None}, {"risk": (None, None)})


def test_few_labels_can_not_show_that_errors_are_rare():
    (low, high) = plan(np.linspace(0.5, 1, 40), np.ones(40, bool), risk=0.02).between["risk"]
    assert low > 40
    assert high is None


def test_without_labels_the_mean_confidence_stands_for_the_accuracy_and_the_range_is_open_to_one_half():
    found = plan([0.9] * 50, accuracy_within=0.05)
    assert found.accuracy == (pytest.approx(0.9), 0.0, 1.0)
    assert found.needed["accuracy_within"] == np.ceil(1.96**2 * 0.09 / 0.05**2)
    assert found.between["accuracy_within"][1] == np.ceil(1.96**2 * 0.25 / 0.05**2)
    with pytest.raises(InvalidInputError, match="a promise takes a pilot"):
        plan([0.9] * 50, risk=0.05)


@pytest.mark.parametrize("goal", [{"accuracy_within": 2}, {"risk": -0.1}, {"coverage": 50}, {"level": 95}])
def test_goals_are_shares(goal):
    with pytest.raises(InvalidInputError, match=next(iter(goal))):
        plan(*sample(0, 50), **goal)


@pytest.mark.parametrize("times", [(), (0, 1), (-1,), (1.5,)])
def test_what_is_no_multiple_is_explained(times):
    with pytest.raises(InvalidInputError, match="times must be whole numbers"):
        plan(*sample(0, 50), times=times)
