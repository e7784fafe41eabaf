"""JSON Lines: rows of a table as objects, or what language models wrote, which `auxcal.llm` reads.

A file is read whole, because a key that appears late is a column too, and the type of a column is decided by all of its
values: numbers, booleans, text, lists of numbers, or else JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from auxcal._core.errors import InvalidInputError
from auxcal._core.extras import needs
from auxcal._core.text import utf8
from auxcal.llm import Answers
from auxcal.llm.records import JSON, read_lines, read_records
from auxcal.tables.batches import Batch, Source, check_rows
from auxcal.tables.parts import File, LocalFile, Part
from auxcal.tables.spec import ACCEPTED, IN_FIT, optional_scores
from auxcal.tables.values import from_numpy, from_text, is_list
from auxcal.tables.written import as_json, json_values

with needs("tables"):
    import pyarrow as pa

LINE = "\0line"
"""The column of a line as it is in the file; what is written beside it is added to its object.

Lines before it that begin with a blank have no score, and are written too."""

_ROWS = 4096  # records at a time: some megabytes, even with the tokens of long answers
_MOST_WHOLE = 2**53  # up to which floats have all whole numbers
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


@dataclass(frozen=True)
class AnswersFile(LocalFile):
    """A file of answers of a language model that has been read.

    `lines`: each line is a row, also without an answer. `label`, `id` and `group` name the columns of the true labels,
    of the ids, and of what the questions belong to.
    """

    answers: Answers = field(compare=False, repr=False)
    lines: bool = False
    label: str = "y"
    id: str = "id"
    group: str = "groups"

    @property
    def suffix(self) -> str:
        """That of its format."""
        return ".jsonl"

    def all_signals(self, without: Sequence[str] = ()) -> tuple[str, ...]:
        """Return all signals, without some."""
        return tuple(name for name in self.answers.signals if name not in without)

    def with_signals(self, names: Sequence[str]) -> AnswersFile:
        """Return the file with all of these signals, missing where they are not known."""
        missing = {name: np.full(len(self.answers), np.nan) for name in names if name not in self.answers.signals}
        return replace(self, answers=replace(self.answers, signals=self.answers.signals | missing))

    def parts(self) -> Iterator[Part]:
        """Yield itself."""
        yield Part(self, self.path.stat().st_size, self.path.stat().st_mtime_ns)


@dataclass(frozen=True)
class AnswersFolder(LocalFile):
    """A folder, or a pattern, whose files of answers have been read, but for empty ones."""

    files: tuple[AnswersFile, ...] = field(compare=False, repr=False)

    def parts(self) -> Iterator[Part]:
        """Yield its files."""
        read = {file.path: file for file in self.files}
        for part in super().parts():
            yield part._replace(file=read.get(Path(part.file), part.file))


@contextmanager
def open_json_lines(file: File) -> Iterator[Source]:
    """Read objects, one a line, or answers of a language model."""
    if isinstance(file, AnswersFile):
        yield _answers_source(file)
        return
    with file.local() as path:
        table = _read(path)
        check_rows(len(table))

        def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Batch]:
            wanted = list(dict.fromkeys((*numbers, *others)))
            chosen = table.select([name for name in wanted if name != LINE])
            lines = (record.raw.decode().strip() for record in read_lines(path))
            before = 0
            for rows in chosen.to_batches() or [pa.RecordBatch.from_pylist([], schema=chosen.schema)]:
                if LINE in wanted:
                    rows = rows.append_column(LINE, from_text(list(islice(lines, len(rows)))))
                before += len(rows)
                yield Batch(rows, before / max(len(table), 1))

        names = tuple(table.column_names)
        lists = tuple(name for name in names if is_list(table.schema.field(name).type))
        yield Source((*names, LINE), batches, lists, unpassed=(LINE,))


# Columns of values of JSON --------------------------------------------------------------------------------------------


def _read(path: Path) -> pa.Table:
    """Return all rows of a file."""
    records, parts, n_rows = read_lines(path), dict[str, list[pa.Array]](), list[int]()
    while rows := list(islice(records, _ROWS)):
        bad = next((record for record in rows if record.value is None), None)
        if bad is not None:
            raise InvalidInputError(f"line {bad.line}: {bad.problem}. Repair the line, or remove it.")
        values: list[JSON] = [record.value for record in rows if record.value is not None]
        for name in dict.fromkeys(chain(parts, *values)):
            before = [pa.nulls(n) for n in n_rows] if name not in parts else []
            parts.setdefault(name, before).append(column_of([value.get(name) for value in values]))
        n_rows.append(len(rows))
    return pa.table({utf8(name).decode(): _alike(arrays) for name, arrays in parts.items()})


def column_of(values: Sequence[Any]) -> pa.Array:
    """Return values as a column of numbers, booleans, text or lists of numbers; values of several types stay JSON.

    Examples
    --------
    >>> from auxcal.tables.readers.json_lines import column_of
    >>> [str(column_of(values).type) for values in ([1, None], [1, 0.5], [[1], [0.5]], [1, "a"], [{}])]
    ['int64', 'double', 'list<item: double>', 'extension<arrow.json>', 'extension<arrow.json>']
    """
    kinds = set(map(type, values)) - {type(None)}
    if kinds == {bool}:
        return _filled(values, np.bool_)
    if kinds <= {int, float}:
        numbers = _numbers(values)
        return _as_json_column(values) if numbers is None else numbers
    if kinds == {list} and set(map(type, chain.from_iterable(filter(None, values)))) <= {int, float, type(None)}:
        inner = _numbers(list(chain.from_iterable(filter(None, values))))
        if inner is not None:
            lengths = np.fromiter((0 if value is None else len(value) for value in values), np.int32, len(values))
            offsets = from_numpy(np.concatenate([[0], np.cumsum(lengths)], dtype=np.int32))
            missing = from_numpy(np.array([value is None for value in values], np.bool_))
            inner = inner.cast(pa.float64()) if pa.types.is_null(inner.type) else inner
            return pa.ListArray.from_arrays(offsets, inner, mask=missing)
    with suppress(UnicodeEncodeError):  # of half a character, which JSON has
        if kinds == {str} and "".join(filter(None, values)).encode() is not None:
            return from_text(values)
    return _as_json_column(values)


def _numbers(values: Sequence[Any]) -> pa.Array | None:
    """Return numbers as a column; None where neither integers nor floats hold them all."""
    kinds = set(map(type, values)) - {type(None)}
    if not kinds:
        return pa.nulls(len(values))
    if float not in kinds:
        try:
            return _filled(values, np.int64)
        except OverflowError:
            return None
    exact = int not in kinds or all(abs(value) <= _MOST_WHOLE for value in values if type(value) is int)
    return _filled(values, np.float64) if exact else None


def _filled(values: Sequence[Any], dtype: type) -> pa.Array:
    """Return numbers as a column, null where there is none; pyarrow would import pandas for it."""
    if None not in values:
        return from_numpy(np.fromiter(values, dtype, len(values)))
    missing = np.fromiter((value is None for value in values), np.bool_, len(values))
    return from_numpy(np.fromiter((value or 0 for value in values), dtype, len(values)), missing)


def _as_json_column(values: Sequence[Any]) -> pa.Array:
    text = from_text([None if value is None else json.dumps(value) for value in values])
    return pa.ExtensionArray.from_storage(pa.json_(pa.string()), text)


def _alike(arrays: list[pa.Array]) -> pa.ChunkedArray:
    """Return the values of all chunks with one type that keeps them."""
    kinds = {array.type for array in arrays if not pa.types.is_null(array.type)}
    kind = next(iter(kinds)) if len(kinds) == 1 else pa.null()
    for number, both in ((pa.float64(), {pa.int64()}), (pa.list_(pa.float64()), {pa.list_(pa.int64())})):
        if kinds == both | {number}:
            kind = number
    with suppress(pa.ArrowInvalid):  # of integers that no float is
        if len(kinds) < 2 or not pa.types.is_null(kind):
            return pa.chunked_array([array.cast(kind) if array.type != kind else array for array in arrays], kind)
    return pa.chunked_array([_as_json_column(json_values(array, "")) for array in arrays])


# Answers of language models -------------------------------------------------------------------------------------------


def _answers_source(file: AnswersFile) -> Source:
    """Return the answers as columns, in the order of the lines where these are written too."""
    answers = file.answers
    given: dict[str, Any] = {file.id: answers.ids, "logits": answers.logits, file.label: answers.y}
    given |= {"correct": answers.correct, file.group: answers.groups} | answers.signals
    arrays = {name: array for name, array in given.items() if array is not None}
    columns = {name: column_of(a.tolist()) if a.dtype == object else from_numpy(a) for name, a in arrays.items()}
    whole = pa.RecordBatch.from_pydict(columns)

    def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Batch]:
        chosen = whole.select([name for name in dict.fromkeys((*numbers, *others)) if name != LINE])
        if not file.lines:
            yield Batch(chosen, 1.0)
            return
        for rows, lines in _lines_of(file):
            yield Batch(chosen.take(from_numpy(np.array(rows, np.int64))).append_column(LINE, from_text(lines)))

    if not file.lines:
        return Source(tuple(arrays), batches, tuple(n for n in columns if is_list(columns[n].type)), arrays=True)
    with_truth = answers.logits is None and "correct" in arrays
    lists = tuple(name for name in arrays if name != "correct" or not with_truth)
    return Source((*arrays, LINE), batches, lists, arrays=True)


def _lines_of(file: AnswersFile) -> Iterator[tuple[list[int], list[str]]]:
    """Yield rows and their lines, some at a time; lines without an answer stand, after a blank, before the next one."""
    answers = file.answers
    row_of = np.full(len(answers.all_ids), -1)
    kept = set(answers.ids)  # of those with an answer, the ones with a truth if it was asked for
    row_of[[name in kept for name in answers.all_ids]] = np.arange(len(answers))
    rows_of_lines = dict(zip(answers.lines[:, 0].tolist(), row_of[answers.lines[:, 1]].tolist(), strict=True))
    rows: list[int] = []
    lines: list[str] = []
    waiting = ""
    for record in read_records(file.path):
        if record.value is None:
            continue
        row, value = rows_of_lines.get(record.line, -1), _unscored(record.value, answers.labels)
        text = record.raw.decode().strip() if value is record.value and record.raw else as_json(value)
        if row < 0:
            waiting += f" {text}\n"
            continue
        if len(rows) == _ROWS:
            yield rows, lines
            rows, lines = [], []
        rows.append(row)
        lines.append(waiting + text)
        waiting = ""
    if waiting and lines:
        lines[-1] += f"\n{waiting.rstrip()}"
    yield rows, lines


def _unscored(value: JSON, class_names: Sequence[str] | None) -> JSON:
    """Return what a line holds without the keys of an earlier scoring."""
    old = optional_scores(value, class_names)
    return {key: each for key, each in value.items() if key not in old} if old else value


# Writing --------------------------------------------------------------------------------------------------------------


def write_json_lines(path: Path, batches: Iterator[pa.RecordBatch]) -> None:
    """Write each row as an object, with the keys of the line that it comes from, if there is one."""
    with path.open("w", encoding="utf-8", errors="backslashreplace") as file:  # half a character, as JSON escapes it
        for rows in batches:
            names = [name for name in rows.schema.names if name != LINE]
            columns = [json_values(rows.column(name), name) for name in names]
            for place, name in enumerate(names):
                if name == ACCEPTED:  # what has no score is not accepted
                    columns[place] = [bool(value) for value in columns[place]]
            nothing = dict.fromkeys(names) | {name: False for name in names if name in (ACCEPTED, IN_FIT)}
            lines = rows.column(LINE).to_pylist() if LINE in rows.schema.names else []
            marks = [f'"{name}"' for name in names] + ["NaN", "Infinity", "\\u"]
            scores = zip(*columns, strict=True) if names else ((),) * len(rows)
            if LINE not in rows.schema.names:
                file.writelines(f"{_encode(dict(zip(names, values, strict=True)))}\n" for values in scores)
                continue
            for line, values in zip(lines, scores, strict=True):
                scored = dict(zip(names, values, strict=True))
                for text in line.split("\n"):
                    more = nothing if text.startswith(" ") else scored
                    file.write(f"{_with(text.strip(), more, marks)}\n")


def _with(line: str, more: JSON, marks: Sequence[str]) -> str:
    """Return a line with more keys, which replace those of the same name."""
    if any(mark in line for mark in marks):
        return as_json(json.loads(line) | more)
    before = line[:-1].rstrip()
    return f"{before}{'' if before == '{' else ', '}{_encode(more)[1:]}"
