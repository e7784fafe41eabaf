"""JSON Lines: rows of a table as objects, or what language models wrote, which `auxcal.llm` reads."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auxcal._core.errors import InvalidInputError
from auxcal.llm import Answers
from auxcal.llm.records import JSON, Record, read_lines, read_records
from auxcal.tables.discover import File, LocalFile, Part
from auxcal.tables.numpy_columns import Columns, NumpyColumn
from auxcal.tables.readers.named_arrays import as_source
from auxcal.tables.sources import Batch, Source
from auxcal.tables.spec import ACCEPTED, IN_FIT, optional_scores

LINE = "\0line"
"""The column of a line as it is in the file; what is written beside it is added to its object."""

_FIRST = 100  # records whose keys are columns
_ROWS = 4096  # records at a time: some megabytes, even with the tokens of long answers


@dataclass(frozen=True)
class AnswersFile(LocalFile):
    """A file of answers of a language model that has been read.

    `lines`: each line is a row, also without an answer. `label` is what the column of the true labels is called.
    """

    answers: Answers = field(compare=False, repr=False)
    lines: bool = False
    label: str = "y"

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

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def parts(self) -> Iterator[Part]:
        """Yield itself."""
        yield Part(self, self.path.stat().st_size, self.path.stat().st_mtime_ns)


@contextmanager
def open_json_lines(file: File) -> Iterator[Source]:
    """Read objects with the same keys, one a line, or answers of a language model."""
    if isinstance(file, AnswersFile):
        arrays = _arrays(file.answers, file.label)
        yield _line_source(file, arrays) if file.lines else as_source(arrays)
        return
    with file.local() as path:
        first = list(islice(read_lines(path), _FIRST))
        names = dict.fromkeys(
            key for record in first for key, each in _row(record).items() if not isinstance(each, dict)
        )
        lists = [name for name in names if any(isinstance(_row(record).get(name), list) for record in first)]

        def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Batch]:
            records, some = read_lines(path), False
            while (rows := list(islice(records, _ROWS))) or not some:
                some = True
                yield Batch({name: _column(rows, name) for name in (*numbers, *others)}, None)

        yield Source((*names, LINE), batches, tuple(name for name in names if name not in lists))


def _row(record: Record) -> JSON:
    if record.value is None:
        raise InvalidInputError(f"line {record.line}: {record.problem}. Repair the line, or remove it.")
    return record.value


def _column(rows: Sequence[Record], name: str) -> NumpyColumn:
    if name == LINE:
        return NumpyColumn(np.array([record.raw.decode() for record in rows], dtype=object))
    values = [_row(record).get(name) for record in rows]
    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {int} or kinds == {bool}:
        array = np.array([value or 0 for value in values])
        missing = np.array([value is None for value in values])
        return NumpyColumn(array, missing if missing.any() else None)
    if kinds <= {int, float}:
        return NumpyColumn(np.array([np.nan if value is None else value for value in values], np.float64))
    if kinds == {list} and len({len(value or ()) for value in values}) == 1:
        return NumpyColumn(np.array(values, np.float64))
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return NumpyColumn(found)


def _arrays(answers: Answers, label: str) -> dict[str, NDArray[Any]]:
    """Return answers as columns of a table."""
    found: dict[str, Any] = {"id": answers.ids, "logits": answers.logits, label: answers.y, "correct": answers.correct}
    found |= {"groups": answers.groups} | answers.signals
    return {name: array for name, array in found.items() if array is not None}


class Carried(NamedTuple):
    """The line of an answer, with the lines before it, and at the end after it, that have none."""

    before: list[str]
    line: str
    after: list[str]


def _line_source(file: AnswersFile, arrays: dict[str, NDArray[Any]]) -> Source:
    """Return a row for each line of the file that has an answer, in its order; it carries those that have none."""
    answers = file.answers
    row_of = np.full(len(answers.all_ids), -1)
    kept = set(answers.ids)  # of those with an answer, the ones with a truth if it was asked for
    row_of[[name in kept for name in answers.all_ids]] = np.arange(len(answers))
    rows_of_lines = dict(zip(answers.lines[:, 0].tolist(), row_of[answers.lines[:, 1]].tolist(), strict=True))

    def carried() -> Iterator[list[tuple[int, Carried]]]:
        """Yield rows and their lines, some at a time; the last of them is held back until the end of the file."""
        rows: list[tuple[int, Carried]] = []
        waiting: list[str] = []
        for record in read_records(file.path):
            if record.value is None:
                continue
            row, kept = rows_of_lines.get(record.line, -1), _unscored(record.value, answers.labels)
            text = record.raw.decode() if kept is record.value and record.raw else json.dumps(kept)
            if row < 0:
                waiting.append(text)
                continue
            if len(rows) == _ROWS:
                yield rows
                rows = []
            rows.append((row, Carried(waiting, text, [])))
            waiting = []
        rows[-1][1].after.extend(waiting)
        yield rows

    def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Batch]:
        for part in carried():
            rows, lines = np.array([row for row, _ in part]), np.empty(len(part), dtype=object)
            lines[:] = [line for _, line in part]
            read = {name: NumpyColumn(arrays[name][rows]) for name in (*numbers, *others) if name != LINE}
            yield Batch({**read, LINE: NumpyColumn(lines)}, None)

    told = ("correct",) if answers.logits is None and "correct" in arrays else ()
    return Source((*arrays, LINE), batches, (LINE, *told))


def _unscored(value: JSON, class_names: Sequence[str] | None) -> JSON:
    """Return what a line holds without the keys of an earlier scoring."""
    old = optional_scores(value, class_names)
    return {key: each for key, each in value.items() if key not in old} if old else value


def write_json_lines(path: Path, batches: Iterator[Columns]) -> None:
    """Write each row as an object, with the keys of the line that it comes from, if there is one."""
    with path.open("w", encoding="utf-8", errors="backslashreplace") as file:  # half a character, as JSON escapes it
        for columns in batches:
            names = [name for name in columns if name != LINE]
            lines = columns[LINE].values() if LINE in columns else ["{}"] * len(next(iter(columns.values())))
            rows = zip(*(_listed(columns[name], name) for name in names), strict=True)
            nothing = dict.fromkeys(names) | {name: False for name in names if name in (ACCEPTED, IN_FIT)}
            for line, row in zip(lines, rows, strict=True):
                before, text, after = line if isinstance(line, Carried) else ([], line, [])
                scored = [*((each, nothing) for each in before), (text, dict(zip(names, row, strict=True)))]
                for each, more in [*scored, *((each, nothing) for each in after)]:
                    file.write(json.dumps(json.loads(each) | more, ensure_ascii=False) + "\n")


def _listed(column: Any, name: str) -> list[Any]:
    """Return the values of a column for JSON, which has no NaN."""
    if isinstance(column, NumpyColumn) and column.data.dtype.kind in "biu":
        values, missing = column.data.tolist(), column.missing
        if missing is None or name == ACCEPTED:  # what has no score is not accepted
            return values
        return [None if gone else value for value, gone in zip(values, missing.tolist(), strict=True)]
    return [None if isinstance(value, float) and math.isnan(value) else value for value in column.values().tolist()]
