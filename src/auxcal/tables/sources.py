"""What a file format is: columns that are read and written in batches of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from auxcal._core.errors import InvalidInputError
from auxcal.tables.numpy_columns import Columns, joined_columns

BATCH_BYTES = 2**21
"""The approximate size of a batch, so that memory does not grow with the file; it fits into the caches of most CPUs."""


class InPart(NamedTuple):
    """The part of a table that rows come from, and how many of its rows come before them."""

    name: str
    before: int


@dataclass(frozen=True)
class Batch:
    """Some rows of a file.

    Parameters
    ----------
    columns : mapping of str to Column
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
        return max(map(len, self.columns.values()), default=0)


@dataclass(frozen=True)
class Source:
    """A file that is open for reading.

    Parameters
    ----------
    names : tuple of str
        Its columns.
    batches : callable
        Takes the names of the columns of numbers and of those to read unchanged; returns an iterator of batches, of
        which there is at least one, even if it has no rows.
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
        batches = [batch.columns for batch in self.batches(numbers, others) if len(batch)]
        if not batches:
            raise InvalidInputError("there are no rows. Check where the file comes from.")
        return joined_columns(batches)


@dataclass(frozen=True)
class Format:
    """How files with one extension are read and written.

    Parameters
    ----------
    open : callable
        Takes one file, or up to `most_files`; returns a context manager that yields a `Source`.
    write : callable or None
        Writes batches of columns, one after the other; None if the format is read-only.
    most_files : int
        How many files make up one set of predictions.
    """

    open: Callable[..., AbstractContextManager[Source]]
    write: Callable[[Path, Iterator[Columns]], None] | None = None
    most_files: int = 1


def rows_per_batch(row_bytes: float) -> int:
    """Return the number of rows of a given size in a batch."""
    return max(1, int(BATCH_BYTES // max(row_bytes, 1)))
