"""Promised thresholds: the tests behind them, and how often a promise is broken."""

import numpy as np
import pytest
from scipy.stats import beta, binom

from auxcal import InvalidInputError
from auxcal.thresholds import (
    risk_at_coverage,
    threshold_at_risk,
    thresholds_at_risks,
    thresholds_by_class,
)
from auxcal.thresholds._promises import promised_rows, rarities, starts, sure_rows


def sample(seed, n=400, steps=40):
    rng = np.random.default_rng(seed)
    confidence = rng.integers(0, steps + 1, size=n) / steps
    return confidence, rng.uniform(size=n) < confidence


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


@pytest.mark.parametrize("risk", [0, 1, -0.1, 5, float("nan"), "0.05", None])
def test_risk_is_a_share(risk):
    with pytest.raises(InvalidInputError, match=r"risk must be a share in \(0, 1\)"):
        threshold_at_risk([0.9], [True], risk)


def test_a_level_in_percent_is_told_from_a_risk():
    with pytest.raises(InvalidInputError, match=r"level must be a share in \(0, 1\); got 95\. For 95 % give 0\.95"):
        threshold_at_risk([0.9] * 100, [True] * 100, 0.1, level=95)
    with pytest.raises(InvalidInputError, match="risks must be several shares"):
        thresholds_at_risks([0.9] * 100, [True] * 100, 0.1)
