"""The records of a file, one at a time: lines of JSON, the samples of a log, the rows of a table."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeAlias

from auxcal._core.errors import InvalidInputError
from auxcal._core.extras import needs
from auxcal._core.files import check_regular

JSON = dict[str, Any]
"""An object of JSON."""

_ROWS = 4096  # of a Parquet file at a time: a few megabytes


class BadRecord(Exception):  # noqa: N818 (never seen by users)
    """A record that can't be used, and why."""


class Record(NamedTuple):
    """One line, sample or row of a file."""

    line: int
    """Its line in the file from 1; for a table, its row from 1."""
    value: JSON | None
    """None if it can't be read."""
    problem: str = ""
    """Why it can't be read."""
    raw: bytes = b""
    """The line as it is in the file, if it is one."""


Reader: TypeAlias = Callable[[Path], Iterator[Record]]


def read_records(path: Path) -> Iterator[Record]:
    """Yield the records of a file, whose extension names its form."""
    check_regular(path)
    ending = path.suffix.lower()
    if ending not in READERS:
        raise InvalidInputError(
            f"{path}: expected answers of a language model in a file with the extension {', '.join(READERS)}; got "
            f"{ending or 'none'}. Save them as lines of JSON, in a .jsonl file."
        )
    return READERS[ending](path)


def read_lines(path: Path) -> Iterator[Record]:
    """Yield the lines of a file, whatever its extension."""
    decode = json.JSONDecoder().decode  # which json.loads would look for at each line
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.isspace():
                continue
            try:
                value = decode(line.decode())
            except (ValueError, RecursionError) as error:  # text that is no UTF-8 is a ValueError too
                yield Record(number, None, _no_json(error), line)
                continue
            yield _as_record(number, value, line)


def _as_record(number: int, value: Any, line: bytes = b"") -> Record:
    if type(value) is dict:
        return Record(number, value, "", line)
    return Record(number, None, f"expected an object of JSON, {{…}}; got {kind_of(value)}", line)


def _no_json(error: Exception) -> str:
    reason = f"{error}"
    cut = isinstance(error, json.JSONDecodeError) and error.pos >= len(error.doc.rstrip()) - 1
    return f"expected JSON; {'the line is cut off' if cut else reason[:1].lower() + reason[1:]}"


# A file that is one value of JSON: the samples of a log, or a list ----------------------------------------------------

_SAMPLES = "samples"
_SPACE = " \t\r\n"


def _document(path: Path) -> Iterator[Record]:
    """Yield the objects of a list, or of a log's list of samples, one at a time in memory."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path}: expected JSON in UTF-8; {error}. Save the log again as text.") from None
    scan = _Scanner(text, path)
    if scan.next() == "[":
        yield from scan.items({})
        return
    scan.expect("{")
    about: JSON = {}
    while scan.next() != "}":
        key = scan.value()
        scan.expect(":")
        if key == _SAMPLES and scan.next() == "[":
            yield from scan.items(about)
        else:
            about[key] = scan.value()
        if scan.next() == ",":
            scan.expect(",")
    if _SAMPLES not in text:
        yield Record(1, about)


class _Scanner:
    """Reads values of JSON from a text, one after the other."""

    def __init__(self, text: str, path: Path) -> None:
        self._text, self._path, self._at, self._decoder = text, path, 0, json.JSONDecoder()
        self._line, self._counted = 1, 0

    def next(self) -> str:
        """Return the next character that is no blank."""
        text, at, end = self._text, self._at, len(self._text)
        while at < end and text[at] in _SPACE:
            at += 1
        self._at = at
        return text[at : at + 1]

    def expect(self, mark: str) -> None:
        """Pass a mark that has to come."""
        if self.next() != mark:
            self._fail(f"expected {mark!r}; got {self._text[self._at : self._at + 1]!r}")
        self._at += 1

    def value(self) -> Any:
        """Return the next value."""
        self.next()
        try:
            value, self._at = self._decoder.raw_decode(self._text, self._at)
        except (ValueError, RecursionError) as error:
            self._fail(_no_json(error))
        return value

    def items(self, about: JSON) -> Iterator[Record]:
        """Yield the items of a list; what is known of the whole file is put into each."""
        self.expect("[")
        while self.next() != "]":
            line = self._here()
            record = _as_record(line, self.value())
            if record.value is not None and about:
                record.value.setdefault("eval", about.get("eval"))
            yield record
            if self.next() != "]":
                self.expect(",")
        self.expect("]")

    def _here(self) -> int:
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def _fail(self, reason: str) -> NoReturn:
        raise InvalidInputError(f"{self._path}: line {self._here()}: {reason}.")


# Tables ---------------------------------------------------------------------------------------------------------------


def _csv(path: Path) -> Iterator[Record]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file)
        names = next(rows, [])
        for number, row in enumerate(rows, 1):
            if len(row) == len(names):
                yield Record(number, dict(zip(names, map(_cell, row), strict=True)))
            elif row:
                yield Record(number, None, f"expected {len(names)} columns; got {len(row)}")


def _cell(text: str) -> float | str | None:
    """Return a number where there is one, as JSON would have it."""
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        return text


def _parquet(path: Path) -> Iterator[Record]:
    with needs("tables"):
        from pyarrow.parquet import ParquetFile
    number = 0
    with ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=_ROWS):
            for number, row in enumerate(batch.to_pylist(), number + 1):  # noqa: B020
                yield Record(number, row)


READERS: dict[str, Reader] = {
    ".jsonl": read_lines,
    ".ndjson": read_lines,
    ".json": _document,
    ".csv": _csv,
    ".parquet": _parquet,
}
"""How the records of a file are read, by its extension."""


def kind_of(value: Any) -> str:
    """Return what a value of JSON is, in its words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    names = {dict: "an object", list: "a list", str: "a string", int: "a number", float: "a number"}
    return names.get(type(value), type(value).__name__)


def member(record: JSON, key: str, kind: type) -> Any:
    """Return what an object has under a key, or say that it is missing or of another kind."""
    value = record.get(key)
    if type(value) is not kind:
        wanted = kind_of(kind())
        if key not in record:
            raise BadRecord(f"expected {wanted} under {key!r}; there is no such key")
        raise BadRecord(f"expected {wanted} under {key!r}; got {kind_of(value)}")
    return value


def lookup(record: JSON, key: str) -> Any:
    """Return what is under a key, or under keys within each other that dots join; None if there is nothing."""
    if key in record:
        return record[key]
    value: Any = record
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value
