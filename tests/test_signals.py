"""Tables of signals: what a column is, and what is said of tables that don't fit."""

import numpy as np
import pytest

from auxcal import InvalidInputError
from auxcal.signals import LARGEST, UNSEEN, SignalColumns

pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))

TABLE = {"verbal": [0.9, None, 0.5], "words": [10, 20, 30], "cited": [True, None, False], "topic": ["law", None, "art"]}
CODES = [[0.9, 10, 1, 1], [np.nan, 20, np.nan, np.nan], [0.5, 30, 0, 0]]


def frames():
    polars = pl.DataFrame(TABLE)
    nullable = pd.DataFrame(TABLE).astype({"cited": "boolean", "topic": "category"})
    return {
        "mapping": TABLE,
        "pandas": pd.DataFrame(TABLE),
        "pandas with nullable types": nullable,
        "polars": polars,
        "polars with categories": polars.with_columns(pl.col("topic").cast(pl.Categorical)),
        "Arrow": pa.table(TABLE),
        "mapping of arrays": {name: np.array(column) for name, column in TABLE.items()},
    }


@pytest.mark.parametrize("kind", frames())
def test_every_kind_of_table_gives_the_same_numbers(kind):
    columns = SignalColumns.of(frames()[kind])
    assert columns.kinds == ("number", "number", "number", "category")
    assert columns.levels == ((), (), (), ("art", "law"))
    np.testing.assert_array_equal(columns.encode(frames()[kind]), CODES)
    np.testing.assert_array_equal(columns.encode(TABLE), CODES)


def test_arrays_have_columns_by_place():
    columns = SignalColumns.of(np.eye(3))
    assert columns.names == ("signal 0", "signal 1", "signal 2")
    assert SignalColumns.of([0.5, 0.25]).names == ("signal 0",)
    with pytest.raises(InvalidInputError, match=r"array of shape \(n, 3\)"):
        columns.encode(np.eye(2))


def test_columns_are_found_by_name_in_any_order_among_others():
    columns = SignalColumns.of(TABLE)
    turned = {"date": ["2024", "2025", "2026"], **dict(reversed(TABLE.items()))}
    np.testing.assert_array_equal(columns.encode(turned), CODES)


def test_a_missing_column_is_named_with_what_it_may_be_called_now():
    columns = SignalColumns.of(TABLE)
    with pytest.raises(InvalidInputError, match=r"no 'verbal' \(did you mean 'verbals'\?\)"):
        columns.encode({"verbals": TABLE["verbal"], **{name: TABLE[name] for name in ("words", "cited", "topic")}})


def test_new_levels_and_infinities_have_codes():
    columns = SignalColumns.of(TABLE)
    found = columns.encode({**TABLE, "topic": ["maths", "law", None], "words": [np.inf, -np.inf, 1.0]})
    np.testing.assert_array_equal(found[:, 3], [UNSEEN, 1, np.nan])
    np.testing.assert_array_equal(found[:, 1], [LARGEST, -LARGEST, 1])


def test_integers_beyond_float64_are_infinite():
    found = SignalColumns.of({"a": [0, 1]}).encode({"a": [10**400, -(10**400), None, 1]})
    np.testing.assert_array_equal(found[:, 0], [LARGEST, -LARGEST, np.nan, 1])


def test_a_column_that_is_all_gaps_may_have_any_type():
    columns = SignalColumns.of(TABLE)
    empty = {**TABLE, "topic": np.full(3, np.nan), "words": [None, None, None]}
    assert np.isnan(columns.encode(empty)[:, [1, 3]]).all()


def test_probabilities_count_by_their_log_odds():
    columns = SignalColumns.of(TABLE, probabilities=["verbal"])
    np.testing.assert_allclose(columns.encode(TABLE)[:, 0], [np.log(9), np.nan, 0], atol=1e-12)
    assert np.isfinite(columns.encode({**TABLE, "verbal": [0.0, 1.0, 0.5]})[:, 0]).all()


@pytest.mark.parametrize(
    ("table", "probabilities", "words"),
    [
        ({"verbal": [95.0, 80.0]}, ["verbal"], r"'verbal' must hold probabilities, from 0 to 1; got 95"),
        ({"topic": ["law", "art"]}, ["topic"], "must hold numbers; it holds text"),
        ({"verbal": [0.5]}, ["verbla"], r"no 'verbla' \(did you mean 'verbal'\?\)"),
        ({"verbal": [0.5]}, "verbal", r"Give \['verbal'\]"),
        ({"a": [1, 2], "b": [1]}, [], "columns of one length"),
        ({}, [], "got none"),
        ({"a": [1.0, "x"]}, [], "got float, str"),
        ({"when": np.array(["2024-01-01"], "datetime64[D]")}, [], "such as the hour of a time"),
        ({"box": np.ones((2, 4))}, [], r"one for each answer; got dtype float64 of shape \(2, 4\)"),
        (np.ones((2, 2, 2)), [], r"an array of shape \(n, d\)"),
    ],
)
def test_what_is_no_table_of_signals_is_refused(table, probabilities, words):
    with pytest.raises(InvalidInputError, match=words):
        SignalColumns.of(table, probabilities).encode(table)


def test_a_column_that_changes_its_type_is_refused():
    columns = SignalColumns.of(TABLE)
    with pytest.raises(InvalidInputError, match="'topic' held text in the fit; now it holds numbers"):
        columns.encode({**TABLE, "topic": [1, 2, 3]})
    with pytest.raises(InvalidInputError, match="'words' held numbers in the fit; now it holds text"):
        columns.encode({**TABLE, "words": ["ten", "twenty", "thirty"]})
