"""Batches of columns as pyarrow record batches, for the formats that pyarrow writes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from auxcal._errors import InvalidInputError
from auxcal.formats._format import Columns


def record_batch(columns: Columns, schema: pa.Schema | None = None, *, flat: bool = False) -> pa.RecordBatch:
    """Return columns as a record batch; `flat` decodes categories and rejects lists, which CSV can't hold."""
    try:
        arrays = {name: _decoded(pa.array(column)) if flat else pa.array(column) for name, column in columns.items()}
        batch = pa.RecordBatch.from_pydict(arrays, schema=schema)
    except pa.ArrowException as error:
        raise InvalidInputError(
            f"these columns can't be written ({error}). Leave out what is neither number nor text."
        ) from error
    nested = [field.name for field in batch.schema if flat and pa.types.is_nested(field.type)]
    if nested:
        raise InvalidInputError(f"CSV can't hold the lists of {', '.join(map(repr, nested))}. Write .parquet.")
    return batch


def _decoded(array: Any) -> Any:
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
