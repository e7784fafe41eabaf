"""Columns beside the logits keep their values, from any format to any other; what can't be kept is an error."""

import datetime
import decimal
import json

import numpy as np
import pytest

from auxcal import InvalidInputError, Uncalibrated
from auxcal.tables import pick_file, score_table

from .conftest import pa, pq

LOGITS = np.random.default_rng(0).normal(size=(3, 3)).round(3)
CALIBRATOR = Uncalibrated().fit(LOGITS, [0, 1, 2])
DAY, LAST = datetime.date(2024, 5, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)
BIG = 2**53 + 1


def write(path, column):
    if path.suffix == ".npz":
        np.savez(path, logits=LOGITS, x=column)
    else:
        pq.write_table(pa.table({"logits": LOGITS.tolist(), "x": column}), path)
    return path


def passed(tmp_path, column, ending, source=".parquet"):
    """Return a column after it went through a file."""
    out = tmp_path / f"out{ending}"
    score_table(CALIBRATOR, write(tmp_path / f"in{source}", column), out=out)
    if ending == ".parquet":
        return pq.read_table(out)["x"].to_pylist()
    if ending == ".npz":
        with np.load(out) as arrays:
            return arrays["x"]
    return [line.split(",")[0].strip('"') for line in out.read_text().splitlines()[1:]]


# What is written, its type, and what becomes of it as text and in NumPy.
COLUMNS = {
    "whole numbers": ([BIG, -1, 0], "int64", [str(BIG), "-1", "0"], [BIG, -1, 0]),
    "floats": ([16777217.0, 0.1, None], "float64", ["16777217", "0.1", ""], [16777217.0, 0.1, np.nan]),
    "decimals": ([decimal.Decimal("1.10"), None, None], "decimal128(5, 2)", ["1.10", "", ""], ["1.10", "", ""]),
    "dates": ([DAY, None, datetime.date(1, 1, 1)], "date32", ["2024-05-01", "", "0001-01-01"], None),
    "times": ([LAST, None, None], "timestamp('us')", ["9999-12-31 23:59:59.999999", "", ""], None),
    "with a zone": (
        [0, None, 1],
        "timestamp('ms', 'UTC')",
        ["1970-01-01 00:00:00.000Z", "", "1970-01-01 00:00:00.001Z"],
        1,
    ),
    "times of the day": ([1, None, 0], "time64('ns')", ["00:00:00.000000001", "", "00:00:00.000000000"], 1),
    "durations": ([2**62, 1, None], "duration('us')", [f"{2**62} us", "1 us", ""], None),
    "text": (["a", "", None], "large_string", ["a", "", ""], 1),
    "views of text": (
        ["a", "longer than what is kept in place", None],
        "string_view",
        ["a", "longer than what is kept in place", ""],
        1,
    ),
    "bytes": ([b"a", b"", None], "binary", ["a", "", ""], 1),
    "categories": (["a", "b", None], "dictionary(pa.int8(), pa.string())", ["a", "b", ""], 1),
    "whether": ([True, False, None], "bool_", ["true", "false", ""], 1),
}


@pytest.mark.needs("tables")
@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_of_parquet(kind, tmp_path):
    values, name, text, array = COLUMNS[kind]
    if "ns" in name:
        pytest.importorskip("pandas")  # in whose types pyarrow gives nanoseconds
    if "(" not in name:
        name += "()"
    column = pa.array(values, eval(f"pa.{name}", {"pa": pa}))
    assert passed(tmp_path, column, ".parquet") == column.to_pylist()
    assert passed(tmp_path, column, ".csv") == text
    found = passed(tmp_path, column, ".npz")
    if found.dtype.kind in "mM":
        assert np.isnat(found).tolist() == [value is None for value in values]
        assert pa.array(found).cast(column.type).equals(column)
    else:
        np.testing.assert_array_equal(found, text if array == 1 else array)


