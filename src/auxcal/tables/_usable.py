"""The rows of a table that can be used; the others are an error, or they are left out and counted."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import LARGEST, Bools, Floats, as_features, as_floats, as_logits, both_classes
from auxcal._core.errors import InputWarning, InvalidInputError
from auxcal.tables._format import Batch, Columns, Source, joined_columns
from auxcal.tables._layout import logits_of
from auxcal.tables.scores import BadRows, Problem, Problems, problems_of
from auxcal.tables.spec import OnBadRows

PLACE = ""
"""The column of where each row is in the table; no column of a file has such a name."""

LEAVE_OUT = "leave them out with on_bad_rows='skip' (--on-bad-rows skip)"
"""What can be done about bad rows."""


class Numbers(NamedTuple):
    """The logits and the features of some rows, what their shape shows to be wrong, and the columns they come from."""

    logits: Floats
    features: Floats | None
    problems: Problems
    columns: dict[str, NDArray[Any]]


def numbers_of(
    columns: Columns,
    names: Sequence[str],
    further: Sequence[str],
    n_logits: int,
    n_features: int,
    *,
    probabilities: bool,
) -> Numbers:
    """Return the columns of the logits and of the features as matrices; lists of other widths are bad rows."""
    found: dict[str, NDArray[Any]] = {}
    logits, problems = _matrix(columns, names, n_logits, "logits", found)
    logits = both_classes(logits, probabilities=probabilities)
    if not further:
        return Numbers(logits, None, problems, found)
    features, wrong = _matrix(columns, further, n_features, "features", found)
    return Numbers(logits, features, np.where(problems == Problem.NONE, wrong, problems), found)


def bad_rows_error(
    batch: Batch,
    logits: Floats,
    features: Floats | None,
    problems: Problems,
    n_before: int,
    *,
    probabilities: bool,
) -> InvalidInputError:
    """Return what to raise for a batch with bad rows: what is wrong with the first, and how many there are."""
    row = int(np.argmax(problems != Problem.NONE))
    before, part = (n_before, "") if batch.part is None else (batch.part.before, f"{batch.part.name}: ")
    what = _told(logits, features, row, before, Problem(problems[row]), probabilities=probabilities)
    floor = " (auxcal.floor_logits does it for -inf, in Python)" if np.isneginf(logits[row]).any() else ""
    seen = before + len(problems)
    return InvalidInputError(
        f"{part}{what}; in the first {seen:,} rows: {BadRows.among(problems)}. Repair them{floor}, or {LEAVE_OUT}."
    )


class UsableRows:
    """Reads the rows of a table whose logits and features can be used.

    Parameters
    ----------
    names, further : sequence of str
        The columns of the logits and of the features.
    probabilities : bool
        Whether the former hold probabilities.
    on_bad_rows : {"fail", "skip"}
        What becomes of the other rows.
    warn : bool
        Whether to warn of those that are left out; of several passes, one should.
    """

    def __init__(
        self,
        names: Sequence[str],
        further: Sequence[str] = (),
        *,
        probabilities: bool,
        on_bad_rows: OnBadRows = "fail",
        warn: bool = True,
    ) -> None:
        self._names, self._further, self._probabilities = names, further, probabilities
        self._skip, self._warn = on_bad_rows == "skip", warn
        self.n_rows, self.bad = 0, BadRows()

    def batches(self, source: Source, numbers: Sequence[str], others: Sequence[str]) -> Iterator[Batch]:
        """Yield batches of good rows, numbers as NumPy arrays, with the column `PLACE`; warn at the end of the rest."""
        widths = None
        for batch in source.batches(numbers, others):
            if len(batch):
                widths = widths or [width_of(batch.columns, names) for names in (self._names, self._further)]
                good = self._good(batch, numbers, widths)
                self.n_rows += len(batch)
                if len(good):
                    yield good
        if not self.n_rows:
            raise InvalidInputError("there are no rows. Check where the file comes from.")
        if self.bad.total == self.n_rows:
            raise InvalidInputError(f"no row can be used; of {self.n_rows:,} there are {self.bad}.")
        if self.bad.total and self._warn:
            warnings.warn(f"of {self.n_rows:,} rows, {self.bad} are left out.", InputWarning, stacklevel=3)

    def read(self, source: Source, numbers: Sequence[str], others: Sequence[str]) -> Columns:
        """Return all good rows at once."""
        return joined_columns([batch.columns for batch in self.batches(source, numbers, others)])

    def _good(self, batch: Batch, numbers: Sequence[str], widths: Sequence[int]) -> Batch:
        logits, features, known, converted = numbers_of(
            batch.columns, self._names, self._further, *widths, probabilities=self._probabilities
        )
        rows = Batch({**batch.columns, **converted, PLACE: self.n_rows + np.arange(len(batch))}, batch.done)
        columns = rows.with_numbers(numbers)
        problems = problems_of(logits, features, known, probabilities=self._probabilities)
        if problems is None:
            return Batch(columns, batch.done)
        if problems.all() and not known.any():  # other numbers than these are meant, perhaps
            logits_of({PLACE: logits}, [PLACE], probabilities=self._probabilities)
        if not self._skip:
            raise bad_rows_error(batch, logits, features, problems, self.n_rows, probabilities=self._probabilities)
        self.bad += BadRows.among(problems)
        keep = problems == Problem.NONE
        return Batch({name: taken(column, keep) for name, column in columns.items()}, batch.done)


def taken(column: Any, keep: Bools) -> Any:
    """Return some rows of a column."""
    return column[keep] if isinstance(column, np.ndarray) else column.filter(keep)


def _matrix(
    columns: Columns, names: Sequence[str], width: int, what: str, found: dict[str, NDArray[Any]]
) -> tuple[Floats, Problems]:
    """Return the columns of numbers as a matrix, and what is known to be wrong with its rows; note each column."""
    problems = np.zeros(len(columns[names[0]]), np.uint8)
    for name in names:
        found[name], wrong = _numbers(columns[name], width if len(names) == 1 else None, what)
        if wrong is not None:
            problems = np.where(problems == Problem.NONE, wrong, problems)
    parts = [found[name] for name in names]
    matrix = as_floats(parts[0] if len(parts) == 1 and parts[0].ndim > 1 else np.column_stack(parts), what)
    if matrix.ndim > 2:
        (as_logits if what == "logits" else partial(as_features, n_rows=len(matrix)))(matrix)
    return matrix, problems


def _numbers(column: Any, width: int | None, what: str) -> tuple[NDArray[Any], Problems | None]:
    """Return a column as a vector, or as a matrix with a row for each list, and what is wrong with its rows."""
    if isinstance(column, np.ndarray):
        return column, None
    from auxcal.tables.matrix import is_list, matrix_of_columns, matrix_of_lists, usual_width

    if is_list(column.type):
        return matrix_of_lists(column, usual_width(column) if width is None else width, what)
    numbers, problems = matrix_of_columns([column], what)
    return numbers[:, 0], problems


def width_of(columns: Columns, names: Sequence[str]) -> int:
    """Return how many numbers a row has; where lists differ, as many as most have."""
    if len(names) != 1:
        return len(names)
    column = columns[names[0]]
    if isinstance(column, np.ndarray):
        return column.shape[1] if column.ndim > 1 else 1
    from auxcal.tables.matrix import is_list, usual_width

    return usual_width(column) if is_list(column.type) else 1


def _told(
    logits: Floats, features: Floats | None, row: int, before: int, problem: Problem, *, probabilities: bool
) -> str:
    """Say what was expected, and what a row has."""
    place, what = before + row, "probabilities" if probabilities else "logits"
    if problem == Problem.NULL:
        return f"{what} must have a number in every place; row {place} has null"
    if problem == Problem.WIDTH:
        return f"the lists of {what} or features must have the same length in all rows; row {place} has another one"
    if problem == Problem.NO_PROBABILITIES:
        values = logits[row]
        return (
            f"probabilities must be from 0 to 1 and add up to 1 in every row; row {place} has {values.min():.4g} to "
            f"{values.max():.4g} with the sum {values.sum(dtype=np.float64):.4g}"
        )
    off = ~(np.abs(logits[row]) <= LARGEST)
    if features is not None and not off.any():
        what, values = "features", features[row]
        off = ~(np.abs(values) <= LARGEST)
    else:
        what, values = "logits", logits[row]
    column = int(np.argmax(off))
    got = f"{values[column]}" + ("" if np.isfinite(values[column]) else " (NaN or inf)")
    return f"{what} must be finite; got {got} at [{place}, {column}]"
