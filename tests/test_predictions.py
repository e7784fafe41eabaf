"""Predictions: what follows from logits and y, parts of them, and bundles."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auxcal import NO_CLASS, InvalidInputError, Predictions, predictions


def random_predictions(n=200, k=4, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    y = rng.integers(NO_CLASS, k, size=n)
    logits = rng.normal(size=(n, k)) + 2 * np.eye(k)[y]
    logits[:, 0] += np.arange(n) * 1e-6  # no two rows are equal, so that a row can be told by its logits
    return Predictions(logits.astype(dtype), y)


def rows_of(part):
    return {row.tobytes() for row in part.logits}


WHOLE = random_predictions()


def test_prediction_is_the_largest_logit_and_the_first_of_equals():
    assert Predictions([[0, 2, 1], [3, 3, 0], [1, 1, 1]], [0, 0, 0]).prediction.tolist() == [1, 0, 0]


def test_correct_is_where_the_prediction_is_y():
    assert Predictions([[2, 1], [2, 1], [1, 2]], [0, 1, 1]).correct.tolist() == [True, False, True]


def test_no_class_is_never_correct():
    part = Predictions([[2, 1], [1, 2]], [NO_CLASS, NO_CLASS])
    assert NO_CLASS == -1
    assert not part.correct.any()


def test_w_is_y_where_correct_and_the_auxiliary_class_elsewhere():
    part = Predictions([[2, 1, 0], [2, 1, 0], [0, 0, 5], [0, 1, 0]], [0, 2, 2, NO_CLASS])
    assert part.w.tolist() == [0, 3, 2, 3]


@pytest.mark.parametrize("name", ["logits", "y", "n_classes", "anything"])
def test_they_are_frozen(name):
    with pytest.raises(FrozenInstanceError):
        setattr(WHOLE, name, 1)


def test_logits_are_not_copied():
    logits = np.ones((3, 2), dtype=np.float32)
    assert Predictions(logits, [0, 1, 0]).logits is logits


@pytest.mark.parametrize(
    "rows", [np.array([3, 1, 1]), np.arange(200) % 7 == 0, slice(10, 20)], ids=["indices", "mask", "slice"]
)
def test_take_gives_logits_and_y_of_the_same_rows(rows):
    part = WHOLE.take(rows)
    assert np.array_equal(part.logits, WHOLE.logits[rows])
    assert np.array_equal(part.y, WHOLE.y[rows])


def test_with_class_leaves_the_rows_of_no_class_out():
    known = WHOLE.with_class()
    assert np.array_equal(known.y, WHOLE.y[WHOLE.y != NO_CLASS])
    assert known.with_class() is known


def test_with_class_is_none_where_there_is_no_class():
    assert Predictions(np.eye(2), [NO_CLASS, NO_CLASS]).with_class() is None


# Features -------------------------------------------------------------------------------------------------------------


def test_features_are_counted_shown_and_not_copied(featured):
    assert featured.n_features == 2
    assert repr(featured).endswith(", features=2)")
    assert Predictions(featured.logits, featured.y, featured.features).features is featured.features


@pytest.mark.parametrize(
    "parts_of",
    [
        lambda whole: [whole.take(np.array([5, 2, 2])), whole.take(whole.y == 1), whole.with_class()],
        lambda whole: whole.split(100, 30, random_state=0),
        lambda whole: whole.split_stratified(0.2, random_state=0),
    ],
    ids=["take", "split", "split_stratified"],
)
def test_features_stay_with_their_rows(featured, parts_of):
    of_row = {z.tobytes(): x.tobytes() for z, x in zip(featured.logits, featured.features, strict=True)}
    for part in parts_of(featured):
        assert [of_row[row.tobytes()] for row in part.logits] == [row.tobytes() for row in part.features]


@pytest.mark.parametrize("half", [False, True])
def test_a_bundle_has_its_features(featured, half, tmp_path):
    featured.save(tmp_path / "bundle.npz", half=half)
    loaded = Predictions.load(tmp_path / "bundle.npz")
    assert loaded.features.dtype == np.float32
    assert np.array_equal(loaded.features, featured.features.astype(np.float16) if half else featured.features)
    with np.load(tmp_path / "bundle.npz") as arrays:
        assert arrays["features"].dtype == (np.float16 if half else np.float32)


def test_features_beyond_half_are_not_saved_as_half(tmp_path):
    with pytest.raises(InvalidInputError, match="these features do not fit into float16"):
        Predictions(np.eye(2), [0, 1], [[1.0], [1e6]]).save(tmp_path / "bundle.npz", half=True)
    assert not list(tmp_path.iterdir())


# Parts ----------------------------------------------------------------------------------------------------------------


def test_split_gives_disjoint_parts_of_the_sizes_asked_for():
    parts = WHOLE.split(100, 30, 50, random_state=0)
    assert [len(part) for part in parts] == [100, 30, 50]
    assert len(set.union(*map(rows_of, parts))) == 180


def test_split_depends_on_random_state_only():
    def first(seed):
        return WHOLE.split(50, random_state=seed)[0].logits

    before = np.random.get_state()[1].copy()  # noqa: NPY002
    assert np.array_equal(first(1), first(1))
    assert not np.array_equal(first(1), first(2))
    assert not np.array_equal(first(None), first(None))
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


@pytest.mark.parametrize("share", [0.05, 0.2, 0.4, 1 / 3, 0.5, 0.9])
@pytest.mark.parametrize("n", [20, 199, 1000])
def test_split_stratified_gives_every_label_its_share_to_within_one_row(n, share):
    whole = random_predictions(n)
    _, aside = whole.split_stratified(share, random_state=0)
    for label in range(whole.n_classes + 1):
        assert abs((aside.w == label).sum() - share * (whole.w == label).sum()) <= 1


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5, 0.9])
def test_split_stratified_is_disjoint_and_complete(share):
    rest, aside = WHOLE.split_stratified(share, random_state=0)
    assert rows_of(rest) | rows_of(aside) == rows_of(WHOLE)
    assert len(rest) + len(aside) == len(WHOLE)
    assert len(aside) == pytest.approx(share * len(WHOLE), abs=1)


def test_split_stratified_draws_rows_at_random():
    asides = [WHOLE.split_stratified(0.2, random_state=seed)[1].logits for seed in (1, 1, 2)]
    assert np.array_equal(asides[0], asides[1])
    assert not np.array_equal(asides[0], asides[2])


@given(y=st.lists(st.integers(-1, 2), min_size=2, max_size=60), n_folds=st.integers(2, 7), seed=st.integers(0, 99))
def test_folds_are_of_one_size_and_each_has_its_share_of_every_label(y, n_folds, seed):
    data = Predictions(np.random.default_rng(seed).normal(size=(len(y), 3)), y)
    folds = data.folds(n_folds, seed)
    sizes = np.bincount(folds, minlength=n_folds)
    assert len(sizes) == n_folds
    assert np.ptp(sizes) <= 1
    for label in range(4):
        # A run of one label in the sorted rows starts anywhere, and so a fold has its share to within one row.
        assert np.ptp(np.bincount(folds[data.w == label], minlength=n_folds)) <= 1
    assert np.array_equal(folds, data.folds(n_folds, seed))


def with_ties(k, features=False):
    """Give rows of whole numbers, of which many have the same largest and smallest logit; none are equal."""
    rng = np.random.default_rng(0)
    logits = np.unique(rng.integers(-3, 4, size=(300, k)).astype(np.float32), axis=0)
    of_rows = np.arange(len(logits))
    if features:
        logits = logits[of_rows % 10]
    return Predictions(logits, rng.integers(NO_CLASS, k, size=len(logits)), of_rows[:, None] if features else None)


def by_contents(part, values):
    features = part.logits[:, :0] if part.features is None else part.features
    return {(*row, *more): value for row, more, value in zip(part.logits, features, values, strict=True)}


TIED = {f"K = {k}": with_ties(k) for k in (2, 4, 10)} | {"told apart by features": with_ties(4, features=True)}
of_tied_rows = pytest.mark.parametrize("whole", [WHOLE, *TIED.values()], ids=["no ties", *TIED])


@of_tied_rows
def test_folds_do_not_depend_on_the_order_of_the_rows(whole):
    shuffled = whole.take(np.random.default_rng(1).permutation(len(whole)))
    assert by_contents(whole, whole.folds(5, 0)) == by_contents(shuffled, shuffled.folds(5, 0))


@of_tied_rows
def test_spread_rows_do_not_depend_on_the_order_of_the_rows(whole):
    shuffled = whole.take(np.random.default_rng(1).permutation(len(whole)))
    most = len(whole) // 3
    chosen = [by_contents(part, np.isin(np.arange(len(part)), part.spread_rows(most))) for part in (whole, shuffled)]
    assert chosen[0] == chosen[1]


@pytest.mark.parametrize("most", [1, 7, 60, 199])
def test_spread_rows_are_so_many_different_ones_in_order_with_every_label_s_share(most):
    rows = WHOLE.spread_rows(most)
    assert len(rows) == most
    assert (np.diff(rows) > 0).all()
    for label in range(WHOLE.n_classes + 1):
        share = (WHOLE.w == label).sum() * most / len(WHOLE)
        assert abs((WHOLE.w[rows] == label).sum() - share) <= 1


@pytest.mark.parametrize("most", [200, 201, 10**6])
def test_few_rows_are_all_spread_rows(most):
    assert np.array_equal(WHOLE.spread_rows(most), np.arange(200))


def test_spread_rows_are_spread_over_the_logits_too():
    largest = WHOLE.logits.max(axis=1)
    right = WHOLE.correct & (WHOLE.y == 1)
    chosen = np.isin(np.arange(200), WHOLE.spread_rows(50)) & right
    assert np.median(largest[chosen]) == pytest.approx(np.median(largest[right]), abs=0.3)


# Bundles --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_bundle_gives_the_same_bits_back(tmp_path, dtype):
    whole = random_predictions(dtype=dtype)
    whole.save(tmp_path / "bundle.npz")
    loaded = Predictions.load(tmp_path / "bundle.npz")
    assert loaded.logits.dtype == dtype
    assert np.array_equal(loaded.logits, whole.logits)
    assert np.array_equal(loaded.y, whole.y)


def test_half_stores_float16_and_gives_float32_back(tmp_path):
    WHOLE.save(tmp_path / "half.npz", half=True)
    loaded = Predictions.load(tmp_path / "half.npz")
    assert loaded.logits.dtype == np.float32
    assert np.array_equal(loaded.logits, WHOLE.logits.astype(np.float16))
    with np.load(tmp_path / "half.npz") as arrays:
        assert arrays["logits"].dtype == np.float16


def test_saving_again_replaces_the_file_and_leaves_nothing_else(tmp_path):
    path = str(tmp_path / "bundle.npz")
    WHOLE.save(path)
    Predictions(np.eye(2), [0, 1]).save(path)
    assert len(Predictions.load(path)) == 2
    assert [file.name for file in tmp_path.iterdir()] == ["bundle.npz"]


@pytest.fixture
def checks(monkeypatch):
    """Count how often the arrays of samples are checked."""
    counted = []
    for name in ("as_logits", "as_y", "as_features"):
        check = getattr(predictions, name)
        monkeypatch.setattr(predictions, name, lambda *a, f=check, n=name, **b: (counted.append(n), f(*a, **b))[1])
    return counted


def test_samples_are_checked_once_and_their_parts_are_trusted(checks):
    rng = np.random.default_rng(0)
    whole = Predictions(rng.normal(size=(50, 3)), rng.integers(-1, 3, size=50), rng.normal(size=(50, 2)))
    assert checks == ["as_logits", "as_y", "as_features"]
    first, second = whole.split(20, 30, random_state=0)
    first.joined(second).split_stratified(0.2, random_state=0)
    whole.take(whole.folds(5, random_state=0) == 1).with_class()
    assert len(checks) == 3


def test_no_rows_are_no_part():
    whole = Predictions(np.eye(3), [0, 1, 2])
    with pytest.raises(InvalidInputError, match="at least one row"):
        whole.take(whole.y > 5)
