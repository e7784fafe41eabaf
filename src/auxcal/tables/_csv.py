""".csv, and `-` for standard input and output: a table in text, as programs and spreadsheets write it.

The delimiter is a comma, a semicolon or a tab, whichever is most frequent in the first line. If it is not the comma,
numbers may have a decimal comma, as in files of a European spreadsheet. Columns that are not numbers are passed through
as text.
"""

from __future__ import annotations

import codecs
import csv
import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TextIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auxcal._core.errors import FileFormatError
from auxcal.tables._csv_fields import fields_of, long_fields, plain_columns
from auxcal.tables._format import BATCH_BYTES, Batch, Columns, Source, shortened
from auxcal.tables._stores import File

_Fields: TypeAlias = list[list[str]]

_SAMPLE_BYTES = 2**20
_SAMPLE_ROWS = 1000
_DELIMITERS = ",;\t"
_STRING_OVERHEAD = 8  # a row takes about this many times as much memory as strings
_LONGEST_HEADER = 2**26
_MISSING = frozenset(
    ["", "NA", "N/A", "n/a", "#NA", "#N/A", "#N/A N/A", "NULL", "null", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"]
)
_SWAPPED = str.maketrans(",.", ".,")  # decimal comma to point, and back


@contextmanager
def open_csv(path: File) -> Iterator[Source]:
    """Read a CSV file in batches."""
    with path.open("rb") as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        yield _source(file, size)


@contextmanager
def open_standard_input(_: Path) -> Iterator[Source]:
    """Read CSV from standard input in batches, as it arrives."""
    if sys.stdin is None:
        raise FileFormatError("expected CSV; standard input is closed. Name a file, or give it some with a pipe.")
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
    header_lines: int
    header_bytes: int
    rows: tuple[dict[str, str], ...]

    def has_decimal_comma(self, numbers: Sequence[str]) -> bool:
        return self.delimiter != "," and any("," in (row.get(name) or "") for row in self.rows for name in numbers)

    def damaged(self, reason: str) -> FileFormatError:
        return FileFormatError(
            f"expected the {len(self.names)} columns of the first line in every row, and numbers for logits, features, "
            f"weights and confidence; got {shortened(reason)}. Repair that row, or name another column; if it is not "
            f"UTF-8, save the file as 'CSV UTF-8'."
        )


def _source(file: BinaryIO, size: int | None) -> Source:
    sample = file.read(_SAMPLE_BYTES)
    while not _has_header(sample):
        more = file.read(_SAMPLE_BYTES) if len(sample) < _LONGEST_HEADER else b""
        if not more:
            break
        sample += more
    dialect = _dialect(sample)

    def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Batch]:
        names = (*numbers, *others)
        comma = dialect.has_decimal_comma(numbers)
        body = io.BufferedReader(_Rejoined(sample[dialect.header_bytes :], file))
        places = {name: place for place, name in enumerate(dialect.names)}
        positions = [places[name] for name in names]
        for fields in _at_least_one(_column_batches(body, dialect, positions), [[] for _ in names]):
            columns = dict(zip(names, fields, strict=True))
            read = {name: _numbers(columns[name], name, dialect, comma=comma) for name in numbers}
            read |= {name: _text(columns[name], name, dialect) for name in others if name not in numbers}
            yield Batch(read, file.tell() / size if size else None)

    return Source(dialect.names, batches, dialect.names)


def _has_header(sample: bytes) -> bool:
    """Whether a line that is not blank is there to its end."""
    lines = sample.removeprefix(codecs.BOM_UTF8).lstrip()
    return b"\n" in lines or b"\r" in lines


def _at_least_one(batches: Iterator[_Fields], empty: _Fields) -> Iterator[_Fields]:
    first = next(batches, empty)
    yield first
    yield from batches


