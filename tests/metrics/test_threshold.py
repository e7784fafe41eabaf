"""The risk–coverage curve, the thresholds that are promised, and those that only look good."""

import itertools
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.stats import beta, binom

from auxcal import Certificate, InvalidInputError
from auxcal.metrics import risk_coverage
from auxcal.thresholds import (
    _weighted_promise,
    risk_at_coverage,
    threshold_at_risk,
    thresholds_at_risks,
    thresholds_by_class,
)
from auxcal.thresholds._copies import look_like_copies
from auxcal.thresholds._promise import promised_rows, rarities, starts, sure_rows


def sample(seed, n=400, steps=40):
    rng = np.random.default_rng(seed)
    confidence = rng.integers(0, steps + 1, size=n) / steps
    return confidence, rng.uniform(size=n) < confidence


@pytest.mark.parametrize("seed", range(5))
def test_the_curve_is_what_accepting_at_or_above_each_confidence_gives(seed):
    confidence, correct = sample(seed)
    curve = risk_coverage(confidence, correct)
    assert curve.threshold.tolist() == sorted(set(confidence.tolist()), reverse=True)
    for threshold, coverage, risk in zip(curve.threshold, curve.coverage, curve.risk, strict=True):
        accepted = confidence >= threshold
        assert coverage == accepted.mean()
        assert risk == pytest.approx(1 - correct[accepted].mean())