ARRAYS = {
    "dates": (np.array(["2024-05-01", "NaT", "1970-01-01"], "M8[D]"), ["2024-05-01", "", "1970-01-01"]),
    "far dates": (np.array([2**40, 0, 0]).astype("M8[D]"), None),
    "far times": (np.array([2**60, 0, 0]).astype("M8[s]"), None),
    "durations": (np.array([90, 2**36, "NaT"], "m8[s]"), ["90 s", f"{2**36} s", ""]),
    "another byte order": (np.array([BIG, 1, 2], ">i8"), [str(BIG), "1", "2"]),
    "long floats": (np.array([1, 2, 3], np.longdouble), None),
    "no text": (np.array([b"\xff", b"a", b"b"]), None),
}
UNWRITABLE = {
    "far dates": (".parquet", ".csv", ".npz"),
    "far times": (".parquet", ".csv"),
    "long floats": (".parquet", ".csv", ".npz"),
    "no text": (".csv", ".npz"),
}


@pytest.mark.needs("tables")
@pytest.mark.parametrize("kind", ARRAYS)
@pytest.mark.parametrize("ending", [".csv", ".npz", ".parquet"])
def test_an_array(kind, ending, tmp_path):
    column, text = ARRAYS[kind]
    if ending in UNWRITABLE.get(kind, ()):
        with pytest.raises(InvalidInputError):
            passed(tmp_path, column, ending, ".npz")
        assert not (tmp_path / f"out{ending}").exists()
        return
    found = passed(tmp_path, column, ending, ".npz")
    if ending == ".csv":
        assert found == text
    else:
        assert np.asarray(found, column.dtype).tolist() == column.tolist()


@pytest.mark.needs("tables")
@pytest.mark.parametrize("far", [2**50, -(2**50)])
def test_a_time_that_is_too_far_away_is_no_text(far, tmp_path):
    with pytest.raises(
        InvalidInputError, match=r"'x' has times that are too far away to be written as text\. Write \.par"
    ):
        passed(tmp_path, pa.array([far, 0, 0], pa.timestamp("s")), ".csv")


@pytest.mark.needs("tables")
def test_an_id_of_bytes_is_not_taken_for_text(tmp_path):
    column = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0" * 16] * 3, pa.binary(16)))
    with pytest.raises(InvalidInputError, match=r"only \.parquet holds .*uuid.*, such as those of 'x'"):
        passed(tmp_path, column, ".csv")


def test_numbers_that_no_tensor_holds(tmp_path):
    with pytest.raises(InvalidInputError, match=r"the array 'x' of .* is no column of a table"):
        passed(tmp_path, np.array([1, 2, 3], np.longdouble), ".safetensors", ".npz")


@pytest.mark.needs("tables")
def test_views_of_text_are_picked_and_left_out(tmp_path):
    column = pa.array(["a", "b", "c"], pa.string_view())
    pick_file(None, write(tmp_path / "in.parquet", column), out=tmp_path / "picked.parquet", n=2)
    assert set(pq.read_table(tmp_path / "picked.parquet")["x"].to_pylist()) < set("abc")
    lists = [LOGITS[0].tolist(), None, LOGITS[2].tolist()]
    pq.write_table(pa.table({"logits": lists, "x": column}), tmp_path / "bad.parquet")
    with pytest.warns(match="1 bad row"):
        score_table(CALIBRATOR, tmp_path / "bad.parquet", out=tmp_path / "out.parquet", on_bad_rows="skip")
    assert pq.read_table(tmp_path / "out.parquet")["x"].to_pylist() == ["a", "c"]


@pytest.mark.needs("tables")
@pytest.mark.parametrize("view", ["list_view", "large_list_view"])
def test_views_of_lists_are_lists_in_text(view, tmp_path):
    lists, out = [[1, 2], None, [3]], tmp_path / "out.jsonl"
    column = pa.array(lists, getattr(pa, view)(pa.int64()))
    try:
        path = write(tmp_path / "in.parquet", column)
    except pa.ArrowNotImplementedError:
        pytest.skip("this pyarrow writes no views of lists")
    score_table(CALIBRATOR, path, out=out)
    assert [json.loads(line)["x"] for line in out.read_text().splitlines()] == lists


def test_json_that_is_nested_too_deeply_to_be_written_is_refused(tmp_path):
    (tmp_path / "in.jsonl").write_text('{"logits": [1, 2, 3], "x": ' + "[" * 500 + "]" * 500 + "}")
    with pytest.raises(InvalidInputError, match="'x' is nested too deeply"):
        score_table(CALIBRATOR, tmp_path / "in.jsonl", out=tmp_path / "out.jsonl")


