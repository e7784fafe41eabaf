"""Any array in, checked NumPy out: the same values whatever they come in, and no copy that is not needed."""

import re
import subprocess
import sys

import numpy as np
import pytest

from auxcal import NO_CLASS, InvalidInputError
from auxcal._core.arrays import as_confidence, as_correct, as_features, as_logits, to_numpy
from auxcal._core.labels import as_y

# Multiples of 1/8 are exact in every float type, half and bfloat16 too.
LOGITS = np.random.default_rng(0).integers(-40, 40, size=(12, 3)) / 8
Y = np.random.default_rng(1).integers(-1, 3, size=12)
CONFIDENCE = np.arange(12) / 16
CORRECT = np.arange(12) % 3 > 0
FEATURES = np.random.default_rng(2).integers(-40, 40, size=(12, 1)) / 8

CHECKS = {
    "logits": (as_logits, LOGITS),
    "y": (lambda y: as_y(y, n_rows=12, n_classes=3), Y),
    "confidence": (as_confidence, CONFIDENCE),
    "features": (lambda features: as_features(features, n_rows=12), FEATURES),
    "correct": (lambda correct: as_correct(correct, n_rows=12), CORRECT),
}
of_every_argument = pytest.mark.parametrize(("check", "values"), CHECKS.values(), ids=CHECKS.keys())
of_floats = pytest.mark.parametrize(("check", "values"), [CHECKS["logits"], CHECKS["confidence"], CHECKS["features"]])


@of_every_argument
def test_a_list_is_an_array(check, values):
    assert np.array_equal(check(values.tolist()), values)


@of_every_argument
def test_numpy_is_not_copied(check, values):
    values = values.astype(np.intp) if values.dtype.kind == "i" else values
    assert np.shares_memory(check(values), values)


@of_every_argument
def test_a_view_with_strides_is_fine(check, values):
    spaced = np.repeat(values, 2, axis=0)[::2]
    assert not spaced.flags.c_contiguous
    assert np.array_equal(check(spaced), values)


@pytest.mark.parametrize("check", [as_logits, lambda features: as_features(features, n_rows=12)])
def test_the_rows_of_a_matrix_are_in_one_piece(check):
    columns = np.asfortranarray(LOGITS)
    assert np.array_equal(check(columns), LOGITS)
    assert check(columns).flags.c_contiguous
    assert check(np.repeat(LOGITS, 2, axis=1)[:, ::2]).flags.c_contiguous


@of_every_argument
def test_a_read_only_array_is_fine(check, values):
    locked = values.copy()
    locked.flags.writeable = False
    assert np.array_equal(check(locked), values)


@of_every_argument
def test_a_torch_tensor_is_an_array_without_a_copy(check, values):
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(values)
    assert np.shares_memory(check(tensor), values)


@of_floats
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_torch_floats_of_any_type_give_the_same_values(check, values, dtype, requires_grad):
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(values, dtype=getattr(torch, dtype), requires_grad=requires_grad)
    got = check(tensor)
    assert np.array_equal(got, values)
    assert got.dtype == (np.float64 if dtype == "float64" else np.float32)
    assert tensor.requires_grad == requires_grad


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_torch_integers_of_any_type_give_the_same_y(dtype):
    torch = pytest.importorskip("torch")
    assert np.array_equal(CHECKS["y"][0](torch.tensor(Y, dtype=getattr(torch, dtype))), Y)


def test_torch_tensors_that_are_not_contiguous_are_fine():
    torch = pytest.importorskip("torch")
    assert np.array_equal(as_logits(torch.tensor(LOGITS.T.copy()).T), LOGITS)


def test_a_list_of_torch_rows_is_an_array_with_or_without_grad():
    torch = pytest.importorskip("torch")
    assert np.array_equal(as_logits([torch.tensor(row) for row in LOGITS]), LOGITS)
    assert np.array_equal(as_logits([torch.tensor(row, requires_grad=True) for row in LOGITS]), LOGITS)


def test_pandas_is_fine():
    pandas = pytest.importorskip("pandas")
    assert np.array_equal(as_logits(pandas.DataFrame(LOGITS)), LOGITS)
    for name, values in (("y", Y), ("confidence", CONFIDENCE), ("correct", CORRECT)):
        assert np.array_equal(CHECKS[name][0](pandas.Series(values)), values)


