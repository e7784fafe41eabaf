"""Warnings of rows that are few, or unlikely to be what they are given as."""

from __future__ import annotations

import numpy as np

from auxcal._core.arrays import LEAST_PROBABILITY, Bools, Floats, look_like_percentages, look_like_probabilities
from auxcal._core.deferred_warnings import warn
from auxcal._core.errors import InputWarning, InvalidInputError
from auxcal._core.text import percent
from auxcal.inputs.kinds import Kind

ADVISED_ROWS = 100
"""The fewest labels for which docs/explain/which-method.md advises more than temperature or Platt scaling."""
_MANY_ZEROS = 0.05
"""The share of probabilities of 0 from which on they are worth a warning."""


def _looks_like(kind: Kind | None, logits: Floats) -> tuple[str, str] | None:
    """Return what rows that should be logits look like, and what makes probabilities of them; None if all is well."""
    if kind != "logits" or not len(logits):
        return None
    if look_like_percentages(logits):
        return "percentages: every row adds up to 100", "divide by 100 and "
    return ("probabilities: all numbers are from 0 to 1", "") if look_like_probabilities(logits) else None


def warn_of_wrong_kind(kind: Kind | None, logits: Floats, *, stacklevel: int) -> None:
    """Warn if rows to score look like probabilities but the calibrator was fitted on logits."""
    if other := _looks_like(kind, logits):
        warn(
            f"the calibrator was fitted on logits, and every row given looks like {other[0]}. Give the logits, or "
            f"{other[1]}fit a calibrator with probabilities=True (--probabilities).",
            InputWarning,
            stacklevel=stacklevel + 1,
        )


def refuse_wrong_kind(kind: Kind | None, logits: Floats) -> None:
    """Refuse probabilities and percentages where a calibrator was fitted on logits."""
    if other := _looks_like(kind, logits):
        raise InvalidInputError(
            f"the calibrator was fitted on logits, and these look like {other[0]}. Name the columns of the logits with "
            f"columns (--columns), or {other[1]}fit a calibrator on probabilities; if it was fitted on "
            f"log-probabilities, give probabilities=True (--probabilities)."
        )


def warn_of_probabilities(kind: Kind | None, logits: Floats, *, stacklevel: int) -> None:
    """Warn if the rows of a fit look like probabilities but are given as logits."""
    if other := _looks_like(kind, logits):
        warn(
            f"the logits look like {other[0]}. If they are, {other[1]}give probabilities=True (--probabilities).",
            InputWarning,
            stacklevel=stacklevel + 1,
        )


def warn_of_zeros(kind: Kind | None, logits: Floats, *, stacklevel: int) -> None:
    """Warn if many probabilities were clipped: their logarithms, -27.6, rule the fit of a temperature.

    With two classes nothing is left out: a 0 is what the classifier gave.
    """
    if kind != "probabilities" or logits.shape[1] == 2:
        return
    clipped = float(np.mean(logits < np.log(LEAST_PROBABILITY) + 1e-3))
    if clipped > _MANY_ZEROS:
        warn(
            f"{percent(clipped)} of the probabilities are 0, or below {LEAST_PROBABILITY:.0e}, and count as that. If "
            f"they were left out or rounded away, give the logits auxcal.floor_logits(proba, probabilities=True) "
            f"instead, to fit and to score.",
            InputWarning,
            stacklevel=stacklevel + 1,
        )


def warn_of_few_rows(n_rows: int, enough: int = ADVISED_ROWS, *, signals: bool = False, stacklevel: int) -> None:
    """Warn of fewer rows than a method should learn from."""
    if n_rows < enough:
        instead = "" if signals else ", or use temperature scaling, or Platt scaling if some samples have no class"
        warn(
            f"{n_rows} rows are few to learn from: label {ADVISED_ROWS} or more{instead}. auxcal plan shows what more "
            f"labels would bring.",
            InputWarning,
            stacklevel=stacklevel + 1,
        )


def warn_of_no_errors(kind: Kind | None, correct: Bools, *, stacklevel: int) -> None:
    """Warn if all predictions are right, so that there is nothing to learn from; of few rows, that is no surprise."""
    if len(correct) < ADVISED_ROWS or not correct.all():
        return
    advice = "Is y what the classifier predicts? Give the true classes (--label)"
    if kind == "signals":
        advice = "Check the column that marks answers as right or wrong (--correct)"
    warn(
        f"all {len(correct):,} predictions are right, so nothing can be learned of errors. {advice}, of rows that it "
        f"was not trained on.",
        InputWarning,
        stacklevel=stacklevel + 1,
    )
