""".parquet: a columnar table, read and written in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from auxcal._extras import needs
from auxcal.formats._format import Batch, Columns, Source, rows_per_batch

# Without a buffer per column, or with pre_buffer, entire row groups are read, and one can be the entire file.
_BATCHWISE: dict[str, Any] = {"buffer_size": 2**13, "pre_buffer": False}
_GROUP_ROWS = 2**16


@contextmanager
def open_parquet(path: Path) -> Iterator[Source]:
    """Read a parquet file in batches that do not grow with its row groups."""
    with needs("tables"):
        from pyarrow.parquet import ParquetFile

        from auxcal.formats._arrow import numbers_of
    with ParquetFile(path, **_BATCHWISE) as file:
        names = tuple(file.schema_arrow.names)

        def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Batch]:
            columns = [*numbers, *others]
            rows = rows_per_batch(max(_row_bytes(file.metadata), 8 * len(columns)))
            read = 0
            for batch in file.iter_batches(rows, columns=columns, use_threads=False):
                read += batch.num_rows
                found = {name: numbers_of(batch.column(name), name) for name in numbers}
                found |= {name: batch.column(name) for name in others}
                yield Batch(found, read / file.metadata.num_rows)

        yield Source(names, batches, names)


def write_parquet(path: Path, batches: Iterator[Columns]) -> None:
    """Write batches as they arrive, collected into row groups; the first batch fixes the types."""
    with needs("tables"):
        from pyarrow import Table
        from pyarrow.parquet import ParquetWriter

        from auxcal.formats._arrow import record_batch
    first = record_batch(next(batches))
    with ParquetWriter(path, first.schema) as file:
        group = [first]
        for columns in batches:
            group.append(record_batch(columns, first.schema))
            if sum(len(batch) for batch in group) >= _GROUP_ROWS:
                file.write_table(Table.from_batches(group))
                group.clear()
        file.write_table(Table.from_batches(group, first.schema))


def _row_bytes(metadata: Any) -> float:
    groups = (metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    return sum(groups) / max(metadata.num_rows, 1)
