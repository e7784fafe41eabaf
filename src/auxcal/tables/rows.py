"""The rows of a table with their logits as one matrix; what is wrong with bad rows is noted, and counted."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import (
    LARGEST,
    Bools,
    Floats,
    Ints,
    are_probabilities,
    as_floats,
    as_log_probabilities,
    as_logits,
    both_classes,
    largest_of,
    look_like_percentages,
)
from auxcal._core.errors import InputWarning, InvalidInputError
from auxcal._core.float_errors import ignore_float_errors
from auxcal._core.labels import MISSING
from auxcal.signals import SignalKind
from auxcal.tables.batches import Batch, Source, check_rows
from auxcal.tables.columns import Layout
from auxcal.tables.values import Problem, Problems, from_numpy, is_text, matrix_of, to_numpy

if TYPE_CHECKING:
    import pyarrow as pa

LEAVE_OUT = "leave them out with on_bad_rows='skip' (--on-bad-rows skip)"
"""What can be done about bad rows."""


@dataclass(frozen=True)
class BadRows:
    """How many rows could not be scored, by what is wrong with them.

    Parameters
    ----------
    null : int
        Rows that are missing, or that have a missing value.
    width : int
        Rows with more or fewer numbers than the calibrator was fitted with, such as empty lists.
    nan : int
        Rows with NaN, infinity or a number beyond ±1e15.
    no_probabilities : int
        Rows that are not from 0 to 1 with the sum 1, where probabilities are expected.

    Examples
    --------
    >>> from auxcal.tables.rows import BadRows
    >>> bad = BadRows(null=2) + BadRows(nan=1)
    >>> bad.total, str(bad)
    (3, '3 bad rows (2 null, 1 NaN)')
    """

    null: int = 0
    width: int = 0
    nan: int = 0
    no_probabilities: int = 0

    @classmethod
    def among(cls, problems: Problems | None) -> BadRows:
        """Count the rows that have a problem."""
        if problems is None:
            return cls()
        return cls(*(int(n) for n in np.bincount(problems, minlength=len(Problem))[1:]))

    @property
    def total(self) -> int:
        """The number of bad rows of all kinds."""
        return sum(astuple(self))

    def __add__(self, other: BadRows) -> BadRows:
        return BadRows(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __sub__(self, other: BadRows) -> BadRows:
        return BadRows(*(a - b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __str__(self) -> str:
        words = "null", "of another width", "NaN", "no probabilities"
        kinds = [f"{n:,} {word}" for n, word in zip(astuple(self), words, strict=True) if n]
        return f"{self.total:,} bad row{'' if self.total == 1 else 's'}" + (f" ({', '.join(kinds)})" if kinds else "")


@dataclass(frozen=True)
class RowBatch:
    """Some rows of a table, converted once.

    `numbers` are their logits or probabilities, anything where a row has a problem; `problems` what is wrong with each,
    None where all are good; `columns` all columns that were read; `index` where each row is in the table, and `done`
    the share of it that has been read so far, if known.
    """

    numbers: Floats
    features: Floats | None
    problems: Problems | None
    columns: pa.RecordBatch
    index: Ints
    done: float | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def good(self) -> Bools | slice:
        """Which rows have no problem."""
        return slice(None) if self.problems is None else self.problems == Problem.NONE

    def without_bad(self) -> RowBatch:
        """Return the good rows."""
        keep = self.good
        if isinstance(keep, slice):
            return self
        return replace(
            self,
            numbers=self.numbers[keep],
            features=None if self.features is None else self.features[keep],
            problems=None,
            columns=self.columns.filter(from_numpy(keep)),
            index=self.index[keep],
        )


@ignore_float_errors
def convert(batch: Batch, layout: Layout, start: int = 0) -> RowBatch:
    """Return the columns of numbers as matrices, and what is wrong with each row."""
    index = start + np.arange(len(batch))
    if layout.known is not None:
        table = _signals(batch, layout, layout.known.names, layout.known.kinds)
        answers = np.zeros((len(batch), 1), np.float32)
        return RowBatch(answers, layout.known.encode(table), None, batch.rows, index, batch.done)
    widths = layout.widths or layout.widths_in(batch)
    problems = np.zeros(len(batch), np.uint8)
    numbers = _matrix(batch, layout.logits, widths[0], "logits", problems)
    if layout.percent:
        numbers = numbers / numbers.dtype.type(100)
    numbers = both_classes(numbers, probabilities=layout.probabilities)
    features = None
    if layout.features:
        features = _matrix(batch, layout.features, widths[1], "features", problems)
    if layout.table is not None:
        features = layout.table.encode(_signals(batch, layout, layout.table.names, layout.table.kinds))
    for array in (numbers,) if features is None else (numbers, features):
        if array.size and not largest_of(array) <= LARGEST:
            problems[~(np.abs(array).max(axis=1) <= LARGEST) & (problems == Problem.NONE)] = Problem.NAN
    if layout.probabilities and len(numbers):
        problems[~are_probabilities(numbers) & (problems == Problem.NONE)] = Problem.NO_PROBABILITIES
    return RowBatch(numbers, features, problems if problems.any() else None, batch.rows, index, batch.done)


def _signals(
    batch: Batch, layout: Layout, names: Sequence[str], kinds: Sequence[SignalKind]
) -> Mapping[str, NDArray[Any]]:
    """Return the columns of signals by the names that they had in the fit."""
    here = zip(names, layout.signals, kinds, strict=True)
    return {known: signal_values(batch[name], kind) for known, name, kind in here}


def _matrix(batch: Batch, names: Sequence[str], width: int, what: str, problems: Problems) -> Floats:
    """Return columns of numbers as a matrix; note what is wrong with its rows."""
    parts = []
    for name in names:
        part, wrong = matrix_of(batch[name], what, width if len(names) == 1 else None)
        parts.append(part)
        if wrong is not None:
            np.copyto(problems, wrong, where=problems == Problem.NONE)
    if len(parts) == 1 and parts[0].ndim == 1 and width > 2:  # one number is enough for two classes alone
        raise InvalidInputError(
            f"{what} must be lists of {width} numbers, or {width} columns; {names[0]!r} has one number in each row. "
            f"Name another column."
        )
    return as_floats(parts[0] if len(parts) == 1 and parts[0].ndim > 1 else np.column_stack(parts), what)


def signal_values(column: pa.Array, kind: SignalKind | None = None) -> NDArray[Any]:
    """Return the values of a signal: numbers, or text with None for gaps."""
    values = to_numpy(column)
    return parsed(values, kind) if is_text(column.type) else values


def parsed(values: NDArray[Any], kind: SignalKind | None = None) -> NDArray[Any]:
    """Return text, as in files without types, as numbers if all values are numbers, unless the kind is known."""
    text = [None if value is None or value.strip() in MISSING else value for value in values.tolist()]
    if kind != "category":
        try:
            return np.array([np.nan if value is None else float(value) for value in text])
        except ValueError:
            if kind is not None:
                raise
    return np.array(text, dtype=object)


def as_logit_matrix(numbers: Floats, *, probabilities: bool) -> Floats:
    """Return validated logits; probabilities become their logarithms."""
    return as_log_probabilities(numbers) if probabilities else as_logits(numbers)


def own_confidence(logits: Floats) -> Floats:
    """Return the classifier's own confidence, its largest softmax probability."""
    return np.asarray(1 / np.exp(logits - logits.max(axis=1, keepdims=True)).sum(axis=1))


