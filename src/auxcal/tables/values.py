"""NumPy arrays of Arrow's columns, and Arrow's columns of NumPy arrays, without a copy of plain numbers.

pyarrow's own conversions import pandas where it is installed: half a second and 30 MB.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import IntEnum
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Bools, Floats, as_floats
from auxcal._core.errors import InvalidInputError
from auxcal._core.extras import needs
from auxcal._core.text import utf8

with needs("tables"):
    import pyarrow as pa
    import pyarrow.compute as pc

EMPTY = "(empty)"
"""The name of the slice of rows that have no value in the column of the slices."""


class Problem(IntEnum):
    """What is wrong with a row; the first problem counts."""

    NONE = 0
    NULL = 1
    WIDTH = 2
    NAN = 3
    NO_PROBABILITIES = 4


Problems: TypeAlias = NDArray[np.uint8]
"""A `Problem` for each row."""


# Types ----------------------------------------------------------------------------------------------------------------


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is text, or JSON, which is decoded to text; categories are not."""
    return isinstance(kind, pa.JsonType) or bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_list(kind: pa.DataType) -> bool:
    """Whether a type has several values per row."""
    stored = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    return isinstance(stored, pa.ListType | pa.LargeListType | pa.FixedSizeListType)


def holds_numbers(kind: pa.DataType) -> bool:
    """Whether a type is one number per row; a boolean is a number too."""
    kinds = pa.types.is_floating, pa.types.is_integer, pa.types.is_decimal, pa.types.is_boolean
    return any(is_kind(kind) for is_kind in kinds)


def decoded(column: pa.Array) -> pa.Array:
    """Return categories as their values, JSON as text, and views of lists as lists; other columns unchanged."""
    if isinstance(column.type, pa.JsonType):
        values = [None if text is None else json.loads(text) for text in column.storage.to_pylist()]
        return from_text([v if v is None or isinstance(v, str) else json.dumps(v, ensure_ascii=False) for v in values])
    if isinstance(column.type, pa.ListViewType | pa.LargeListViewType):
        wide = isinstance(column.type, pa.LargeListViewType)
        return column.cast((pa.large_list if wide else pa.list_)(column.type.value_field))
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


# Arrow to NumPy -------------------------------------------------------------------------------------------------------


def to_numpy(values: pa.Array) -> NDArray[Any]:
    """Return an array as NumPy, numbers without a copy; a missing number is NaN.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from auxcal.tables.values import to_numpy
    >>> to_numpy(pa.array([1, None, 3]))
    array([ 1., nan,  3.])
    """
    values = decoded(values)
    kind = values.type
    if is_time(kind) and len(values):
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


