"""Columns that pyarrow holds, and NumPy arrays of their buffers.

pyarrow's own conversions import pandas where it is installed: half a second and 30 MB in every process.
"""

# ruff: noqa: D102  (NumpyColumn says what the methods do)

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Bools, Floats, as_floats
from auxcal._core.errors import InvalidInputError
from auxcal._core.extras import needs
from auxcal._core.text import utf8
from auxcal.tables.numpy_columns import (
    Column,
    Columns,
    ColumnValues,
    NumpyColumn,
    Problem,
    Problems,
    check_fits_float,
    plain_text,
    quoted,
    times_as_text,
)

with needs("tables"):
    import pyarrow as pa
    import pyarrow.compute as pc

_LEAST_PLAIN, _MOST_PLAIN = 1e-4, 1e4  # between which Arrow writes floats as Python does, unless they are whole
_OUT_OF_RANGE = "<value out of range"  # what Arrow writes for a time that its calendar does not have


class ArrowColumn(ColumnValues):
    """A column as a pyarrow array; views of text and bytes, which many functions of Arrow don't know, are converted."""

    def __init__(self, data: pa.Array) -> None:
        if pa.types.is_string_view(data.type):
            data = data.cast(pa.string())
        self.data = data.cast(pa.binary()) if pa.types.is_binary_view(data.type) else data

    @property
    def kind(self) -> pa.DataType:
        return self.data.type

    def __len__(self) -> int:
        return len(self.data)

    def take(self, rows: Any) -> ArrowColumn:
        return ArrowColumn(self.data.filter(rows) if np.asarray(rows).dtype == bool else self.data.take(rows))

    def values(self) -> NDArray[Any]:
        return to_numpy(_decoded(self.data))

    def encoded(self) -> tuple[NDArray[Any], Any]:
        plain = _decoded(self.data)
        if not is_text(plain.type):
            return to_numpy(plain), slice(None)
        coded = plain.dictionary_encode(null_encoding="encode")
        return to_numpy(coded.dictionary), to_numpy(coded.indices)

    def numbers(self, what: str, width: int | None = None) -> tuple[NDArray[Any], Problems | None]:
        if is_list(self.kind):
            return _matrix(self.data, self.width() if width is None else width, what)
        if pa.types.is_null(self.kind) and width is not None and width > 1:
            return np.zeros((len(self), width), np.float32), np.full(len(self), Problem.NULL, np.uint8)
        problems = nulls_in(self.data).astype(np.uint8) if self.data.null_count else None  # Problem.NULL is 1
        return _floats(self.data, what), problems

    def width(self) -> int:
        stored = _stored(self.data)
        if not is_list(stored.type):
            return 1
        if pa.types.is_fixed_size_list(stored.type):
            return int(stored.type.list_size)
        counts = np.bincount(_extents(stored.drop_null())[1], minlength=1)
        return len(counts) - 1 - int(counts[::-1].argmax())  # where they differ, the more of a tie

    @property
    def is_text(self) -> bool:
        return is_text(self.kind)

    def whole_numbers(self) -> Column:
        text = pc.utf8_trim_whitespace(self.data)
        try:
            numbers = pc.if_else(pc.equal(text, ""), None, text).cast(pa.int64())
        except pa.ArrowInvalid:  # perhaps of another form, such as +1
            return super().whole_numbers()
        missing = nulls_in(numbers) if numbers.null_count else None
        return NumpyColumn(to_numpy(numbers.fill_null(0)), missing)

    def fields(self, name: str) -> list[str]:
        plain = _decoded(self.data)
        text = _as_text(plain, name)
        kind = plain.type
        if holds_numbers(kind) or pa.types.is_temporal(kind) or pa.types.is_null(kind):  # without comma or line end
            return ["" if value is None else value for value in text]
        return quoted(text)

    def array(self, name: str) -> NDArray[Any]:
        plain = _decoded(self.data)
        if pa.types.is_integer(plain.type) and plain.null_count:
            check_fits_float(to_numpy(plain.drop_null()), name)
        whole = pa.types.is_boolean(plain.type) and not plain.null_count
        if whole or pa.types.is_integer(plain.type) or pa.types.is_floating(plain.type) or _is_time(plain.type):
            return to_numpy(plain)
        return np.array(["" if value is None else value for value in _as_text(plain, name)], dtype=str)

    def joined(self, others: Sequence[Any], name: str) -> ArrowColumn:
        return ArrowColumn(pa.concat_arrays([self.data, *(other.data for other in others)]))

    def cast(self, kind: Any, name: str) -> ArrowColumn:
        return self if kind is None or self.kind == kind else ArrowColumn(_cast(self.data, kind, name))


