"""Samples on which a metric may have no value: it is a number, or NaN and a warning that says what is missing."""

import numpy as np
import pytest

from auxcal import UndefinedMetricWarning
from auxcal.metrics import METRICS

RNG = np.random.default_rng(0)
NEEDS_WRONG = ["auroc", "aupr", "p90", "fpr95"]
NEEDS_RIGHT = ["auroc", "fpr95"]

SAMPLES = {
    "every row correct": (RNG.uniform(size=30), np.ones(30, dtype=bool)),
    "every row wrong": (RNG.uniform(size=30), np.zeros(30, dtype=bool)),
    "one correct row": ([0.7], [True]),
    "one wrong row": ([0.7], [False]),
    "one row, sure and correct": ([1.0], [True]),
    "one row, sure and wrong": ([1.0], [False]),
    "all ties": (np.full(30, 0.6), np.arange(30) % 3 > 0),
    "all 1": (np.ones(30), np.arange(30) % 3 > 0),
    "all 0": (np.zeros(30), np.arange(30) % 3 > 0),
    "0 and 1, always right": ([0.0, 1.0] * 5, [False, True] * 5),
    "0 and 1, always wrong": ([0.0, 1.0] * 5, [True, False] * 5),
    "next to 1, float32": (np.full(30, np.nextafter(np.float32(1), np.float32(0))), np.arange(30) % 3 > 0),
    "smallest float64": (np.full(30, 5e-324), np.arange(30) % 3 > 0),
}


def missing_rows(name, correct):
    """Which rows the metric needs and does not have, if any."""
    if name in NEEDS_WRONG and all(correct):
        return "wrong"
    if name in NEEDS_RIGHT and not any(correct):
        return "correct"
    return None


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize(("confidence", "correct"), SAMPLES.values(), ids=SAMPLES.keys())
def test_a_metric_is_a_number_or_says_what_is_missing(name, confidence, correct):
    missing = missing_rows(name, correct)
    if missing is None:
        assert np.isfinite(METRICS[name].function(confidence, correct))  # and any warning would be an error
    else:
        n = len(correct)
        expected = f"^{name} is undefined \\(NaN\\): none of the {n} predictions is {missing}"
        with pytest.warns(UndefinedMetricWarning, match=expected):
            assert np.isnan(METRICS[name].function(confidence, correct))


@pytest.mark.parametrize("name", NEEDS_WRONG)
def test_the_warning_points_at_the_line_of_the_caller(name):
    with pytest.warns(UndefinedMetricWarning) as caught:
        METRICS[name].function([0.5], [True])
    assert caught[0].filename == __file__


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_is_a_plain_float(name):
    assert type(METRICS[name].function(np.float32([0.2, 0.9]), [False, True])) is float


def test_an_unlucky_saturated_row_costs_much_but_not_everything():
    confidence = np.array([1.0] + [0.9] * 9)
    correct = np.array([False] + [True] * 9)
    assert METRICS["nll"].function(confidence, correct) == pytest.approx((53 * np.log(2) - 9 * np.log(0.9)) / 10)
