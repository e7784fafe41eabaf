""".parquet: a columnar table, read and written in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from auxcal._core.extras import needs
from auxcal.tables.batches import Batch, Source, rows_per_batch
from auxcal.tables.parts import File, LocalFile
from auxcal.tables.values import decoded, is_list
from auxcal.tables.written import writing

with needs("tables"):
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile, ParquetWriter, read_metadata

# Without a buffer per column, or with pre_buffer, entire row groups are read, and one can be the entire file.
_BUFFER, _REMOTE_BUFFERS = 2**13, 2**25  # bytes of a column; of all columns, where every buffer is a request
_GROUP_ROWS = 2**16  # a row group of the usual size, which takes little memory to read


@contextmanager
def open_parquet(file: File) -> Iterator[Source]:
    """Read a parquet file in batches that do not grow with its row groups."""
    with _opened(file) as opened:
        schema, metadata = opened.schema_arrow, opened.metadata

        def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Batch]:
            columns = list(dict.fromkeys((*numbers, *others)))
            groups = (metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
            rows = rows_per_batch(max(sum(groups) / max(metadata.num_rows, 1), 8 * len(columns)))
            read = 0
            for batch in opened.iter_batches(rows, columns=columns, use_threads=False):
                read += batch.num_rows
                yield Batch(_without_views(batch.select(columns)), read / metadata.num_rows)
            if not read:
                empty = pa.schema([schema.field(name) for name in columns]).empty_table()
                yield Batch(pa.RecordBatch.from_pydict({name: empty[name].combine_chunks() for name in columns}), 1.0)

        yield Source(tuple(schema.names), batches, tuple(field.name for field in schema if is_list(field.type)))


def _without_views(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return JSON, and views of text and bytes, which many functions of Arrow lack, as text and bytes."""
    for place, field in enumerate(rows.schema):
        if isinstance(field.type, pa.JsonType):
            rows = rows.set_column(place, field.name, decoded(rows.column(place)))
        if pa.types.is_string_view(field.type) or pa.types.is_binary_view(field.type):
            plain = pa.string() if pa.types.is_string_view(field.type) else pa.binary()
            rows = rows.set_column(place, field.name, rows.column(place).cast(plain))
    return rows


def write_parquet(path: Path, batches: Iterator[pa.RecordBatch]) -> None:
    """Write batches as they arrive, collected into row groups; the first batch fixes the types."""
    batches = map(_without_views, batches)
    first = next(batches)
    # Parquet has no seconds. A cast refuses what is too far away for milliseconds; pyarrow writes it wrongly before 25.
    seconds = [pa.types.is_timestamp(field.type) and field.type.unit == "s" for field in first.schema]
    fields = zip(first.schema, seconds, strict=True)
    stored = pa.schema([f.with_type(pa.timestamp("ms", f.type.tz)) if is_second else f for f, is_second in fields])
    with writing(), ParquetWriter(path, stored) as file:
        group = [first]
        for rows in batches:
            group.append(rows.cast(first.schema))
            if sum(map(len, group)) >= _GROUP_ROWS:
                file.write_table(pa.Table.from_batches(group).cast(stored))
                group.clear()
        file.write_table(pa.Table.from_batches(group, first.schema).cast(stored))


def _opened(file: File) -> ParquetFile:
    if isinstance(file, LocalFile):
        return ParquetFile(file.path, buffer_size=_BUFFER, pre_buffer=False)
    metadata = read_metadata(file.place, filesystem=file.filesystem)
    buffer = max(_BUFFER, _REMOTE_BUFFERS // max(metadata.num_columns, 8))
    return ParquetFile(file.place, buffer_size=buffer, pre_buffer=False, metadata=metadata, filesystem=file.filesystem)
