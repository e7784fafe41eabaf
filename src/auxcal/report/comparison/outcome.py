"""The outcome of a comparison: one entry per method, the best of them, and the table that shows it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from auxcal._core.arrays import Floats, Ints
from auxcal._core.text import card, first_line, grid, note, write_score, write_seconds
from auxcal._core.threads import cached_property
from auxcal.calibrators import CALIBRATORS, Calibrator
from auxcal.metrics import METRICS, Slice
from auxcal.predictions import Predictions
from auxcal.report.comparison._answer import Agreement, Answer, answer, behind
from auxcal.report.comparison._signal_effects import SignalEffect
from auxcal.report.comparison._signal_methods import Peer

SHOWN = ("auroc", "aupr", "p90", "ece", "brier")
"""The metrics of a comparison: those of the paper."""

COLUMNS = {name: METRICS[name].label for name in ("auroc", "aupr", "p90", "brier", "ece")} | {"ece_floor_p95": "noise"}
"""The columns of a narrow table and their heads; the noise floor is next to its ECE."""

_RANKING = ("aupr", "p90")  # which give way to the differences where names of methods are long

_PEOPLE = ("Dirichlet", "Platt")  # methods named after people keep their capital


@dataclass(frozen=True, eq=False)
class Entry:
    """How one method did on the data.

    Parameters
    ----------
    method : str
        Its name in `CALIBRATORS`, or the name you gave it.
    label : str
        Its label in tables.
    fit_seconds : float
        The CPU time of its fit.
    calibrator : Calibrator or None
        The fitted calibrator; None if the fit failed.
    confidence : array of shape (n,) or None
        Its confidence in every prediction of the test part.
    scores : dict of str to float
        From `auxcal.evaluate`: the paper's five metrics, their intervals, and the noise floor of ECE.
    problem : str or None
        Why the fit failed or did not converge.
    """

    method: str
    label: str
    fit_seconds: float
    calibrator: Calibrator | None = None
    confidence: Floats | None = None
    scores: dict[str, float] = field(default_factory=dict)
    problem: str | None = None

    @property
    def full_name(self) -> str:
        """The name of the method from its documentation; the label for your own methods."""
        if self.method not in CALIBRATORS:
            return self.label
        name = re.split("[:,]", first_line(CALIBRATORS[self.method], self.label))[0]
        first = name.split()[0]
        return name if first.isupper() or first in _PEOPLE else name[0].lower() + name[1:]

    @property
    def is_peer(self) -> bool:
        """Whether it is only here to compare with, and can't be saved."""
        return isinstance(self.calibrator, Peer)

    @property
    def failed(self) -> bool:
        """Whether there is no fitted calibrator."""
        return self.calibrator is None

    @property
    def within_noise(self) -> bool:
        """Whether the ECE is below the noise floor: not distinguishable from perfect calibration on as many rows."""
        return bool(self.scores) and self.scores["ece"] <= self.scores["ece_floor_p95"]

    def measured(self) -> tuple[Calibrator, Floats]:
        """Return the calibrator and the confidence of an entry that did not fail."""
        if self.calibrator is None or self.confidence is None:
            raise LookupError(f"{self.label} was not fitted: {self.problem}")
        return self.calibrator, self.confidence


