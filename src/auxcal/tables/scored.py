"""Scored tables, of `auxcal score` or another tool: what `auxcal evaluate`, `threshold` and `plan` read."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Unpack

import numpy as np

from auxcal._core.arrays import (
    Bools,
    Floats,
    Groups,
    Ints,
    Weight,
    as_confidence,
    as_floats,
    as_groups,
    as_sample_weight,
)
from auxcal._core.errors import InputWarning, InvalidInputError
from auxcal._core.labels import LEFT_OUT, warn_of_unlabelled
from auxcal._core.sampling import in_order
from auxcal._core.text import percent
from auxcal.metrics import Tally
from auxcal.tables.classes import Classes, codes_of
from auxcal.tables.columns import check_column
from auxcal.tables.labelled import lowest_keys
from auxcal.tables.numpy_columns import Column, Columns
from auxcal.tables.readers import open_source
from auxcal.tables.rows import LEAVE_OUT, counted_from, kept_groups, kept_weights
from auxcal.tables.sources import Source
from auxcal.tables.spec import IN_FIT, ScoreOptions, TableSpec

MAX_WEIGHT = "max_weight"
"""The column beside the weights of picks: the largest weight that a row could have had."""

MOST_IN_FIT = 0.05
"""The share of rows that may be equal to some of the fit: more were in it.

