""".parquet: a columnar table, read and written in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from auxcal._core.extras import needs
from auxcal.tables.discover import File, LocalFile
from auxcal.tables.numpy_columns import Columns
from auxcal.tables.sources import Batch, Source, rows_per_batch

# Without a buffer per column, or with pre_buffer, entire row groups are read, and one can be the entire file.
_BUFFER, _REMOTE_BUFFERS = 2**13, 2**25  # bytes of a column; of all columns, where every buffer is a request
_GROUP_ROWS = 2**16  # a row group of the usual size: whoever reads it needs little memory


@contextmanager
def open_parquet(file: File) -> Iterator[Source]:
    """Read a parquet file in batches that do not grow with its row groups."""
    with needs("tables"):
        from pyarrow import array

        from auxcal.tables.arrow_columns import ArrowColumn, is_list
    with _opened(file) as opened:
        names, metadata = tuple(opened.schema_arrow.names), opened.metadata

        def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Batch]:
            columns = [*numbers, *others]
            groups = (metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
            rows = rows_per_batch(max(sum(groups) / max(metadata.num_rows, 1), 8 * len(columns)))
            read = 0
            for batch in opened.iter_batches(rows, columns=columns, use_threads=False):
                read += batch.num_rows
                yield Batch({name: ArrowColumn(batch.column(name)) for name in columns}, read / metadata.num_rows)
            if not read:
                kinds = {name: opened.schema_arrow.field(name).type for name in columns}
                yield Batch({name: ArrowColumn(array([], kind)) for name, kind in kinds.items()}, 1.0)

        yield Source(names, batches, names, tuple(field.name for field in opened.schema_arrow if is_list(field.type)))


def write_parquet(path: Path, batches: Iterator[Columns]) -> None:
    """Write batches as they arrive, collected into row groups; the first batch fixes the types."""
    with needs("tables"):
        from pyarrow import Table, schema, timestamp, types
        from pyarrow.parquet import ParquetWriter

        from auxcal.tables.arrow_columns import record_batch, writing
    first = record_batch(next(batches))
    # Parquet has no seconds. A cast refuses what is too far away for milliseconds; pyarrow writes it wrongly before 25.
    seconds = [types.is_timestamp(field.type) and field.type.unit == "s" for field in first.schema]
    fields = zip(first.schema, seconds, strict=True)
    stored = schema([f.with_type(timestamp("ms", f.type.tz)) if is_second else f for f, is_second in fields])
    with writing(), ParquetWriter(path, stored) as file:
        group = [first]
        for columns in batches:
            group.append(record_batch(columns, first.schema))
            if sum(len(batch) for batch in group) >= _GROUP_ROWS:
                file.write_table(Table.from_batches(group).cast(stored))
                group.clear()
        file.write_table(Table.from_batches(group, first.schema).cast(stored))


def _opened(file: File) -> Any:
    from pyarrow.parquet import ParquetFile, read_metadata

    if isinstance(file, LocalFile):
        return ParquetFile(file.path, buffer_size=_BUFFER, pre_buffer=False)
    metadata = read_metadata(file.place, filesystem=file.filesystem)
    buffer = max(_BUFFER, _REMOTE_BUFFERS // max(metadata.num_columns, 8))
    return ParquetFile(file.place, buffer_size=buffer, pre_buffer=False, metadata=metadata, filesystem=file.filesystem)
