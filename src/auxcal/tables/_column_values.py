"""One column of a table, however its format gives it, as NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Bools

EMPTY = "(empty)"
"""The name of the slice of rows that have no value in the column of the slices."""


def values_of_column(column: Any) -> NDArray[Any]:
    """Return numbers as they are, and text as objects."""
    if not isinstance(column, np.ndarray):
        from auxcal.tables._arrow import values_of

        return values_of(column)
    if isinstance(column, np.ma.MaskedArray):
        return np.where(column.mask, np.nan, column.data)
    return column.astype(str).astype(object) if column.dtype.kind in "US" else column


def weights_of_column(column: Any, kept: Bools) -> NDArray[Any]:
    """Return the weights of the rows that are kept; the others count 0, whatever the column says."""
    values = values_of_column(column)
    return np.where(kept, values, 0) if values.dtype.kind in "biuf" else values


def groups_of_column(column: Any, kept: Bools) -> NDArray[Any]:
    """Return what each row belongs to, None where text is empty; a row that is left out never lacks a group."""
    values = values_of_column(column)
    if values.dtype == object:
        values = np.where(values == "", np.array(None), values)
    return np.where(kept, values, values[np.argmax(kept)]) if kept.any() else values[:0]


def slices_of_column(column: Any) -> NDArray[Any]:
    """Return the slice of each row; those without a value are a slice of their own."""
    values = values_of_column(column)
    if values.dtype.kind not in "fMO":
        return values
    missing = [each is None or each == "" or each != each for each in values.tolist()]
    return np.where(missing, EMPTY, values.astype(str).astype(object)) if any(missing) else values


def times_as_text(times: NDArray[Any]) -> list[str | None]:
    """Return dates and times as ISO 8601 has them, and durations with their unit; None where one is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.tables._column_values import times_as_text
    >>> times_as_text(np.array(["2024-05-01", "NaT"], "M8[D]")), times_as_text(np.array([90], "m8[s]"))
    (['2024-05-01', None], ['90 s'])
    """
    if times.dtype.kind == "M":
        text = np.datetime_as_string(times).tolist()
    else:
        unit, step = np.datetime_data(times.dtype)
        text = [f"{number * step} {unit}" for number in times.astype(np.int64).tolist()]
    return [None if missing else value for value, missing in zip(text, np.isnat(times).tolist(), strict=True)]