@dataclass(frozen=True)
class Sliced:
    """The slices of the test part by one column.

    Parameters
    ----------
    by : str
        The name of the column.
    before, after : tuple of Slice
        The slices with the classifier's own confidence, and with that of the best method, the largest first.
    """

    by: str
    before: tuple[Slice, ...]
    after: tuple[Slice, ...]

    @property
    def pairs(self) -> Iterator[tuple[Slice, Slice]]:
        """Each slice before and after."""
        return zip(self.before, self.after, strict=True)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Every method on one data set, measured on a test part that no method has seen.

    A notebook and `print` show it as a table. `save_report` writes a page with all charts.

    Parameters
    ----------
    name : str
        The name of the data.
    entries : tuple of Entry
        One entry per method, in the order of `CALIBRATORS`; the first is uncalibrated.
    test : Predictions
        The test part.
    rows : array of shape (n,)
        The row number of each row of the test part in the given data, from 0.
    n_fit : int
        The number of rows that the methods were fitted on, including their validation sets.
    agreement : Agreement
        Whether the classifier's own confidence agrees with its accuracy: on all rows, since it needs no fit; on the
        test part alone if that was given apart.
    class_names : tuple of str or None
        The names of the K classes.
    ids : tuple of str or None
        What you call each row of the test part.
    slices : tuple of Sliced
        For each column that was to be sliced `by`, every metric of the best method on each of its values.
    signals : tuple of SignalEffect
        The effect of each signal, those that count most first; empty for logits.

    See Also
    --------
    auxcal.compare : makes one.
    """

    name: str
    entries: tuple[Entry, ...]
    test: Predictions
    rows: Ints
    n_fit: int
    agreement: Agreement
    class_names: tuple[str, ...] | None = None
    ids: tuple[str, ...] | None = None
    slices: tuple[Sliced, ...] = ()
    signals: tuple[SignalEffect, ...] = ()

    @property
    def before(self) -> Entry:
        """The entry of the classifier's own confidence."""
        return self.entries[0]

    @cached_property
    def ranked(self) -> tuple[Entry, ...]:
        """The entries by ascending Brier score, then those that failed."""
        return tuple(sorted(self.entries, key=lambda entry: entry.scores.get("brier", float("inf"))))

    @property
    def best(self) -> Entry:
        """The entry with the lowest Brier score on the test part, of those that can be saved.

        The Brier score is a proper score: it rewards both calibration and telling right from wrong, whereas a constant
        confidence can have a low ECE. The classifier itself counts as one of the methods, so if none does better, the
        best is to leave it alone. With few test rows, the best of many methods looks a little better than it is. For
        signals, the base rate and the methods of scikit-learn are here to compare with, and are not saved.
        """
        return next((entry for entry in self.ranked if not entry.is_peer), self.ranked[0])

    def behind(self, entry: Entry) -> tuple[float, float]:
        """Return how much higher the Brier score of an entry is than the best one's, and its standard error.

        Both are measured on the same rows, and their differences row by row are far more precise than two intervals.
        """
        return behind(entry.measured()[1], self.best.measured()[1], self.test)

    @cached_property
    def answer(self) -> Answer:
        """The outcome in two sentences."""
        return answer(self)

    @property
    def table(self) -> list[dict[str, Any]]:
        """One dict per method, in the order of `ranked`, ready for a data frame or a CSV file."""
        return [
            {"data": self.name, "method": entry.method, "label": entry.label, "best": entry is self.best}
            | entry.scores
            | dict(zip(("behind_best", "behind_best_error"), self._behind(entry), strict=True))
            | {name: getattr(entry, name) for name in ("within_noise", "fit_seconds", "problem")}
            for entry in self.ranked
        ]

    def save_report(self, path: str | os.PathLike[str]) -> None:
        """Write the comparison as a self-contained HTML page, which works offline."""
        from auxcal.report.html import save_report  # it needs the extra `report`, and is made of comparisons

        save_report([self], path)

    def _behind(self, entry: Entry) -> tuple[float, float]:
        return (float("nan"), float("nan")) if entry.failed else self.behind(entry)

    @property
    def _parts(self) -> str:
        return f"{self.name}: {self.n_fit:,} rows to fit, {len(self.test):,} to test"

    @property
    def heads(self) -> list[str]:
        """The heads of the table's columns after the first, the name of the method."""
        if not self.signals:
            return [*COLUMNS.values(), "fit"]
        return [*(head for metric, head in COLUMNS.items() if metric not in _RANKING), "behind, ‰"]

    def cells(self, entry: Entry) -> list[str]:
        """Return the row of a method, one cell for each of the heads."""
        scores = {metric: write_score(metric, entry.scores[metric]) if entry.scores else "failed" for metric in COLUMNS}
        if not self.signals:
            return [*scores.values(), write_seconds(entry.fit_seconds)]
        mean, error = (1000 * value for value in self._behind(entry))
        difference = "" if entry is self.best or entry.failed else f"{mean:+.1f} ± {error:.1f}"
        return [*(text for metric, text in scores.items() if metric not in _RANKING), difference]

    def __repr__(self) -> str:
        """Return the answer and a table that fits into 80 columns where names are short, best first."""
        rows = [["", *self.heads]]
        rows += [[("* " if entry is self.best else "  ") + entry.label, *self.cells(entry)] for entry in self.ranked]
        first, *widths = (max(map(len, column)) + 2 for column in zip(*rows, strict=True))
        table = [
            f"{name:<{max(first, 16)}}"
            + "".join(f"{cell:>{max(n, 9)}}" for cell, n in zip(numbers, widths, strict=True))
            for name, *numbers in rows
        ]
        problems = [f"! {entry.label}: {entry.problem}" for entry in self.ranked if entry.problem]
        return "\n".join([self._parts, str(self.answer), "", *table, *problems])

    def _repr_html_(self) -> str:
        """Return the answer and the table for a notebook, best first and in bold."""
        table = grid(
            [[entry.label, *self.cells(entry)] for entry in self.ranked],
            head=["", *self.heads],
            bold=self.ranked.index(self.best),
        )
        best = "Best: the lowest Brier score."
        noise = "With an ECE up to the noise, perfect calibration is possible, not proven."
        problems = [note(f"{entry.label}: {entry.problem}") for entry in self.ranked if entry.problem]
        return card(str(self.answer), self._parts, table, note(f"{best} {noise}"), *problems)
