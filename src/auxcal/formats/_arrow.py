"""Columns as pyarrow arrays, for parquet files and the columns passed through from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from auxcal._errors import InvalidInputError
from auxcal._extras import needs
from auxcal.formats._format import Columns

with needs("tables"):
    import pyarrow as pa
    import pyarrow.compute as pc


def record_batch(columns: Columns, schema: pa.Schema | None = None) -> pa.RecordBatch:
    """Return columns as a record batch."""
    try:
        return pa.RecordBatch.from_pydict({name: pa.array(column) for name, column in columns.items()}, schema=schema)
    except pa.ArrowException as error:
        raise _unwritable(error) from error


def joined(parts: list[Any]) -> Any:
    """Concatenate the parts of a column."""
    return pa.concat_arrays(parts)


def numbers_of(column: Any, name: str) -> NDArray[Any]:
    """Return a column as a vector, or a list column as a matrix."""
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type) or pa.types.is_fixed_size_list(column.type):
        lengths = pc.unique(pc.list_value_length(column))
        if len(lengths) != 1 or column.null_count:
            raise InvalidInputError(f"the lists of {name!r} must have the same length in all rows. Repair the others.")
        return np.asarray(column.flatten().to_numpy(zero_copy_only=False)).reshape(len(column), lengths[0].as_py())
    return np.asarray(column.to_numpy(zero_copy_only=False))


def values_of(column: Any) -> NDArray[Any]:
    """Return numbers as numbers, and text and categories as objects."""
    return np.asarray(decoded(column).to_numpy(zero_copy_only=False))


def is_text(column: Any) -> bool:
    """Whether a column holds text, which categories are not."""
    return bool(pa.types.is_string(column.type))


def as_text(column: Any, name: str) -> list[str | None]:
    """Return each value as text, or None if it is missing."""
    if pa.types.is_nested(column.type):
        raise InvalidInputError(f"CSV can't hold the lists of {name!r}. Write .parquet.")
    try:
        return list(column.cast(pa.string()).to_pylist())
    except pa.ArrowException as error:
        raise _unwritable(error) from error


def decoded(column: Any) -> Any:
    """Decode categories to their values; return other columns unchanged."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _unwritable(error: Exception) -> InvalidInputError:
    return InvalidInputError(f"these columns can't be written ({error}). Leave out what is neither number nor text.")