# Writing --------------------------------------------------------------------------------------------------------------


def record_batch(columns: Columns, schema: pa.Schema | None = None) -> pa.RecordBatch:
    """Return columns as a record batch, with the types of a schema where no value is lost by it."""
    with writing():
        arrays = {utf8(name).decode(): as_arrow(column) for name, column in columns.items()}
        if schema is not None:
            types = {field.name: field.type for field in schema}
            arrays = {name: _cast(array, types[name], name) for name, array in arrays.items()}
        return pa.RecordBatch.from_pydict(arrays, schema=schema)


def csv_rows(columns: Columns) -> memoryview:
    """Return the lines of a CSV file, as `Column.fields` would give them, without an object for each field."""
    fields = [_csv_fields(column, name) for name, column in columns.items()]
    rows = _beside(_beside(*fields, by=","), "", by="\n")
    _, offsets, text = rows.buffers()
    first, last = np.frombuffer(offsets, np.int64)[[rows.offset, rows.offset + len(rows)]]
    return memoryview(b"" if text is None else text)[first:last]


def _beside(*parts: Any, by: str) -> pa.Array:
    """Return the text of parts side by side, with a separator between them."""
    large = (pa.scalar(each, pa.large_string()) if isinstance(each, str) else each for each in (*parts, by))
    return pc.binary_join_element_wise(*large)


def _csv_fields(column: Column, name: str) -> pa.Array:
    array = as_arrow(column)
    kind, text = array.type, pa.large_string()
    if is_text(kind):
        escaped = pc.replace_substring(array.cast(text), '"', '""')
        found = _beside('"', escaped, '"', by="")
    elif pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        found = array.cast(text)
    elif pa.types.is_float64(kind) and isinstance(column, NumpyColumn):
        found = _float_fields(column.data, array)
    else:
        return pa.array(column.fields(name), text)
    return found.fill_null("")


def _float_fields(numbers: NDArray[Any], array: pa.Array) -> pa.Array:
    """Return floats with the digits that Python gives them; Arrow has the same ones for those of usual size."""
    size, found = np.abs(numbers), array.cast(pa.large_string())
    other = ~((size >= _LEAST_PLAIN) & (size < _MOST_PLAIN)) | (numbers == np.floor(numbers))
    if other.any():
        written = [repr(each) for each in numbers[other].tolist()]
        found = pc.replace_with_mask(found, from_numpy(other), pa.array(written, pa.large_string()))
        found = pc.if_else(array.is_valid(), found, pa.scalar(None, pa.large_string()))
    return found


@contextmanager
def writing() -> Iterator[None]:
    """Say which columns can't be written, where Arrow can't write them."""
    try:
        yield
    except pa.ArrowException as error:
        if isinstance(error, OSError | MemoryError):
            raise
        raise InvalidInputError(
            f"these columns can't be written ({error}). Leave out what is neither number nor text."
        ) from error


def as_arrow(column: Column) -> pa.Array:
    """Return any column as a pyarrow array."""
    if isinstance(column, NumpyColumn):
        return from_numpy(column.data, column.missing)
    return column.data


