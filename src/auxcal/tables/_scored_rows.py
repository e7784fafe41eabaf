"""The rows of a scored table, batch by batch: confidence, correctness and what else was asked for."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

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
from auxcal._core.text import percent
from auxcal.tables._classes import Classes
from auxcal.tables._column_values import groups_of_column, slices_of_column, values_of_column, weights_of_column
from auxcal.tables._format import Batch, Source
from auxcal.tables._usable import LEAVE_OUT
from auxcal.tables.columns import check_column
from auxcal.tables.scores import IN_FIT, MAX_WEIGHT
from auxcal.tables.spec import OnBadRows, TableSpec

MOST_IN_FIT = 0.05
"""The share of rows that may be equal to some of the fit: more were in it."""


class ScoredColumns(NamedTuple):
    """The columns of a scored table."""

    label: str
    prediction: str
    confidence: str
    weight: str | None = None
    group: str | None = None
    by: str | None = None

    def check(self, source: Source) -> None:
        """Refuse a table that lacks one."""
        for name, option in ((self.prediction, "prediction"), (self.confidence, "confidence")):
            advice = f"Score the file with auxcal score first, or name the column with {option} (--{option})."
            check_column(source.names, name, advice)
        check_column(source.names, self.label, "Name the column of the true classes with label (--label).")
        for option in ("weight", "group", "by"):
            if (column := getattr(self, option)) is not None:
                check_column(source.names, column, f"Name the column with {option} (--{option}).")


class ScoredRows(NamedTuple):
    """Some rows that have a score and a label; classes are codes of the table's `Classes`."""

    confidence: Floats
    correct: Bools
    prediction: Ints
    y: Ints
    sample_weight: Weight | None
    groups: Groups | None
    by: Groups | None

    def take(self, rows: Any) -> ScoredRows:
        """Return some of them."""
        return ScoredRows(*(None if each is None else each[rows] for each in self))  # type: ignore[arg-type]


class ScoredReader:
    """Reads the rows of a scored table that have a score and a label, and counts the others.

    Parameters
    ----------
    columns : ScoredColumns
        Where what is.
    classes : Classes
        How classes are written.
    on_bad_rows : {"fail", "skip"}
        What becomes of a row whose score is damaged: half of it is missing, or the confidence is not from 0 to 1.
    """

    def __init__(self, columns: ScoredColumns, classes: Classes, on_bad_rows: OnBadRows = "fail") -> None:
        self._columns, self._classes, self._skip = columns, classes, on_bad_rows == "skip"
        self._rows = self._unscored = self._bad = self._unlabelled = self._in_fit = 0
        self._weight = 0.0
        self.max_weight: float | None = None

    def batches(self, source: Source) -> Iterator[ScoredRows]:
        """Yield the rows of each batch; warn at the end of those that are left out."""
        self._columns.check(source)
        label, prediction, confidence, weight, group, by = self._columns
        largest = MAX_WEIGHT if weight is not None and MAX_WEIGHT in source.names else None
        numbers = tuple(dict.fromkeys(name for name in (confidence, weight, largest) if name is not None))
        mark = IN_FIT if IN_FIT in source.names else None
        others = tuple(dict.fromkeys(name for name in (prediction, label, group, by, mark) if name is not None))
        for batch in source.batches(numbers, others):
            if len(batch):
                rows = self._read(Batch(batch.with_numbers(numbers), batch.done))
                self._rows += len(batch)
                if len(rows.y):
                    yield rows
        self._conclude()

    def _read(self, batch: Batch) -> ScoredRows:
        label, prediction, confidence, weight, group, by = self._columns
        columns = batch.columns
        score = as_floats(values_of_column(columns[confidence]), "confidence")
        with self._places():
            predicted, y = self._classes.codes(columns[prediction], columns[label])
        unscored = np.isnan(score) & (predicted == LEFT_OUT)
        bad = ~unscored & (~((score >= 0) & (score <= 1)) | (predicted == LEFT_OUT))
        if bad.any() and not self._skip:
            raise self._error(score, predicted, bad)
        unlabelled = ~unscored & ~bad & (y == LEFT_OUT)
        for name, rows in (("_unscored", unscored), ("_bad", bad), ("_unlabelled", unlabelled)):
            setattr(self, name, getattr(self, name) + int(rows.sum()))
        kept = ~(unscored | bad | unlabelled)
        self._in_fit += int((_marks(columns.get(IN_FIT), len(score)) & kept).sum())
        if weight is not None and MAX_WEIGHT in columns and kept.any():
            largest = float(np.max(weights_of_column(columns[MAX_WEIGHT], kept)))
            self.max_weight = max(largest, self.max_weight or 0.0)
        with self._places():
            everything = ScoredRows(
                score,
                predicted == y,
                predicted,
                y,
                None if weight is None else self._weights(columns[weight], kept),
                None if group is None else _groups(groups_of_column(columns[group], kept), group),
                None if by is None else _groups(slices_of_column(columns[by]), by),
            )
        return everything if kept.all() else everything.take(kept)

    @contextmanager
    def _places(self) -> Iterator[None]:
        """Say of errors about later rows where these begin."""
        try:
            yield
        except InvalidInputError as error:
            if not self._rows:
                raise
            raise InvalidInputError(f"{error} Rows are counted from row {self._rows:,}.") from None

    def _weights(self, column: Any, kept: Bools) -> Weight:
        weight = weights_of_column(column, kept)
        if not np.any(weight):  # other rows may have some
            return np.zeros(len(weight))
        checked = np.asarray(as_sample_weight(weight, n_rows=len(weight)))
        self._weight += float(np.sum(checked))
        return checked

    @property
    def share_in_fit(self) -> float:
        """The share of the rows read so far that are marked as rows of the fit."""
        return self._in_fit / max(self._rows - self._unscored - self._bad - self._unlabelled, 1)

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
            what = f"{self._columns.prediction} must have a class in every row; got nothing in row {place}"
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
        warn_of_unlabelled(self._unlabelled, self._rows - self._unscored - self._bad, self._columns.label)
        if self.share_in_fit > MOST_IN_FIT:
            warnings.warn(
                f"{percent(self.share_in_fit)} of these rows were in the fit of the calibrator, so it looks better "
                f"than it is. Use other rows.",
                InputWarning,
                stacklevel=3,
            )
        if self._columns.weight is not None and not self._weight:
            as_sample_weight(np.zeros(1), n_rows=1)  # which says what weights must be


def _marks(column: Any, n_rows: int) -> Bools:
    """Return which rows a column marks, as whatever its format keeps true and false."""
    if column is None:
        return np.zeros(n_rows, dtype=bool)
    values = values_of_column(column)
    if values.dtype.kind in "biuf":
        return np.asarray(values == 1)
    return np.array([str(each).lower() == "true" for each in values.tolist()], dtype=bool)


def _groups(values: Groups, name: str) -> Groups:
    return as_groups(values, n_rows=len(values), name=name)


def scored_reader(spec: TableSpec, by: str | None = None) -> tuple[ScoredReader, Classes]:
    """Return what reads a scored table, and what its classes are."""
    spec.check_bad_rows()
    label = spec.label_name
    classes = Classes(
        spec.prediction, label, spec.class_names, spec.no_class, unknown_is_no_class=spec.unknown_is_no_class
    )
    columns = ScoredColumns(label, spec.prediction, spec.confidence, spec.weight, spec.group, by)
    return ScoredReader(columns, classes, spec.on_bad_rows), classes
