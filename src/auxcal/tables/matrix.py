"""Arrow columns as NumPy matrices, without a copy where the rows are whole; what is wrong with the others is noted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Floats, as_floats
from auxcal._core.errors import InvalidInputError
from auxcal._core.extras import needs
from auxcal.tables._buffers import nulls_in, to_numpy
from auxcal.tables.scores import Problem, Problems

with needs("tables"):
    import pyarrow as pa


class Matrix(NamedTuple):
    """The numbers of some rows, and what is wrong with each; where something is, its numbers mean nothing."""

    numbers: Floats
    problems: Problems


def is_list(kind: pa.DataType) -> bool:
    """Whether a column holds several values per row."""
    return isinstance(_storage(kind), pa.ListType | pa.LargeListType | pa.FixedSizeListType)


def holds_numbers(kind: pa.DataType) -> bool:
    """Whether a column holds one number per row; whether something is so is a number too."""
    kinds = pa.types.is_floating, pa.types.is_integer, pa.types.is_decimal, pa.types.is_boolean
    return any(is_such(kind) for is_such in kinds)


def usual_width(column: pa.Array) -> int:
    """Return how many values the lists of a column have: where they differ, as many as most have, the more of a tie."""
    kind = _storage(column.type)
    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size)
    _, lengths = _extents(_stored(column).drop_null())
    counts = np.bincount(lengths, minlength=1)
    return len(counts) - 1 - int(counts[::-1].argmax())


def matrix_of(columns: Sequence[pa.Array], width: int, what: str, names: Sequence[str]) -> Matrix:
    """Return one list column, or several columns of numbers, as a matrix."""
    if len(columns) == 1 and not (width == 1 and holds_numbers(columns[0].type)):
        return matrix_of_lists(columns[0], width, what)
    if len(columns) != width:
        raise InvalidInputError(
            f"{what} must be the {width} columns that the calibrator was fitted with; got {len(columns)}: "
            f"{', '.join(names[:8])}. Name those columns, in order."
        )
    return matrix_of_columns(columns, what)


def matrix_of_lists(column: pa.Array, width: int, name: str) -> Matrix:
    """Return lists of numbers as the rows of a matrix."""
    column = _stored(column)
    if pa.types.is_null(column.type):
        return Matrix(np.zeros((len(column), width), np.float32), np.full(len(column), Problem.NULL, np.uint8))
    if not is_list(column.type):
        raise InvalidInputError(f"{name} must be a column of lists of numbers; got {column.type}. Name another column.")
    starts, lengths = _extents(column)
    problems = nulls_in(column).astype(np.uint8)
    whole = lengths == width
    if whole.all():  # then they lie in one piece
        values = column.values.slice(starts[0] if len(starts) else 0, width * len(starts))
        numbers = _numbers(values, name).reshape(-1, width)
        missing = nulls_in(values).reshape(-1, width).any(axis=1) if values.null_count else None
    else:
        problems[~whole & (problems == Problem.NONE)] = Problem.WIDTH
        places = np.where(whole, starts, 0)[:, None] + np.where(whole[:, None], np.arange(width), 0)
        numbers, missing = _gathered(column.values, places, name)
    if missing is not None:
        problems[missing & (problems == Problem.NONE)] = Problem.NULL
    return Matrix(numbers, problems)


def matrix_of_columns(columns: Sequence[pa.Array], name: str) -> Matrix:
    """Return columns of numbers side by side."""
    numbers = as_floats(np.column_stack([_numbers(column, name) for column in columns]), name)
    missing = np.zeros(len(numbers), np.bool_)
    for column in columns:
        if column.null_count:
            missing |= nulls_in(column)
    return Matrix(numbers, missing.astype(np.uint8))  # Problem.NULL is 1


def _extents(column: pa.Array) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return where each list begins among the column's values, and how many values it has."""
    if pa.types.is_fixed_size_list(column.type):
        size = column.type.list_size
        return (column.offset + np.arange(len(column))) * size, np.full(len(column), size)
    offsets = to_numpy(column.offsets)
    return offsets[:-1], np.diff(offsets)


def _gathered(values: pa.Array, places: NDArray[Any], name: str) -> tuple[Floats, NDArray[np.bool_] | None]:
    """Return the values at some places, and which rows of them have a missing one."""
    numbers = _numbers(values, name)
    if not len(numbers):
        return np.zeros(places.shape, numbers.dtype), None
    missing = nulls_in(values)[places].any(axis=1) if values.null_count else None
    return numbers[places], missing


def _numbers(values: pa.Array, name: str) -> Floats:
    """Return numbers as floats, NaN where one is missing."""
    kind = values.type
    if not holds_numbers(kind) and not pa.types.is_null(kind):
        raise InvalidInputError(f"{name} must hold numbers; got {kind}. Cast it, or name another column.")
    if pa.types.is_decimal(kind) or pa.types.is_null(kind) or pa.types.is_boolean(kind):
        values = values.cast(pa.float64())
    return as_floats(to_numpy(values), name)


def _stored(column: pa.Array) -> pa.Array:
    """Return what a tensor or another extension type is stored as."""
    return column.storage if isinstance(column.type, pa.BaseExtensionType) else column


def _storage(kind: pa.DataType) -> pa.DataType:
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