def distinct(column: pa.Array) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the distinct values of a column, and which of them each row has."""
    plain = decoded(column)
    if pa.types.is_nested(plain.type):
        raise InvalidInputError(f"expected one value in each row; got lists, {plain.type}. Name another column.")
    coded = plain.dictionary_encode(null_encoding="encode")
    return to_numpy(coded.dictionary), to_numpy(coded.indices)


def slices_of(column: pa.Array) -> NDArray[Any]:
    """Return the slice of each row; those without a value are a slice of their own."""
    values, of_row = distinct(column)
    if values.dtype.kind not in "fMO":
        return values[of_row]
    missing = [value is None or value == "" or value != value for value in values.tolist()]
    return (np.where(missing, EMPTY, values.astype(str).astype(object)) if any(missing) else values)[of_row]


def matrix_of(column: pa.Array, what: str, width: int | None = None) -> tuple[Floats, Problems | None]:
    """Return a vector, or a matrix with a row of some width for each list, and what is wrong with each row.

    Lists are the rows of a matrix without a copy where all are whole.
    """
    column = _stored(column)
    if is_list(column.type) and is_list(column.type.value_type):
        shape = len(column), width_of(column), width_of(column.values)
        raise InvalidInputError(
            f"{what} must have one list of numbers in each row; got shape {shape}. Use {what}.reshape(len({what}), -1)."
        )
    if is_list(column.type):
        return _rows_of_lists(column, width_of(column) if width is None else width, what)
    if pa.types.is_null(column.type) and width is not None and width > 1:
        return np.zeros((len(column), width), np.float32), np.full(len(column), Problem.NULL, np.uint8)
    problems = nulls_in(column).astype(np.uint8) if column.null_count else None  # Problem.NULL is 1
    return _floats(column, what), problems


def width_of(column: pa.Array) -> int:
    """Return how many numbers a row has; where lists differ, as many as most have."""
    stored = _stored(column)
    if not is_list(stored.type):
        return 1
    if pa.types.is_fixed_size_list(stored.type):
        return int(stored.type.list_size)
    counts = np.bincount(_extents(stored.drop_null())[1], minlength=1)
    return len(counts) - 1 - int(counts[::-1].argmax())  # where they differ, the more of a tie


def _rows_of_lists(column: pa.Array, width: int, what: str) -> tuple[Floats, Problems]:
    starts, lengths = _extents(column)
    problems = nulls_in(column).astype(np.uint8)
    whole = lengths == width
    numbers: Floats
    if whole.all():  # then they lie in one piece
        values = column.values.slice(starts[0] if len(starts) else 0, width * len(starts))
        numbers = _floats(values, what).reshape(len(starts), width)
        missing = nulls_in(values).reshape(len(starts), width).any(axis=1) if values.null_count else None
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


def is_time(kind: pa.DataType) -> bool:
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


# NumPy to Arrow -------------------------------------------------------------------------------------------------------


def from_numpy(values: NDArray[Any], missing: Bools | None = None) -> pa.Array:
    """Return numbers, booleans, times or text as an array, numbers without a copy; those that are missing are null.

    The rows of a matrix are lists.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.tables.values import from_numpy
    >>> from_numpy(np.array(["a", None], dtype=object)).to_pylist(), from_numpy(np.eye(2)).to_pylist()
    (['a', None], [[1.0, 0.0], [0.0, 1.0]])
    """
    if values.ndim > 1:
        inner = from_numpy(values.reshape(-1, *values.shape[2:]))
        kind = pa.list_(inner.type, values.shape[1])
        return pa.Array.from_buffers(kind, len(values), [_validity(missing)], children=[inner])
    if values.dtype == object and missing is None and {type(value) for value in values.tolist()} <= {str, type(None)}:
        return from_text(values.tolist())
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    if values.dtype.kind not in "iufb" or values.dtype.itemsize > 8:
        array = pa.array(values, mask=missing)
        if pa.types.is_date32(array.type) and not np.array_equal(
            np.asarray(values, "M8[D]"), _times(array) if len(array) else values, equal_nan=True
        ):  # which counts days with fewer digits than NumPy
            raise pa.ArrowInvalid("a date is too far away for a table")
        return array
    bits = values.dtype.kind == "b"
    data = np.packbits(values, bitorder="little") if bits else np.ascontiguousarray(values)
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [_validity(missing), pa.py_buffer(data)])


def from_text(text: Sequence[str | None]) -> pa.Array:
    """Return text as an array, null where there is none; half a character is escaped."""
    encoded = [b"" if value is None else utf8(value) for value in text]
    offsets = np.fromiter(accumulate(map(len, encoded), initial=0), np.int64, len(text) + 1)
    missing = np.fromiter((value is None for value in text), np.bool_, len(text))
    kind, width = (pa.string(), np.int32) if offsets[-1] < 2**31 else (pa.large_string(), np.int64)
    buffers = [pa.py_buffer(offsets.astype(width)), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(kind, len(text), [_validity(missing if missing.any() else None), *buffers])


def _validity(missing: Bools | None) -> Any:
    return None if missing is None else pa.py_buffer(np.packbits(~missing, bitorder="little"))


# Arrow to Arrow -------------------------------------------------------------------------------------------------------


def whole_numbers(column: pa.Array) -> pa.Array:
    """Return text as integers, missing where it is empty; fail if it is something else."""
    if not is_text(column.type):
        return column
    text = pc.utf8_trim_whitespace(decoded(column))
    try:
        return pc.if_else(pc.equal(text, ""), None, text).cast(pa.int64())
    except pa.ArrowInvalid:  # perhaps of another form, such as +1
        return pa.array([int(value) if value else None for value in text.to_pylist()], pa.int64())


def cast_as(column: pa.Array, kind: pa.DataType, name: str) -> pa.Array:
    """Return a column with the type that it has in the first part, where no value is lost by it."""
    if column.type == kind:
        return column
    plain = decoded(column)
    zones = [pa.types.is_timestamp(each) and each.tz is not None for each in (plain.type, kind)]
    try:
        if pa.types.is_timestamp(plain.type) and pa.types.is_timestamp(kind) and zones[0] != zones[1]:
            raise pa.ArrowInvalid("of times without a zone nobody knows when they were")
        changed = plain.cast(kind)
        if plain.null_count < len(plain):
            back = decoded(changed).cast(plain.type)
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
