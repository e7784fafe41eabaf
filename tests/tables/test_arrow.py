"""Arrow in, scores out: what predict_confidence gives for the good rows, null and a count for the others."""

import numpy as np
import pyarrow as pa
import pytest

import auxcal
from auxcal import InvalidInputError
from auxcal.arrow import BadRows, score

NAMES = ["cat", "dog", "bird"]
KINDS = {
    "list": pa.list_(pa.float32()),
    "large list": pa.large_list(pa.float32()),
    "fixed-size list": pa.list_(pa.float32(), 3),
}


@pytest.fixture(scope="module")
def logits():
    rng = np.random.default_rng(0)
    return rng.normal(size=(600, 3), scale=3).astype(np.float32)


@pytest.fixture(scope="module")
def calibrator(logits):
    y = (logits + np.random.default_rng(1).gumbel(size=logits.shape)).argmax(axis=1)
    return auxcal.CCACX().fit(logits, y)


@pytest.fixture(scope="module")
def named(logits):
    return auxcal.PlattScaling().fit(logits, logits.argmax(axis=1), class_names=NAMES)


def check(scores, calibrator, logits, bad=()):
    """Compare with predict_confidence; the rows in `bad` must be null."""
    good = np.setdiff1d(np.arange(len(logits)), bad)
    null = np.flatnonzero(scores.confidence.is_null().to_numpy(zero_copy_only=False))
    assert null.tolist() == sorted(bad) == np.flatnonzero(np.array(scores.prediction.to_pylist()) == None).tolist()  # noqa: E711
    confidence = np.array(scores.confidence.to_pylist())[good].astype(float)
    assert np.abs(confidence - calibrator.predict_confidence(logits[good])).max() < 1e-6
    assert np.array(scores.prediction.to_pylist())[good].tolist() == logits[good].argmax(axis=1).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_lists_of_every_kind_whole_sliced_and_chunked(kind, logits, calibrator):
    rows = pa.array(logits.tolist(), KINDS[kind])
    check(score(rows, calibrator), calibrator, logits)
    check(score(rows[17:301], calibrator), calibrator, logits[17:301])
    chunked = pa.chunked_array([rows[:10], rows[:0], rows[10:500], rows[500:]])
    scores = score(chunked, calibrator)
    assert [len(chunk) for chunk in scores.confidence.chunks] == [10, 0, 490, 100]
    check(scores, calibrator, logits)


@pytest.mark.parametrize("number", [pa.float16(), pa.float64(), pa.int8(), pa.uint32(), pa.decimal128(21, 2)])
def test_numbers_of_every_kind(number, logits, calibrator):
    whole = np.abs(np.rint(logits))
    rows = pa.array(whole.astype(np.int64).tolist(), pa.list_(pa.int64())).cast(pa.list_(number))
    check(score(rows, calibrator), calibrator, whole.astype(np.float64))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("offset", [0, 3])
def test_bad_rows_are_null_and_counted(kind, offset, logits, calibrator):
    rows = logits.astype(np.float64).tolist()
    rows[5], rows[9][1], rows[11][0], rows[12][2], rows[13][0] = None, None, np.nan, -np.inf, 1e30
    bad, width = [5, 9, 11, 12, 13], 0
    if kind != "fixed-size list":
        rows[20], rows[21], rows[22] = rows[20][:2], rows[21] + [1.0], []
        bad, width = [*bad, 20, 21, 22], 3
    scores = score(pa.array(rows, KINDS[kind])[offset:], calibrator)
    assert scores.bad == BadRows(null=2, width=width, nan=3)
    check(scores, calibrator, logits[offset:], bad=[row - offset for row in bad])


def test_lists_of_two_and_four_never_become_two_rows_of_three(logits, calibrator):
    ragged = pa.array([[1.0, 2.0], [3.0, 4.0, 5.0, 6.0]])
    scores = score(ragged, calibrator)
    assert scores.bad == BadRows(width=2)
    assert scores.confidence.null_count == 2


def test_lists_that_are_null_can_have_values_underneath(logits, calibrator):
    flat = pa.array(logits[:4].ravel())
    mask = pa.array([False, True, False, False])
    rows = pa.ListArray.from_arrays(pa.array([0, 3, 6, 9, 12], pa.int32()), flat, mask=mask)
    scores = score(rows, calibrator)
    assert scores.bad == BadRows(null=1)
    check(scores, calibrator, logits[:4], bad=[1])
    fixed = pa.FixedSizeListArray.from_arrays(flat, 3, mask=mask)
    check(score(fixed[1:], calibrator), calibrator, logits[1:4], bad=[0])


