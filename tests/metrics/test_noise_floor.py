"""The ECE of a perfectly calibrated confidence: against a simulation row by row."""

import numpy as np
import pytest

from auxcal.metrics import ece, ece_noise_floor

RNG = np.random.default_rng(0)
CONFIDENCES = {
    "uniform": RNG.uniform(size=300),
    "high": 1 - RNG.exponential(0.05, size=300).clip(max=1),
    "float32": RNG.uniform(0.3, 1, size=300).astype(np.float32),
    "ties": RNG.uniform(size=300).round(1),
    "mostly saturated": np.concatenate([np.ones(250), RNG.uniform(size=50)]),
    "on the edges": np.repeat(np.arange(21) / 20, 5),
    "three rows": np.array([0.2, 0.6, 0.9]),
    "one row": np.array([0.3]),
}
of_every_confidence = pytest.mark.parametrize("confidence", CONFIDENCES.values(), ids=CONFIDENCES.keys())
of_both_strategies = pytest.mark.parametrize("strategy", ["width", "mass"])


def simulated(confidence, strategy, n_draws=600):
    rng = np.random.default_rng(1)
    drawn = rng.uniform(size=(n_draws, len(confidence))) < confidence
    return np.array([ece(confidence, correct, strategy=strategy) for correct in drawn])


@of_both_strategies
@of_every_confidence
def test_it_equals_a_simulation_row_by_row(confidence, strategy):
    draws = simulated(confidence, strategy)
    floor = ece_noise_floor(confidence, strategy=strategy)
    standard_error = draws.std() * np.sqrt(1 / len(draws) + 1 / 1000)
    assert floor.mean == pytest.approx(draws.mean(), abs=4 * standard_error + 1e-12)
    # By ranks, since with few rows the error takes few values: p95 is about the 95th percentile of the draws.
    assert np.mean(draws < floor.p95 - 1e-9) <= 0.97
    assert np.mean(draws <= floor.p95 + 1e-9) >= 0.93


@of_both_strategies
def test_calibrated_data_lie_under_p95_in_95_cases_of_100(strategy):
    confidence = np.random.default_rng(2).beta(4, 1, size=500)
    p95 = ece_noise_floor(confidence, strategy=strategy).p95
    assert np.mean(simulated(confidence, strategy, 1000) <= p95) == pytest.approx(0.95, abs=0.025)


def test_confidence_that_is_off_by_a_tenth_lies_above_it():
    rng = np.random.default_rng(3)
    confidence = rng.uniform(0.2, 1, size=2000)
    correct = rng.uniform(size=2000) < confidence - 0.1
    assert ece(confidence, correct) > 2 * ece_noise_floor(confidence).p95


def test_sure_confidences_leave_no_room_for_chance():
    assert ece_noise_floor([0.0, 1.0, 1.0]) == (0, 0)


def test_it_shrinks_with_the_root_of_the_rows():
    confidence = np.random.default_rng(4).uniform(size=40_000)
    few, many = ece_noise_floor(confidence[:2500]).mean, ece_noise_floor(confidence).mean
    assert few / many == pytest.approx(4, rel=0.1)


@of_both_strategies
def test_neither_the_seed_nor_the_draws_nor_the_order_of_rows_matter_much(strategy):
    confidence = np.random.default_rng(5).uniform(size=1000)
    floor = ece_noise_floor(confidence, strategy=strategy)
    others = [
        ece_noise_floor(confidence, strategy=strategy, random_state=1),
        ece_noise_floor(confidence, strategy=strategy, n_draws=3000),
        ece_noise_floor(confidence[::-1], strategy=strategy),
        ece_noise_floor(confidence.astype(np.float32), strategy=strategy),
    ]
    assert all(other == pytest.approx(floor, rel=0.03) for other in others)
