""".csv, and `-` for standard input and output: a table in text, as programs and spreadsheets write it.

The delimiter is a comma, a semicolon or a tab, whichever is most frequent in the first line. If it is not the comma,
numbers may have a decimal comma, as in files of a European spreadsheet. Columns that are not numbers are passed through
as text.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from auxcal._errors import FileFormatError
from auxcal.formats._arrow import record_batch
from auxcal.formats._format import BATCH_BYTES, Batch, Columns, Source, shortened

_SAMPLE_BYTES = 2**20
_SAMPLE_ROWS = 1000
_DELIMITERS = ",;\t"


@contextmanager
def open_csv(path: Path) -> Iterator[Source]:
    """Read a CSV file in batches."""
    with path.open("rb") as file:
        yield _source(file, path.stat().st_size)


@contextmanager
def open_standard_input(_: Path) -> Iterator[Source]:
    """Read CSV from standard input in batches, as it arrives."""
    yield _source(sys.stdin.buffer, None)


def write_csv(path: Path, batches: Iterator[Columns]) -> None:
    """Write batches as they arrive."""
    with path.open("wb") as file:
        _write(file, batches)


def write_standard_output(_: Path, batches: Iterator[Columns]) -> None:
    """Write CSV to standard output as it arrives."""
    _write(sys.stdout.buffer, batches)
    sys.stdout.buffer.flush()


@dataclass(frozen=True)
class _Dialect:
    """The dialect of a CSV file, found from its first rows."""

    delimiter: str
    names: tuple[str, ...]
    header_line: int
    rows: tuple[dict[str, str], ...]

    def decimal_point(self, numbers: Sequence[str]) -> str:
        comma = self.delimiter != "," and any("," in (row.get(name) or "") for row in self.rows for name in numbers)
        return "," if comma else "."


def _source(file: BinaryIO, size: int | None) -> Source:
    sample = file.read(_SAMPLE_BYTES)
    dialect = _dialect(sample)

    def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Batch]:
        for batch in _record_batches(io.BufferedReader(_Rejoined(sample, file)), dialect, numbers, others):
            rows = _without_blank_rows(batch)
            if rows.num_rows:
                done = file.tell() / size if size else None
                yield Batch(dict(zip(rows.schema.names, rows.columns, strict=True)), done)

    return Source(dialect.names, batches, dialect.names)


def _record_batches(
    file: Any, dialect: _Dialect, numbers: Sequence[str], others: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    read = arrow_csv.ReadOptions(
        use_threads=False,
        block_size=BATCH_BYTES // 2,
        skip_rows=dialect.header_line + 1,
        column_names=list(dialect.names),
    )
    parse = arrow_csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True)
    convert = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(others, pa.string()) | dict.fromkeys(numbers, pa.float64()),
        include_columns=[*numbers, *others],
        decimal_point=dialect.decimal_point(numbers),
    )
    try:
        yield from arrow_csv.open_csv(file, read, parse, convert)
    except pa.ArrowInvalid as error:
        reason = re.sub(r"In CSV column #(\d+)", lambda match: f"column {dialect.names[int(match[1])]!r}", str(error))
        raise FileFormatError(
            f"expected the {len(dialect.names)} columns of the first line in every row, and numbers for logits and "
            f"features; got {shortened(reason)}. Repair that row; if it has other letters, save it as 'CSV UTF-8'."
        ) from error


def _dialect(sample: bytes) -> _Dialect:
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise FileFormatError("expected text in UTF-8; this is UTF-16. Save it as 'CSV UTF-8'.")
    lines = sample.decode("utf-8-sig", errors="replace").splitlines()
    header_line = next((place for place, line in enumerate(lines) if line.strip()), None)
    if header_line is None:
        raise FileFormatError("expected a line with the names of the columns, and rows; the file is empty.")
    header = lines[header_line]
    delimiter = max(_DELIMITERS, key=header.count)
    names = tuple(name.strip() for name in next(csv.reader([header], delimiter=delimiter)))
    rows = csv.DictReader(lines[header_line + 1 :], names, delimiter=delimiter)
    return _Dialect(delimiter, names, header_line, tuple(islice(rows, _SAMPLE_ROWS)))


def _without_blank_rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Drop rows in which every column is empty, which spreadsheets append."""
    if not all(column.null_count or pa.types.is_string(column.type) for column in batch.columns):
        return batch
    empty = [pc.equal(column, "") if pa.types.is_string(column.type) else column.is_null() for column in batch.columns]
    return batch.filter(pc.invert(reduce(pc.and_, empty)))


def _write(file: Any, batches: Iterator[Columns]) -> None:
    first = record_batch(next(batches), flat=True)
    header = io.StringIO()
    csv.writer(header, lineterminator="\n").writerow(first.schema.names)
    file.write(header.getvalue().encode())
    with arrow_csv.CSVWriter(file, first.schema, write_options=arrow_csv.WriteOptions(include_header=False)) as writer:
        writer.write_batch(first)
        for columns in batches:
            writer.write_batch(record_batch(columns, first.schema, flat=True))


class _Rejoined(io.RawIOBase):
    """A file read from its beginning again, after its first bytes were read; a pipe can't be rewound."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = io.BytesIO(head), rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._head.read(len(buffer)) or self._rest.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
