""".parquet: a table by columns; read and written batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq

from auxcal.formats._arrow import record_batch
from auxcal.formats._format import Batch, Columns, Source, rows_of_batch

_BUFFER = 2**16  # of each column: without one, a row group, which can be the whole file, is read in one piece


@contextmanager
def open_parquet(path: Path) -> Iterator[Source]:
    """Read a parquet file in batches that do not grow with its row groups."""
    with pq.ParquetFile(path, buffer_size=_BUFFER) as file:
        names = tuple(file.schema_arrow.names)

        def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Batch]:
            columns = [*numbers, *others]
            rows = rows_of_batch(max(_row_bytes(file.metadata), 8 * len(columns)))
            read = 0
            for batch in file.iter_batches(rows, columns=columns, use_threads=False):
                read += batch.num_rows
                yield Batch({name: batch.column(name) for name in columns}, read / file.metadata.num_rows)

        yield Source(names, batches, names)


def write_parquet(path: Path, batches: Iterator[Columns]) -> None:
    """Write batches as they come; the first one fixes the types."""
    first = record_batch(next(batches))
    with pq.ParquetWriter(path, first.schema) as file:
        file.write_batch(first)
        for columns in batches:
            file.write_batch(record_batch(columns, first.schema))


def _row_bytes(metadata: pq.FileMetaData) -> float:
    groups = (metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    return sum(groups) / max(metadata.num_rows, 1)