@of_floats
@pytest.mark.parametrize(("given", "kept"), [("f2", "f4"), ("f4", "f4"), ("f8", "f8"), (">f4", "f4"), (">f8", "f8")])
def test_floats_keep_their_precision_and_half_becomes_single(check, values, given, kept):
    got = check(values.astype(given))
    assert got.dtype == np.dtype(kept)
    assert np.array_equal(got, values)


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8", "u2"])
def test_whole_numbers_are_logits_too(dtype):
    whole = np.abs(LOGITS).round().astype(dtype)
    assert as_logits(whole).dtype == np.float64
    assert np.array_equal(as_logits(whole), whole)


@pytest.mark.parametrize("dtype", ["u1", "u4", "u8", "i1", "i8"])
def test_y_may_be_integers_of_any_type(dtype):
    y = np.abs(Y).astype(dtype)
    checked = as_y(y, n_rows=12, n_classes=3)
    assert checked.dtype == np.intp
    assert np.array_equal(checked, y)


@pytest.mark.parametrize("dtype", [bool, int, np.uint8, float, np.float32])
def test_correct_may_be_0_and_1_of_any_type(dtype):
    checked = as_correct(CORRECT.astype(dtype), n_rows=12)
    assert checked.dtype == np.bool_
    assert np.array_equal(checked, CORRECT)


def test_logits_that_look_like_probabilities_stay_what_they_are():
    probabilities = np.full((4, 2), 0.5)
    assert as_logits(probabilities) is probabilities


def test_to_numpy_gives_numpy_itself_back():
    assert to_numpy(LOGITS, "logits") is LOGITS


@pytest.mark.needs("torch")  # which could be imported
def test_torch_is_recognised_but_never_imported():
    code = (
        "import sys; from auxcal._core.arrays import as_logits; as_logits([[1.0, 2.0]]);"
        "sys.exit('torch' in sys.modules or 'jax' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_hint_for_labels_that_are_missing_keeps_the_other_rows():
    """NaN as an integer is out of range, and NO_CLASS in its place would count an unknown row as wrong."""
    y = np.array([0.0, np.nan, 1.0])
    with pytest.raises(InvalidInputError, match=r"known = np.isfinite\(np.asarray\(y, float\)\), then logits\[known\]"):
        as_y(y, n_rows=3, n_classes=2)
    known = np.isfinite(np.asarray(y, float))
    assert as_y(np.asarray(y)[known].astype(int), n_rows=2, n_classes=2).tolist() == [0, 1]
    with pytest.raises(InvalidInputError, match=r"0\.5 is no index"):
        as_y(np.array([0.5, 1.0]), n_rows=2, n_classes=2)


def test_the_hint_for_one_hot_labels_knows_rows_of_no_class():
    y = np.array([[0, 1], [1, 0], [0, 0]])
    hint = "np.where(y.any(axis=1), y.argmax(axis=1), -1)"
    with pytest.raises(InvalidInputError, match=re.escape(hint)):
        as_y(y, n_rows=3, n_classes=2)
    followed = np.where(y.any(axis=1), y.argmax(axis=1), -1)
    assert as_y(followed, n_rows=3, n_classes=2).tolist() == [1, 0, NO_CLASS]


def test_the_hint_for_a_matrix_of_confidences_does_not_take_the_largest_probability():
    """Of vector scaling and its kin, the largest calibrated probability may be that of another class."""
    with pytest.raises(InvalidInputError, match=r"predict_confidence\(logits\)\.$"):
        as_confidence(np.full((3, 2), 0.5))


@pytest.mark.parametrize("correct", [[True, None, False], [1.0, np.nan, 0.0]])
def test_a_missing_correct_is_named_and_never_taken_for_wrong(correct):
    with pytest.raises(InvalidInputError, match="missing in 1, first in row 1"):
        as_correct(correct, n_rows=3)


@pytest.mark.parametrize("dtype", ["boolean", "Int64", "object"])
def test_what_pandas_does_not_know_is_a_missing_correct(dtype):
    pandas = pytest.importorskip("pandas")
    with pytest.raises(InvalidInputError, match="missing in 1, first in row 1"):
        as_correct(pandas.Series([1, pandas.NA, 0], dtype=dtype), n_rows=3)


def test_booleans_of_a_column_of_objects_are_booleans():
    assert as_correct(np.array([True, False], dtype=object), n_rows=2).tolist() == [True, False]
