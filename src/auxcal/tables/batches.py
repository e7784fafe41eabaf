"""Source and Format: a table is read and written in Arrow's record batches, whatever file it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from auxcal._core.errors import InvalidInputError

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_BYTES = 2**21
"""The approximate size of a batch, so that memory does not grow with the file; it fits into the caches of most CPUs."""


class InPart(NamedTuple):
    """The part of a table that rows come from, and how many of its rows come before them."""

    name: str
    before: int


@dataclass(frozen=True)
class Batch:
    """Some rows of a table, the share of it that is read so far, if known, and where they are in several parts."""

    rows: pa.RecordBatch
    done: float | None = None
    part: InPart | None = None

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def __getitem__(self, name: str) -> pa.Array:
        return self.rows.column(name)


@dataclass(frozen=True)
class Source:
    """A table that is open for reading.

    `batches` takes the names of the columns of numbers, which a file of text reads as such, and of those to read
    unchanged; it gives at least one batch, even if it has no rows. `lists` are the columns with several values per row.
    `arrays`: whether columns are whole arrays; those of `lists` are not passed through beside scores then. `unpassed`
    are others that are not.
    """

    names: tuple[str, ...]
    batches: Callable[[Sequence[str], Sequence[str]], Iterator[Batch]]
    lists: tuple[str, ...] = ()
    arrays: bool = False
    unpassed: tuple[str, ...] = ()

    @property
    def matrices(self) -> tuple[str, ...]:
        """The whole arrays with several values per row."""
        return self.lists if self.arrays else ()

    @property
    def passable(self) -> tuple[str, ...]:
        """The columns that can be passed through beside scores."""
        left_out = {*self.unpassed, *self.matrices}
        return tuple(name for name in self.names if name not in left_out)

    def column(self, name: str) -> Iterator[Batch]:
        """Yield the batches of one column that have rows."""
        n_rows = 0
        for batch in self.batches((), (name,)):
            n_rows += len(batch)
            if len(batch):
                yield batch
        check_rows(n_rows)


def check_rows(n_rows: int) -> None:
    """Refuse a table without rows."""
    if not n_rows:
        raise InvalidInputError("there are no rows. Check where the file comes from.")


@dataclass(frozen=True)
class Format:
    """How files with one extension are read and written, and how many of them make up one set of predictions.

    `open` takes a file, or up to `most_files`; `write` takes batches, and is None for a read-only format.
    """

    open: Callable[..., AbstractContextManager[Source]]
    write: Callable[[Path, Iterator[pa.RecordBatch]], None] | None = None
    most_files: int = 1


def rows_per_batch(row_bytes: float) -> int:
    """Return the number of rows of a given size in a batch."""
    return max(1, int(BATCH_BYTES // max(row_bytes, 1)))
