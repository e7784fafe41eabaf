"""Samples that were seen several times: found by the labels of neighbours, and nowhere else."""

import numpy as np
import pytest

from auxcal import NO_CLASS, Predictions
from auxcal.calibrators.repeated_samples import repeated_samples


def views(n, times, noise, *, k=10, random_state=0):
    """Return samples that were seen several times, with noise in units of the logits' deviation, and which is which."""
    rng = np.random.default_rng(random_state)
    y = rng.integers(k, size=n)
    logits = 5 * np.eye(k)[y] + 2 * rng.normal(size=(n, k))
    rows = rng.permutation(np.arange(n).repeat(times))
    return Predictions(logits[rows] + noise * logits.std() * rng.normal(size=(len(rows), k)), y[rows]), rows


def kept_together(found, rows):
    """Return the share of pairs of views of one sample that were found to be of one."""
    sizes = np.unique(np.stack([found.of_row, rows]), axis=1, return_counts=True)[1]
    of_samples = np.bincount(rows)
    return (sizes * (sizes - 1)).sum() / (of_samples * (of_samples - 1)).sum()


@pytest.mark.parametrize("noise", [0.001, 0.1, 0.3])
@pytest.mark.parametrize(("n", "times"), [(100, 10), (300, 3), (40, 25)])
def test_views_of_a_sample_are_found(n, times, noise):
    data, rows = views(n, times, noise)
    found = repeated_samples(data)
    assert found.same_label > 0.75
    assert kept_together(found, rows) > (0.95 if noise < 0.3 else 0.5)
    assert len(np.unique(found.of_row)) == pytest.approx(n, rel=0.6)


def test_samples_that_are_well_apart_are_found_one_by_one():
    data, rows = views(100, 10, 0.01)
    assert len(np.unique(np.stack([repeated_samples(data).of_row, rows]), axis=1).T) == 100
    assert len(np.unique(repeated_samples(data).of_row)) == 100


def test_more_rows_than_are_compared_at_once():
    data, rows = views(600, 10, 0.05)
    assert kept_together(repeated_samples(data), rows) > 0.8  # a border between cells separates a few


def test_many_classes():
    data, rows = views(200, 5, 0.1, k=60)
    assert kept_together(repeated_samples(data), rows) > 0.95


@pytest.mark.parametrize("k", [2, 3, 10, 60])
@pytest.mark.parametrize("n", [12, 20, 30, 100, 1000])
def test_rows_that_were_drawn_apart_are_no_views(n, k):
    for random_state in range(5):
        assert repeated_samples(views(n, 1, 0, k=k, random_state=random_state)[0]) is None


def test_a_region_in_which_all_predictions_are_wrong_is_no_sample():
    """As where a class is foreign to the classifier, and always taken for the same other one."""
    for random_state in range(5):
        data, _ = views(600, 1, 0, random_state=random_state)
        y = np.where(data.prediction == 3, 4, data.y)
        assert repeated_samples(data._with(y=y)) is None


def test_rows_of_no_class_tell_nothing_but_belong_to_samples_too():
    data, rows = views(100, 10, 0.05)
    y = np.where(rows < 30, NO_CLASS, data.y)
    assert kept_together(repeated_samples(data._with(y=y)), rows) > 0.95
    assert repeated_samples(data._with(y=np.full(len(data), NO_CLASS))) is None


def test_nothing_is_told_where_all_predictions_are_right():
    data, _ = views(100, 10, 0.05)
    assert repeated_samples(data._with(y=data.prediction)) is None


@pytest.mark.parametrize("scale", [1e-20, 1e4])
def test_the_scale_of_the_logits_makes_no_difference(scale):
    data, rows = views(100, 10, 0.05)
    assert kept_together(repeated_samples(Predictions(scale * data.logits, data.y)), rows) > 0.95