def usable_rows(
    source: Source,
    layout: Layout,
    others: Sequence[str] = (),
    *,
    numbers: Sequence[str] = (),
    skip: bool = False,
    warn: bool = True,
) -> Iterator[RowBatch]:
    """Yield batches of good rows, with other columns; a bad row is an error, or left out, with a warning at the end."""
    n_rows, bad = 0, BadRows()
    for batch in source.batches((*layout.numbers, *numbers), (*others, *layout.signals)):
        if not len(batch):
            continue
        if layout.known is None:
            layout = layout._replace(widths=layout.widths or layout.widths_in(batch))
        rows = convert(batch, layout, n_rows)
        if rows.problems is not None:
            check_meant(rows, layout)
            if not skip:
                raise bad_rows_error(batch, rows, layout, n_rows)
            bad += BadRows.among(rows.problems)
            rows = rows.without_bad()
        n_rows += len(batch)
        if len(rows):
            yield rows
    check_rows(n_rows)
    if bad.total == n_rows:
        raise InvalidInputError(f"no row can be used; of {n_rows:,} there are {bad}.")
    if bad.total and warn:
        warnings.warn(f"of {n_rows:,} rows, {bad} are left out.", InputWarning, stacklevel=2)


def check_meant(rows: RowBatch, layout: Layout) -> None:
    """Refuse rows if all of them are bad: perhaps other numbers than these are meant, as the error explains."""
    if rows.problems is not None and rows.problems.all() and not (rows.problems <= Problem.WIDTH).any():
        as_logit_matrix(rows.numbers, probabilities=layout.probabilities)


