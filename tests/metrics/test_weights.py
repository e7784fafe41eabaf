"""Weights and groups: a row of weight 2 is the same as two rows, and groups are drawn whole."""

import numpy as np
import pytest

from auxcal import InvalidInputError, evaluate
from auxcal.metrics import METRICS, ece_noise_floor, risk_coverage
from auxcal.metrics.binning import equal_mass_edges

RNG = np.random.default_rng(0)
CONFIDENCE = RNG.beta(4, 2, size=300)
CORRECT = RNG.random(300) < CONFIDENCE**1.5
WEIGHT = RNG.integers(4, size=300)
REPEATED = np.repeat(CONFIDENCE, WEIGHT), np.repeat(CORRECT, WEIGHT)
ROW = np.arange(300)


def test_an_edge_at_a_row_is_its_value():
    """Otherwise the row falls into the bin below, with weights and not without."""
    for n in range(90, 130):
        values = RNG.normal(size=n)
        assert np.array_equal(equal_mass_edges(values, 20), equal_mass_edges(values, 20, np.ones(n)))


def test_all_that_evaluate_gives_is_that_of_repeated_rows():
    weighted = evaluate(CONFIDENCE, CORRECT, sample_weight=WEIGHT, bootstrap=30)
    assert weighted == pytest.approx(evaluate(*REPEATED, bootstrap=30), rel=1e-12)


@pytest.mark.parametrize("n", [300, 25_000])
@pytest.mark.parametrize("weighted", [False, True])
def test_resamples_keep_ties(n, weighted):
    correct = np.random.default_rng(3).random(n) < 0.7
    weight = np.random.default_rng(4).integers(1, 6, size=n) if weighted else None
    found = evaluate(np.full(n, 0.7), correct, metrics=["auroc"], sample_weight=weight, bootstrap=20)
    assert (found["auroc_low"], found["auroc_high"]) == pytest.approx((0.5, 0.5), abs=1e-12)


def test_rows_of_one_group_stay_together_however_they_are_counted():
    weighted = evaluate(CONFIDENCE, CORRECT, sample_weight=WEIGHT, groups=ROW, bootstrap=30)
    repeated = evaluate(*REPEATED, groups=np.repeat(ROW, WEIGHT), bootstrap=30)
    assert weighted == pytest.approx(repeated, rel=1e-12)


def test_groups_widen_the_intervals_and_leave_the_metrics():
    tenfold, groups = np.repeat(CONFIDENCE, 10), np.repeat(ROW.astype(str), 10)
    correct = np.repeat(CORRECT, 10)
    alone = evaluate(tenfold, correct, metrics=["brier", "ece"], bootstrap=300)
    grouped = evaluate(tenfold, correct, metrics=["brier", "ece"], bootstrap=300, groups=groups)
    assert grouped["brier"] == alone["brier"]
    wider = (grouped["brier_high"] - grouped["brier_low"]) / (alone["brier_high"] - alone["brier_low"])
    assert wider == pytest.approx(np.sqrt(10), rel=0.2)
    assert grouped["ece_floor"] / alone["ece_floor"] == pytest.approx(np.sqrt(10), rel=0.1)


def test_rows_that_are_groups_are_drawn_as_rows_with_their_weights():
    # The bootstrap of a weighted mean has the variance Σ w² (x − mean)² / (Σ w)²; that of counts has w for w².
    weight = RNG.exponential(size=300)
    score = np.square(CONFIDENCE - CORRECT)
    mean = np.average(score, weights=weight)
    for groups, power in ((ROW, 2), (None, 1)):
        expected = 2 * 1.96 * np.sqrt(np.sum(weight**power * (score - mean) ** 2)) / weight.sum()
        found = evaluate(CONFIDENCE, CORRECT, metrics=["brier"], sample_weight=weight, groups=groups, bootstrap=1000)
        # Somewhat wider: the sample may lack a row that is sure and wrong.
        assert expected < 1.05 * (found["brier_high"] - found["brier_low"]) < 1.25 * expected


def test_many_weighted_rows_have_the_intervals_of_few():
    rng = np.random.default_rng(1)
    confidence = rng.uniform(size=12_000)
    correct = rng.random(12_000) < confidence
    few = evaluate(confidence, correct, metrics=["brier"], bootstrap=100)
    many = evaluate(confidence, correct, metrics=["brier"], bootstrap=100, sample_weight=np.full(12_000, 1.0))
    assert many["brier_high"] - many["brier_low"] == pytest.approx(few["brier_high"] - few["brier_low"], rel=0.2)


@pytest.mark.parametrize("weight", [None, RNG.exponential(size=300)], ids=["unweighted", "weighted"])
def test_the_noise_floor_of_rows_that_are_groups_is_that_of_a_simulation(weight):
    drawn = np.random.default_rng(2).random((400, 300)) < CONFIDENCE
    simulated = np.mean([METRICS["ece"].function(CONFIDENCE, each, sample_weight=weight) for each in drawn])
    floor = ece_noise_floor(CONFIDENCE, sample_weight=weight, groups=ROW)
    assert floor.mean == pytest.approx(simulated, rel=0.05)


def test_the_noise_floor_takes_a_weight_for_rows():
    weighted = ece_noise_floor(CONFIDENCE, sample_weight=WEIGHT, strategy="mass")
    assert weighted == pytest.approx(ece_noise_floor(REPEATED[0], strategy="mass"), rel=1e-12)


def test_the_curve_counts_weights():
    curve = risk_coverage([0.9, 0.8, 0.5], [True, False, False], sample_weight=[2, 1.5, 0])
    assert curve.accepted.tolist() == [2, 3.5]
    assert curve.errors.tolist() == [0, 1.5]


@pytest.mark.parametrize(
    ("sample_weight", "message"),
    [
        ([1, 1], "one number for each of the 3 rows"),
        ([1, -1, 1], "at least 0"),
        ([1, np.nan, 1], "finite"),
        ([0, 0, 0], "must not be zero in every row"),
        (["a", "b", "c"], "one number"),
    ],
)
def test_what_is_no_weight_is_explained(sample_weight, message):
    with pytest.raises(InvalidInputError, match=message):
        evaluate([0.9, 0.8, 0.5], [True, False, False], sample_weight=sample_weight)


def test_shares_are_not_taken_for_counts():
    share = np.full(300, 1 / 300)
    assert evaluate(CONFIDENCE, CORRECT, sample_weight=share)["ece"] == pytest.approx(
        evaluate(CONFIDENCE, CORRECT)["ece"]
    )
    with pytest.raises(InvalidInputError, match="Multiply shares by the number of rows"):
        evaluate(CONFIDENCE, CORRECT, sample_weight=share, bootstrap=2)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a", "b"], "for each of the 3 rows"),
        (["a", None, "b"], "known for every row; got None in row 1"),
        ([1.0, 2.0, np.nan], "known for every row; got nan in row 2"),
    ],
)
def test_what_is_no_group_is_explained(groups, message):
    with pytest.raises(InvalidInputError, match=message):
        evaluate([0.9, 0.8, 0.5], [True, False, False], groups=groups)
