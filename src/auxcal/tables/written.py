"""How columns are written where there are fewer types than Arrow has: as text, as values of JSON, and as arrays.

| | CSV | JSON Lines |
|---|---|---|
| dates and times | ISO 8601, with Z or the zone's offset in UTC | the same, as text |
| durations | `90 s` | the same, as text |
| decimals | all their digits | the same, as text |
| lists, structs and maps | as JSON | as they are |
| NaN; infinity | empty; `inf` | null; `"inf"` |
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auxcal._core.errors import InvalidInputError
from auxcal._core.extras import needs
from auxcal.tables.values import decoded, from_text, holds_numbers, is_list, is_text, is_time, matrix_of, to_numpy

with needs("tables"):
    import pyarrow as pa
    import pyarrow.compute as pc

_MOST_WHOLE = 2**53  # up to which floats have all whole numbers
_OUT_OF_RANGE = "<value out of range"  # what Arrow writes for a time that its calendar does not have


@contextmanager
def writing() -> Iterator[None]:
    """Name the columns that can't be written, where Arrow can't write them."""
    try:
        yield
    except pa.ArrowException as error:
        if isinstance(error, OSError | MemoryError):
            raise
        raise InvalidInputError(
            f"these columns can't be written ({error}). Leave out what is neither number nor text."
        ) from error


def plain(column: pa.Array, name: str) -> pa.Array:
    """Return a column with a type that Arrow writes as text, so that it can be read again."""
    column = decoded(column)
    kind = column.type
    if pa.types.is_float16(kind):
        return column.cast(pa.float32())
    if pa.types.is_floating(kind) and np.isnan(to_numpy(column)).any():
        return pc.if_else(pc.is_nan(column), pa.scalar(None, kind), column)
    if (
        pa.types.is_duration(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_nested(kind)
    ):
        return from_text(text_of(column, name))
    if pa.types.is_temporal(kind):
        text_of(column, name)  # refuses times that have no text
    if isinstance(kind, pa.BaseExtensionType):
        raise InvalidInputError(f"only .parquet holds {kind}, such as those of {name!r}. Write .parquet.")
    return column


def text_of(column: pa.Array, name: str) -> list[str | None]:
    """Return each value as text, or None if it is missing."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        raise InvalidInputError(f"only .parquet holds {kind}, such as those of {name!r}. Write .parquet.")
    if pa.types.is_nested(kind):
        return [None if value is None else as_json(value) for value in json_values(column, name)]
    if pa.types.is_duration(kind):  # which Arrow writes without their unit
        unit, numbers = kind.unit, column.cast(pa.int64()).to_pylist()
        return [None if number is None else f"{number} {unit}" for number in numbers]
    try:
        text: list[str | None] = column.cast(pa.string()).to_pylist()
    except pa.ArrowInvalid as error:
        raise InvalidInputError(f"{name!r} holds {kind} that is no text ({error}). Write .parquet.") from error
    if pa.types.is_temporal(kind) and any(value and value.startswith(_OUT_OF_RANGE) for value in text):
        raise InvalidInputError(f"{name!r} has times that are too far away to be written as text. Write .parquet.")
    return text


def json_values(column: pa.Array, name: str) -> list[Any]:
    """Return the values of a column for JSON, which has neither NaN nor infinity, and numbers and text alone."""
    if isinstance(column.type, pa.JsonType):
        try:
            return [None if value is None else _json_value(json.loads(value)) for value in column.storage.to_pylist()]
        except RecursionError as error:
            raise InvalidInputError(f"{name!r} is nested too deeply to be written as JSON. Leave it out.") from error
    column = decoded(column)
    kind = column.type
    if is_list(kind) and not isinstance(kind, pa.BaseExtensionType):
        values = json_values(column.flatten(), name)
        lengths = pc.list_value_length(column).to_pylist()
        rows, start = [], 0
        for length in lengths:
            rows.append(None if length is None else values[start : start + length])
            start += length or 0
        return rows
    if pa.types.is_map(kind):
        return [None if pairs is None else _json_value(dict(pairs)) for pairs in column.to_pylist()]
    if pa.types.is_struct(kind):
        fields = [kind.field(place).name for place in range(kind.num_fields)]
        parts = [json_values(part, name) for part in column.flatten()]
        missing = column.is_null().to_pylist()
        structs = [dict(zip(fields, values, strict=True)) for values in zip(*parts, strict=True)]
        return [None if none else struct for struct, none in zip(structs, missing, strict=True)]
    if pa.types.is_floating(kind):
        numbers = to_numpy(column)
        exact = numbers.tolist() if numbers.dtype == np.float64 else list(map(float, numbers.astype(str).tolist()))
        return exact if np.isfinite(numbers).all() else list(map(_json_value, exact))
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or is_text(kind) or pa.types.is_null(kind):
        return list(column.to_pylist())
    return list(text_of(column, name))


def _json_value(value: Any) -> Any:
    """Return a value of Python as JSON has it."""
    if isinstance(value, dict):
        return {str(key): _json_value(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value if value is None or isinstance(value, str | int | float) else str(value)


def as_json(value: Any) -> str:
    """Return a value as JSON that every reader takes: without NaN and infinity."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(_json_value(value), ensure_ascii=False)


def array_of(column: pa.Array, name: str) -> NDArray[Any]:
    """Return numbers or times, or text, empty where it is missing, as NumPy can save them without pickle."""
    column = decoded(column)
    kind = column.type
    if pa.types.is_integer(kind) and column.null_count:
        numbers = to_numpy(column.drop_null())
        if len(numbers) and max(abs(int(numbers.min())), abs(int(numbers.max()))) > _MOST_WHOLE:
            raise InvalidInputError(
                f"{name!r} has missing values, and whole numbers that are too large for floats. Write .parquet or .csv."
            )
    if pa.types.is_fixed_size_list(kind) and holds_numbers(kind.value_type):
        return matrix_of(column, name)[0]
    if pa.types.is_nested(kind):
        raise InvalidInputError(f"no array holds lists such as those of {name!r}. Write .parquet, .jsonl or .csv.")
    whole = pa.types.is_boolean(kind) and not column.null_count
    if whole or pa.types.is_integer(kind) or pa.types.is_floating(kind) or is_time(kind):
        return to_numpy(column)
    return np.array([value or "" for value in text_of(column, name)], dtype=str)