def _column_batches(file: Any, dialect: _Dialect, positions: Sequence[int]) -> Iterator[_Fields]:
    """Yield the fields of the columns at some positions, in batches of rows.

    Blocks of plain lines are split, which is faster than parsing. From the first other block on, `csv` parses the rest:
    a quoted field may go on in the next block.
    """
    n_lines, rest = dialect.header_lines, b""
    while block := rest + file.read(BATCH_BYTES // _STRING_OVERHEAD):
        end = block.rfind(b"\n") + 1
        columns = plain_columns(block[:end], dialect.delimiter, len(dialect.names), positions)
        if columns is None:
            for rows in _row_batches(io.BufferedReader(_Rejoined(block, file)), dialect, n_lines):
                yield [[row[position] for row in rows] for position in positions]
            return
        yield columns
        n_lines, rest = n_lines + len(columns[0]), block[end:]


def _row_batches(file: Any, dialect: _Dialect, n_lines: int) -> Iterator[list[list[str]]]:
    """Yield rows in batches, without empty lines and the blank rows that spreadsheets write below the last one."""
    # Invalid UTF-8 matters only in the columns that are read.
    lines = _Lines(io.TextIOWrapper(file, encoding="utf-8", errors="surrogateescape", newline=""))
    # One that is not strict takes what follows a stray quote, to the end of the file, for a part of the field.
    reader = csv.reader(lines, delimiter=dialect.delimiter, strict=True)
    rows: list[list[str]] = []
    blank = None
    try:
        with long_fields():
            for row in filter(None, reader):
                if len(row) != len(dialect.names):
                    number, text = n_lines + reader.line_num, dialect.delimiter.join(row)
                    raise dialect.damaged(
                        f"Row #{number}: Expected {len(dialect.names)} columns, got {len(row)}: {text}"
                    )
                if not any(row):
                    blank = blank or n_lines + reader.line_num
                elif blank is not None:
                    raise dialect.damaged(f"Row #{blank}: nothing in any column, and other rows below it")
                else:
                    rows.append(row)
                if lines.n_characters * _STRING_OVERHEAD >= BATCH_BYTES and rows:
                    yield rows
                    rows, lines.n_characters = [], 0
                lines.first = reader.line_num + 1
    except csv.Error as error:
        raise dialect.damaged(_quote(n_lines + lines.first, n_lines + reader.line_num, error)) from error
    if rows:
        yield rows


def _quote(first: int, last: int, error: csv.Error) -> str:
    """Say where a row begins that can't be parsed, which its quotes alone can cause, and what is wrong with it."""
    where = f"Row #{first}" if first == last else f"Row #{first}, which ends in line {last}"
    return f"{where}: a quote is opened there and not closed where a field ends ({error})"


def _dialect(sample: bytes) -> _Dialect:
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise FileFormatError("expected text in UTF-8; this is UTF-16. Save it as 'CSV UTF-8'.")
    lines = list(io.StringIO(sample.decode("utf-8-sig", errors="replace"), newline=""))
    header_line = next((position for position, line in enumerate(lines) if line.strip()), None)
    if header_line is None:
        raise FileFormatError("expected a line with the names of the columns, and rows; the file is empty.")
    header = lines[header_line]
    delimiter = max(_DELIMITERS, key=header.count)
    try:
        with long_fields():
            names = tuple(name.strip() for name in next(csv.reader([header], delimiter=delimiter, strict=True)))
            rows = csv.DictReader(lines[header_line + 1 :], names, delimiter=delimiter)
            first_rows = tuple(islice(rows, _SAMPLE_ROWS))
    except csv.Error as error:
        raise FileFormatError(
            f"expected the names of the columns in line {header_line + 1}; got {shortened(repr(header))} ({error}). "
            f"Repair the quotes there."
        ) from error
    header_bytes = sum(map(len, sample.splitlines(keepends=True)[: header_line + 1]))
    return _Dialect(delimiter, names, header_line + 1, header_bytes, first_rows)


def _numbers(values: list[str], name: str, dialect: _Dialect, *, comma: bool) -> NDArray[np.float64]:
    if comma:
        values = [value.translate(_SWAPPED) for value in values]
    try:
        if "_" not in "".join(values):  # which float takes as a part of a number
            return np.fromiter(map(float, values), np.float64, len(values))
        found = [_as_float(value) for value in values]
    except ValueError:
        found = [np.nan if value.strip() in _MISSING else _as_float(value) for value in values]
    if None in found:
        wrong = values[found.index(None)]
        raise dialect.damaged(f"column {name!r}: invalid value {wrong.translate(_SWAPPED) if comma else wrong!r}")
    return np.array(found)


def _as_float(value: str) -> float | None:
    try:
        return None if "_" in value else float(value)
    except ValueError:
        return None


def _text(values: list[str], name: str, dialect: _Dialect) -> NDArray[Any]:
    try:
        "".join(values).encode()
    except UnicodeEncodeError as error:
        raise dialect.damaged(f"column {name!r}: invalid UTF-8 data") from error
    return np.array(values, dtype=object)


def _write(file: Any, batches: Iterator[Columns]) -> None:
    for number, columns in enumerate(batches):
        fields = [fields_of(column, name) for name, column in columns.items()]
        if number == 0:
            header = io.StringIO()
            csv.writer(header, lineterminator="\n").writerow(columns)
            file.write(header.getvalue().encode())
        file.write("".join(",".join(row) + "\n" for row in zip(*fields, strict=True)).encode())


class _Lines:
    """The lines of a file, the number of characters read since the count was last reset, and where a row begins."""

    def __init__(self, file: TextIO) -> None:
        self._file, self.n_characters, self.first = file, 0, 1

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._file)
        self.n_characters += len(line)
        return line


class _Rejoined(io.RawIOBase):
    """A file from its beginning, whose first bytes were already read; a pipe can't be rewound."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = io.BytesIO(head), rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._head.read(len(buffer)) or self._rest.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
