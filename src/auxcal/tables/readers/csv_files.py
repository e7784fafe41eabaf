"""CSV, and `-` for standard input and output: a table in text, as programs and spreadsheets write it.

The delimiter is a comma, a semicolon or a tab, whichever is most frequent in the first line. If it is not the comma,
numbers may have a decimal comma, as in files of a European spreadsheet. Columns that are not read as numbers are text,
so that `01` stays `01`. pyarrow parses blocks of whole lines; what it would read wrongly, such as a row below a quote
that is never closed, is found before.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from auxcal._core.errors import FileFormatError
from auxcal._core.extras import needs
from auxcal._core.labels import MISSING
from auxcal._core.text import utf8
from auxcal.tables import batches as batches_
from auxcal.tables.batches import Batch, Source
from auxcal.tables.parts import File, shortened
from auxcal.tables.values import from_numpy
from auxcal.tables.written import plain, writing

with needs("tables"):
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

_DELIMITERS, _LINE_END = ",;\t", re.compile(rb"\r\n|\r|\n")
_SAMPLE_BYTES, _SAMPLE_ROWS = 2**20, 1000  # of the head, in which decimal commas are looked for
_LONGEST = 2**26  # bytes of a header or a row: 100,000 columns with long names have less
_SWAPPED = str.maketrans(",.", ".,")  # decimal comma to point, and back
_MISSING = [*MISSING, "#N/A N/A", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"]  # how programs write a missing number


@contextmanager
def open_csv(file: File) -> Iterator[Source]:
    """Read a CSV file in batches."""
    with file.open() as opened:
        size = opened.seek(0, io.SEEK_END)
        opened.seek(0)
        yield _source(opened, size)


@contextmanager
def open_standard_input(_: File) -> Iterator[Source]:
    """Read CSV from standard input in batches, as it arrives."""
    if sys.stdin is None:
        raise FileFormatError("expected CSV; standard input is closed. Name a file, or give it some with a pipe.")
    yield _source(sys.stdin.buffer, None)


def _source(file: BinaryIO, size: int | None) -> Source:
    head = _head(file)
    dialect = _Dialect.of(head)
    body = _Body(file, head[dialect.header_bytes :], dialect)

    def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Batch]:
        wanted = list(dict.fromkeys((*numbers, *others)))
        if size is not None and body.is_begun:
            file.seek(dialect.header_bytes)
            body.begin_again()
        comma = dialect.delimiter != "," and dialect.has_decimal_comma(numbers)
        kinds = dict.fromkeys(wanted, pa.string()) | dict.fromkeys(numbers, pa.float64())
        is_empty = True
        for block in body.blocks():
            rows = dialect.rows_of(block, kinds, body.lines, comma=comma)
            body.lines += _lines_in(block)
            if rows.num_rows:
                is_empty = False
                yield Batch(rows, None if size is None else min(file.tell() / max(size, 1), 1.0))
        if is_empty:
            yield Batch(pa.RecordBatch.from_pylist([], pa.schema(kinds)), 1.0)

    return Source(dialect.names, batches)


# The head of a file ---------------------------------------------------------------------------------------------------


def _head(file: BinaryIO) -> bytes:
    """Return the first bytes of a file, with the names of the columns, in a line that is not blank, to their end."""
    head = file.read(_SAMPLE_BYTES)
    while not _LINE_END.search(head.removeprefix(codecs.BOM_UTF8).lstrip()) and len(head) < _LONGEST:
        if not (more := file.read(_SAMPLE_BYTES)):
            break
        head += more
    return head


@dataclass(frozen=True)
class _Dialect:
    """The delimiter and the names of the columns of a CSV file, from its first line that is not blank."""

    delimiter: str
    names: tuple[str, ...]
    header_lines: int
    header_bytes: int
    first_rows: str

    @classmethod
    def of(cls, head: bytes) -> _Dialect:
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise FileFormatError("expected text in UTF-8; this is UTF-16. Save it as 'CSV UTF-8'.")
        ends = (match.end() for match in _LINE_END.finditer(head))
        start, lines = 0, 0
        for end in (*ends, len(head)):
            line, start, lines = head[start:end], end, lines + 1
            if line.removeprefix(codecs.BOM_UTF8).strip():
                break
        else:
            raise FileFormatError("expected a line with the names of the columns, and rows; the file is empty.")
        try:
            header = line.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise FileFormatError(
                f"expected text in UTF-8; line {lines} has the byte {line[error.start]:#x}, as Latin-1 and Windows "
                f"code pages have. Save it as 'CSV UTF-8'."
            ) from error
        delimiter = max(_DELIMITERS, key=header.count)
        try:
            (names,) = csv.reader([header], delimiter=delimiter, strict=True)
        except (csv.Error, ValueError) as error:
            raise FileFormatError(
                f"expected the names of the columns in line {lines}; got {shortened(repr(header))} ({error})."
                f" Repair the quotes there."
            ) from error
        rest = head[start:].decode("utf-8", "surrogateescape")
        return cls(delimiter, tuple(name.strip() for name in names), lines, start, rest)

    @cached_property
    def places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    def has_decimal_comma(self, numbers: Sequence[str]) -> bool:
        """Whether a number of the first rows has a comma in it."""
        places = [self.places[name] for name in numbers]
        with suppress(csv.Error), io.StringIO(self.first_rows) as lines:
            for _, row in zip(range(_SAMPLE_ROWS), csv.reader(lines, delimiter=self.delimiter), strict=False):
                if any("," in row[place] for place in places if place < len(row)):
                    return True
        return False

    def rows_of(self, block: bytes, kinds: dict[str, pa.DataType], before: int, *, comma: bool) -> pa.RecordBatch:
        """Return some columns of a block of whole lines, which has so many lines before it."""
        if not block.strip(b"\r\n"):
            return pa.RecordBatch.from_pylist([], pa.schema(kinds))
        read = kinds or {self.names[0]: pa.string()}
        try:
            table = self._parsed(block, read, comma=comma)
        except pa.ArrowInvalid as error:
            self._check_widths(block, before)
            if "conversion error to double" not in str(error):
                raise self.damaged(self._named(str(error))) from error
            # A blank beside a missing value, or no number at all, which Python's float can tell.
            table = self._parsed(block, dict.fromkeys(read, pa.string()), comma=comma)
            numbers = [name for name, kind in kinds.items() if kind != pa.string()]
            columns = {name: table[name] for name in table.column_names}
            columns |= {
                name: pa.chunked_array([from_numpy(self._numbers(block, table[name], name, before, comma=comma))])
                for name in numbers
            }
            table = pa.table(columns)
        (rows,) = table.combine_chunks().to_batches()
        return rows

    def _parsed(self, block: bytes, kinds: dict[str, pa.DataType], *, comma: bool) -> pa.Table:
        places = {str(self.places[name]): kind for name, kind in kinds.items()}
        table = arrow_csv.read_csv(
            pa.py_buffer(block),
            arrow_csv.ReadOptions(
                use_threads=False, block_size=len(block) + 1, column_names=[str(k) for k in range(len(self.names))]
            ),
            arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            arrow_csv.ConvertOptions(
                column_types=places,
                include_columns=list(places),
                null_values=_MISSING,
                strings_can_be_null=False,
                decimal_point="," if comma else ".",
            ),
        )
        filled = [column.fill_null(np.nan) if column.null_count else column for column in table.columns]
        return pa.table(filled, list(kinds))

    def _numbers(self, block: bytes, column: Any, name: str, before: int, *, comma: bool) -> NDArray[np.float64]:
        """Return text as numbers, as Python reads them; refuse what is none, by its line."""
        numbers = np.empty(len(column))
        for place, text in enumerate(column.to_pylist()):
            try:
                if "_" in text:  # which float takes as a part of a number
                    raise ValueError
                number = "nan" if text.strip() in _MISSING else text.translate(_SWAPPED) if comma else text
                numbers[place] = float(number)
            except ValueError:
                line, _ = next(islice(self._lines(block, before), place, None))
                raise self.damaged(f"Row #{line}: column {name!r}: invalid value {text!r}") from None
        return numbers

    def _check_widths(self, block: bytes, before: int) -> None:
        """Refuse a row with too few or too many fields, by its line."""
        for line, row in self._lines(block, before):
            if len(row) != len(self.names):
                width = f"Expected {len(self.names)} columns, got {len(row)}"
                raise self.damaged(f"Row #{line}: {width}: {self.delimiter.join(row)}")

    def _lines(self, block: bytes, before: int) -> Iterator[tuple[int, list[str]]]:
        """Yield the line in which each row ends, and its fields, for an error message."""
        text = block.decode("utf-8", "surrogateescape")
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=self.delimiter)
        with _long_fields():
            for row in filter(None, reader):
                yield before + reader.line_num, row

    def _named(self, reason: str) -> str:
        """Return Arrow's message with the name of the column in place of its number."""
        found = re.search(r"In CSV column #(\d+): (Row #\d+: )?(CSV conversion error to \w+: )?(.*)", reason)
        if found is None:
            return reason
        what = "invalid UTF-8 data" if "invalid UTF8" in found[4] else found[4]
        return f"column {self.names[int(found[1])]!r}: {what}"

    def damaged(self, reason: str) -> FileFormatError:
        return FileFormatError(
            f"expected the {len(self.names)} columns of the first line in every row, and numbers for logits, features, "
            f"weights and confidence; got {shortened(reason)}. Repair that row, or name another column; if it is not "
            f"UTF-8, save the file as 'CSV UTF-8'."
        )


