"""What goes from Arrow to NumPy and back without pyarrow's conversions is what these give; pandas is not imported."""

import subprocess
import sys

import numpy as np
import pytest

import auxcal

pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")

from auxcal.tables.values import from_numpy, matrix_of, nulls_in, to_numpy  # noqa: E402

KINDS = [pa.float16(), pa.float32(), pa.float64(), pa.int8(), pa.int64(), pa.uint16(), pa.uint64()]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("missing", [False, True])
def test_numbers(kind, missing):
    values = [np.float16(value) if kind == pa.float16() else value for value in range(20)]
    if missing:
        values[3] = values[11] = None
    whole = pa.array(values, kind)
    for array in (whole, whole[3:17], whole[5:5], whole[4:9]):
        expected = array.to_numpy(zero_copy_only=False)
        np.testing.assert_array_equal(to_numpy(array), expected)
        np.testing.assert_array_equal(nulls_in(array), array.is_null().to_numpy(zero_copy_only=False))
        if not array.null_count:
            assert to_numpy(array).dtype == expected.dtype


@pytest.mark.parametrize("array", [pa.array(["a", None]), pa.array([True, None, False]), pa.nulls(3), pa.array([])])
def test_other_values(array):
    assert to_numpy(array).tolist() == array.to_numpy(zero_copy_only=False).tolist()
    assert nulls_in(array).tolist() == array.is_null().to_pylist()


@pytest.mark.parametrize(
    "values",
    [
        np.arange(10, dtype=np.float32),
        np.arange(20)[::2],
        np.arange(3) > 1,
        np.array(["a", "", None, "ß€"], dtype=object),
        np.array(["a", "bc"]),
        np.array(["2026-11-17"], dtype="datetime64[s]"),
        np.empty(0, dtype=object),
    ],
    ids=lambda values: f"{type(values).__name__}-{values.dtype}-{len(values)}",
)
def test_back_to_arrow(values):
    try:
        expected = pa.array(values)
    except pa.ArrowException as error:
        with pytest.raises(type(error)):
            from_numpy(values)
        return
    found = from_numpy(values)
    assert found.to_pylist() == expected.to_pylist()
    assert found.type == (pa.string() if not len(values) else expected.type)
    found.validate(full=True)


@pytest.mark.parametrize("values", [[1.5, 2.5, 3.5], [True, False, True], [1, 2, 3]])
def test_missing_values_are_null(values):
    found = from_numpy(np.array(values), np.array([False, True, False]))
    assert found.to_pylist() == [values[0], None, values[2]]
    found.validate(full=True)


def test_numbers_of_another_byte_order():
    assert from_numpy(np.array([1, 2**60], dtype=">i8")).to_pylist() == [1, 2**60]


def test_a_date_that_is_too_far_away_is_no_other_date():
    with pytest.raises(pa.ArrowInvalid, match="too far away"):
        from_numpy(np.array([2**40, 0]).astype("M8[D]"))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_keep_their_unit(unit):
    far = [2**62, None, -(2**62), 0]
    for kind in (pa.timestamp(unit), pa.duration(unit)):
        found = to_numpy(pa.array(far, kind).slice(1))
        assert found.dtype == f"{'m' if pa.types.is_duration(kind) else 'M'}8[{unit}]"
        assert np.isnat(found).tolist() == [True, False, False]
        assert found[1:].astype(np.int64).tolist() == far[2:]


def test_scoring_a_table_does_not_import_pandas(tmp_path):
    """Every process that scores would pay for it."""
    pytest.importorskip("pandas")
    logits = np.random.default_rng(0).normal(size=(90, 3))
    fitted = auxcal.Uncalibrated().fit(logits, logits.argmax(axis=1), class_names=["a", "b", "c"])
    fitted.save(tmp_path / "cal.safetensors")
    pq.write_table(pa.table({"id": range(90), "logits": [None, *logits[1:].tolist()]}), tmp_path / "a.parquet")
    code = (
        "import auxcal, sys, warnings; from auxcal.tables import score_table; warnings.simplefilter('ignore'); "
        "score_table(auxcal.load('cal.safetensors'), 'a.parquet', out='b.parquet'); print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_the_rows_of_a_matrix_are_lists_and_come_back_without_a_copy():
    matrix = np.arange(12, dtype=np.float32).reshape(4, 3)
    lists = from_numpy(matrix)
    lists.validate(full=True)
    assert lists.type == pa.list_(pa.float32(), 3)
    back, problems = matrix_of(lists, "logits")
    assert back.dtype == np.float32
    assert np.shares_memory(back, matrix)
    assert not problems.any()
    assert np.array_equal(matrix_of(lists[1:3], "logits")[0], matrix[1:3])
