"""A mixture keeps its shares, its label map and its seed."""

import numpy as np
import pytest

from auxcal import NO_CLASS
from auxcal._core.errors import InvalidInputError
from auxcal_paper.shifts.mixtures import Mixture


def test_shares_and_label_map():
    mixed = Mixture((70, 30), (None, {"bus": 1, "truck": 9}))(
        (np.arange(100) % 10, ["bus", "truck", "oak", "owl"] * 10), 0
    )
    assert len(mixed) == 100
    assert (mixed.source == 0).sum() == 70
    names = np.array(["bus", "truck", "oak", "owl"] * 10)[mixed.of(1)]
    expected = [{"bus": 1, "truck": 9}.get(name, NO_CLASS) for name in names]
    assert mixed.y[mixed.source == 1].tolist() == expected
    assert {1, 9, NO_CLASS} == set(expected)


def test_own_labels_are_kept_and_belong_to_the_drawn_samples():
    y = np.random.default_rng(0).integers(0, 10, 50)
    mixed = Mixture((20,), (None,))((y,), 0)
    np.testing.assert_array_equal(mixed.y, y[mixed.of(0)])


def test_drawn_without_replacement():
    mixed = Mixture((40, 10), (None, {}))((np.zeros(40, int), ["a"] * 10), 0)
    assert sorted(mixed.of(0)) == list(range(40))
    assert sorted(mixed.of(1)) == list(range(10))


def test_take_gives_data_in_the_order_of_y():
    own, other = ["cat0", "cat1", "cat2"], ["oak0", "oak1"]
    mixed = Mixture((3, 2), (None, {}))(([0, 0, 0], ["oak", "oak"]), 5)
    taken = mixed.take(own, other)
    assert [name[:3] for name in taken] == ["cat"] * 3 + ["oak"] * 2
    assert taken[0] == own[mixed.of(0)[0]]


def test_any_number_of_sources():
    mixed = Mixture((2, 0, 1), (None, {}, {"x": 3}))(([0, 1], [], ["x"]), 0)
    assert mixed.source.tolist() == [0, 0, 2]
    assert mixed.y[-1] == 3


def test_seed_decides_and_inputs_stay():
    y = np.arange(1000)
    mixture = Mixture((100,), (None,))
    np.testing.assert_array_equal(mixture((y,), 1).y, mixture((y,), np.random.default_rng(1)).y)
    assert not np.array_equal(mixture((y,), 1).y, mixture((y,), 2).y)
    np.testing.assert_array_equal(y, np.arange(1000))


def test_too_few_samples_are_refused():
    with pytest.raises(InvalidInputError, match="source 1 must have at least the 5 samples"):
        Mixture((1, 5), (None, {}))(([0], ["a"] * 4), 0)


def test_sources_and_sizes_must_match():
    with pytest.raises(InvalidInputError, match="both for every source"):
        Mixture((1, 2), (None,))
    with pytest.raises(InvalidInputError, match="2 sources"):
        Mixture((1, 1), (None, None))(([0],), 0)