# Parts of one table ---------------------------------------------------------------------------------------------------

NAIVE, ZONED = "timestamp('us')", "timestamp('us', 'UTC')"
PAIRS = [
    ([1.0] * 3, "float32()", [16777217.0] * 3, "float64()"),
    ([1.0] * 3, "float64()", [BIG] * 3, "int64()"),
    ([1] * 3, "int64()", ["007"] * 3, "string()"),
    ([True] * 3, "bool_()", [2] * 3, "int64()"),
    ([0.1] * 3, "float64()", [decimal.Decimal("12345678901234567890.12")] * 3, "decimal128(30, 2)"),
    ([0] * 3, ZONED, [0] * 3, NAIVE),
    ([0] * 3, NAIVE, [0] * 3, ZONED),
    ([0] * 3, "timestamp('ms')", [1] * 3, "timestamp('us')"),
]


@pytest.mark.needs("tables")
@pytest.mark.parametrize("ending", [".csv", ".npz", ".parquet"])
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[3]} after {pair[1]}")
def test_parts_of_types_that_differ_are_not_joined_at_a_loss(pair, ending, tmp_path):
    for place, (values, name) in enumerate((pair[:2], pair[2:])):
        write(tmp_path / f"{place}.parquet", pa.array(values, eval(f"pa.{name}", {"pa": pa})))
    with pytest.raises(
        InvalidInputError, match=r"1\.parquet: the column 'x' holds .* in the first part .*the same type"
    ):
        score_table(CALIBRATOR, tmp_path / "*.parquet", out=tmp_path / f"out{ending}")
    assert not (tmp_path / f"out{ending}").exists()


@pytest.mark.needs("tables")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("float64()", "float32()"),
        ("int64()", "float64()"),
        (ZONED, "timestamp('s', 'Europe/Berlin')"),
        ("float32()", "float64()"),
    ],
)
def test_parts_of_types_that_differ_are_joined_without_a_loss(first, second, tmp_path):
    kinds = [eval(f"pa.{name}", {"pa": pa}) for name in (first, second)]
    for place, kind in enumerate(kinds):
        write(tmp_path / f"{place}.parquet", pa.array([1, None, 3], kind))
    score_table(CALIBRATOR, tmp_path / "*.parquet", out=tmp_path / "out.parquet")
    found = pq.read_table(tmp_path / "out.parquet")["x"]
    assert found.type == kinds[0]
    assert found.slice(3).cast(kinds[1]).to_pylist() == pa.array([1, None, 3], kinds[1]).to_pylist()


@pytest.mark.parametrize("ending", [".npz", pytest.param(".parquet", marks=pytest.mark.needs("tables"))])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.array([BIG] * 3), np.array([0.5] * 3)),
        (np.array([1] * 3), np.array([2**64 - 1] * 3, np.uint64)),
        (np.array(["2024-05-01"] * 3, "M8[ns]"), np.array(["9999-01-01"] * 3, "M8[D]")),
        (np.array([1] * 3), np.array(["a"] * 3)),
    ],
    ids=["large numbers and floats", "with a sign and without", "units of time", "numbers and text"],
)
def test_arrays_of_types_that_differ_are_not_joined_at_a_loss(first, second, ending, tmp_path):
    for place, column in enumerate((first, second)):
        write(tmp_path / f"{place}.npz", column)
    with pytest.raises(InvalidInputError, match=r"the column 'x' holds .* the same type in all parts"):
        score_table(CALIBRATOR, tmp_path / "?.npz", out=tmp_path / f"out{ending}")


def test_arrays_of_types_that_differ_are_joined_without_a_loss(tmp_path):
    for place, column in enumerate((np.array([1.0, 2, 3]), np.array([1, np.nan, 3]), np.float32([1, 2, 3]))):
        write(tmp_path / f"{place}.npz", column)
    score_table(CALIBRATOR, tmp_path / "?.npz", out=tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as arrays:
        np.testing.assert_array_equal(arrays["x"], [1, 2, 3, 1, np.nan, 3, 1, 2, 3])