def from_numpy(values: NDArray[Any], missing: Bools | None = None) -> pa.Array:
    """Return numbers, booleans or text as an array, without a copy of numbers; those that are missing are null.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.tables.arrow_columns import from_numpy
    >>> from_numpy(np.array(["a", None], dtype=object)).to_pylist()
    ['a', None]
    """
    if values.ndim == 1 and values.dtype == object and missing is None:
        kinds = set(map(type, values.tolist())) - {type(None)}
        mixed = len(kinds) > 1 and kinds <= {str, int, float, bool}
        return from_text(list(map(plain_text, values.tolist()))) if mixed or kinds <= {str} else pa.array(values)
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    if values.ndim != 1 or values.dtype.kind not in "iufb":
        found = pa.array(values, mask=missing)
        if pa.types.is_date32(found.type) and not np.array_equal(
            np.asarray(values, "M8[D]"), _times(found), equal_nan=True
        ):  # which counts days with fewer digits than NumPy
            raise pa.ArrowInvalid("a date is too far away for a table")
        return found
    bits = values.dtype.kind == "b"
    data = np.packbits(values, bitorder="little") if bits else np.ascontiguousarray(values)
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [_validity(missing), pa.py_buffer(data)])


def from_text(text: list[str | None]) -> pa.Array:
    """Return text as an array, null where there is none."""
    encoded = [b"" if value is None else utf8(value) for value in text]
    offsets = np.fromiter(accumulate(map(len, encoded), initial=0), np.int64, len(text) + 1)
    missing = np.fromiter((value is None for value in text), np.bool_, len(text))
    kind, width = (pa.string(), np.int32) if offsets[-1] < 2**31 else (pa.large_string(), np.int64)
    buffers = [pa.py_buffer(offsets.astype(width)), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(kind, len(text), [_validity(missing if missing.any() else None), *buffers])


def _validity(missing: Bools | None) -> Any:
    return None if missing is None else pa.py_buffer(np.packbits(~missing, bitorder="little"))


# Reading --------------------------------------------------------------------------------------------------------------


def to_numpy(values: pa.Array) -> NDArray[Any]:
    """Return an array as NumPy, numbers without a copy; a missing number is NaN.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from auxcal.tables.arrow_columns import to_numpy
    >>> to_numpy(pa.array([1, None, 3]))
    array([ 1., nan,  3.])
    """
    kind = values.type
    if _is_time(kind) and len(values):
        return _times(values)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)) or not len(values):
        return np.asarray(values.to_numpy(zero_copy_only=False))
    dtype = np.dtype(f"{'f' if pa.types.is_floating(kind) else str(kind)[0]}{kind.bit_width // 8}")
    end = values.offset + len(values)
    numbers = np.frombuffer(values.buffers()[1], dtype, count=end)[values.offset :]
    if not values.null_count:
        return numbers
    return np.where(nulls_in(values), np.nan, numbers.astype(dtype if dtype.kind == "f" else np.float64))


def nulls_in(values: pa.Array) -> Bools:
    """Return which values are missing."""
    if not values.null_count:
        return np.zeros(len(values), np.bool_)
    validity = values.buffers()[0]
    if validity is None:  # as in arrays that have nothing but nulls
        return np.asarray(values.is_null().to_numpy(zero_copy_only=False))
    bits = np.unpackbits(np.frombuffer(validity, np.uint8), count=values.offset + len(values), bitorder="little")
    return bits[values.offset :] == 0


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is text, which categories are not."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_list(kind: pa.DataType) -> bool:
    """Whether a type has several values per row."""
    stored = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    return isinstance(stored, pa.ListType | pa.LargeListType | pa.FixedSizeListType)


def holds_numbers(kind: pa.DataType) -> bool:
    """Whether a type is one number per row; whether something is so is a number too."""
    kinds = pa.types.is_floating, pa.types.is_integer, pa.types.is_decimal, pa.types.is_boolean
    return any(is_such(kind) for is_such in kinds)


def _is_time(kind: pa.DataType) -> bool:
    """Whether NumPy has a type for these dates, times or durations; it knows no zones, and no times of the day."""
    plain = pa.types.is_timestamp(kind) and kind.tz is None
    return bool(plain or pa.types.is_date(kind) or pa.types.is_duration(kind))


