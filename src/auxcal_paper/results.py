"""Results: one row of metrics for every suite, shift, method and random state; a CSV file on disk."""

from __future__ import annotations

import csv
import math
import os
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from auxcal._core.errors import FileFormatError
from auxcal._core.files import atomic_write
from auxcal.metrics import METRICS

SCORES = (*METRICS, "ece_floor", "ece_floor_p95")
"""What is measured on the test part: every metric, and the noise floor of ECE. Older files may hold others."""


@dataclass(frozen=True)
class Row:
    """What one calibrator, fitted once, achieves on the test part.

    Parameters
    ----------
    suite, shift, method : str
        What was measured.
    random_state : int
        The source of the split and of the fit.
    n_fit, n_select, n_test : int
        The labelled rows for fitting and for selection, and the rows of the test part.
    accuracy : float
        The target classifier's accuracy on the test part.
    fit_seconds : float
        The CPU time of the fit.
    converged : bool
        Whether the fit reached its optimum.
    scores : mapping of str to float
        What was measured: `SCORES`, as of when the row was made.
    """

    suite: str
    shift: str
    method: str
    random_state: int
    n_fit: int
    n_select: int
    n_test: int
    accuracy: float
    fit_seconds: float
    converged: bool
    scores: Mapping[str, float]

    def flat(self) -> dict[str, Any]:
        """Return the row with one entry for each score, as a CSV file and JSON hold it."""
        return {name: getattr(self, name) for name in _FACTS} | dict(self.scores)

    @classmethod
    def from_flat(cls, values: Mapping[str, Any]) -> Row:
        """Return the row that `flat` gave, or its text; an empty score was not measured."""
        facts = {name: _READ[kind](values[name]) for name, kind in _FACTS.items()}
        scores = {name: float(value) for name, value in values.items() if name not in _FACTS and value != ""}
        return cls(**facts, scores=scores)


_FACTS = {field.name: str(field.type) for field in fields(Row) if field.name != "scores"}
_READ: dict[str, Callable[[Any], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": lambda value: str(value) == "True",
}


class Spread(NamedTuple):
    """The mean over the random states and their standard deviation, which is 0 for a single one."""

    mean: float
    deviation: float


@dataclass(frozen=True)
class Results:
    """A table of rows.

    Examples
    --------
    >>> from auxcal_paper.results import SCORES, Results, Row
    >>> def row(random_state, ece):
    ...     scores = dict.fromkeys(SCORES, 0.5) | {"ece": ece}
    ...     return Row("r8-dan", "D1", "ccac", random_state, 3000, 500, 1500, 0.9, 1.2, True, scores)
    >>> results = Results((row(0, 0.02), row(1, 0.04)))
    >>> results.where(method="ccac").spread("ece").mean
    0.03
    """

    rows: tuple[Row, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def where(self, **values: object) -> Results:
        """Return the rows whose attributes have the given values, as in ``where(suite="r8-dan", shift="OOD")``."""
        return Results(tuple(row for row in self if all(getattr(row, name) == value for name, value in values.items())))

    def distinct(self, name: str) -> tuple[Any, ...]:
        """Return the distinct values of an attribute, in the order of their first row."""
        return tuple(dict.fromkeys(getattr(row, name) for row in self))

    def scores(self, metric: str) -> dict[int, float]:
        """Return a metric for each random state, of rows that differ in nothing else; NaN if it was not measured."""
        return {row.random_state: row.scores.get(metric, math.nan) for row in self}

    def spread(self, metric: str) -> Spread:
        """Return the mean and the standard deviation of a metric over the rows."""
        return spread(list(self.scores(metric).values()))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the table as a CSV file that `read` reads to the same bits."""
        with atomic_write(Path(path)) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
            names = dict.fromkeys(name for row in self for name in row.scores)
            writer = csv.DictWriter(file, [*_FACTS, *names], restval="", lineterminator="\n")
            writer.writeheader()
            writer.writerows(row.flat() for row in self)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Results:
        """Read a table that `write` wrote."""
        try:
            with Path(path).open(newline="", encoding="utf-8") as file:
                reader = csv.DictReader(file)
                if reader.fieldnames is None:
                    raise ValueError("the file is empty")
                missing = set(_FACTS).difference(reader.fieldnames)
                if missing:
                    raise ValueError(f"the file lacks {', '.join(sorted(missing))}")
                return cls(tuple(Row.from_flat(values) for values in reader))
        except (TypeError, ValueError, csv.Error) as error:
            raise FileFormatError(
                f"{path}: expected a CSV file of results; reading it failed with {type(error).__name__}: {error}. "
                f"Make it again with auxcal reproduce."
            ) from error


def spread(values: list[float]) -> Spread:
    """Return the mean of some values and their standard deviation.

    Examples
    --------
    >>> from auxcal_paper.results import spread
    >>> spread([1.0, 2.0, 3.0])
    Spread(mean=2.0, deviation=1.0)
    """
    if not values:
        return Spread(math.nan, math.nan)
    return Spread(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0)
