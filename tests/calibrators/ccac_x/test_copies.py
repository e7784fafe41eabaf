"""Copies of rows in a fit of CCAC-X count once; rows that are equal by themselves count as often as they are there."""

import numpy as np
import pytest

from auxcal import CrossFittedCCAC, Predictions
from auxcal.calibrators.fitting import merge_copies
from auxcal.testing._trials import sample

DATA = sample(n=300)
RNG = np.random.default_rng(0)


def confidence(part, **options):
    fitted = CrossFittedCCAC(random_state=0).fit(part.logits, part.y, **options)
    return fitted.predict_confidence(DATA.logits)


def few_values(n, scale, random_state=0):
    rng = np.random.default_rng(random_state)
    logits = scale * np.round(rng.normal(scale=1.5, size=(n, 2)))
    return Predictions(logits, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1))


@pytest.mark.parametrize("times", [2, 3, 30])
def test_copies_of_every_row_change_nothing(times):
    rows = np.arange(300).repeat(times)
    assert np.array_equal(confidence(DATA.take(rows)), confidence(DATA))
    weight = RNG.uniform(0.5, 2, size=300)
    weighed = confidence(DATA, sample_weight=weight)
    assert confidence(DATA.take(rows), sample_weight=weight[rows]) == pytest.approx(weighed, abs=1e-5)


def test_copies_of_some_rows_count_more_but_not_as_rows():
    often = np.where(np.arange(300) % 3, 1, 4)
    copied = DATA.take(np.arange(300).repeat(often))
    weighed = confidence(DATA, sample_weight=often / 3)  # 600 rows, with Σ c² = 1,800
    assert confidence(copied) == pytest.approx(weighed, abs=1e-5)
    left, place = merge_copies(copied)
    assert np.array_equal(left.logits[place], copied.logits)


def test_rows_drawn_again_and_again_are_copies():
    drawn = DATA.take(RNG.integers(300, size=600))
    left, _ = merge_copies(drawn)
    assert len(left) == len(np.unique(drawn.logits, axis=0))
    assert 0.5 * len(left) < left.total_weight < len(left)


@pytest.mark.parametrize("scale", [0.5, 2, 20])  # right in 70, 95 and nearly all cases
@pytest.mark.parametrize("n", [50, 100, 300, 1000])
def test_values_that_repeat_by_themselves_are_draws(n, scale):
    for random_state in range(20):
        drawn = few_values(n, scale, random_state)
        assert merge_copies(drawn)[0] is drawn
        assert len(merge_copies(drawn.take(np.arange(n).repeat(3)))[0]) == n


def test_who_gives_groups_says_what_rows_are_worth():
    copied = DATA.take(np.arange(300).repeat(3))
    grouped = copied._with(groups=np.arange(300).repeat(3))
    assert merge_copies(grouped)[0] is grouped


def test_a_few_equal_rows_make_no_difference():
    few = DATA.take(np.append(np.arange(300), [0, 1, 2]))
    assert merge_copies(few)[0] is few
    same = DATA.take(np.arange(3).repeat(100))
    assert merge_copies(same)[0] is same