@pytest.mark.parametrize("kind", [*KINDS.values(), pa.null(), pa.list_(pa.null())])
def test_no_rows_and_rows_that_are_all_bad(kind, calibrator):
    empty = score(pa.array([], kind), calibrator)
    assert len(empty.prediction) == len(empty.confidence) == empty.bad.total == 0
    nothing = score(pa.array([None, None], kind), calibrator)
    assert nothing.bad == BadRows(null=2)
    assert nothing.prediction.type == pa.int64()


def test_a_table_with_a_list_column_or_the_columns_of_the_fit(logits):
    names = ["a", "b", "c"]
    columns = {name: logits[:, k] for k, name in enumerate(names)}
    fitted = auxcal.PlattScaling().fit(logits, logits.argmax(axis=1))
    table = pa.table({"id": np.arange(600), "prediction": ["old"] * 600} | columns)
    scores = score(table, fitted, columns=names)
    check(scores, fitted, logits)
    beside = scores.beside(table)
    assert beside.column_names == ["id", "a", "b", "c", "prediction", "confidence"]
    lists = pa.table({"logits": pa.array(logits.tolist(), pa.list_(pa.float32()))})
    check(score(lists, fitted), fitted, logits)
    check(score(lists.to_batches()[0], fitted), fitted, logits)
    assert len(score(lists[:0], fitted).confidence) == 0
    missing = score(pa.table({"a": [None, 1.0], "b": [1.0, 2.0], "c": [1.0, float("nan")]}), fitted, columns=names)
    assert missing.bad == BadRows(null=1, nan=1)


def test_columns_are_taken_by_the_names_of_the_fit(logits):
    class Frame:
        columns = ("a", "b", "c")

        def __array__(self, dtype=None, copy=None):
            return logits

    fitted = auxcal.PlattScaling().fit(Frame(), logits.argmax(axis=1))
    shuffled = pa.table({"c": logits[:, 2], "id": np.arange(600), "a": logits[:, 0], "b": logits[:, 1]})
    check(score(shuffled, fitted), fitted, logits)


def test_names_of_classes_unless_indices_are_asked_for(logits, named):
    rows = pa.array([*logits[:3].tolist(), None])
    predicted = logits[:3].argmax(axis=1)
    assert score(rows, named).prediction.to_pylist() == [*(NAMES[k] for k in predicted), None]
    assert score(rows, named, names=False).prediction.to_pylist() == [*predicted, None]


def test_probabilities_that_are_none_are_bad_rows(logits):
    proba = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    fitted = auxcal.PlattScaling().fit(proba, logits.argmax(axis=1), probabilities=True)
    rows = [*proba[:4].tolist(), [0.5, 0.6, 0.7], [float("nan"), 0.5, 0.5], None]
    scores = score(pa.table({"proba": rows}), fitted)
    assert scores.bad == BadRows(null=1, nan=1, no_probabilities=1)
    assert np.allclose(scores.confidence.to_pylist()[:4], fitted.predict_confidence(proba[:4]))


def test_features_of_the_rows(featured, featured_platt):
    fitted = featured_platt().fit(featured.logits, featured.y, features=featured.features)
    rows, features = pa.array(featured.logits.tolist()), featured.features.astype(np.float64).tolist()
    features[3], features[4], features[5][0] = None, [1.0], np.nan
    of_rows = pa.array(features)
    scores = score(rows, fitted, features=of_rows)
    assert scores.bad == BadRows(null=1, width=1, nan=1)
    expected = fitted.predict_confidence(featured.logits, featured.features)
    assert np.allclose(scores.confidence.to_pylist()[6:], expected[6:])
    table = pa.table({"logits": rows, "features": of_rows})
    assert score(table, fitted).confidence.to_pylist() == scores.confidence.to_pylist()
    with pytest.raises(InvalidInputError, match="fitted with 2 features"):
        score(rows, fitted)


def test_a_tensor_column_is_read_as_what_it_is_stored_as(logits, calibrator):
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(logits)
    check(score(tensors[5:], calibrator), calibrator, logits[5:])
    check(score(pa.table({"logits": tensors}), calibrator), calibrator, logits)


def test_what_are_no_logits_is_refused(logits, calibrator):
    for rows in (pa.array([1.0, 2.0]), pa.array([["a", "b", "c"]])):
        with pytest.raises(InvalidInputError, match="numbers"):
            score(rows, calibrator)
    with pytest.raises(InvalidInputError, match="pyarrow"):
        score(logits, calibrator)
    with pytest.raises(InvalidInputError, match="logit_0"):
        score(pa.table({"a": [1.0]}), calibrator)
    with pytest.raises(auxcal.NotFittedError):
        score(pa.array([[1.0, 2.0]]), auxcal.PlattScaling())
    with pytest.warns(auxcal.InputWarning, match="look"):
        score(pa.array([[0.2, 0.3, 0.5]]), calibrator)
