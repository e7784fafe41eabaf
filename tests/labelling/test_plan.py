"""Forecasts: what more labels would bring, and how many a wish takes."""

import numpy as np
import pytest

from auxcal import InvalidInputError
from auxcal.labelling import plan
from auxcal.metrics import rows_to_promise, threshold_at_risk


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
    n = plan(rest, risk=0.1, coverage=0.5).needed["risk"]
    assert n == rows_to_promise(1 - np.sort(rest)[10_000:].mean(), 0.1, coverage=0.5)
    enough = 0
    for seed in range(60):
        try:
            enough += threshold_at_risk(*sample(seed, n), 0.1).coverage > 0.4
        except InvalidInputError:
            continue
    assert enough > 0.5 * 60


def test_a_wish_that_nothing_grants():
    assert plan([0.6] * 50, risk=0.05).needed == {"risk": None}


def test_a_pilot_that_contradicts_the_confidence_is_believed():
    rest, _ = sample(0, 5000)
    pilot = sample(1, 300)[0]
    wrong = plan(pilot, np.zeros(300, dtype=bool), rest, accuracy_within=0.02).needed["accuracy_within"]
    assert wrong < 0.2 * plan(rest, accuracy_within=0.02).needed["accuracy_within"]


def test_more_labels_bring_more():
    outlooks = plan(sample(0, 200)[0]).outlooks
    assert [each.n for each in outlooks] == [100, 200, 500, 1000]
    for numbers in zip(*[(each.accuracy_within, each.ece, each.brier) for each in outlooks], strict=True):
        assert list(numbers) == sorted(numbers, reverse=True)


def test_wishes_are_shares():
    with pytest.raises(InvalidInputError, match="ece must be a share"):
        plan([0.5], ece=2)
