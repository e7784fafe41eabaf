""".parquet: a columnar table, read and written in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from auxcal._core.extras import needs
from auxcal.tables._format import Batch, Columns, Source, rows_per_batch
from auxcal.tables._stores import File

# Without a buffer per column, or with pre_buffer, entire row groups are read, and one can be the entire file.
_BUFFER, _REMOTE_BUFFERS = 2**13, 2**25  # bytes of a column; of all columns, where every buffer is a request
_GROUP_ROWS = 2**16


@contextmanager
def open_parquet(path: File) -> Iterator[Source]:
    """Read a parquet file in batches that do not grow with its row groups."""
    with needs("tables"):
        from pyarrow import array

        from auxcal.tables._arrow import readable
    with _opened(path) as file:
        names = tuple(file.schema_arrow.names)

        def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Batch]:
            columns = [*numbers, *others]
            rows = rows_per_batch(max(_row_bytes(file.metadata), 8 * len(columns)))
            read = 0
            for batch in file.iter_batches(rows, columns=columns, use_threads=False):
                read += batch.num_rows
                yield Batch({name: readable(batch.column(name)) for name in columns}, read / file.metadata.num_rows)
            if not read:
                empty = {name: array([], file.schema_arrow.field(name).type) for name in columns}
                yield Batch({name: readable(column) for name, column in empty.items()}, 1.0)

        yield Source(names, batches, names)


def write_parquet(path: Path, batches: Iterator[Columns]) -> None:
    """Write batches as they arrive, collected into row groups; the first batch fixes the types."""
    with needs("tables"):
        from pyarrow import Table
        from pyarrow.parquet import ParquetWriter

        from auxcal.tables._arrow import record_batch, writing
    first = record_batch(next(batches))
    with writing(), ParquetWriter(path, first.schema) as file:
        group = [first]
        for columns in batches:
            group.append(record_batch(columns, first.schema))
            if sum(len(batch) for batch in group) >= _GROUP_ROWS:
                file.write_table(Table.from_batches(group))
                group.clear()
        file.write_table(Table.from_batches(group, first.schema))


def _opened(path: File) -> Any:
    from pyarrow.parquet import ParquetFile, read_metadata

    if isinstance(path, Path):
        return ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)
    where: dict[str, Any] = {
        "filesystem": path.filesystem,
        "metadata": read_metadata(path.path, filesystem=path.filesystem),
    }
    buffer = max(_BUFFER, _REMOTE_BUFFERS // max(where["metadata"].num_columns, 8))
    return ParquetFile(path.path, buffer_size=buffer, pre_buffer=False, **where)


def _row_bytes(metadata: Any) -> float:
    groups = (metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    return sum(groups) / max(metadata.num_rows, 1)
