""".csv, and `-` for standard input and output: a table in text, as programs and spreadsheets write it.

The delimiter is a comma, a semicolon or a tab, whichever is most frequent in the first line. If it is not the comma,
numbers may have a decimal comma, as in files of a European spreadsheet. Columns that are not numbers are passed through
as text. Python's `csv` reads in one plain loop; larger files, if their quotes are regular, are read by pyarrow where it
is installed, to the same values. Which of the two is decided before the first row.
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
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auxcal._core.errors import FileFormatError
from auxcal._core.extras import is_installed
from auxcal._core.labels import MISSING
from auxcal._core.text import utf8
from auxcal._core.threads import fork_safe_lock
from auxcal.tables import sources
from auxcal.tables.discover import File, LocalFile, shortened
from auxcal.tables.numpy_columns import Column, Columns, NumpyColumn
from auxcal.tables.sources import Batch, Source

ARROW_FROM_BYTES = 2**20
"""Smaller files are read before pyarrow would be imported."""

_Fields: TypeAlias = Iterator[tuple[Sequence[Any], float | None]]
"""Batches of the fields of each column, tuples of text or arrays of bytes; and the share of the file that is read."""

_SAMPLE_BYTES, _SAMPLE_ROWS = 2**20, 1000  # of the head, from which delimiter and decimal point are told
_DELIMITERS, _LINE_END = ",;\t", re.compile(rb"\r\n|\r|\n")
_STRING_OVERHEAD = 8  # a row takes about this many times as much memory as strings
_LONGEST_HEADER = 2**26  # bytes: 100,000 columns with long names have less
_LONGEST_FIELD = 2**24  # characters: enough for any cell, and few enough to find out soon that a quote is never closed
_SCANNED_BYTES = 2**20  # at a time, for quotes
_SWAPPED = str.maketrans(",.", ".,")  # decimal comma to point, and back
_MISSING = MISSING | {"#N/A N/A", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"}  # how programs write a missing number

_lock = fork_safe_lock()
_limits: list[int] = []  # what was before, of everybody who is inside


@contextmanager
def open_csv(file: File) -> Iterator[Source]:
    """Read a CSV file in batches."""
    with file.open() as opened:
        size = opened.seek(0, io.SEEK_END)
        opened.seek(0)
        dialect = _Dialect.of(sample := _sample(opened))
        block = None
        if isinstance(file, LocalFile) and size >= ARROW_FROM_BYTES and is_installed("tables"):
            block = _block_bytes(file.path, dialect)
        if block is None:
            yield _source(dialect, _plain_fields(sample, opened, size, dialect))
        else:
            yield _source(dialect, _arrow_fields(Path(file.path), size, dialect, block))


@contextmanager
def open_standard_input(_: File) -> Iterator[Source]:
    """Read CSV from standard input in batches, as it arrives."""
    if sys.stdin is None:
        raise FileFormatError("expected CSV; standard input is closed. Name a file, or give it some with a pipe.")
    dialect = _Dialect.of(sample := _sample(sys.stdin.buffer))
    yield _source(dialect, _plain_fields(sample, sys.stdin.buffer, None, dialect))


def _source(dialect: _Dialect, batches_of_fields: _Fields) -> Source:
    """Return columns of numbers and of text."""

    def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Batch]:
        first = [row.get(name) or "" for row in dialect.rows for name in numbers]
        comma = dialect.delimiter != "," and any("," in field for field in first)
        places = {name: dialect.names.index(name) for name in (*numbers, *others)}
        is_empty = True
        for fields, done in batches_of_fields:
            is_empty = False
            read: dict[str, Column] = {
                name: NumpyColumn(dialect.numbers(fields[place], name, comma=comma))
                if name in numbers
                else dialect.text(fields[place], name)
                for name, place in places.items()
            }
            yield Batch(read, done)
        if is_empty:
            none = {name: np.zeros(0, np.float64 if name in numbers else np.object_) for name in places}
            yield Batch({name: NumpyColumn(empty) for name, empty in none.items()}, 1.0)

    return Source(dialect.names, batches, dialect.names)


def write_csv(path: Path, batches: Iterator[Columns]) -> None:
    """Write batches as they arrive."""
    with path.open("wb") as file:
        _write(file, batches)


def write_standard_output(_: Path, batches: Iterator[Columns]) -> None:
    """Write CSV to standard output as it arrives."""
    _write(sys.stdout.buffer, batches)
    sys.stdout.buffer.flush()


def _write(file: Any, batches: Iterator[Columns]) -> None:
    for number, columns in enumerate(batches):
        if number == 0:
            header = io.StringIO()
            csv.writer(header, lineterminator="\n").writerow(columns)
            file.write(utf8(header.getvalue()))
        if any(column.kind is not None for column in columns.values()):  # then pyarrow is there
            from auxcal.tables.arrow_columns import csv_rows

            file.write(csv_rows(columns))
        else:
            rows = zip(*(column.fields(name) for name, column in columns.items()), strict=True)
            file.write(utf8("".join(f"{','.join(row)}\n" for row in rows)))


# The head of a file ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Dialect:
    """The dialect of a CSV file, found from its first rows."""

    delimiter: str
    names: tuple[str, ...]
    header_lines: int
    header_bytes: int
    rows: tuple[dict[str, str], ...]

    @classmethod
    def of(cls, sample: bytes) -> _Dialect:
        if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise FileFormatError("expected text in UTF-8; this is UTF-16. Save it as 'CSV UTF-8'.")
        lines = io.StringIO(sample.decode("utf-8-sig", errors="replace"), newline="")
        n_lines, header = next(((number, line) for number, line in enumerate(lines, 1) if line.strip()), (0, ""))
        if not header:
            raise FileFormatError("expected a line with the names of the columns, and rows; the file is empty.")
        delimiter = max(_DELIMITERS, key=header.count)
        try:
            with _long_fields():
                names = tuple(name.strip() for name in next(csv.reader([header], delimiter=delimiter, strict=True)))
                first_rows = tuple(islice(csv.DictReader(lines, names, delimiter=delimiter), _SAMPLE_ROWS))
        except csv.Error as error:
            raise FileFormatError(
                f"expected the names of the columns in line {n_lines}; got {shortened(repr(header))} ({error})."
                f" Repair the quotes there."
            ) from error
        end = next(islice(_LINE_END.finditer(sample), n_lines - 1, None), None)
        return cls(delimiter, names, n_lines, len(sample) if end is None else end.end(), first_rows)

    def damaged(self, reason: str) -> FileFormatError:
        return FileFormatError(
            f"expected the {len(self.names)} columns of the first line in every row, and numbers for logits, features, "
            f"weights and confidence; got {shortened(reason)}. Repair that row, or name another column; if it is not "
            f"UTF-8, save the file as 'CSV UTF-8'."
        )

    def numbers(self, fields: Any, name: str, *, comma: bool) -> NDArray[np.float64]:
        """Return fields as numbers, NaN where one is missing."""
        if not isinstance(fields, tuple):
            import pyarrow as pa

            from auxcal.tables.arrow_columns import to_numpy

            try:
                if not comma:
                    return to_numpy(fields.cast(pa.string()).cast(pa.float64()))
            except pa.ArrowInvalid:  # a missing value, a blank beside a number, one beyond all floats, or no number
                pass
            fields = [each.decode("utf-8", "surrogateescape") for each in fields.to_pylist()]
        values = [value.translate(_SWAPPED) for value in fields] if comma else fields
        try:
            if "_" not in "".join(values):  # which float takes as a part of a number
                return np.fromiter(map(float, values), np.float64, len(values))
            found = [_as_float(value) for value in values]
        except ValueError:
            found = [np.nan if value.strip() in _MISSING else _as_float(value) for value in values]
        if None in found:
            raise self.damaged(f"column {name!r}: invalid value {fields[found.index(None)]!r}")
        return np.array(found)

    def text(self, fields: Any, name: str) -> Column:
        """Return fields as text, which must be valid."""
        try:
            if isinstance(fields, tuple):
                "".join(fields).encode()
                return NumpyColumn(np.array(fields, dtype=object))
            from auxcal.tables.arrow_columns import ArrowColumn

            return ArrowColumn(fields.cast("string"))
        except ValueError as error:  # which UnicodeEncodeError and ArrowInvalid are
            raise self.damaged(f"column {name!r}: invalid UTF-8 data") from error


def _as_float(value: str) -> float | None:
    try:
        return None if "_" in value else float(value)
    except ValueError:
        return None


def _sample(file: BinaryIO) -> bytes:
    """Return the first bytes of a file, with the names of the columns, in a line that is not blank, to their end."""
    sample = file.read(_SAMPLE_BYTES)
    while not _LINE_END.search(sample.removeprefix(codecs.BOM_UTF8).lstrip()) and len(sample) < _LONGEST_HEADER:
        if not (more := file.read(_SAMPLE_BYTES)):
            break
        sample += more
    return sample


@contextmanager
def _long_fields() -> Iterator[None]:
    """Give a context in which `csv` takes fields of any sensible length; the last to leave restores its limit."""
    with _lock:
        _limits.append(csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_FIELD)))
    try:
        yield
    finally:
        with _lock:
            before = _limits.pop()  # the first of them is the last to be popped
            if not _limits:
                csv.field_size_limit(before)


# Python's csv ---------------------------------------------------------------------------------------------------------


def _plain_fields(sample: bytes, file: BinaryIO, size: int | None, dialect: _Dialect) -> _Fields:
    """Yield the fields of a file, of which a sample is read already, as text."""
    body = io.BufferedReader(_Rejoined(sample[dialect.header_bytes :], file))
    for rows in _row_batches(body, dialect):
        yield list(zip(*rows, strict=True)), file.tell() / size if size else None


def _row_batches(file: Any, dialect: _Dialect) -> Iterator[list[list[str]]]:
    """Yield rows in batches, without empty lines and the blank rows that spreadsheets write below the last one."""
    # Invalid UTF-8 matters only in the columns that are read.
    lines = io.TextIOWrapper(file, encoding="utf-8", errors="surrogateescape", newline="")
    # One that is not strict takes what follows a stray quote, to the end of the file, for a part of the field.
    reader = csv.reader(lines, delimiter=dialect.delimiter, strict=True)
    before, width = dialect.header_lines, len(dialect.names)
    rows: list[list[str]] = []
    blank, first, n_characters = None, 1, 0
    try:
        with _long_fields():
            for row in filter(None, reader):
                if len(row) != width:
                    number, text = before + reader.line_num, dialect.delimiter.join(row)
                    raise dialect.damaged(f"Row #{number}: Expected {width} columns, got {len(row)}: {text}")
                if not any(row):
                    blank = blank or before + reader.line_num
                elif blank is not None:
                    raise dialect.damaged(f"Row #{blank}: nothing in any column, and other rows below it")
                else:
                    rows.append(row)
                    n_characters += width + sum(map(len, row))
                if n_characters * _STRING_OVERHEAD >= sources.BATCH_BYTES:
                    yield rows
                    rows, n_characters = [], 0
                first = reader.line_num + 1
    except csv.Error as error:
        first, last = before + first, before + reader.line_num
        where = f"Row #{first}" if first == last else f"Row #{first}, which ends in line {last}"
        raise dialect.damaged(
            f"{where}: a quote is opened there and not closed where a field ends ({error})"
        ) from error
    if rows:
        yield rows


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


# pyarrow --------------------------------------------------------------------------------------------------------------


def _block_bytes(path: Path, dialect: _Dialect) -> int | None:
    """Return how many bytes pyarrow should parse at a time: more than a line has.

    None if it might read other values than `csv`: where a quote does not begin or end a field, a field has a line end
    in it, or lines end in a carriage return alone.
    """
    neighbour = np.zeros(256, np.bool_)  # what may stand outside a quote
    neighbour[[ord(each) for each in f'{dialect.delimiter}\n\r"']] = True
    longest = 0
    with path.open("rb") as file:
        file.seek(dialect.header_bytes)
        while block := file.read(_SCANNED_BYTES) + file.readline(_LONGEST_FIELD):
            if b"\r" in block and block.count(b"\r") != block.count(b"\r\n"):
                return None
            letters = np.frombuffer(b"\n" + block + b"\n", np.uint8)
            ends = np.flatnonzero(letters == ord("\n"))
            longest = max(longest, int(np.diff(ends).max()))
            if b'"' in block:
                quotes = np.flatnonzero(letters == ord('"'))
                if len(quotes) % 2 or (np.searchsorted(quotes, ends) % 2).any():
                    return None
                if not (neighbour[letters[quotes[::2] - 1]].all() and neighbour[letters[quotes[1::2] + 1]].all()):
                    return None
    return None if longest >= _LONGEST_FIELD else max(sources.BATCH_BYTES // 2, 2 * longest)


def _arrow_fields(path: Path, size: int, dialect: _Dialect, block: int) -> _Fields:
    """Yield the fields of a file as arrays of bytes."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, open_csv

    names = [str(place) for place in range(len(dialect.names))]
    blank = False
    with pa.OSFile(str(path)) as file:
        file.seek(dialect.header_bytes)
        try:
            reader = open_csv(
                file,
                ReadOptions(use_threads=False, block_size=block, column_names=names),
                ParseOptions(delimiter=dialect.delimiter),
                ConvertOptions(check_utf8=False, column_types=dict.fromkeys(names, pa.binary())),
            )
            for batch in reader:
                rows = batch
                if blank or pc.any(pc.equal(batch.column(0), b"")).as_py():
                    filled = np.flatnonzero(sum(np.asarray(pc.binary_length(column)) for column in batch.columns))
                    rows = batch.slice(0, filled[-1] + 1 if len(filled) else 0)
                    if (blank and len(filled)) or len(filled) < len(rows):
                        _explain(path, dialect, "a row with nothing in any column, and other rows below it")
                    blank = blank or len(rows) < len(batch)
                if len(rows):
                    yield rows.columns, min(file.tell() / max(size, 1), 1.0)
        except pa.ArrowInvalid as error:
            if "Empty CSV" not in str(error):
                _explain(path, dialect, str(error))


def _explain(path: Path, dialect: _Dialect, reason: str) -> NoReturn:
    """Raise what `csv` says of a file that can't be read: it names the line."""
    with path.open("rb") as file:
        file.seek(dialect.header_bytes)
        for _ in _row_batches(io.BufferedReader(file), dialect):
            pass
    raise dialect.damaged(reason)
