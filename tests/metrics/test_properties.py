"""What theory says of the metrics, on whatever samples hypothesis comes up with."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from auxcal import UndefinedMetricWarning
from auxcal.metrics import METRICS, brier, ece, mce, nll

RANKING = ["auroc", "aupr", "p90", "fpr95", "aurc", "excess_aurc"]
BOUNDED_BY_ONE = [name for name in METRICS if name != "nll"]

of_every_metric = pytest.mark.parametrize("name", METRICS)
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


def value(name, confidence, correct):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return METRICS[name].function(confidence, correct)


def close_to(number, tolerance=1e-9):
    return pytest.approx(number, abs=tolerance, rel=tolerance, nan_ok=True)


@of_every_metric
@often
@given(sample=samples(), order=st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(name, sample, order):
    confidence, correct = sample
    rows = list(range(len(confidence)))
    order.shuffle(rows)
    assert value(name, confidence[rows], correct[rows]) == close_to(value(name, confidence, correct))


@of_every_metric
@often
@given(sample=samples(), times=st.integers(2, 5))
def test_repeating_the_whole_sample_changes_nothing(name, sample, times):
    confidence, correct = sample
    repeated = value(name, np.tile(confidence, times), np.tile(correct, times))
    assert repeated == close_to(value(name, confidence, correct))


@pytest.mark.parametrize("name", BOUNDED_BY_ONE)
@often
@given(sample=samples(both_kinds=True))
def test_values_lie_between_0_and_1(name, sample):
    assert -1e-12 <= value(name, *sample) <= 1 + 1e-12


@often
@given(sample=samples())
def test_nll_is_finite_and_not_negative_however_saturated(sample):
    assert 0 <= nll(*sample) < 40


@pytest.mark.parametrize("name", RANKING)
@pytest.mark.parametrize("transform", [np.sqrt, lambda c: c / 2 + 0.25, lambda c: c**3], ids=["sqrt", "affine", "cube"])
@often
@given(sample=samples(both_kinds=True))
def test_a_monotone_map_of_confidence_leaves_the_ranking_alone(name, transform, sample):
    confidence, correct = sample
    mapped = transform(confidence)
    assume(len(np.unique(mapped)) == len(np.unique(confidence)))  # rounding can merge neighbours
    assert value(name, mapped, correct) == close_to(value(name, confidence, correct))


@often
@given(sample=samples(both_kinds=True))
def test_reversing_the_ranking_reverses_auroc(sample):
    confidence, correct = sample
    assume(len(np.unique(1 - confidence)) == len(np.unique(confidence)))
    assert value("auroc", 1 - confidence, correct) == close_to(1 - value("auroc", confidence, correct))


@pytest.mark.parametrize(("name", "best"), {"auroc": 1, "aupr": 1, "p90": 1, "fpr95": 0, "excess_aurc": 0}.items())
@often
@given(sample=samples(both_kinds=True))
def test_a_perfect_ranking_has_the_best_value(name, best, sample):
    confidence, correct = sample
    assert value(name, (confidence + 2 * correct + 1) / 4, correct) == close_to(best)


@often
@given(sample=samples(both_kinds=True))
def test_one_confidence_for_all_ranks_like_a_coin(sample):
    confidence, correct = sample
    same = np.full_like(confidence, confidence[0])
    error_rate = 1 - correct.mean()
    got = [value(name, same, correct) for name in ("auroc", "aupr", "p90", "fpr95", "aurc")]
    assert got == close_to([0.5, error_rate, error_rate, 1, error_rate])


@often
@given(sample=samples())
def test_excess_aurc_is_not_negative(sample):
    assert value("excess_aurc", *sample) >= -1e-12


@pytest.mark.parametrize("strategy", ["width", "mass"])
@often
@given(sample=samples(), n_bins=st.integers(1, 100))
def test_the_mean_gap_is_at_most_the_largest(strategy, sample, n_bins):
    options = {"n_bins": n_bins, "strategy": strategy}
    assert ece(*sample, **options) <= mce(*sample, **options) + 1e-12


@pytest.mark.parametrize("strategy", ["width", "mass"])
@often
@given(sample=samples())
def test_one_bin_compares_mean_confidence_with_accuracy(strategy, sample):
    confidence, correct = sample
    expected = abs(confidence.mean() - correct.mean())
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
def test_correctness_as_its_own_confidence_has_no_error(sample):
    _, correct = sample
    oracle = correct.astype(np.float64)
    assert [METRICS[name].function(oracle, correct) for name in ("ece", "ece_mass", "mce", "brier")] == [0, 0, 0, 0]


@often
@given(sample=samples())
def test_the_base_rate_has_the_least_brier_and_nll_of_all_constants(sample):
    confidence, correct = sample
    base_rate = np.full_like(confidence, correct.mean())
    constant = np.full_like(confidence, confidence[0])
    assert brier(base_rate, correct) <= brier(constant, correct) + 1e-12
    assert nll(base_rate, correct) <= nll(constant, correct) + 1e-12


@of_every_metric
@often
@given(sample=samples(elements=st.integers(1, 999).map(lambda k: k / 1000)))
def test_float32_and_float64_agree(name, sample):
    confidence, correct = sample
    assert value(name, confidence.astype(np.float32), correct) == close_to(value(name, confidence, correct), 1e-5)


@pytest.mark.parametrize("name", ["ece", "ece_mass", "mce", "brier", "nll"])
def test_sums_stay_exact_at_a_million_float32_rows(name):
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.5, 1, size=1_000_000).astype(np.float32)
    correct = rng.uniform(size=len(confidence)) < confidence - 0.25
    wide = METRICS[name].function(confidence.astype(np.float64), correct)
    assert METRICS[name].function(confidence, correct) == pytest.approx(wide, rel=1e-6)
