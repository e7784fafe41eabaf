"""The outcome of a comparison: one entry per method, the best of them, and ways to show it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from auxcal._core.arrays import Floats, Ints
from auxcal._core.text import first_line
from auxcal._core.threads import cached_property
from auxcal.calibrators import CALIBRATORS, Calibrator
from auxcal.predictions import Predictions
from auxcal.report.comparison._agreement import Agreement
from auxcal.report.comparison._answer import Answer, answer
from auxcal.report.comparison._comparison_card import to_html
from auxcal.report.comparison.text import to_text

if TYPE_CHECKING:
    from auxcal.report.comparison._sliced import Sliced

UNCALIBRATED = "uncalibrated"
"""The method that all others are compared with: the classifier's own confidence."""

_PEOPLE = ("Dirichlet", "Platt")  # after whom methods are named


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
        """The entry with the lowest Brier score on the test part.

        The Brier score is a proper score: it rewards both honesty and telling right from wrong, whereas a constant
        confidence can have a low ECE. The classifier itself counts as one of the methods, so if none does better, the
        best is to leave it alone. With few test rows, the best of many methods looks a little better than it is.
        """
        return self.ranked[0]

    @cached_property
    def answer(self) -> Answer:
        """The outcome in two sentences."""
        return answer(self)

    @property
    def table(self) -> list[dict[str, Any]]:
        """One dict per method, in the order of `ranked`, ready for a data frame or a CSV file."""
        return [
            {
                "data": self.name,
                "method": entry.method,
                "label": entry.label,
                "best": entry is self.best,
                **entry.scores,
                "within_noise": entry.within_noise,
                "fit_seconds": entry.fit_seconds,
                "problem": entry.problem,
            }
            for entry in self.ranked
        ]

    def save_report(self, path: str | os.PathLike[str]) -> None:
        """Write the comparison as a self-contained HTML page, which works offline."""
        from auxcal.report.html import save_report

        save_report([self], path)

    def __repr__(self) -> str:
        return to_text(self)

    def _repr_html_(self) -> str:
        return to_html(self)
