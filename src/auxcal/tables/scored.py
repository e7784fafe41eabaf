"""Scored tables, of `auxcal score` or another tool: what `auxcal evaluate`, `threshold` and `plan` read."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
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
from auxcal._core.sampling import in_order
from auxcal._core.text import percent
from auxcal.tables.batches import Batch, Source, check_rows
from auxcal.tables.class_codes import Classes, TextCodes, codes_of
from auxcal.tables.columns import check_column
from auxcal.tables.labelled import lowest_keys
from auxcal.tables.readers import open_source
from auxcal.tables.rows import LEAVE_OUT, kept_groups, kept_weights
from auxcal.tables.spec import IN_FIT, TableSpec
from auxcal.tables.values import matrix_of, slices_of, to_numpy

MAX_WEIGHT = "max_weight"
"""The column beside the weights of picks: the largest weight that a row could have had."""

MOST_IN_FIT = 0.05
"""The share of rows that may be equal to some of the fit: more were in it.

Two hundredths may repeat by chance before a fit stops marking rows (`REPEATED`); no script chose the rest of it."""


class Scored(NamedTuple):
    """The rows of a scored file: what the metrics take, and the prediction and true class behind it.

    Where the file has names, `prediction` and `y` are places among the `class_names`. `share_in_fit` is the share of
    the rows that `score_table` marked as rows of the fit, None where the table does not say, and `max_weight` what
    `pick_file` wrote beside the weights.
    """

    confidence: Floats
    correct: Bools
    prediction: Ints
    y: Ints
    class_names: tuple[str, ...] | None = None
    sample_weight: Weight | None = None
    groups: Groups | None = None
    by: Groups | None = None
    share_in_fit: float | None = None
    max_weight: float | None = None

    def take(self, rows: Any) -> Scored:
        """Return some of the rows."""
        return self._replace(**{name: column[rows] for name, column in self._columns().items()})

    def _columns(self) -> dict[str, Any]:
        per_row = ("confidence", "correct", "prediction", "y", "sample_weight", "groups", "by")
        return {name: column for name in per_row if (column := getattr(self, name)) is not None}

    def sample(self, n: int, random_state: int | None = 0) -> Scored:
        """Return a random sample of the rows, with a warning; all if there are no more."""
        drawn, n_rows = lowest_keys([self._columns()], n, random_state)
        if len(drawn["y"]) == n_rows:
            return self
        warnings.warn(
            f"{n:,} of {n_rows:,} rows are used, a random sample. Its size is set with sample (--sample).",
            InputWarning,
            stacklevel=3,
        )
        columns: dict[str, Any] = in_order(drawn)
        return self._replace(**columns)


def read_scored(
    *paths: str | os.PathLike[str],
    label: str | None = None,
    by: str | None = None,
    spec: TableSpec | None = None,
    sample: int | None = None,
    random_state: int | None = 0,
    **where: Any,
) -> Scored:
    """Read a table of `score_table`, or of another tool, that has the true classes next to the scores.

    Rows without a score or a label are left out, and an `InputWarning` counts them. A name that is never predicted
    counts as wrong, with an `InputWarning`, unless it is known to be one of the classes or none of them. A billion rows
    take some 6 GB.

    Parameters
    ----------
    *paths : path
        Files, folders, patterns or URLs, which are one table, with the columns or arrays `prediction`, `confidence` and
        `label`; `-` for CSV from standard input.
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
        Keep a random sample of so many rows, if there are more, and give an `InputWarning`. By default all are kept.
    random_state : int or None
        The source of the sample's randomness.

    Returns
    -------
    Scored
        `confidence`, `correct`, `prediction`, `y`, the `class_names`, and the last three if they were asked for.
    """
    spec = TableSpec.of(spec, where)
    spec = spec if label is None else replace(spec, label=label)
    spec.check_bad_rows()
    with open_source(*paths) as source:
        rows = _ScoredReader(spec, by).read(source)
        return rows if sample is None else rows.sample(sample, random_state)


class _ScoredReader:
    """Reads the columns of a scored table, and keeps the rows that have a score and a label."""

    def __init__(self, spec: TableSpec, by: str | None) -> None:
        self._spec, self._by, self._codes = spec, by, TextCodes()
        self._parts: dict[str, list[Any]] = {}

    def read(self, source: Source) -> Scored:
        spec = self._spec
        self._check(source.names)
        largest = MAX_WEIGHT if spec.weight is not None and MAX_WEIGHT in source.names else None
        mark = IN_FIT if IN_FIT in source.names else None
        numbers = [name for name in (spec.confidence, spec.weight, largest) if name is not None]
        wanted = (None if spec.says_correct else spec.prediction, spec.label_name, spec.group, self._by, mark)
        n_rows = 0
        for batch in source.batches(numbers, [name for name in wanted if name is not None]):
            if len(batch):
                self._add(batch, largest, mark)
            n_rows += len(batch)
        check_rows(n_rows)
        return self._kept({name: np.concatenate(parts) for name, parts in self._parts.items()})

    def _check(self, names: Sequence[str]) -> None:
        """Refuse a table that lacks a column."""
        spec = self._spec
        scores = ((spec.prediction, "prediction"), (spec.confidence, "confidence"))
        for name, option in scores[1:] if spec.says_correct else scores:
            advice = f"Score the file with auxcal score first, or name the column with {option} (--{option})."
            check_column(names, name, advice)
        advice = "Name the column of the true classes with label (--label)."
        if spec.says_correct:
            advice = (
                "Name the column of whether each answer is right with correct (--correct); for what a language model "
                "answered, auxcal score --truth writes one."
            )
        check_column(names, spec.label_name, advice)
        for option, column in (("weight", spec.weight), ("group", spec.group), ("by", self._by)):
            if column is not None:
                check_column(names, column, f"Name the column with {option} (--{option}).")

    def _add(self, batch: Batch, largest: str | None, mark: str | None) -> None:
        spec = self._spec
        columns: dict[str, Any] = {"score": as_floats(matrix_of(batch[spec.confidence], "confidence")[0], "confidence")}
        if spec.says_correct:
            columns["y"] = codes_of(batch[spec.label_name], spec.labels(1), None)
        else:
            columns |= {"predicted": self._codes.add(batch[spec.prediction])}
            columns |= {"true": self._codes.add(batch[spec.label_name])}
        for name, column in (("weight", spec.weight), ("largest", largest), ("group", spec.group)):
            if column is not None:
                columns[name] = to_numpy(batch[column])
        if self._by is not None:
            columns["by"] = slices_of(batch[self._by])
        if mark is not None:
            columns["in_fit"] = _marks(to_numpy(batch[mark]))
        for name, column in columns.items():
            self._parts.setdefault(name, []).append(column)

    def _kept(self, read: dict[str, Any]) -> Scored:
        """Return the rows that have a score and a label; count the others in warnings."""
        spec, score = self._spec, read["score"]
        scored, names = ~np.isnan(score), None
        if spec.says_correct:
            predicted, y = np.where(scored, 0, LEFT_OUT), read["y"]
        else:
            classes = Classes(spec, self._codes.texts, read.pop("predicted"), read.pop("true"), scored)
            predicted, y, names = classes.predicted, classes.y, classes.names
        unscored = ~scored & (predicted == LEFT_OUT)
        bad = ~unscored & (~((score >= 0) & (score <= 1)) | (predicted == LEFT_OUT))
        if bad.any() and spec.on_bad_rows == "fail":
            raise self._error(score, predicted, bad)
        unlabelled = ~unscored & ~bad & (y == LEFT_OUT)
        kept = ~(unscored | bad | unlabelled)
        marks = read["in_fit"][kept] if "in_fit" in read else None
        in_fit = None if marks is None else int(np.sum(marks == 1)) / max(int(np.sum(~np.isnan(marks))), 1)
        self._warn(*(int(each.sum()) for each in (unscored, bad, unlabelled)), in_fit=in_fit, n_rows=len(score))
        rows = Scored(
            score,
            predicted == y,
            predicted,
            y,
            names,
            None if "weight" not in read else _weights(kept_weights(read["weight"], kept)),
            None if "group" not in read else _groups(kept_groups(read["group"], kept), str(spec.group)),
            None if "by" not in read else _groups(read["by"], str(self._by)),
            in_fit,
            float(np.max(kept_weights(read["largest"], kept))) if "largest" in read and kept.any() else None,
        )
        return rows if kept.all() else rows.take(kept)

    def _error(self, score: Floats, predicted: Ints, bad: Bools) -> InvalidInputError:
        """Return what to raise for a damaged score."""
        row = int(np.argmax(bad))
        if not np.isnan(score[row]) and bad.all() and not (predicted == LEFT_OUT).any():
            as_confidence(score)  # whose error explains what they may be instead
        if np.isnan(score[row]):
            what = f"confidence must be finite; got nan in row {row}"
        elif not 0 <= score[row] <= 1:
            what = f"confidence must be a probability in [0, 1]; got {score[row]:.6g} in row {row}"
        else:
            what = f"{self._spec.prediction} must have a class in every row; got nothing in row {row}"
        among = f"{int(bad.sum()):,} such rows in the first {len(score):,}"
        return InvalidInputError(f"{what} ({among}). Repair them, or {LEAVE_OUT}.")

    def _warn(self, unscored: int, bad: int, unlabelled: int, *, in_fit: float | None, n_rows: int) -> None:
        """Warn of rows that are left out, and of those of the fit; refuse a table of which nothing is left."""
        if unscored + bad == n_rows:
            raise InvalidInputError("no row has a score. Check the rows that were scored.")
        for n, what in ((unscored, "have no score and"), (bad, "have a damaged score and")):
            if n:
                warnings.warn(f"{n:,} of {n_rows:,} rows {what} are left out.", InputWarning, stacklevel=3)
        warn_of_unlabelled(unlabelled, n_rows - unscored - bad, self._spec.label_name)
        if in_fit is not None and in_fit > MOST_IN_FIT:
            warnings.warn(
                f"{percent(in_fit)} of these rows were in the fit of the calibrator, so it looks better than it is. "
                f"Use other rows.",
                InputWarning,
                stacklevel=3,
            )


def _weights(weight: Any) -> Weight:
    return np.asarray(as_sample_weight(weight, n_rows=len(weight)))


def _groups(values: Groups, name: str) -> Groups:
    return as_groups(values, n_rows=len(values), name=name)


def _marks(values: Any) -> Floats:
    """Return 1 where a row is marked, 0 where it isn't and NaN where that is unknown, however a format keeps it."""
    if values.dtype.kind in "biuf":
        return np.asarray(values, np.float64)
    meaning = {"true": 1.0, "false": 0.0}
    return np.array([meaning.get(str(value).lower(), np.nan) for value in values.tolist()])
