"""Columns as pyarrow arrays, for parquet files and the columns passed through from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from auxcal._errors import InvalidInputError
from auxcal._extras import needs
from auxcal.formats._arrays import check_fits_float
from auxcal.formats._format import Columns

with needs("tables"):
    import pyarrow as pa

    from auxcal.arrow._matrix import holds_numbers
    from auxcal.arrow.buffers import from_numpy, to_numpy


def record_batch(columns: Columns, schema: pa.Schema | None = None) -> pa.RecordBatch:
    """Return columns as a record batch."""
    try:
        return pa.RecordBatch.from_pydict({name: from_numpy(column) for name, column in columns.items()}, schema=schema)
    except pa.ArrowException as error:
        raise _unwritable(error) from error


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
    if pa.types.is_nested(column.type):
        raise InvalidInputError(f"only .parquet holds lists, such as those of {name!r}. Write .parquet.")
    try:
        return list(column.cast(pa.string()).to_pylist())
    except pa.ArrowException as error:
        raise _unwritable(error) from error


def as_array(column: Any, name: str) -> NDArray[Any]:
    """Return a column as numbers, or as text where NumPy has no type for it."""
    plain = decoded(column)
    if pa.types.is_integer(plain.type) and plain.null_count:
        check_fits_float(to_numpy(plain.drop_null()), name)
    array: NDArray[Any] = plain.to_numpy(zero_copy_only=False)
    if array.dtype != object:
        return array
    return np.array(["" if value is None else value for value in as_text(plain, name)], dtype=str)


def decoded(column: Any) -> Any:
    """Decode categories to their values; return other columns unchanged."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def cast(column: Any, kind: Any, name: str) -> Any:
    """Return a column with another type, where no value is lost by it."""
    try:
        return decoded(column).cast(kind)
    except pa.ArrowException as error:
        raise InvalidInputError(
            f"the column {name!r} holds {column.type}, and {kind} in the first part ({error}). Give it the same type "
            f"in all parts."
        ) from error


def _unwritable(error: Exception) -> InvalidInputError:
    return InvalidInputError(f"these columns can't be written ({error}). Leave out what is neither number nor text.")
