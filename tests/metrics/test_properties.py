"""What theory says of the metrics, on whatever samples hypothesis comes up with."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from auxcal import UndefinedMetricWarning
from auxcal.metrics import METRICS, auroc, brier, ece, mce, nll

RANKING = ["auroc", "aupr", "p90", "fpr95", "aurc", "excess_aurc"]
BOUNDED_BY_ONE = [name for name in METRICS if name != "nll"]

often = settings(max_examples=40)

# Ties, bin edges and the ends are as likely as any other number.
PROBABILITIES = st.one_of(st.sampled_from([k / 20 for k in range(21)]), st.floats(0, 1), st.floats(0.99, 1))


@st.composite
def samples(draw, both_kinds=False, elements=PROBABILITIES):
    n = draw(st.integers(2 if both_kinds else 1, 40))
    confidence = draw(arrays(np.float64, n, elements=elements))
    correct = draw(arrays(np.bool_, n))
    if both_kinds:
        correct[0], correct[1] = True, False
    return confidence, correct


def values(confidence, correct, names=tuple(METRICS)):
    """Return the values of metrics by their names: drawing a sample takes longer than all of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return {name: METRICS[name].function(confidence, correct) for name in names}


def close_to(number, tolerance=1e-9):
    return pytest.approx(number, abs=tolerance, rel=tolerance, nan_ok=True)


@often
@given(sample=samples(both_kinds=True))
def test_values_lie_between_0_and_1(sample):
    found = values(*sample, BOUNDED_BY_ONE)
    assert {name: value for name, value in found.items() if not -1e-12 <= value <= 1 + 1e-12} == {}


@often
@given(sample=samples())
def test_nll_is_finite_and_not_negative_however_saturated(sample):
    assert 0 <= nll(*sample) < 40


@pytest.mark.parametrize("transform", [np.sqrt, lambda c: c / 2 + 0.25, lambda c: c**3], ids=["sqrt", "affine", "cube"])
@often
@given(sample=samples(both_kinds=True))
def test_a_monotone_map_of_confidence_leaves_the_ranking_alone(transform, sample):
    confidence, correct = sample
    mapped = transform(confidence)
    assume(len(np.unique(mapped)) == len(np.unique(confidence)))  # rounding can merge neighbours
    assert values(mapped, correct, RANKING) == close_to(values(confidence, correct, RANKING))


@often
@given(sample=samples(both_kinds=True))
def test_reversing_the_ranking_reverses_auroc(sample):
    confidence, correct = sample
    assume(len(np.unique(1 - confidence)) == len(np.unique(confidence)))
    assert auroc(1 - confidence, correct) == close_to(1 - auroc(confidence, correct))


@often
@given(sample=samples(both_kinds=True))
def test_one_confidence_for_all_ranks_like_a_coin(sample):
    confidence, correct = sample
    same = np.full_like(confidence, confidence[0])
    error_rate = 1 - correct.mean()
    expected = {"auroc": 0.5, "aupr": error_rate, "p90": error_rate, "fpr95": 1, "aurc": error_rate}
    assert values(same, correct, expected) == close_to(expected)


@often
@given(sample=samples())
def test_excess_aurc_is_not_negative(sample):
    assert values(*sample, ["excess_aurc"])["excess_aurc"] >= -1e-12


@often
@given(sample=samples(), n_bins=st.integers(1, 100), strategy=st.sampled_from(["width", "mass"]))
def test_the_mean_gap_is_at_most_the_largest(sample, n_bins, strategy):
    options = {"n_bins": n_bins, "strategy": strategy}
    assert ece(*sample, **options) <= mce(*sample, **options) + 1e-12


@often
@given(sample=samples())
def test_one_bin_compares_mean_confidence_with_accuracy(sample):
    confidence, correct = sample
    expected = abs(confidence.mean() - correct.mean())
    for strategy in ("width", "mass"):
        assert ece(confidence, correct, n_bins=1, strategy=strategy) == close_to(expected)
        assert mce(confidence, correct, n_bins=1, strategy=strategy) == close_to(expected)


@often
@given(sample=samples(), n_bins=st.integers(1, 30), factor=st.integers(2, 5))
def test_finer_bins_never_hide_an_error(sample, n_bins, factor):
    assert ece(*sample, n_bins=n_bins * factor) >= ece(*sample, n_bins=n_bins) - 1e-12


@often
@given(sample=samples())
def test_ece_squared_is_at_most_brier(sample):
    # Jensen: the squared mean gap is at most the mean squared gap, and that at most the mean squared difference.
    assert ece(*sample) ** 2 <= brier(*sample) + 1e-12


@often
@given(sample=samples())
def test_the_base_rate_has_the_least_brier_and_nll_of_all_constants(sample):
    confidence, correct = sample
    base_rate = np.full_like(confidence, correct.mean())
    constant = np.full_like(confidence, confidence[0])
    assert brier(base_rate, correct) <= brier(constant, correct) + 1e-12
    assert nll(base_rate, correct) <= nll(constant, correct) + 1e-12


@pytest.mark.parametrize("name", ["ece", "ece_mass", "mce", "brier", "nll"])
def test_sums_stay_exact_at_a_million_float32_rows(name):
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.5, 1, size=1_000_000).astype(np.float32)
    correct = rng.uniform(size=len(confidence)) < confidence - 0.25
    wide = METRICS[name].function(confidence.astype(np.float64), correct)
    assert METRICS[name].function(confidence, correct) == pytest.approx(wide, rel=1e-6)
