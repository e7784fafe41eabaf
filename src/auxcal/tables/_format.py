"""What a file format is: columns that are read and written in batches of rows."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auxcal._core.errors import InvalidInputError

Columns: TypeAlias = Mapping[str, Any]
"""NumPy arrays of the same length by name; one of them can be a matrix with a row for each sample. Columns that are
passed through from parquet files are pyarrow arrays."""

BATCH_BYTES = 2**21
"""The approximate size of a batch, so that memory does not grow with the file."""


class InPart(NamedTuple):
    """The part of a table that rows come from, and how many of its rows come before them."""

    name: str
    before: int


@dataclass(frozen=True)
class Batch:
    """Some rows of a file.

    Parameters
    ----------
    columns : mapping of str to array
        Their values.
    done : float or None
        The share of the file that has been read so far, if known.
    part : InPart or None
        Where they are in a table of several parts.
    """

    columns: Columns
    done: float | None
    part: InPart | None = None

    def __len__(self) -> int:
        return max((len(column) for column in self.columns.values()), default=0)

    def with_numbers(self, numbers: Sequence[str]) -> Columns:
        """Return columns of which those of numbers are NumPy arrays."""
        arrow = [name for name in numbers if not isinstance(self.columns[name], np.ndarray)]
        if not arrow:
            return self.columns
        from auxcal.tables._arrow import numbers_of

        return {**self.columns, **{name: numbers_of(self.columns[name]) for name in arrow}}


@dataclass(frozen=True)
class Source:
    """A file that is open for reading.

    Parameters
    ----------
    names : tuple of str
        Its columns.
    batches : callable
        Takes the names of the columns of numbers and of those to read unchanged; returns an iterator of batches, of
        which there is at least one, even if it has no rows. From parquet files, both are pyarrow arrays.
    passable : tuple of str
        The columns that can be passed through next to scores: one value per row.
    """

    names: tuple[str, ...]
    batches: Callable[[Sequence[str], Sequence[str]], Iterator[Batch]]
    passable: tuple[str, ...]

    @property
    def matrices(self) -> tuple[str, ...]:
        """The columns that have several values per row."""
        passable = set(self.passable)
        return tuple(name for name in self.names if name not in passable)

    def read(self, numbers: Sequence[str], others: Sequence[str]) -> Columns:
        """Return all rows at once."""
        batches = [batch.with_numbers(numbers) for batch in self.batches(numbers, others) if len(batch)]
        if not batches:
            raise InvalidInputError("there are no rows. Check where the file comes from.")
        return joined_columns(batches)


@dataclass(frozen=True)
class Format:
    """How files with one extension are read and written.

    Parameters
    ----------
    open : callable
        Takes one path, or up to `most_files`; returns a context manager that yields a `Source`.
    write : callable or None
        Writes batches of columns, one after the other; None if the format is read-only.
    most_files : int
        How many files make up one set of predictions.
    reads_remote : bool
        Whether `open` takes a `RemoteFile` too; the others get a copy on this machine.
    """

    open: Callable[..., AbstractContextManager[Source]]
    write: Callable[[Path, Iterator[Columns]], None] | None = None
    most_files: int = 1
    reads_remote: bool = False


def joined_columns(parts: Sequence[Columns]) -> Columns:
    """Return the rows of all parts."""
    return {name: _joined([columns[name] for columns in parts], name) for name in parts[0]}


def _joined(parts: list[Any], name: str) -> Any:
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], np.ndarray):
        return concatenated(parts, name)
    from auxcal.tables._arrow import joined

    return joined(parts)


def concatenated(parts: Sequence[NDArray[Any]], name: str) -> NDArray[Any]:
    """Return arrays as one, of a type that holds all their values.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.tables._format import concatenated
    >>> concatenated([np.array([2**53 + 1]), np.array([0.5])], "id")
    Traceback (most recent call last):
    ...
    auxcal._core.errors.InvalidInputError: the column 'id' holds int64 and float64, and no type of both. ...
    """
    found = np.concatenate(parts)
    kinds = {part.dtype: part for part in parts if part.dtype != found.dtype and part.dtype.kind not in "OUS"}
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


def shortened(reason: str) -> str:
    """Shorten another library's message to one line; some quote a whole row."""
    return textwrap.shorten(reason, 200, placeholder=" …").rstrip(".")


def rows_per_batch(row_bytes: float) -> int:
    """Return the number of rows of a given size in a batch."""
    return max(1, int(BATCH_BYTES // max(row_bytes, 1)))