Two hundredths may repeat by chance before a fit stops marking rows (`REPEATED`); no script chose the rest of it."""

MOST_ROWS = 2**21
"""So many rows are held; more are counted. Their columns take less than 100 MB."""

_AT_ONCE = 2**20  # rows of one tally, which take the least time: benchmarks/tally.py


class Scored(NamedTuple):
    """The rows of a scored file: what the metrics take, and the prediction and true class behind it.

    Where the file has names, `prediction` and `y` are places among the `class_names`. `share_in_fit` is the share of
    the rows that `score_file` marked as rows of the fit, and `max_weight` what `pick_file` wrote beside the weights.
    """

    confidence: Floats
    correct: Bools
    prediction: Ints
    y: Ints
    class_names: tuple[str, ...] | None = None
    sample_weight: Weight | None = None
    groups: Groups | None = None
    by: Groups | None = None
    share_in_fit: float = 0.0
    max_weight: float | None = None

    def take(self, rows: Any) -> Scored:
        """Return some of the rows."""
        return self._replace(**{name: each[rows] for name, each in _columns_of(self).items()})


class Tallied(NamedTuple):
    """The tally of a scored table, and that of each slice by its value, if slices were asked for."""

    tally: Tally
    by: dict[str, Tally] | None


def read_scored(
    path: str | os.PathLike[str],
    label: str | None = None,
    *,
    by: str | None = None,
    spec: TableSpec | None = None,
    sample: int | None = None,
    random_state: int | None = 0,
    **where: Unpack[ScoreOptions],
) -> Scored:
    """Read a file of `score_file`, or of another tool, that has the true classes next to the scores.

    Rows without a score or a label are left out, and an `InputWarning` says how many they are. A name that is never
    predicted counts as wrong, and an `InputWarning` says so, unless it is known to be one of the classes or none of
    them.

    Parameters
    ----------
    path : path
        A file, folder, pattern or URL with the columns or arrays `prediction`, `confidence` and `label`; `-` for CSV
        from standard input.
    label : str
        The column of the true classes: indices where the predictions are indices, names where they are names.
    prediction, confidence : str
        The columns of the predictions and of the confidence.
    class_names : sequence of str, optional
        The names of the classes in order; by default all that are predicted.
    no_class : sequence of str
        Labels that mean none of the classes, besides -1.
    unknown_is_no_class : bool
        Whether all labels that are none of the classes mean that too.
    weight, group, by : str, optional
        The columns of how often each row counts, of what it belongs to, and of the slice that it is in.
    on_bad_rows : {"fail", "skip"}
        What becomes of a row whose score is damaged, with a prediction and no confidence or the other way round, or
        with a confidence that is not from 0 to 1: it is an error, or it is left out, and an `InputWarning` counts such
        rows.
    spec : TableSpec, optional
        The arguments before, but for `by`, in one.
    sample : int, optional
        Keep a random sample of so many rows, if there are more, and give an `InputWarning`. It is drawn in one pass, so
        memory does not grow with the table. By default all rows are kept.
    random_state : int or None
        The source of the sample's randomness.

    Returns
    -------
    Scored
        `confidence`, `correct`, `prediction`, `y`, the `class_names`, and the last three if they were asked for.
    """
    reader = _ScoredReader(_scored_spec(where, spec, label), by)
    with open_source(path) as source:
        batches = reader.batches(source)
        rows = _joined(batches) if sample is None else _sample_of(batches, sample, random_state)
        return reader.finish(rows)


def read_scored_or_tally(
    path: str | os.PathLike[str],
    label: str | None = None,
    *,
    by: str | None = None,
    spec: TableSpec | None = None,
    **where: Unpack[ScoreOptions],
) -> Scored | Tallied:
    """Read what `read_scored` reads; of more than two million rows the tally, so that memory does not grow with them.

    With slices it grows with their number, by 3 MB each at most. Groups need all rows, so with `group` they are held.

    Parameters
    ----------
    path, label, by, spec, **where
        As in `read_scored`.

    Returns
    -------
    Scored or Tallied
    """
    spec = _scored_spec(where, spec, label)
    reader = _ScoredReader(spec, by)
    held: list[Scored] = []
    found: Tallied | None = None
    with open_source(path) as source:
        for rows in reader.batches(source):
            held.append(rows)
            if spec.group is None and sum(len(each.y) for each in held) > (MOST_ROWS if found is None else _AT_ONCE):
                found = _tallied(found, held)
                held.clear()
        if found is None:
            return reader.finish(_joined(held))
        reader.classes.finalize()
        return _tallied(found, held)


def _tallied(before: Tallied | None, held: Sequence[Scored]) -> Tallied:
    """Return the tallies of all rows so far."""
    rows = _joined(held) if held else None
    if rows is not None and rows.sample_weight is not None:
        rows = rows.take(rows.sample_weight > 0)
    if rows is None or not len(rows.y):
        return before or Tallied(Tally(), None)
    whole = Tally.of(rows.confidence, rows.correct, rows.sample_weight)
    parts = None
    if rows.by is not None:
        found = Tally.by_group(rows.confidence, rows.correct, rows.by, rows.sample_weight)
        parts = add_tallies((before.by if before else None) or {}, {str(name): each for name, each in found.items()})
    return Tallied(whole if before is None else before.tally + whole, parts)


def add_tallies(first: Mapping[Any, Tally], second: Mapping[Any, Tally]) -> dict[Any, Tally]:
    """Return the tallies of the groups of both."""
    return {**first, **{name: first[name] + each if name in first else each for name, each in second.items()}}


_PER_ROW = ("confidence", "correct", "prediction", "y", "sample_weight", "groups", "by")


def _columns_of(rows: Scored) -> dict[str, Any]:
    """Return what there is of each row."""
    return {name: each for name in _PER_ROW if (each := getattr(rows, name)) is not None}


def _joined(parts: Iterable[Scored]) -> Scored:
    """Return the rows of all parts."""
    first, *others = parts
    joined: dict[str, Any] = {
        name: np.concatenate([each, *(getattr(part, name) for part in others)])
        for name, each in _columns_of(first).items()
    }
    return first._replace(**joined) if others else first


class _ScoredReader:
    """Reads the rows of a scored table that have a score and a label, and counts the others."""

    def __init__(self, spec: TableSpec, by: str | None = None) -> None:
        spec.check_bad_rows()
        self._spec, self._by, self.classes = spec, by, Classes(spec)
        self._rows = self._unscored = self._bad = self._unlabelled = 0
        self._in_fit = self._not_in_fit = 0
        self._weight = 0.0
        self._max_weight: float | None = None

    def batches(self, source: Source) -> Iterator[Scored]:
        """Yield the rows of each batch; warn at the end of those that are left out."""
        spec, by = self._spec, self._by
        self._check(source)
        largest = MAX_WEIGHT if spec.weight is not None and MAX_WEIGHT in source.names else None
        numbers = tuple(dict.fromkeys(name for name in (spec.confidence, spec.weight, largest) if name is not None))
        mark = IN_FIT if IN_FIT in source.names else None
        wanted = (None if spec.says_correct else spec.prediction, spec.label_name, spec.group, by, mark)
        for batch in source.batches(numbers, tuple(dict.fromkeys(name for name in wanted if name is not None))):
            if len(batch):
                rows = self._read(batch.columns)
                self._rows += len(batch)
                if len(rows.y):
                    yield rows
        self._conclude()

    def finish(self, rows: Scored) -> Scored:
        """Return the rows of a table that is read, with places among its classes for codes."""
        names = self.classes.finalize()
        prediction, y = (self.classes.final_codes(codes, names) for codes in (rows.prediction, rows.y))
        facts = self._share_in_fit, self._max_weight
        return Scored(*rows[:2], prediction, y, names, *rows[5:8], *facts)

    def _check(self, source: Source) -> None:
        """Refuse a table that lacks a column."""
        spec = self._spec
        scores = ((spec.prediction, "prediction"), (spec.confidence, "confidence"))
        for name, option in scores[1:] if spec.says_correct else scores:
            advice = f"Score the file with auxcal score first, or name the column with {option} (--{option})."
            check_column(source.names, name, advice)
        check_column(source.names, spec.label_name, "Name the column of the true classes with label (--label).")
        for option, column in (("weight", spec.weight), ("group", spec.group), ("by", self._by)):
            if column is not None:
                check_column(source.names, column, f"Name the column with {option} (--{option}).")

    def _read(self, columns: Columns) -> Scored:
        spec = self._spec
        score = as_floats(columns[spec.confidence].values(), "confidence")
        with counted_from(self._rows):
            if spec.says_correct:
                y = codes_of(columns[spec.label_name], spec.labels(1), None)
                predicted = np.where(np.isnan(score), LEFT_OUT, 0)
            else:
                both = columns[spec.prediction], columns[spec.label_name]
                predicted, y = self.classes.codes(*both, scored=~np.isnan(score))
        unscored = np.isnan(score) & (predicted == LEFT_OUT)
        bad = ~unscored & (~((score >= 0) & (score <= 1)) | (predicted == LEFT_OUT))
        if bad.any() and spec.on_bad_rows == "fail":
            raise self._error(score, predicted, bad)
        unlabelled = ~unscored & ~bad & (y == LEFT_OUT)
        kept = ~(unscored | bad | unlabelled)
        self._unscored += int(unscored.sum())
        self._bad += int(bad.sum())
        self._unlabelled += int(unlabelled.sum())
        if IN_FIT in columns:
            marks = _marks(columns[IN_FIT])[kept]
            self._in_fit += int(np.sum(marks == 1))
            self._not_in_fit += int(np.sum(marks == 0))
        if spec.weight is not None and MAX_WEIGHT in columns and kept.any():
            largest = float(np.max(kept_weights(columns[MAX_WEIGHT], kept)))
            self._max_weight = max(largest, self._max_weight or 0.0)
        with counted_from(self._rows):
            everything = Scored(
                score,
                predicted == y,
                predicted,
                y,
                None,
                None if spec.weight is None else self._weights(columns[spec.weight], kept),
                None if spec.group is None else _groups(kept_groups(columns[spec.group], kept), spec.group),
                None if self._by is None else _groups(columns[self._by].slices(), self._by),
            )
        return everything if kept.all() else everything.take(kept)

    def _weights(self, column: Column, kept: Bools) -> Weight:
        weight = kept_weights(column, kept)
        if not np.any(weight):  # other rows may have some
            return np.zeros(len(weight))
        checked = np.asarray(as_sample_weight(weight, n_rows=len(weight)))
        self._weight += float(np.sum(checked))
        return checked

    @property
    def _share_in_fit(self) -> float:
        """The share of rows of the fit among the rows read so far of which it is known."""
        return self._in_fit / max(self._in_fit + self._not_in_fit, 1)

    def _error(self, score: Floats, predicted: Ints, bad: Bools) -> InvalidInputError:
        """Return what to raise for a damaged score."""
        row = int(np.argmax(bad))
        if not np.isnan(score[row]) and bad.all() and not (predicted == LEFT_OUT).any():
            as_confidence(score)  # which says what else they may be
        place, among = self._rows + row, f"{int(bad.sum()):,} such rows in the first {self._rows + len(score):,}"
        if np.isnan(score[row]):
            what = f"confidence must be finite; got nan in row {place}"
        elif not 0 <= score[row] <= 1:
            what = f"confidence must be a probability in [0, 1]; got {score[row]:.6g} in row {place}"
        else:
            what = f"{self._spec.prediction} must have a class in every row; got nothing in row {place}"
        return InvalidInputError(f"{what} ({among}). Repair them, or {LEAVE_OUT}.")

    def _conclude(self) -> None:
        """Say what was left out; refuse a table of which nothing is left."""
        if not self._rows:
            raise InvalidInputError("there are no rows. Check where the file comes from.")
        if self._unscored + self._bad == self._rows:
            raise InvalidInputError("no row has a score. Check the rows that were scored.")
        for n, what in ((self._unscored, "have no score and"), (self._bad, "have a damaged score and")):
            if n:
                warnings.warn(f"{n:,} of {self._rows:,} rows {what} are left out.", InputWarning, stacklevel=3)
        warn_of_unlabelled(self._unlabelled, self._rows - self._unscored - self._bad, self._spec.label_name)
        if self._share_in_fit > MOST_IN_FIT:
            warnings.warn(
                f"{percent(self._share_in_fit)} of these rows were in the fit of the calibrator, so it looks better "
                f"than it is. Use other rows.",
                InputWarning,
                stacklevel=3,
            )
        if self._spec.weight is not None and not self._weight:
            as_sample_weight(np.zeros(1), n_rows=1)  # which says what weights must be


def _scored_spec(where: Any, spec: TableSpec | None, label: str | None) -> TableSpec:
    """Return where things are in a scored table, of which no calibrator knows the columns."""
    found = TableSpec.of(ScoreOptions, where, spec)
    return found if label is None else replace(found, label=label)


def _marks(column: Column) -> Floats:
    """Return 1 where a row is marked, 0 where it isn't and NaN where that is unknown, however a format keeps it."""
    values = column.values()
    if values.dtype.kind in "biuf":
        return np.asarray(values, np.float64)
    meaning = {"true": 1.0, "false": 0.0}
    return np.array([meaning.get(str(each).lower(), np.nan) for each in values.tolist()])


def _groups(values: Groups, name: str) -> Groups:
    return as_groups(values, n_rows=len(values), name=name)


def _sample_of(parts: Iterable[Scored], n: int, random_state: int | None) -> Scored:
    """Return a sample of the rows; say so if it is not all of them."""
    drawn, n_rows = lowest_keys(map(_columns_of, parts), n, random_state)
    if len(drawn["y"]) < n_rows:
        warnings.warn(
            f"{n:,} of {n_rows:,} rows are used, a random sample. Its size is set with sample (--sample).",
            InputWarning,
            stacklevel=3,
        )
    return Scored(**in_order(drawn))  # type: ignore[arg-type]
