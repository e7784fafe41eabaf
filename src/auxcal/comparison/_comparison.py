"""What a comparison found: an entry for each method, the best of them, and the ways to show it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from inspect import getdoc
from typing import Any

from auxcal._arrays import Floats, Ints
from auxcal.calibrators import CALIBRATORS, Calibrator
from auxcal.comparison._answer import Answer, answer
from auxcal.comparison._notebook import to_html
from auxcal.comparison.text import to_text
from auxcal.predictions import Predictions

UNCALIBRATED = "uncalibrated"
"""The method that all others are compared with: what the classifier says of itself."""


@dataclass(frozen=True, eq=False)
class Entry:
    """What one method made of the data.

    Parameters
    ----------
    method : str
        Its name in `CALIBRATORS`, or the one that was given for it.
    label : str
        What tables call it.
    fit_seconds : float
        The CPU time of its fit.
    calibrator : Calibrator or None
        The fitted calibrator; None where the fit failed.
    confidence : array of shape (n,) or None
        Its confidence in every prediction of the test part.
    scores : dict of str to float
        What `auxcal.evaluate` says of it: the paper's five metrics, their intervals, and the noise floor of ECE.
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
        """What the first line of its documentation calls a method of the library; its label for one of your own."""
        if self.method not in CALIBRATORS:
            return self.label
        name = re.split("[:,]", getdoc(CALIBRATORS[self.method]) or self.label)[0]
        return name[0].lower() + name[1:] if "(" in name else name  # one with an abbreviation is no proper name

    @property
    def failed(self) -> bool:
        """Whether there is no fitted calibrator."""
        return self.calibrator is None

    @property
    def within_noise(self) -> bool:
        """Whether the ECE can't be told from that of a perfectly calibrated confidence on as many rows."""
        return bool(self.scores) and self.scores["ece"] <= self.scores["ece_floor_p95"]

    def measured(self) -> tuple[Calibrator, Floats]:
        """Return the calibrator and the confidence of an entry that did not fail."""
        if self.calibrator is None or self.confidence is None:
            raise LookupError(f"{self.label} was not fitted: {self.problem}")
        return self.calibrator, self.confidence


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Every method on one data set, measured on a test part that no method has seen.

    A notebook shows it as a table; `print` too. `save_report` writes the page with all charts.

    Parameters
    ----------
    name : str
        What the data are called.
    entries : tuple of Entry
        What each method made of them, in the order of `CALIBRATORS`; the first is uncalibrated.
    test : Predictions
        The test part.
    rows : array of shape (n,)
        Where each row of the test part stands in the data that were given, counted from 0.
    n_fit : int
        How many rows the methods were fitted on, their select parts included.
    class_names : tuple of str or None
        The names of the K classes.

    See Also
    --------
    auxcal.compare : makes one.
    """

    name: str
    entries: tuple[Entry, ...]
    test: Predictions
    rows: Ints
    n_fit: int
    class_names: tuple[str, ...] | None = None

    @property
    def before(self) -> Entry:
        """The entry of the classifier's own confidence."""
        return self.entries[0]

    @cached_property
    def ranked(self) -> tuple[Entry, ...]:
        """The entries from the least Brier score up, the first of equals first; then those that failed."""
        return tuple(sorted(self.entries, key=lambda entry: entry.scores.get("brier", float("inf"))))

    @property
    def best(self) -> Entry:
        """The entry with the least Brier score on the test part.

        The Brier score is proper: only honest confidences that tell right from wrong make it small, where a low ECE can
        be had by giving every prediction the same confidence. The classifier itself counts as one of the methods,
        so that where none does better, the best is to leave it alone. With few test rows the best of many methods
        looks a little better than it is.
        """
        return self.ranked[0]

    @cached_property
    def answer(self) -> Answer:
        """What to tell the user in two sentences."""
        return answer(self.before, self.best, accuracy=float(self.test.correct.mean()), methods=len(self.entries))

    @property
    def table(self) -> list[dict[str, Any]]:
        """One dict for each method, in the order of `ranked`, ready for a data frame or a CSV file."""
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
        """Write the comparison as one self-contained HTML page, which works without a network."""
        from auxcal.reports.html import save_report

        save_report([self], path)

    def __repr__(self) -> str:
        return to_text(self)

    def _repr_html_(self) -> str:
        return to_html(self)