def _times(values: pa.Array) -> NDArray[Any]:
    """Return dates, times or durations in their own unit, whatever their size; a missing one is NaT."""
    kind = values.type
    unit = "D" if pa.types.is_date32(kind) else "ms" if pa.types.is_date64(kind) else kind.unit
    numbers = to_numpy(values.view(pa.int32() if pa.types.is_date32(kind) else pa.int64()).fill_null(0))
    times = numbers.astype(f"{'m' if pa.types.is_duration(kind) else 'M'}8[{unit}]")
    times[nulls_in(values)] = "NaT"
    return times


def _matrix(column: pa.Array, width: int, what: str) -> tuple[Floats, Problems]:
    """Return lists as the rows of a matrix, without a copy where all are whole; what is wrong with others is noted."""
    column = _stored(column)
    starts, lengths = _extents(column)
    problems = nulls_in(column).astype(np.uint8)  # Problem.NULL is 1
    whole = lengths == width
    numbers: Floats
    if whole.all():  # then they lie in one piece
        values = column.values.slice(starts[0] if len(starts) else 0, width * len(starts))
        numbers = _floats(values, what).reshape(-1, width)
        missing = nulls_in(values).reshape(-1, width).any(axis=1) if values.null_count else None
    else:
        problems[~whole & (problems == Problem.NONE)] = Problem.WIDTH
        places = np.where(whole, starts, 0)[:, None] + np.where(whole[:, None], np.arange(width), 0)
        values = _floats(column.values, what)
        numbers = values[places] if len(values) else np.zeros(places.shape, values.dtype)
        missing = nulls_in(column.values)[places].any(axis=1) if column.values.null_count and len(values) else None
    if missing is not None:
        problems[missing & (problems == Problem.NONE)] = Problem.NULL
    return numbers, problems


def _extents(column: pa.Array) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return where each list begins among the column's values, and how many values it has."""
    if pa.types.is_fixed_size_list(column.type):
        size = column.type.list_size
        return (column.offset + np.arange(len(column))) * size, np.full(len(column), size)
    offsets = to_numpy(column.offsets)
    return offsets[:-1], np.diff(offsets)


def _floats(values: pa.Array, what: str) -> Floats:
    """Return numbers as floats, NaN where one is missing."""
    kind = values.type
    if not holds_numbers(kind) and not pa.types.is_null(kind):
        raise InvalidInputError(f"{what} must hold numbers; got {kind}. Cast it, or name another column.")
    if pa.types.is_decimal(kind) or pa.types.is_null(kind) or pa.types.is_boolean(kind):
        values = values.cast(pa.float64())
    return as_floats(to_numpy(values), what)


def _stored(column: pa.Array) -> pa.Array:
    """Return what a tensor or another extension type is stored as."""
    return column.storage if isinstance(column.type, pa.BaseExtensionType) else column


def _decoded(column: pa.Array) -> pa.Array:
    """Decode categories to their values; return other columns unchanged."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _as_text(column: pa.Array, name: str) -> list[str | None]:
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


def _cast(column: pa.Array, kind: pa.DataType, name: str) -> pa.Array:
    """Return a column with another type, where no value is lost by it."""
    if column.type == kind:
        return column
    plain = _decoded(column)
    zones = [pa.types.is_timestamp(each) and each.tz is not None for each in (plain.type, kind)]
    try:
        if pa.types.is_timestamp(plain.type) and pa.types.is_timestamp(kind) and zones[0] != zones[1]:
            raise pa.ArrowInvalid("of times without a zone nobody knows when they were")
        changed = plain.cast(kind)
        if plain.null_count < len(plain):
            back = _decoded(changed).cast(plain.type)
            same = back.equals(plain)
            if pa.types.is_floating(plain.type):  # where NaN is NaN
                same = np.array_equal(to_numpy(back), to_numpy(plain), equal_nan=True)
            if not same:
                raise pa.ArrowInvalid("some values would be other ones")
    except pa.ArrowException as error:
        if isinstance(error, MemoryError):
            raise
        raise InvalidInputError(
            f"the column {name!r} holds {column.type}, and {kind} in the first part ({error}). Give it the same type "
            f"in all parts."
        ) from error
    return changed
