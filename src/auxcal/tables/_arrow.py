"""Columns as pyarrow arrays, for parquet files and the columns passed through from them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auxcal._core.errors import InvalidInputError
from auxcal._core.extras import needs
from auxcal.tables._arrays import check_fits_float
from auxcal.tables._column_values import times_as_text
from auxcal.tables._format import Columns

with needs("tables"):
    import pyarrow as pa

    from auxcal.tables._buffers import from_numpy, is_time, to_numpy
    from auxcal.tables.matrix import holds_numbers

_OUT_OF_RANGE = "<value out of range"  # what Arrow writes for a time that its calendar does not have


def record_batch(columns: Columns, schema: pa.Schema | None = None) -> pa.RecordBatch:
    """Return columns as a record batch, with the types of a schema where no value is lost by it."""
    with writing():
        arrays = {name: from_numpy(column) for name, column in columns.items()}
        if schema is not None:
            types = {field.name: field.type for field in schema}
            arrays = {name: cast(array, types[name], name) for name, array in arrays.items()}
        return pa.RecordBatch.from_pydict(arrays, schema=schema)


@contextmanager
def writing() -> Iterator[None]:
    """Say which columns can't be written, where Arrow can't write them."""
    try:
        yield
    except pa.ArrowException as error:
        if isinstance(error, OSError | MemoryError):
            raise
        raise _unwritable(error) from error


def readable(column: Any) -> Any:
    """Return a column as one that all functions of Arrow know: of views of text and bytes many don't."""
    if pa.types.is_string_view(column.type):
        return column.cast(pa.string())
    return column.cast(pa.binary()) if pa.types.is_binary_view(column.type) else column


def joined(parts: list[Any]) -> Any:
    """Concatenate the parts of a column."""
    return pa.concat_arrays(parts)


def numbers_of(column: Any) -> NDArray[Any]:
    """Return a column as a vector."""
    return to_numpy(column)


def values_of(column: Any) -> NDArray[Any]:
    """Return numbers as numbers, and text and categories as objects."""
    return to_numpy(decoded(column))


def encoded(column: Any) -> tuple[NDArray[Any], Any]:
    """Return the values that a column has, and which of them each row has; numbers as they are."""
    plain = decoded(column)
    if not is_text(plain):
        return values_of(plain), slice(None)
    coded = plain.dictionary_encode(null_encoding="encode")
    return values_of(coded.dictionary), to_numpy(coded.indices)


def is_text(column: Any) -> bool:
    """Whether a column holds text, which categories are not."""
    kinds = pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view
    return any(is_such(column.type) for is_such in kinds)


def needs_quotes(column: Any) -> bool:
    """Whether the text of a column can have a comma or a line end in it."""
    return not (holds_numbers(column.type) or pa.types.is_temporal(column.type) or pa.types.is_null(column.type))


def as_text(column: Any, name: str) -> list[str | None]:
    """Return each value as text, or None if it is missing."""
    if pa.types.is_nested(column.type) or isinstance(column.type, pa.BaseExtensionType):
        what = "lists" if pa.types.is_nested(column.type) else column.type
        raise InvalidInputError(f"only .parquet holds {what}, such as those of {name!r}. Write .parquet.")
    if pa.types.is_duration(column.type):  # which Arrow writes without their unit
        return times_as_text(to_numpy(column))
    with writing():
        text: list[str | None] = column.cast(pa.string()).to_pylist()
    if pa.types.is_temporal(column.type) and any(value and value.startswith(_OUT_OF_RANGE) for value in text):
        raise InvalidInputError(f"{name!r} has times that are too far away to be written as text. Write .parquet.")
    return text


def as_array(column: Any, name: str) -> NDArray[Any]:
    """Return a column as numbers or times, or as text where NumPy has no type for it."""
    plain = decoded(column)
    if pa.types.is_integer(plain.type) and plain.null_count:
        check_fits_float(to_numpy(plain.drop_null()), name)
    whole = pa.types.is_boolean(plain.type) and not plain.null_count
    if whole or pa.types.is_integer(plain.type) or pa.types.is_floating(plain.type) or is_time(plain.type):
        return to_numpy(plain)
    return np.array(["" if value is None else value for value in as_text(plain, name)], dtype=str)


def decoded(column: Any) -> Any:
    """Decode categories to their values; return other columns unchanged."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def cast(column: Any, kind: Any, name: str) -> Any:
    """Return a column with another type, where no value is lost by it."""
    if column.type == kind:
        return column
    plain = decoded(column)
    zones = [pa.types.is_timestamp(each) and each.tz is not None for each in (plain.type, kind)]
    try:
        if pa.types.is_timestamp(plain.type) and pa.types.is_timestamp(kind) and zones[0] != zones[1]:
            raise pa.ArrowInvalid("of times without a zone nobody knows when they were")
        changed = plain.cast(kind)
        if plain.null_count < len(plain) and not _are_equal(decoded(changed).cast(plain.type), plain):
            raise pa.ArrowInvalid("some values would be other ones")
    except pa.ArrowException as error:
        if isinstance(error, MemoryError):
            raise
        raise InvalidInputError(
            f"the column {name!r} holds {column.type}, and {kind} in the first part ({error}). Give it the same type "
            f"in all parts."
        ) from error
    return changed


def _are_equal(one: Any, other: Any) -> bool:
    if pa.types.is_floating(one.type):  # where NaN is NaN
        return np.array_equal(to_numpy(one), to_numpy(other), equal_nan=True)
    return bool(one.equals(other))


def _unwritable(error: Exception) -> InvalidInputError:
    return InvalidInputError(f"these columns can't be written ({error}). Leave out what is neither number nor text.")