class TestPromise:
    @pytest.mark.parametrize(("n", "risk", "delta"), [(59, 0.05, 0.05), (300, 0.2, 0.05), (2000, 0.05, 0.1)])
    def test_the_shares_of_the_starts_add_up_and_each_can_show_something(self, n, risk, delta):
        found = starts(n, risk, delta, sure=n)
        assert sum(start.share for start in found) == pytest.approx(delta)
        assert all((1 - risk) ** start.rank <= start.share for start in found)
        assert [start.rank for start in found] == sorted({start.rank for start in found})

    def test_the_main_start_is_where_the_sure_rows_end(self):
        """Where only the top can be trusted, a lower start would find too many errors."""
        ranks = [starts(1000, 0.05, 0.05, sure=sure)[0].rank for sure in (0, 70, 90)]
        assert ranks == [61, 61, 61]  # the rows without an error that its share of ten elevenths takes
        (start,) = (start for start in starts(1000, 0.05, 0.05, sure=250) if start.share > 0.025)
        assert 225 < start.rank <= 250
        assert starts(1000, 0.05, 0.05, sure=400) == starts(1000, 0.05, 0.05, sure=1000)
        confidence = np.r_[np.full(70, 0.99), np.linspace(0.94, 0, 230)]
        correct = np.r_[np.ones(70), np.zeros(230)] > 0
        assert threshold_at_risk(confidence, correct, 0.05).threshold > 0.9
        with pytest.raises(InvalidInputError, match="no threshold can be promised"):
            threshold_at_risk(np.maximum(confidence, 0.97), correct, 0.05)

    def test_a_run_ends_at_the_first_rank_with_too_many_errors(self):
        (start,) = starts(100, 0.05, 0.05, sure=100)
        confidence, errors = np.linspace(1, 0.5, 100), np.zeros(100, dtype=int)
        assert (start.rank, promised_rows(confidence, rarities(errors, 0.05), [start])) == (59, 100)
        errors[80:] = 1
        assert promised_rows(confidence, rarities(errors, 0.05), [start]) == 80
        errors[59:] = 1
        assert promised_rows(confidence, rarities(errors, 0.05), [start]) == 59
        tied = np.where(np.arange(100) < 60, confidence[59], confidence)  # row 60, which failed, is one of the first
        assert promised_rows(tied, rarities(errors, 0.05), [start]) == 0
        errors[58:] = 1
        assert promised_rows(confidence, rarities(errors, 0.05), [start]) == 0

    def test_what_is_promised_is_all_above_the_first_row_that_is_not_accepted(self):
        """The tests are about just these rows, so a new row may be accepted that is a little below the last of ours."""
        confidence = np.linspace(1, 0.5, 100, dtype=np.float32)
        found = threshold_at_risk(confidence, np.arange(100) < 70, 0.05)
        assert (found.accepted, found.errors) == (70, 0)
        assert 0 < found.threshold - confidence[70] < 2e-7
        assert len(str(found.threshold)) <= len("0.1234567")
        close = 1 - (1 - confidence.astype(np.float64)) * 1e-9  # the same number in float32
        with pytest.raises(InvalidInputError, match="no threshold can be promised"):
            threshold_at_risk(close, np.arange(100) < 70, 0.05)

    def test_a_run_may_start_at_the_last_row(self):
        confidence = np.linspace(1, 0.9, 59)
        assert thresholds_at_risks(confidence, np.arange(59) != 7, [0.05]) == {0.05: None}
        assert threshold_at_risk(confidence, np.ones(59, dtype=bool), 0.05).threshold == 0

    @pytest.mark.parametrize("atoms", [0, 20])
    @pytest.mark.parametrize("kind", ["constant", "step", "best in the middle", "saw"])
    def test_at_most_one_in_twenty_is_broken(self, kind, atoms):
        """Also where ties are many, where the top is the worst, and where the risk crosses the limit many times."""
        risk, n, trials = 0.2, 120, 600
        error = {
            "constant": lambda u: np.full_like(u, risk + 1e-9),
            "step": lambda u: np.where(u < 0.35, 0.3 * risk, 0.6),
            "best in the middle": lambda u: np.where(
                u < 0.1, 3 * risk, np.where(u < 0.3, 0, np.where(u < 0.5, risk, 1))
            ),
            "saw": lambda u: np.where((u * 40).astype(int) % 2 == 0, 2 * risk, 0),
        }[kind]
        grid = (np.arange(atoms or 4000) + 0.5) / (atoms or 4000)
        true = np.cumsum(error(grid)) / np.arange(1, len(grid) + 1)
        rng, broken = np.random.default_rng(0), 0
        for _ in range(trials):
            u = grid[rng.integers(len(grid), size=n)]
            wrong = rng.uniform(size=n) < error(u)
            order = np.lexsort((rng.uniform(size=n), u))
            begun = starts(n, risk, 0.05, sure=sure_rows(1 - u, risk))
            rows = promised_rows(1 - u[order], rarities(np.cumsum(wrong[order]), risk), begun)
            above = len(grid) if rows == n else np.searchsorted(grid, u[order][rows])
            broken += rows > 0 and true[above - 1] > risk * (1 + 1e-12)
        assert broken <= binom.ppf(0.999, trials, 0.05)

    def test_it_says_what_is_promised_and_what_was_seen(self):
        confidence, correct = sample(0, n=1000)
        found = threshold_at_risk(confidence, correct, 0.2, level=0.9)
        accepted = confidence >= found.threshold
        assert (found.accepted, found.errors) == (accepted.sum(), (~correct[accepted]).sum())
        assert (found.risk_upper, found.level, found.promised) == (0.2, 0.9, True)
        assert found.risk < 0.2

    def test_the_order_of_the_rows_does_not_matter(self):
        confidence, correct = sample(1)
        order = np.random.default_rng(0).permutation(len(confidence))
        assert threshold_at_risk(confidence[order], correct[order], 0.3) == threshold_at_risk(confidence, correct, 0.3)

    def test_everything_is_accepted_where_everything_is_right(self):
        assert threshold_at_risk([0.9] * 30 + [0.4] * 29, [True] * 59, 0.05).threshold == 0

    def test_equal_confidences_can_be_promised_too(self):
        correct = np.arange(300) % 6 > 0
        found = threshold_at_risk(np.full(300, 0.8), correct, 0.35)
        assert (found.threshold, found.accepted, found.errors) == (0, 300, 50)
        order = np.random.default_rng(0).permutation(300)
        steps = np.repeat([0.9, 0.5, 0.1], 100)
        right = np.arange(300) % 10 < np.repeat([10, 9, 2], 100)
        assert threshold_at_risk(steps[order], right[order], 0.2) == threshold_at_risk(steps, right, 0.2)
        found = threshold_at_risk(steps, right, 0.2)
        assert found.accepted == 200
        assert 0.1 < found.threshold <= 0.5

    def test_with_too_few_rows_it_says_how_many_it_would_take(self):
        with pytest.raises(
            InvalidInputError, match=r"no threshold can be promised .* 0\.05 .*58 labelled.* about \d+\."
        ):
            threshold_at_risk([0.9] * 58, [True] * 58, 0.05)
        with pytest.raises(InvalidInputError, match="even the most confident predictions are wrong too often"):
            threshold_at_risk([0.9] * 100, [False] * 100, 0.05)

    def test_several_risks_and_each_class_are_the_single_calls(self):
        confidence, correct = sample(2, n=2000)
        found = thresholds_at_risks(confidence, correct, [0.001, 0.1, 0.3])
        assert found[0.001] is None
        assert found[0.3] == threshold_at_risk(confidence, correct, 0.3)
        prediction = np.arange(2000) % 3
        of_class = thresholds_by_class(confidence, correct, prediction, 0.3)
        assert of_class[1] == threshold_at_risk(confidence[1::3], correct[1::3], 0.3)
        with pytest.raises(InvalidInputError, match="a class index for each of the 2000 rows"):
            thresholds_by_class(confidence, correct, prediction[:-1], 0.3)


