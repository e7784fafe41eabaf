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
from typing import Any, BinaryIO, NoReturn, TextIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auxcal._core.errors import FileFormatError
from auxcal._core.extras import is_installed
from auxcal._core.labels import MISSING
from auxcal._core.threads import fork_safe_lock
from auxcal.tables import sources
from auxcal.tables.discover import File, LocalFile, shortened
from auxcal.tables.numpy_columns import Column, Columns, NumpyColumn
from auxcal.tables.sources import Batch, Source

ARROW_FROM_BYTES = 2**20
"""Smaller files are read before pyarrow would be imported."""

_Rows: TypeAlias = Iterator[list[list[str]]]

_SAMPLE_BYTES, _SAMPLE_ROWS = 2**20, 1000  # of the head, from which delimiter and decimal point are told
_DELIMITERS = ",;\t"
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
        sample = _sample(opened)
        dialect = _Dialect.of(sample)
        block = None
        if isinstance(file, LocalFile) and size >= ARROW_FROM_BYTES and is_installed("tables"):
            block = _block_bytes(file.path, dialect)
        if block is None:
            yield _plain_source(sample, opened, size, dialect)
        else:
            yield _arrow_source(Path(file.path), size, dialect, block)


@contextmanager
def open_standard_input(_: File) -> Iterator[Source]:
    """Read CSV from standard input in batches, as it arrives."""
    if sys.stdin is None:
        raise FileFormatError("expected CSV; standard input is closed. Name a file, or give it some with a pipe.")
    sample = _sample(sys.stdin.buffer)
    yield _plain_source(sample, sys.stdin.buffer, None, _Dialect.of(sample))


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
            file.write(header.getvalue().encode())
        if any(column.kind is not None for column in columns.values()):  # then pyarrow is there
            from auxcal.tables.arrow_columns import csv_rows

            file.write(csv_rows(columns))
        else:
            rows = zip(*(column.fields(name) for name, column in columns.items()), strict=True)
            file.write("".join(f"{','.join(row)}\n" for row in rows).encode())


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
        end = next(islice(re.finditer(rb"\r\n|\r|\n", sample), n_lines - 1, None), None)
        return cls(delimiter, names, n_lines, len(sample) if end is None else end.end(), first_rows)

    def has_decimal_comma(self, numbers: Sequence[str]) -> bool:
        return self.delimiter != "," and any("," in (row.get(name) or "") for row in self.rows for name in numbers)

    def damaged(self, reason: str) -> FileFormatError:
        return FileFormatError(
            f"expected the {len(self.names)} columns of the first line in every row, and numbers for logits, features, "
            f"weights and confidence; got {shortened(reason)}. Repair that row, or name another column; if it is not "
            f"UTF-8, save the file as 'CSV UTF-8'."
        )

    def numbers(self, values: list[str], name: str, *, comma: bool) -> NDArray[np.float64]:
        """Return text as numbers, NaN where one is missing."""
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
            raise self.damaged(f"column {name!r}: invalid value {wrong.translate(_SWAPPED) if comma else wrong!r}")
        return np.array(found)


def _as_float(value: str) -> float | None:
    try:
        return None if "_" in value else float(value)
    except ValueError:
        return None


def _sample(file: BinaryIO) -> bytes:
    """Return the first bytes of a file, with the names of the columns to their end."""
    sample = file.read(_SAMPLE_BYTES)
    while not _has_header(sample):
        more = file.read(_SAMPLE_BYTES) if len(sample) < _LONGEST_HEADER else b""
        if not more:
            break
        sample += more
    return sample


def _has_header(sample: bytes) -> bool:
    """Whether a line that is not blank is there to its end."""
    lines = sample.removeprefix(codecs.BOM_UTF8).lstrip()
    return b"\n" in lines or b"\r" in lines


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


def _plain_source(sample: bytes, file: BinaryIO, size: int | None, dialect: _Dialect) -> Source:
    """Return the rows of a file of which a sample is read already."""
    places = {name: place for place, name in enumerate(dialect.names)}

    def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Batch]:
        comma = dialect.has_decimal_comma(numbers)
        body = io.BufferedReader(_Rejoined(sample[dialect.header_bytes :], file))
        n_batches = 0
        for rows in _row_batches(body, dialect):
            n_batches += 1
            yield Batch(columns_of(rows, numbers, others, comma=comma), file.tell() / size if size else None)
        if not n_batches:
            yield Batch(columns_of([], numbers, others, comma=comma), 1.0)

    def columns_of(
        rows: list[list[str]], numbers: Sequence[str], others: Sequence[str], *, comma: bool
    ) -> dict[str, Column]:
        read: dict[str, Column] = {}
        for name in dict.fromkeys((*numbers, *others)):
            values = [row[places[name]] for row in rows]
            is_number = name in numbers
            read[name] = NumpyColumn(
                dialect.numbers(values, name, comma=comma) if is_number else _text(values, name, dialect)
            )
        return read

    return Source(dialect.names, batches, dialect.names)