@contextmanager
def _long_fields() -> Iterator[None]:
    """Give a context in which `csv` takes fields of any length, for an error message."""
    before = csv.field_size_limit(_LONGEST)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _lines_in(text: bytes) -> int:
    """Return how many line ends there are."""
    return text.count(b"\n") + (text.count(b"\r") - text.count(b"\r\n") if b"\r" in text else 0)


# The rows of a file ---------------------------------------------------------------------------------------------------


class _Body:
    """The lines below the header, in blocks that end where a row ends.

    `lines` are those before the block that is parsed. A quote that is never closed, or that stands where no field
    begins or ends, is an error with its line; so is a row that is all blank, unless no row follows it.
    """

    def __init__(self, file: BinaryIO, start: bytes, dialect: _Dialect) -> None:
        self._file, self._start, self._rest, self._dialect = file, start, b"", dialect
        self.lines, self.is_begun = dialect.header_lines, False
        d = re.escape(dialect.delimiter).encode()
        field = rb'(?:"(?:[^"]|"")*+"|[^"%b\r\n][^%b\r\n]*+)?+' % (d, d)
        self._rows = re.compile(rb"(?:%b(?:%b%b)*+(?:\r\n|\r|\n|\Z))*+" % (field, d, field))
        self._wrong = re.compile(rb'(?:%b%b)*+"(?:[^"]|"")*+"[^"%b\r\n]' % (field, d, d))
        self._blank = dialect.delimiter.encode() * (len(dialect.names) - 1)
        self._beside = np.zeros(256, np.bool_)  # what may stand outside a quote
        self._beside[[*f'{dialect.delimiter}\r\n"'.encode()]] = True

    def begin_again(self) -> None:
        self._start, self._rest, self.lines = b"", b"", self._dialect.header_lines

    def blocks(self) -> Iterator[bytes]:
        self.is_begun = True
        held = b""  # blank rows, which may be the last ones
        wide = min(max(len(self._dialect.names) // 256, 1), 16)  # every column of a block takes some time
        size = batches_.BATCH_BYTES // 2 * wide
        while True:
            more, self._start = self._start[:size] or self._file.read(size), self._start[size:]
            text, self._rest = self._rest + more, b""
            ends = self._ends_of_rows(text, self.lines + _lines_in(held), is_last=not more)
            self._rest = text[ends:]
            block = held + text[:ends]
            content = self._end_of_content(block)
            self._check_blank(block[:content])
            held = block[content:]
            if content:
                yield block[:content]
            if not more:
                return
            if not ends:
                size *= 2

    def _ends_of_rows(self, text: bytes, before: int, *, is_last: bool) -> int:
        """Return how many bytes are whole rows; `before` them are so many lines."""
        # The second half of a line end may follow a \r.
        end = len(text) if is_last else 1 + max(text.rfind(b"\n"), text.rfind(b"\r", 0, -1))
        whole = self._whole_rows(text, end)
        if whole == end:
            return end
        if is_last or len(text) - whole > _LONGEST or self._wrong.match(text, whole):
            line = before + _lines_in(text[:whole]) + 1
            raise self._dialect.damaged(f"Row #{line}: a quote is opened there and not closed where a field ends")
        return whole

    def _whole_rows(self, text: bytes, end: int) -> int:
        """Return how many bytes, up to some that end a line, are whole rows."""
        if text.find(b'"', 0, end) == -1 or self._are_paired(text[:end]):
            return end
        matched = self._rows.match(text, 0, end)
        return matched.end() if matched else 0

    def _are_paired(self, text: bytes) -> bool:
        """Whether every quote begins or ends a field, or is one of two within it; and the last one is closed."""
        letters = np.frombuffer(b"\n" + text + b"\n", np.uint8)
        quotes = np.flatnonzero(letters == ord('"'))
        if len(quotes) % 2:
            return False
        return bool(self._beside[letters[quotes[::2] - 1]].all() and self._beside[letters[quotes[1::2] + 1]].all())

    def _end_of_content(self, block: bytes) -> int:
        """Return where the last row ends that is not blank."""
        content = len(block.rstrip(f'{self._dialect.delimiter}\r\n\t "'.encode()))
        if not content:
            return 0
        end = _LINE_END.search(block, content)
        while end is not None and self._whole_rows(block, end.end()) < end.end():  # in a field
            end = _LINE_END.search(block, block.index(b'"', end.end()))
        return len(block) if end is None else end.end()

    def _check_blank(self, block: bytes) -> None:
        """Refuse a row with nothing in any column, and other rows below it."""
        if not self._blank:
            return
        for mark in (b"\n%b\n", b"\n%b\r", b"\r%b\r"):
            text, place = b"\n" + block, -1
            while (place := text.find(mark % self._blank, place + 1)) != -1:
                if self._whole_rows(block, place) == place:  # and not within a field
                    line = self.lines + _lines_in(block[:place]) + 1
                    raise self._dialect.damaged(f"Row #{line}: nothing in any column, and other rows below it")


# Writing --------------------------------------------------------------------------------------------------------------


def write_csv(path: Path, batches: Iterator[pa.RecordBatch]) -> None:
    """Write batches as they arrive."""
    with path.open("wb") as file:
        _write(file, batches)


def write_standard_output(_: Path, batches: Iterator[pa.RecordBatch]) -> None:
    """Write CSV to standard output as it arrives."""
    _write(sys.stdout.buffer, batches)
    sys.stdout.buffer.flush()


def _write(file: Any, batches: Iterator[pa.RecordBatch]) -> None:
    options = arrow_csv.WriteOptions(include_header=False)
    for number, rows in enumerate(batches):
        names = rows.schema.names
        if number == 0:
            header = io.StringIO()
            csv.writer(header, lineterminator="\n").writerow(names)
            file.write(utf8(header.getvalue()))
        with writing():
            columns = [plain(column, name) for name, column in zip(names, rows.columns, strict=True)]
            text = pa.BufferOutputStream()
            arrow_csv.write_csv(pa.record_batch(columns, names), text, options)
        file.write(memoryview(text.getvalue()))
