"""Empirical thresholds: the lowest that keeps the error on the rows at hand, without a promise."""

import numpy as np
import pytest
from scipy.stats import binom

from auxcal import InvalidInputError
from auxcal.thresholds import threshold_at_risk


def sample(seed, n=400, steps=40):
    rng = np.random.default_rng(seed)
    confidence = rng.integers(0, steps + 1, size=n) / steps
    return confidence, rng.uniform(size=n) < confidence


class TestEmpirical:
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


def test_shares_have_no_bound():
    with pytest.raises(InvalidInputError, match="Multiply shares by the number of rows"):
        threshold_at_risk([0.9] * 100, [True] * 100, 0.1, promise=False, sample_weight=np.full(100, 0.01))