def _text(values: list[str], name: str, dialect: _Dialect) -> NDArray[Any]:
    try:
        "".join(values).encode()
    except UnicodeEncodeError as error:
        raise dialect.damaged(f"column {name!r}: invalid UTF-8 data") from error
    return np.array(values, dtype=object)


def _row_batches(file: Any, dialect: _Dialect) -> _Rows:
    """Yield rows in batches, without empty lines and the blank rows that spreadsheets write below the last one."""
    # Invalid UTF-8 matters only in the columns that are read.
    lines = _Lines(io.TextIOWrapper(file, encoding="utf-8", errors="surrogateescape", newline=""))
    # One that is not strict takes what follows a stray quote, to the end of the file, for a part of the field.
    reader = csv.reader(lines, delimiter=dialect.delimiter, strict=True)
    before, width = dialect.header_lines, len(dialect.names)
    rows: list[list[str]] = []
    blank = None
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
                if lines.n_characters * _STRING_OVERHEAD >= sources.BATCH_BYTES and rows:
                    yield rows
                    rows, lines.n_characters = [], 0
                lines.first = reader.line_num + 1
    except csv.Error as error:
        first, last = before + lines.first, before + reader.line_num
        where = f"Row #{first}" if first == last else f"Row #{first}, which ends in line {last}"
        raise dialect.damaged(
            f"{where}: a quote is opened there and not closed where a field ends ({error})"
        ) from error
    if rows:
        yield rows


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


def _arrow_source(path: Path, size: int, dialect: _Dialect, block: int) -> Source:
    import pyarrow as pa

    from auxcal.tables.arrow_columns import ArrowColumn, to_numpy

    def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Batch]:
        comma = dialect.has_decimal_comma(numbers)
        n_batches = 0
        for batch, done in _arrow_batches(path, size, dialect, block):
            n_batches += 1
            fields = dict(zip(dialect.names, batch.columns, strict=True))
            read: dict[str, Column] = {name: NumpyColumn(floats(fields[name], name, comma=comma)) for name in numbers}
            read |= {name: ArrowColumn(text(fields[name], name)) for name in others if name not in numbers}
            yield Batch(read, done)
        if not n_batches:
            none: dict[str, Column] = {name: ArrowColumn(pa.array([], pa.string())) for name in others}
            yield Batch(none | {name: NumpyColumn(np.zeros(0)) for name in numbers}, 1.0)

    def floats(fields: Any, name: str, *, comma: bool) -> NDArray[np.float64]:
        try:
            if not comma:
                return to_numpy(fields.cast(pa.string()).cast(pa.float64()))
        except pa.ArrowInvalid:  # a missing value, a blank beside a number, one beyond all floats, or no number at all
            pass
        return dialect.numbers(
            [each.decode("utf-8", "surrogateescape") for each in fields.to_pylist()], name, comma=comma
        )

    def text(fields: Any, name: str) -> Any:
        try:
            return fields.cast(pa.string())
        except pa.ArrowInvalid as error:
            raise dialect.damaged(f"column {name!r}: invalid UTF-8 data") from error

    return Source(dialect.names, batches, dialect.names)


def _arrow_batches(path: Path, size: int, dialect: _Dialect, block: int) -> Iterator[tuple[Any, float]]:
    """Yield record batches of the fields of all columns as bytes, and the share of the file that is read."""
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
                done = min(file.tell() / max(size, 1), 1.0)
                rows = batch
                if pc.any(pc.equal(batch.column(0), b"")).as_py():
                    lengths = sum(np.asarray(pc.binary_length(column)) for column in batch.columns)
                    filled = np.flatnonzero(np.asarray(lengths))
                    rows = batch.slice(0, filled[-1] + 1 if len(filled) else 0)
                    if (blank and len(filled)) or len(filled) < len(rows):
                        _explain(path, dialect, "a row with nothing in any column, and other rows below it")
                    blank = blank or len(rows) < len(batch)
                elif blank and len(batch):
                    _explain(path, dialect, "a row with nothing in any column, and other rows below it")
                if len(rows):
                    yield rows, done
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
