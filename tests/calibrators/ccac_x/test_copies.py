"""Units of a fit of CCAC-X: copies count once, groups as much as they tell, and rows that were drawn apart as rows."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

import auxcal
from auxcal import CCACX, NO_CLASS, InputWarning, Predictions
from auxcal._core.equal_rows import RARE, EqualRows
from auxcal.calibrators.copies import merge_copies, weigh_units, with_units
from auxcal.testing._trials import sample

SOURCE = Path(auxcal.__file__).parent.parent
PACKAGED = sorted([*SOURCE.glob("auxcal_paper/packaged/*.npz"), *SOURCE.glob("auxcal/cli/demo_data/*.npz")])
DATA = sample(n=300)
RNG = np.random.default_rng(0)


def confidence(part, **options):
    fitted = CCACX(random_state=0).fit(part.logits, part.y, **options)
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


def found(data):
    return merge_copies(with_units(data))[0]


def test_copies_in_uneven_numbers_change_nothing():
    often = np.where(np.arange(300) % 3, 1, 4)
    copied = DATA.take(np.arange(300).repeat(often))
    assert np.array_equal(confidence(copied), confidence(DATA))
    left, place = merge_copies(with_units(copied))
    assert np.array_equal(left.logits[place], copied.logits)


def test_rows_drawn_again_and_again_are_copies():
    drawn = DATA.take(RNG.integers(300, size=600))
    assert len(found(drawn)) == len(np.unique(drawn.logits, axis=0))


@pytest.mark.parametrize("scale", [0.5, 2, 20])  # right in 70, 95 and nearly all cases
@pytest.mark.parametrize("n", [50, 100, 300, 1000])
def test_values_that_repeat_by_themselves_are_draws(n, scale):
    for random_state in range(20):
        drawn = few_values(n, scale, random_state)
        assert with_units(drawn) is drawn
        assert len(found(drawn.take(np.arange(n).repeat(3)))) == n


def test_copies_of_which_groups_are_given_are_copies_within_them():
    rows = np.arange(300).repeat(3)
    copied = DATA.take(rows)
    assert np.array_equal(confidence(copied, groups=rows), confidence(DATA))
    apart = copied._with(groups=np.arange(900))
    assert weigh_units(merge_copies(apart)[0]).total_weight == 900  # who gives groups says what is a copy


@pytest.mark.parametrize("mean", [1.5, 4, 30])
def test_draws_are_taken_for_copies_less_than_once_in_ten_thousand_times(mean):
    counts = np.maximum(np.random.default_rng(0).poisson(mean, size=(40_000, 14)), 1)
    found = [EqualRows(np.empty(0, int), np.empty(0, int), sizes).times > 1 for sizes in counts]
    assert binom.sf(sum(found) - 1, len(found), RARE) > 0.01


def test_a_few_equal_rows_make_no_difference():
    few = DATA.take(np.append(np.arange(300), [0, 1, 2]))
    assert with_units(few) is few
    same = DATA.take(np.arange(3).repeat(100))
    assert with_units(same) is same


def frames(times, noise, n=100):
    rng = np.random.default_rng(1)
    logits = 2 * rng.normal(size=(n, 6))
    y = (logits + 2 * rng.gumbel(size=logits.shape)).argmax(axis=1)
    rows = rng.permutation(np.arange(n).repeat(times))
    return Predictions(logits[rows] + noise * rng.normal(size=(len(rows), 6)), y[rows]), rows


@pytest.mark.parametrize("noise", [1e-4, 0.01, 0.1])
@pytest.mark.parametrize("times", [3, 10])
def test_nearly_equal_rows_are_units_that_count_as_one_row(times, noise):
    data, rows = frames(times, noise)
    with pytest.warns(InputWarning, match=r"look like \d+ samples.*groups"):
        units = with_units(data)
    pure = len(np.unique(np.stack([units.groups, rows]), axis=1).T)
    assert pure == pytest.approx(100, abs=5)  # each of the units has one sample, and each of the samples one unit
    assert weigh_units(units).total_weight == pytest.approx(100, rel=0.2)


def test_nearly_equal_rows_with_labels_of_their_own_are_rows():
    data, _ = frames(10, 0.01)
    drawn = (data.logits + 2 * RNG.gumbel(size=data.logits.shape)).argmax(axis=1)
    apart = data._with(y=drawn)
    assert with_units(apart) is apart


def clusters(random_state, n=100, size=10, k=10):
    """Samples that were seen ten times, with a tenth of the variance anew: some views are right, others wrong."""
    rng = np.random.default_rng(random_state)
    rows = np.arange(n).repeat(size)
    y = rng.integers(k, size=n)[rows]
    noise = np.sqrt(0.9) * rng.normal(size=(n, k))[rows] + np.sqrt(0.1) * rng.normal(size=(n * size, k))
    return Predictions(5.5 * np.eye(k)[y] + 2 * noise, y)


@pytest.mark.parametrize("random_state", range(400, 406))
def test_views_of_a_sample_are_units_though_some_are_right(random_state):
    with pytest.warns(InputWarning, match="look like"):
        assert with_units(clusters(random_state)).groups is not None


@pytest.mark.parametrize("random_state", range(400, 406))
def test_rows_that_look_alike_and_share_a_risk_are_rows(random_state):
    """Each set of them is wrong at its own rate, with labels that differ."""
    rng = np.random.default_rng(random_state)
    rows = np.arange(100).repeat(10)
    logits = 2 * rng.normal(size=(100, 10))[rows] + 0.05 * rng.normal(size=(1000, 10))
    prediction, wrong = logits.argmax(axis=1), rng.random(1000) < rng.random(100)[rows]
    data = Predictions(logits, np.where(wrong, (prediction + rng.integers(1, 10, size=1000)) % 10, prediction))
    assert with_units(data) is data


def test_a_copy_with_another_label_stays_in_the_unit():
    data, rows = frames(5, 0.0)
    y = data.y.copy()
    y[::20] = (y[::20] + 1) % 6
    with pytest.warns(InputWarning, match="look like 100 samples"):
        units = with_units(data._with(y=y))
    assert len(np.unique(np.stack([units.groups, rows]), axis=1).T) == 100
    assert len(np.unique(units.folds(5, 0) * 100 + rows)) == 100


def test_groups_that_share_no_more_than_a_name_count_as_their_rows():
    groups = RNG.integers(30, size=300)
    assert weigh_units(DATA._with(groups=groups)).total_weight > 290


@pytest.mark.parametrize("shared", [0.0, 1.0])
def test_a_group_counts_from_one_row_to_all_of_its_rows(shared):
    data, rows = frames(10, 0.05)
    groups = np.where(np.random.default_rng(2).random(1000) < shared, rows, 100 + np.arange(1000))
    total = weigh_units(data._with(groups=groups)).total_weight
    assert 90 < total < 130 if shared else total == 1000


@pytest.mark.parametrize("path", PACKAGED, ids=lambda path: path.stem)
def test_rows_that_were_drawn_apart_are_no_units(path):
    data = Predictions.load(path)
    for n in (100, 200, 1000, len(data)):
        part = data.take(np.random.default_rng(0).permutation(len(data))[:n])
        assert with_units(part) is part


@pytest.mark.parametrize("tightness", [0.05, 0.3])
def test_clusters_of_rows_of_no_class_are_rows(tightness):
    """They are all wrong, whatever they have in common."""
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=500)
    known = 5 * np.eye(10)[y] + 1.5 * rng.normal(size=(500, 10))
    centres = 3 * rng.normal(size=(20, 10))
    foreign = centres[rng.integers(20, size=500)] + tightness * rng.normal(size=(500, 10))
    data = Predictions(np.concatenate([known, foreign]), np.append(y, np.full(500, NO_CLASS)))
    assert with_units(data).groups is None


def test_well_separated_classes_are_rows():
    rng = np.random.default_rng(0)
    home = rng.integers(10, size=500)
    y = np.where(rng.random(500) < 0.1, rng.integers(10, size=500), home)
    data = Predictions(8 * np.eye(10)[home] + 0.3 * rng.normal(size=(500, 10)), y)
    assert with_units(data).groups is None
