"""Promises from rows that were drawn with known probabilities, or in groups."""

import itertools
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.stats import binom

from auxcal import InvalidInputError
from auxcal.thresholds import _promises, risk_at_coverage, threshold_at_risk, thresholds_at_risks, thresholds_by_class
from auxcal.thresholds._weighted_sample import look_like_copies


def sample(seed, n=400, steps=40):
    rng = np.random.default_rng(seed)
    confidence = rng.integers(0, steps + 1, size=n) / steps
    return confidence, rng.uniform(size=n) < confidence


class TestWeights:
    """A weight is two rows where nothing is promised; for a promise it says how a row was drawn."""

    def test_what_looks_best_is_that_of_repeated_rows(self):
        confidence, correct = sample(3)
        weight = np.random.default_rng(0).integers(4, size=len(confidence))
        repeated = np.repeat(np.arange(len(confidence)), weight)
        for risk in (0.2, 0.3, 0.4):
            got = threshold_at_risk(confidence, correct, risk, promise=False, sample_weight=weight)
            assert got == threshold_at_risk(confidence[repeated], correct[repeated], risk, promise=False)

    def test_the_largest_weight_for_all_is_none_and_a_weight_of_0_is_no_row(self):
        confidence, correct = sample(4)
        expected = threshold_at_risk(confidence, correct, 0.3)
        more, right, weight = np.r_[confidence, 1.0], np.r_[correct, False], [1.0] * 400 + [0.0]
        assert threshold_at_risk(more, right, 0.3, sample_weight=weight, max_weight=1) == expected
        assert risk_at_coverage(confidence, correct, 0.5, sample_weight=[1] * 400, max_weight=1) == risk_at_coverage(
            confidence, correct, 0.5
        )

    @pytest.mark.parametrize("weight", [np.ones(400), np.arange(1.0, 401)])
    def test_without_the_largest_weight_of_the_design_nothing_is_promised(self, weight):
        """Rows that were drawn rarely weigh much, and the sample may lack them: equal weights don't tell."""
        rows = sample(4)
        for call in (
            partial(threshold_at_risk, *rows, 0.3),
            partial(thresholds_at_risks, *rows, [0.3]),
            partial(thresholds_by_class, *rows, np.zeros(400, int), 0.3),
            partial(risk_at_coverage, *rows, 0.5),
        ):
            with pytest.raises(InvalidInputError, match=r"the largest weight .* max_weight \(--max-weight\)"):
                call(sample_weight=weight)
        assert threshold_at_risk(*rows, 0.3, sample_weight=weight, promise=False).promised is False

    @pytest.mark.parametrize(("given", "said"), [(1.9, "whose largest is 2; got 1.9"), ("2", "got '2'")])
    def test_a_largest_weight_below_those_of_the_rows_is_refused(self, given, said):
        with pytest.raises(InvalidInputError, match=said):
            threshold_at_risk(*sample(4), 0.3, sample_weight=[1.0, 2.0] * 200, max_weight=given)
        with pytest.raises(InvalidInputError, match="Give the weights too"):
            threshold_at_risk(*sample(4), 0.3, max_weight=2)

    @pytest.mark.parametrize("ratio", [30, 1000])
    def test_rare_rows_that_are_wrong_break_no_promise(self, ratio):
        """A tenth of the population is always wrong, and drawn so rarely that most samples have hardly any of it."""
        rng, broken, trials, shown = np.random.default_rng(0), 0, 200, []
        for _ in range(trials):
            rare = rng.random(300) < 0.1 / (0.1 + 0.9 * ratio)
            confidence, weight = rng.random(300), np.where(rare, float(ratio), 1.0)
            told = {"sample_weight": weight, "max_weight": ratio}
            broken += thresholds_at_risks(confidence, ~rare, [0.05], **told)[0.05] is not None
            shown.append(risk_at_coverage(confidence, ~rare, 0.8, **told).risk_upper)
        assert broken <= binom.ppf(0.999, trials, 0.05)
        assert np.mean(np.array(shown) < 0.1) <= 0.1

    def test_two_rows_are_shown_more_by_than_one_of_weight_2(self):
        confidence, correct = np.linspace(1, 0.9, 150), np.ones(150, bool)
        weight = np.where(np.arange(150) % 3, 2.0, 1.0)
        repeated = np.repeat(np.arange(150), weight.astype(int))
        once = thresholds_at_risks(confidence, correct, [0.02, 0.1], sample_weight=weight, max_weight=2)
        apart = np.arange(len(repeated))
        twice = thresholds_at_risks(confidence[repeated], correct[repeated], [0.02, 0.1], groups=apart)
        assert once[0.02] is None
        assert twice[0.02].coverage == once[0.1].coverage == 1

    @pytest.mark.parametrize("top", [0.0, 0.2])
    def test_the_promise_is_kept_where_rows_were_drawn_unevenly(self, top):
        """Also where the most confident rows, which are drawn least, are the worst."""
        risk, n, trials, size = 0.2, 400, 300, 4000
        u = (np.arange(size) + 0.5) / size
        wrong = np.random.default_rng(1).uniform(size=size) < np.where(u < 0.1, top, 0.4 * u)
        true = np.cumsum(wrong) / np.arange(1, size + 1)
        chance = 0.3 + np.minimum(2 * u, 1)
        broken = made = 0
        for state in range(trials):
            rows = np.random.default_rng(state).choice(size, size=n, p=chance / chance.sum())
            told = {"sample_weight": 1 / chance[rows], "max_weight": 1 / chance.min()}
            found = thresholds_at_risks(1 - u[rows], ~wrong[rows], [risk], **told)[risk]
            if found is not None:
                made += 1
                broken += true[int((1 - u >= found.threshold).sum()) - 1] > risk
        assert made > (trials / 2 if top == 0 else 0)
        assert broken <= binom.ppf(0.999, trials, 0.05)

    def test_the_risk_at_a_coverage_is_kept_too(self):
        u = (np.arange(4000) + 0.5) / 4000
        chance = 0.3 + u
        wrong = np.random.default_rng(0).uniform(size=4000) < 0.3 * u
        broken = 0
        for state in range(100):
            rows = np.random.default_rng(state).choice(4000, size=300, p=chance / chance.sum())
            told = {"sample_weight": 1 / chance[rows], "max_weight": 1 / chance.min()}
            found = risk_at_coverage(1 - u[rows], ~wrong[rows], 0.6, **told)
            assert found.coverage >= 0.6
            broken += wrong[1 - u >= found.threshold].mean() > found.risk_upper
        assert broken <= binom.ppf(0.999, 100, 0.05)


