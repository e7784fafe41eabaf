"""The records of a file, one at a time: lines of JSON, the samples of a log, the rows of a table."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

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
    """Its line in the file, from 1; for a table its row, for a log its sample."""
    value: JSON | None
    """None if it can't be read."""
    problem: str = ""
    """Why it can't be read."""
    raw: bytes = b""
    """The line as it is in the file, if it is one."""


Reader: TypeAlias = Callable[[Path], Iterator[Record]]


def read_records(path: Path) -> Iterator[Record]:
    """Yield the records of a file; the extension is its format."""
    check_regular(path)
    ending = path.suffix.lower()
    if ending not in READERS:
        raise InvalidInputError(
            f"{path}: expected answers of a language model in a file with the extension {', '.join(READERS)}; got "
            f"{ending or 'none'}. Save them as lines of JSON, in a .jsonl file."
        )
    return READERS[ending](path)


def read_lines(path: Path) -> Iterator[Record]:
    """Yield the lines of a file, whatever its extension is."""
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
    problem = "" if type(value) is dict else f"expected an object of JSON, {{…}}; got {kind_of(value)}"
    return Record(number, None if problem else value, problem, line)


def _no_json(error: Exception) -> str:
    reason = f"{error}"
    cut = isinstance(error, json.JSONDecodeError) and error.pos >= len(error.doc.rstrip()) - 1
    return f"expected JSON; {'the line is cut off' if cut else reason[:1].lower() + reason[1:]}"


def _document(path: Path) -> Iterator[Record]:
    """Yield the objects of a list, or of a log's list of samples with what the log has of their evaluation."""
    try:
        document = json.loads(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path}: expected JSON in UTF-8; {error}. Save the log again as text.") from None
    except json.JSONDecodeError as error:
        raise InvalidInputError(f"{path}: line {error.lineno}: {_no_json(error)}.") from None
    except RecursionError as error:
        raise InvalidInputError(f"{path}: {_no_json(error)}.") from None
    log = document if isinstance(document, dict) else {"samples": document}
    samples = log.get("samples", [log])
    for number, sample in enumerate(samples if isinstance(samples, list) else [samples], 1):
        if isinstance(sample, dict) and "eval" in log:
            sample.setdefault("eval", log["eval"])
        yield _as_record(number, sample)


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
    """Return the number in a cell, as JSON would have it; digits such as 007 are a name."""
    if not text:
        return None
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        return number if kind is float or str(number) == text.strip() else text
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
    """Return the kind of a JSON value, as an error names it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    names = {dict: "an object", list: "a list", str: "a string", int: "a number", float: "a number"}
    return names.get(type(value), type(value).__name__)


def member(record: JSON, key: str, kind: type) -> Any:
    """Return the value under a key; raise a `BadRecord` if it is missing or of another kind."""
    value = record.get(key)
    if type(value) is not kind:
        wanted = kind_of(kind())
        if key not in record:
            raise BadRecord(f"expected {wanted} under {key!r}; there is no such key")
        raise BadRecord(f"expected {wanted} under {key!r}; got {kind_of(value)}")
    return value


def lookup(record: JSON, key: str) -> Any:
    """Return the value under a key, or under nested keys joined by dots; None if there is none."""
    if key in record:
        return record[key]
    value: Any = record
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value