class TestRiskAtCoverage:
    def test_it_is_the_bound_of_the_rows_above_the_threshold(self):
        confidence, correct = np.linspace(1, 0, 200), np.arange(200) % 10 < 8
        found = risk_at_coverage(confidence, correct, 0.5)
        assert confidence[101] < found.threshold <= confidence[100]
        assert found.accepted == 101
        assert found.risk_upper == pytest.approx(beta.ppf(0.95, 20 + 1, 80))

    def test_a_promise_at_a_fixed_coverage_is_kept(self):
        rng, broken, trials = np.random.default_rng(0), 0, 500
        for _ in range(trials):
            confidence = rng.uniform(size=60)
            found = risk_at_coverage(confidence, rng.uniform(size=60) < confidence, 0.4)
            broken += (1 - found.threshold) / 2 > found.risk_upper
        assert broken <= binom.ppf(0.999, trials, 0.05)

    @pytest.mark.parametrize("rows", [1, 2])
    def test_one_row_promises_nothing_much(self, rows):
        assert risk_at_coverage([0.5] * rows, [False] * rows, 0.5).risk_upper == 1


class TestLookingGood:
    @pytest.mark.parametrize("seed", range(5))
    @pytest.mark.parametrize("risk", [0.02, 0.1, 0.3, 0.9])
    def test_the_threshold_is_the_least_that_keeps_the_risk(self, seed, risk):
        confidence, correct = sample(seed)
        found = threshold_at_risk(confidence, correct, risk, promise=False)
        accepted = confidence >= found.threshold
        assert (found.accepted, found.errors) == (accepted.sum(), (~correct[accepted]).sum())
        assert found.risk == found.errors / found.accepted <= risk
        assert found.coverage == accepted.mean()
        for lower in np.unique(confidence[confidence < found.threshold]):
            assert (~correct[confidence >= lower]).mean() > risk

    def test_equal_confidences_are_accepted_together(self):
        found = threshold_at_risk([0.9, 0.8, 0.8, 0.8], [True, True, True, False], 0.2, promise=False)
        assert (np.float32(found.threshold), found.accepted) == (np.float32(0.9), 1)

    def test_the_upper_bound_is_the_risk_at_which_so_few_errors_are_rare(self):
        confidence, correct = sample(0)
        found = threshold_at_risk(confidence, correct, 0.1, level=0.9, promise=False)
        assert found.risk < found.risk_upper < 1
        assert binom.cdf(found.errors, found.accepted, found.risk_upper) == pytest.approx(0.1)

    def test_no_error_at_all_still_has_an_upper_bound(self):
        found = threshold_at_risk([0.9] * 59, [True] * 59, 0.01, promise=False)
        assert found.risk == 0
        assert found.risk_upper == pytest.approx(0.05, abs=0.001)  # the rule of three

    def test_a_risk_that_nothing_reaches_is_refused_with_the_least_there_is(self):
        with pytest.raises(InvalidInputError, match=r"no threshold keeps the error at 0\.05; the least is 0\.5.* 0\.8"):
            threshold_at_risk([0.9, 0.8, 0.1], [False, True, False], 0.05, promise=False)