def test_equal_weights_promise_what_rows_do_and_are_counted():
    rng = np.random.default_rng(0)
    confidence = rng.random(500)
    correct = rng.random(500) < confidence
    for found, doubled in (
        (of(confidence, correct), of(confidence, correct, sample_weight=np.full(500, 2.0), max_weight=2))
        for of in (partial(threshold_at_risk, risk=0.25), partial(risk_at_coverage, coverage=0.5))
    ):
        assert doubled == replace(found, accepted=2 * found.accepted, errors=2 * found.errors)


def test_a_class_without_weight_has_no_threshold_and_does_no_harm():
    weight = np.repeat([0.0, 1.0], 50)
    found = thresholds_by_class(
        [0.9] * 100, [True] * 100, np.repeat([0, 1], 50), 0.1, sample_weight=weight, max_weight=1
    )
    assert list(found) == [1]


class TestGroups:
    def test_rows_of_their_own_groups_are_rows(self):
        rows = sample(5)
        assert threshold_at_risk(*rows, 0.3, groups=np.arange(400)) == threshold_at_risk(*rows, 0.3)

    @pytest.mark.parametrize("size", [3, 10])
    def test_copies_are_refused_or_counted_once(self, size):
        rng = np.random.default_rng(0)
        confidence = rng.random(100)
        correct = rng.random(100) < 0.5 + confidence
        groups = np.repeat(np.arange(100), size)
        with pytest.raises(InvalidInputError, match=r"Copies are one draw\. .* groups \(--group\)"):
            threshold_at_risk(confidence[groups], correct[groups], 0.3)
        once, many = threshold_at_risk(confidence, correct, 0.3), (confidence[groups], correct[groups])
        found = threshold_at_risk(*many, 0.3, groups=groups)
        assert (found.threshold, found.coverage) == (once.threshold, once.coverage)
        assert found.accepted == size * once.accepted
        of_names = np.array([f"patient {group:03}" for group in groups])
        assert threshold_at_risk(*many, 0.3, groups=of_names) == found

    @pytest.mark.parametrize("atoms", [5, 50, 300, 5000])
    def test_draws_that_fall_on_the_same_number_are_no_copies(self, atoms):
        """Neither those of a method that bins, nor those that are drawn again from a file."""
        rng = np.random.default_rng(atoms)
        assert not any(look_like_copies(np.sort(rng.integers(atoms, size=400) / atoms)) for _ in range(200))

    def test_large_groups_that_are_wrong_count_by_their_rows(self):
        """One row of each group would say that 5 % are wrong, where 34 % are."""
        rng, broken, trials = np.random.default_rng(0), 0, 200
        for _ in range(trials):
            wrong = rng.random(300) < 0.05
            groups = np.repeat(np.arange(300), np.where(wrong, 10, 1))
            found = thresholds_at_risks(rng.random(len(groups)), ~wrong[groups], [0.2], groups=groups)
            broken += found[0.2] is not None
        assert broken <= binom.ppf(0.999, trials, 0.05)

    def test_groups_and_weights_together_promise_nothing(self):
        with pytest.raises(InvalidInputError, match="sample_weight or groups, not both"):
            threshold_at_risk(*sample(5), 0.3, groups=np.arange(400), sample_weight=np.ones(400), max_weight=1)

    def test_why_not_says_how_many_the_groups_count_as(self):
        groups = np.arange(300) // 3
        with pytest.raises(InvalidInputError, match="with their groups they count as 100"):
            threshold_at_risk(np.linspace(0, 1, 300), np.ones(300, bool), 0.01, groups=groups)


def test_no_bet_on_a_weighted_row_knows_the_row():
    """At the limit the capital is 1 on average; a stake by the mean of all weights would make it 1.08."""
    risk, n, often = 0.2, 10, 1000
    heavy_share = 0.1 * risk / (1 - risk + 0.1 * risk)  # of rows of weight 1, which are wrong; those of 0.1 are right
    expected = 0.0
    for outcome in itertools.product([False, True], repeat=n):
        heavy = np.array(outcome)
        weight = np.where(heavy, 1.0, 0.1)
        stakes = _promises._stakes(_promises._means_before(weight), often, risk)
        expected += np.prod(np.where(heavy, heavy_share, 1 - heavy_share) * (1 - stakes * weight * (heavy - risk)))
    assert 0.95 < expected < 1.02
