"""Weights and groups of Predictions: carried along, counted, and kept together in folds and parts."""

import numpy as np
import pytest

from auxcal import NO_CLASS, InvalidInputError, Predictions
from auxcal.splits import Units

RNG = np.random.default_rng(0)
N = 240
Y = RNG.integers(NO_CLASS, 3, size=N)
LOGITS = RNG.normal(size=(N, 3)) + np.eye(3)[Y]
WEIGHT = RNG.integers(1, 4, size=N)
GROUPS = np.sort(RNG.integers(40, size=N)).astype(str)
ROW = np.arange(N)
WHOLE = Predictions(LOGITS, Y, sample_weight=WEIGHT, groups=GROUPS)
PARTS = {
    "take": lambda data: [data.take(ROW % 3 == 0)],
    "split": lambda data: data.split(100, 60, 40, random_state=0),
    "split_stratified": lambda data: data.split_stratified(0.3, random_state=0),
    "folds": lambda data: [data.take(data.folds(4, 0) == fold) for fold in range(4)],
    "joined": lambda data: [data.take(slice(100)).joined(data.take(slice(100, None)))],
}
keeps_groups = pytest.mark.parametrize("parts_of", [PARTS[name] for name in ("split", "split_stratified", "folds")])


@pytest.mark.parametrize("parts_of", PARTS.values(), ids=PARTS)
def test_weights_and_groups_go_with_their_rows(parts_of):
    row_of = {row.tobytes(): row_number for row_number, row in enumerate(LOGITS)}
    for part in parts_of(WHOLE):
        rows = [row_of[row.tobytes()] for row in part.logits]
        assert part.sample_weight.tolist() == WEIGHT[rows].tolist()
        assert part.groups.tolist() == GROUPS[rows].tolist()


@keeps_groups
def test_no_group_is_in_two_parts(parts_of):
    parts = [set(part.groups) for part in parts_of(WHOLE)]
    assert sum(map(len, parts)) == len(set.union(*parts))


def test_parts_of_whole_groups_have_about_their_sizes():
    assert [len(part) for part in WHOLE.split(100, 60, 40, random_state=0)] == pytest.approx([100, 60, 40], abs=8)
    rest, aside = WHOLE.split_stratified(0.3, random_state=0)
    assert aside.sample_weight.sum() / WEIGHT.sum() == pytest.approx(0.3, abs=0.03)
    assert aside.correct.mean() == pytest.approx(rest.correct.mean(), abs=0.1)


def test_folds_of_whole_groups_are_balanced_in_every_label():
    folds = WHOLE.folds(4, random_state=0)
    for label in range(4):
        weight = np.bincount(folds, WEIGHT * (WHOLE.w == label))
        assert weight == pytest.approx(weight.mean(), rel=0.35)
    assert np.bincount(folds, WEIGHT) == pytest.approx(WEIGHT.sum() / 4, rel=0.1)


def test_the_order_of_the_rows_does_not_matter():
    shuffled = np.random.default_rng(2).permutation(N)
    rest, aside = WHOLE.stratified_rows(0.3, 0)
    assert set(shuffled[WHOLE.take(shuffled).stratified_rows(0.3, 0)[1]]) == set(aside)
    assert np.array_equal(WHOLE.take(shuffled).folds(5, 0), WHOLE.folds(5, 0)[shuffled])
    assert len(rest) + len(aside) == N


def test_a_row_of_weight_two_is_assigned_like_two_rows_of_a_group():
    weighted = Predictions(LOGITS, Y, sample_weight=WEIGHT)
    rows = np.repeat(ROW, WEIGHT)
    repeated = Predictions(LOGITS[rows], Y[rows], groups=rows)
    assert np.array_equal(weighted.folds(5, 1)[rows], repeated.folds(5, 1))
    for part, other in zip(
        weighted.split_stratified(0.2, random_state=1), repeated.split_stratified(0.2, random_state=1), strict=True
    ):
        assert np.array_equal(np.repeat(part.logits, part.sample_weight.astype(int), axis=0), other.logits)


@pytest.mark.parametrize("further", [{"sample_weight": np.full(N, 2.5)}, {"groups": ROW}], ids=["weights", "groups"])
def test_what_says_nothing_changes_nothing(further):
    plain, same = Predictions(LOGITS, Y), Predictions(LOGITS, Y, **further)
    assert np.array_equal(plain.folds(5, 3), same.folds(5, 3))
    for method, arguments in (("split", (120, 60)), ("split_stratified", (0.3,))):
        parts = zip(*(getattr(data, method)(*arguments, random_state=3) for data in (plain, same)), strict=True)
        assert all(np.array_equal(one.logits, other.logits) for one, other in parts)


def test_units_that_are_alike_are_assigned_as_the_others_would_be(monkeypatch):
    units = Units.of(RNG.permutation(N), WHOLE.w, None, None)
    folds = units.assign_folds(7, np.random.default_rng(0))
    monkeypatch.setattr(Units, "alike", False)
    assert np.array_equal(units.assign_folds(7, np.random.default_rng(0)), folds)


def test_folds_of_groups_do_not_depend_on_the_order_of_the_rows():
    order = RNG.permutation(N)
    assert np.array_equal(WHOLE.take(order).folds(4, 0), WHOLE.folds(4, 0)[order])


def test_no_fold_is_empty_where_there_are_as_many_groups():
    few = Predictions(LOGITS[:30], Y[:30], groups=ROW[:30] // 6)
    assert few.n_units == 5
    assert set(few.folds(5, 0)) == set(range(5))


def test_weights_and_groups_are_saved(tmp_path):
    WHOLE.save(tmp_path / "bundle.npz")
    loaded = Predictions.load(tmp_path / "bundle.npz")
    assert np.array_equal(loaded.sample_weight, WHOLE.sample_weight)
    assert np.array_equal(loaded.groups, GROUPS)


def test_they_are_shown():
    text = repr(Predictions([[2, 1], [1, 2]], [0, 0], sample_weight=[3, 1], groups=["a", "a"]))
    assert text == "Predictions(n=2, K=2, accuracy=0.750, no_class=0, weight=4, groups=1)"


def test_rows_without_a_weight_count_once_beside_others():
    joined = Predictions([[2, 1]], [0]).joined(Predictions([[2, 1]], [0], sample_weight=[3]))
    assert joined.sample_weight.tolist() == [1, 3]


def test_groups_of_half_of_the_rows_are_none():
    assert Predictions([[2, 1]], [0]).joined(Predictions([[2, 1]], [0], groups=["a"])).groups is None


def test_one_group_is_no_two_parts():
    one = Predictions(LOGITS, Y, groups=np.zeros(N, int))
    with pytest.raises(InvalidInputError, match="every part must get at least one row"):
        one.split_stratified(0.2, random_state=0)
    with pytest.raises(InvalidInputError, match="every part must get at least one row"):
        one.split(100, 100, random_state=0)