@pytest.mark.parametrize("risk", [0, 1, -0.1, 5, float("nan"), "0.05", None])
def test_risk_is_a_share(risk):
    with pytest.raises(InvalidInputError, match=r"risk must be a share in \(0, 1\)"):
        threshold_at_risk([0.9], [True], risk)


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

    @pytest.mark.parametrize(("given", "said"), [(1.9, "of which the largest is 2; got 1.9"), ("2", "got '2'")])
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


def test_a_level_in_percent_is_told_from_a_risk():
    with pytest.raises(InvalidInputError, match=r"level must be a share in \(0, 1\); got 95\. For 95 % give 0\.95"):
        threshold_at_risk([0.9] * 100, [True] * 100, 0.1, level=95)
    with pytest.raises(InvalidInputError, match="risks must be several shares"):
        thresholds_at_risks([0.9] * 100, [True] * 100, 0.1)


def test_shares_have_no_bound():
    with pytest.raises(InvalidInputError, match="Multiply shares by the number of rows"):
        threshold_at_risk([0.9] * 100, [True] * 100, 0.1, promise=False, sample_weight=np.full(100, 0.01))


class TestTies:
    """Confidences that are equal in float32 are accepted together, however they are kept and compared."""

    @staticmethod
    def ways(confidence, threshold):
        """Return what is accepted where confidences are float32, float64 or text, and are compared in either."""
        single = confidence.astype(np.float32)
        return [
            single >= threshold,
            single >= np.float32(threshold),
            single >= np.float64(threshold),
            single.astype(np.float64) >= threshold,
            np.array([float(str(each)) for each in single]) >= threshold,
            np.array([each >= threshold for each in single]),
            np.array([each >= threshold for each in single.tolist()]),
            Certificate(threshold, 0.1, 0.95, 100, 0.5).accepts(single),
        ]

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("value", [0.1, 0.3, 0.7, 0.9, 1 - 2**-24, 0.123456789])
    def test_every_way_to_compare_accepts_the_same_rows(self, value, dtype):
        """A tie just below the accepted rows was accepted with them where it is a number that float32 rounds down."""
        above = np.nextafter(np.float32(value), np.float32(1))
        for high in {float(above), float(np.nextafter(above, np.float32(1))), 1.0}:
            confidence = np.repeat([high, value], 100).astype(dtype)
            correct = np.repeat([True, False], 100)
            expected = np.repeat([True, False], 100)
            for found in (
                threshold_at_risk(confidence, correct, 0.05),
                threshold_at_risk(confidence, correct, 0.05, promise=False),
                risk_at_coverage(confidence, correct, 0.3),
            ):
                assert found.coverage == 0.5
                for accepted in self.ways(confidence, found.threshold):
                    np.testing.assert_array_equal(accepted, expected)

    def test_numbers_that_only_float64_tells_apart_are_one(self):
        confidence, correct = 0.7 + 1e-9 * np.linspace(1, -1, 400), np.arange(400) < 200
        assert thresholds_at_risks(confidence, correct, [0.05]) == {0.05: None}
        assert risk_at_coverage(confidence, correct, 0.4).coverage == 1
        with pytest.raises(InvalidInputError, match="no threshold keeps the error"):
            threshold_at_risk(confidence, correct, 0.05, promise=False)

    @pytest.mark.parametrize("steps", [3, 20])
    def test_promises_hold_where_binned_confidences_are_float32(self, steps):
        levels = np.sort(np.random.default_rng(1).random(steps).astype(np.float32))
        right = np.linspace(0.6, 0.99, steps)
        true = [1 - right[place:].mean() for place in range(steps)]
        rng, broken, trials = np.random.default_rng(0), 0, 400
        for _ in range(trials):
            places = rng.integers(steps, size=300)
            found = thresholds_at_risks(levels[places], rng.random(300) < right[places], [0.1])[0.1]
            broken += found is not None and true[int(np.argmax(levels >= found.threshold))] > 0.1
        assert broken <= binom.ppf(0.999, trials, 0.05)


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
        assert not any(look_like_copies(rng.integers(atoms, size=400) / atoms) for _ in range(200))

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
        stakes = _weighted_promise._stakes(_weighted_promise._means_before(weight), often, risk)
        expected += np.prod(np.where(heavy, heavy_share, 1 - heavy_share) * (1 - stakes * weight * (heavy - risk)))
    assert 0.95 < expected < 1.02
