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
    """Some rows of a file, the share of it that has been read so far, if known, and where they are in several parts."""

    columns: Columns
    done: float | None
    part: InPart | None = None

    def __len__(self) -> int:
        return max(map(len, self.columns.values()), default=0)


@dataclass(frozen=True)
class Source:
    """A file that is open for reading.

    `batches` takes the names of the columns of numbers and of those to read unchanged, and gives at least one batch,
    even if it has no rows. `passable` are the columns that can be passed through next to scores: one value per row,
    which in those of `lists` is a list.
    """

    names: tuple[str, ...]
    batches: Callable[[Sequence[str], Sequence[str]], Iterator[Batch]]
    passable: tuple[str, ...]
    lists: tuple[str, ...] = ()

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
    """How files with one extension are read and written, and how many of them make up one set of predictions.

    `open` takes a file, or up to `most_files`; `write` takes batches of columns, and is None for a read-only format.
    """

    open: Callable[..., AbstractContextManager[Source]]
    write: Callable[[Path, Iterator[Columns]], None] | None = None
    most_files: int = 1


def rows_per_batch(row_bytes: float) -> int:
    """Return the number of rows of a given size in a batch."""
    return max(1, int(BATCH_BYTES // max(row_bytes, 1)))
