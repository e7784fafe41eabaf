"""Column, the one form in which readers give the columns of a table, and those that NumPy holds."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Bools
from auxcal._core.errors import InvalidInputError

if TYPE_CHECKING:
    from auxcal.tables.arrow_columns import ArrowColumn

EMPTY = "(empty)"
"""The name of the slice of rows that have no value in the column of the slices."""

_MOST_WHOLE = 2**53  # up to which floats have all whole numbers


class Problem(IntEnum):
    """What is wrong with a row; the first that is found counts."""

    NONE = 0
    NULL = 1
    WIDTH = 2
    NAN = 3
    NO_PROBABILITIES = 4


Problems: TypeAlias = NDArray[np.uint8]
"""A `Problem` for each row."""


class ColumnValues(ABC):
    """What columns do with their values, however they are held."""

    kind: Any = None
    """The type of an Arrow column, which all parts of a table share; NumPy has one per batch."""

    @abstractmethod
    def values(self) -> NDArray[Any]:
        """Return numbers as they are, NaN where one is missing, and text as objects."""

    def whole_numbers(self) -> Column:
        """Return text as integers, missing where it is empty; fail if it is something else."""
        text = ["" if value is None else str(value).strip() for value in self.values()]
        missing = np.array([not value for value in text], dtype=bool) if "" in text else None
        return NumpyColumn(np.fromiter((int(value or "0") for value in text), np.int64, len(text)), missing)

    def slices(self) -> NDArray[Any]:
        """Return the slice of each row; those without a value are a slice of their own."""
        values = self.values()
        if values.dtype.kind not in "fMO":
            return values
        missing = [each is None or each == "" or each != each for each in values.tolist()]
        return np.where(missing, EMPTY, values.astype(str).astype(object)) if any(missing) else values


class NumpyColumn(ColumnValues):
    """A column as a NumPy array.

    Parameters
    ----------
    data : array of shape (n,) or (n, m)
        The values; text is of dtype object, where None is missing.
    missing : array of shape (n,), optional
        Which numbers are missing.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.tables.numpy_columns import NumpyColumn
    >>> NumpyColumn(np.array([1, 2]), np.array([False, True])).fields("y")
    ['1', '']
    >>> NumpyColumn(np.array(["a", "b"], dtype=object)).fields("id"), NumpyColumn(np.float32([0.1, 2])).fields("score")
    (['"a"', '"b"'], ['0.1', '2.0'])
    """

    def __init__(self, data: NDArray[Any], missing: Bools | None = None) -> None:
        self.data, self.missing = data, missing

    def __len__(self) -> int:
        return len(self.data)

    def take(self, rows: Any) -> NumpyColumn:
        """Return some rows, given as a mask or as indices."""
        return NumpyColumn(self.data[rows], None if self.missing is None else self.missing[rows])

    def values(self) -> NDArray[Any]:
        """Return numbers, NaN where one is missing, and text as objects."""
        if self.missing is not None:
            return np.where(self.missing, np.nan, self.data)
        return self.data.astype(str).astype(object) if self.data.dtype.kind in "US" else self.data

    def encoded(self) -> tuple[NDArray[Any], Any]:
        """Return the distinct values of text, and which of them each row has; numbers as they are."""
        values = self.values()
        if values.dtype != object:
            return values, slice(None)
        places: dict[Any, int] = {}
        of_row = np.fromiter((places.setdefault(each, len(places)) for each in values.tolist()), np.intp, len(values))
        return np.array(list(places), dtype=object), of_row

    def numbers(self, what: str, width: int | None = None) -> tuple[NDArray[Any], Problems | None]:
        """Return a vector, or a matrix with a row of some width for each list, and what is wrong with each row."""
        return self.values() if self.missing is not None else self.data, None

    def width(self) -> int:
        """Return how many numbers a row has; where lists differ, as many as most have."""
        return self.data.shape[1] if self.data.ndim > 1 else 1

    @property
    def is_text(self) -> bool:
        """Whether it holds text that may mean something else, as that of a CSV file does."""
        return self.data.dtype == object

    def cast(self, kind: Any, name: str) -> NumpyColumn:
        """Return a column with the type of the first part, if it has one, where no value is lost by it."""
        return self

    def fields(self, name: str) -> list[str]:
        """Return a field of a CSV file for each value: text in quotes, numbers with no more digits than they need."""
        kind = self.data.dtype.kind
        if self.missing is not None:
            text = self.data.astype(object).tolist()
            return ["" if missing else str(each) for each, missing in zip(text, self.missing.tolist(), strict=True)]
        if kind in "OUS":
            return quoted(_decoded(self.data, name) if kind == "S" else map(plain_text, self.data.tolist()))
        if kind in "mM":
            return [text or "" for text in times_as_text(self.data)]
        if kind not in "biuf":
            raise InvalidInputError(
                f"these columns can't be written (dtype {self.data.dtype}). Leave out what is neither number nor text."
            )
        if kind == "b":
            return ["true" if value else "false" for value in self.data.tolist()]
        if kind == "f" and self.data.dtype != np.float64:  # of which Python would write the digits of a float64
            return list(self.data.astype(str).tolist())
        return list(map(repr, self.data.tolist()))

    def array(self, name: str) -> NDArray[Any]:
        """Return numbers or times, or text, empty where it is missing, as NumPy can save them without pickle."""
        if self.missing is not None:
            if self.data.dtype.kind in "iu":
                check_fits_float(self.data[~self.missing], name)
            return self.values()
        if self.data.dtype == object:
            return np.array([plain_text(each) or "" for each in self.data.tolist()], dtype=str)
        return self.data

    def joined(self, others: Sequence[Any], name: str) -> NumpyColumn:
        """Return the values of this column and of others, one after the other."""
        parts = [self, *others]
        if all(part.missing is None for part in parts):
            return NumpyColumn(concatenated([part.data for part in parts], name))
        missing = [np.zeros(len(part), np.bool_) if part.missing is None else part.missing for part in parts]
        return NumpyColumn(concatenated([part.data for part in parts], name), np.concatenate(missing))


Column: TypeAlias = "NumpyColumn | ArrowColumn"
"""The values of some rows: numbers, text or times, or a list of numbers for each row."""

Columns: TypeAlias = Mapping[str, Column]
"""Columns of the same length, by name."""


def joined_columns(parts: Sequence[Columns]) -> dict[str, Column]:
    """Return the rows of all parts."""
    first, *others = parts
    if not others:
        return dict(first)
    return {name: column.joined([each[name] for each in others], name) for name, column in first.items()}


def concatenated(parts: Sequence[NDArray[Any]], name: str) -> NDArray[Any]:
    """Return arrays as one, of a type that holds all their values.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.tables.numpy_columns import concatenated
    >>> concatenated([np.array([2**53 + 1]), np.array([0.5])], "id")
    Traceback (most recent call last):
    ...
    auxcal._core.errors.InvalidInputError: the column 'id' holds int64 and float64, and no type of both. ...
    """
    found = np.concatenate(parts)
    kinds = {part.dtype for part in parts if part.dtype != found.dtype and part.dtype.kind not in "OUS"}
    text = found.dtype.kind in "OUS"
    for part in parts:
        if part.dtype in kinds and (text or not np.array_equal(_changed(part, found), part, equal_nan=True)):
            both = " and ".join(dict.fromkeys(str(part.dtype) for part in parts))
            raise InvalidInputError(
                f"the column {name!r} holds {both}, and no type of both. Give it the same type in all parts."
            )
    return found


def _changed(part: NDArray[Any], found: NDArray[Any]) -> NDArray[Any]:
    """Return what is left of an array after it was one of another type."""
    with np.errstate(invalid="ignore"):
        return part.astype(found.dtype).astype(part.dtype)


def plain_text(value: Any) -> str | None:
    """Return a value of a column of several types, as JSON can have, as text; None if it is missing.

    Examples
    --------
    >>> from auxcal.tables.numpy_columns import plain_text
    >>> list(map(plain_text, ["a", 1, True, None, ["b"]]))
    ['a', '1', 'true', None, '["b"]']
    """
    if value is None or type(value) is str:
        return value
    if isinstance(value, bool | list | dict):
        return json.dumps(value)
    return None if value != value else str(value)


def quoted(values: Iterable[str | None]) -> list[str]:
    """Return text as fields of a CSV file; a missing value is empty, without quotes."""
    return ["" if value is None else '"' + value.replace('"', '""') + '"' for value in values]


def _decoded(column: NDArray[Any], name: str) -> list[str]:
    try:
        return [value.decode() for value in column.tolist()]
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{name!r} holds bytes that are no text in UTF-8. Write .parquet or .npz.") from error


def check_fits_float(numbers: NDArray[Any], name: str) -> None:
    """Refuse whole numbers that would be other ones as floats, which NumPy needs where some are missing."""
    if len(numbers) and max(abs(int(numbers.min())), abs(int(numbers.max()))) > _MOST_WHOLE:
        raise InvalidInputError(
            f"{name!r} has missing values, and whole numbers that are too large for floats. Write .parquet or .csv."
        )


def times_as_text(times: NDArray[Any]) -> list[str | None]:
    """Return dates and times as ISO 8601 has them, and durations with their unit; None where one is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.tables.numpy_columns import times_as_text
    >>> times_as_text(np.array(["2024-05-01", "NaT"], "M8[D]")), times_as_text(np.array([90], "m8[s]"))
    (['2024-05-01', None], ['90 s'])
    """
    if times.dtype.kind == "M":
        text = np.datetime_as_string(times).tolist()
    else:
        unit, step = np.datetime_data(times.dtype)
        text = [f"{number * step} {unit}" for number in times.astype(np.int64).tolist()]
    return [None if missing else value for value, missing in zip(text, np.isnat(times).tolist(), strict=True)]