def bad_rows_error(batch: Batch, rows: RowBatch, layout: Layout, n_before: int) -> InvalidInputError:
    """Return what to raise for a batch with bad rows: what is wrong with the first, and how many there are."""
    problems = np.zeros(0, np.uint8) if rows.problems is None else rows.problems
    row = int(np.argmax(problems != Problem.NONE))
    before, part = (n_before, "") if batch.part is None else (batch.part.before, f"{batch.part.name}: ")
    what = _describe_problem(rows, row, before, Problem(problems[row]), probabilities=layout.probabilities)
    floor = " (auxcal.floor_logits does it for -inf, in Python)" if np.isneginf(rows.numbers[row]).any() else ""
    return InvalidInputError(
        f"{part}{what}; in the first {before + len(problems):,} rows: {BadRows.among(problems)}. Repair them{floor}, "
        f"or {LEAVE_OUT}."
    )


def _describe_problem(rows: RowBatch, row: int, before: int, problem: Problem, *, probabilities: bool) -> str:
    """Return what was expected, and what a row has."""
    place, what, values = before + row, "probabilities" if probabilities else "logits", rows.numbers[row]
    if problem == Problem.NULL:
        return f"{what} must have a number in every place; row {place} has null"
    if problem == Problem.WIDTH:
        return f"the lists of {what} or features must have the same length in all rows; row {place} has another one"
    if problem == Problem.NO_PROBABILITIES:
        percent = (
            " (divide percentages by 100, or give percent=True, --percent)"
            if look_like_percentages(values[None])
            else ""
        )
        return (
            f"probabilities must be from 0 to 1 and add up to 1 in every row; row {place} has {values.min():.4g} to "
            f"{values.max():.4g} with the sum {values.sum(dtype=np.float64):.4g}{percent}"
        )
    what = "logits"
    if rows.features is not None and (np.abs(values) <= LARGEST).all():
        what, values = "features", rows.features[row]
    column = int(np.argmax(~(np.abs(values) <= LARGEST)))
    got = f"{values[column]}" + ("" if np.isfinite(values[column]) else " (NaN or inf)")
    return f"{what} must be finite; got {got} at [{place}, {column}]"


def kept_weights(values: NDArray[Any], kept: Bools) -> NDArray[Any]:
    """Return the weights of the rows that are kept; the others count 0, whatever the column holds."""
    return np.where(kept, values, 0) if values.dtype.kind in "biuf" else values


def kept_groups(values: NDArray[Any], kept: Bools) -> NDArray[Any]:
    """Return what each row belongs to, None where text is empty; a row that is left out never lacks a group."""
    if values.dtype == object:
        values = np.where(values == "", np.array(None), values)
    return np.where(kept, values, values[np.argmax(kept)]) if kept.any() else values[:0]
