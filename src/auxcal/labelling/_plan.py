"""How many labels a goal takes, from a pilot of labelled rows or from unlabelled ones alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import Floats, as_confidence, as_correct, check_shares
from auxcal._core.errors import InvalidInputError
from auxcal._core.float_errors import ignore_float_errors
from auxcal.thresholds import labels_to_promise

Z = 1.96
"""The normal quantile of 95 % intervals."""
RANGE = 1.28
"""How many standard deviations a range goes up and down: four of five are inside."""
# The others were chosen with benchmarks/labelling/plan.py, on most of its bundles and with other random states than in
# docs/evidence/labelling.md; benchmarks/labelling/plan_accurate.py measures how often the range of a promise holds the
# truth.
ECE_FACTOR = 0.9
"""The ECE of the default from n labels is about factor * the standard error of the accuracy, sqrt(p (1 − p) / n)."""
ECE_WITHIN = 2.0
"""In three of four cases the ECE of a fit is within this factor of the forecast."""
OFF, TAIL = 0.2, 4
"""How far off a calibrator's log-odds are, and the degrees of freedom: now and then they are off by far more."""
OFF_AT_TOP, CAREFUL_AT_TOP = 0.3, 0.1
"""How far they are off among the accepted besides, which few labels of all rows can't show, and by how much they are
too low there on average: a calibrator that was fitted on a few hundred labels is careful."""
FIT_LABELS = 140
"""The labels that a calibrator was fitted on, at least. Where few errors of so many would be among the accepted, it
can't know how rare they are."""
OWN_SLOPE, OWN_SHIFT, OWN_OFF = 0.4, -0.7, 1.2
"""How a classifier's own log-odds become calibrated ones, more or less, and how far those are still off."""


@dataclass(frozen=True)
class Forecast:
    """What to expect of so many labels.

    Parameters
    ----------
    n : int
        The labels.
    accuracy_within : float
        Half the width of the 95 % interval of the accuracy, from even draws.
    ece, ece_low, ece_high : float
        The ECE of the default, fitted on so many labels, and the range in which three of four fits are.
    brier : float
        Its Brier score.
    """

    n: int
    accuracy_within: float
    ece: float
    ece_low: float
    ece_high: float
    brier: float


@dataclass(frozen=True)
class Plan:
    """What more labels would bring, and how many a goal takes; None for a goal that no number of labels reaches.

    Parameters
    ----------
    outlooks : tuple of Forecast
        At one, two, five and ten times the labels there are.
    needed : dict of str to int or None
        The labels that each goal takes. If the range of a promise is open above, its number can't be told: this is
        how many to label before you look again, with `threshold_at_risk`.
    between : dict of str to pair of int or None
        The range in which they likely are: a pilot is small, and can't tell more. None at its upper end: perhaps no
        number reaches the goal.
    """

    outlooks: tuple[Forecast, ...]
    needed: dict[str, int | None]
    between: dict[str, tuple[int | None, int | None]]


@ignore_float_errors
def plan(
    confidence: ArrayLike,
    correct: ArrayLike | None = None,
    unlabelled: ArrayLike | None = None,
    *,
    ece: float | None = None,
    accuracy_within: float | None = None,
    risk: float | None = None,
    coverage: float = 0.5,
    level: float = 0.95,
    calibrated: bool = True,
    times: Sequence[int] = (1, 2, 5, 10),
) -> Plan:
    """Forecast what more labels would bring, and how many a goal takes.

    Parameters
    ----------
    confidence, correct : arrays of shape (n,)
        Of the labelled rows; without `correct` the confidence of unlabelled rows, which is then taken at its word. If
        the labelled rows were picked by their confidence, no weights are needed: give `unlabelled`.
    unlabelled : array of shape (N,), optional
        The confidence in the rows that the forecast is about, by default the labelled ones.
    ece, accuracy_within : float, optional
        Goals: an ECE of the default, and an accuracy that is known to ± so much.
    risk, coverage : float
        The goal of a threshold that is promised to keep the risk and accepts that share.
    level : float
        The probability of that promise.
    calibrated : bool
        Whether the confidence is a calibrator's. A classifier's own is taken for too high by as much as is usual, and
        the ranges are wide.
    times : sequence of int
        The multiples of the labels there are, or of 100 if there are none.

    Returns
    -------
    Plan

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.labelling import plan
    >>> found = plan(np.linspace(0.5, 1, 1000), accuracy_within=0.02, risk=0.2, coverage=0.5)
    >>> found.needed["accuracy_within"], found.needed["risk"], found.between["risk"]
    (1801, 308, (91, 53437))
    """
    asked = {"ece": ece, "accuracy_within": accuracy_within, "risk": risk}
    check_shares(**{name: goal for name, goal in asked.items() if goal is not None}, coverage=coverage, level=level)
    if not all(isinstance(time, int | np.integer) and time >= 1 for time in times) or not len(times):
        raise InvalidInputError(f"times must be whole numbers of at least 1; got {times!r}. Use (1, 2, 5, 10).")
    rows = _rows(confidence, correct, unlabelled, calibrated)
    right = rows.right(0.0)
    # Each goal gives the labels that it takes: 0 is the forecast, and -1 and 1 are the ends of its range.
    goals: dict[str, Callable[[float], int | None]] = {}
    if ece is not None:
        goals["ece"] = lambda end: int(np.ceil(_spread(right) * (ECE_FACTOR / (ece / ECE_WITHIN**end)) ** 2))
    if accuracy_within is not None:
        goals["accuracy_within"] = lambda end: int(
            np.ceil(_spread(rows.right(RANGE * end)) * (Z / accuracy_within) ** 2)
        )
    if risk is not None:
        c, top = rows.confidence, rows.at_top(coverage, CAREFUL_AT_TOP if calibrated else 0.0)
        # Where errors are rare a calibrator is the more careful, so the lower end goes twice as far.
        goals["risk"] = lambda end: labels_to_promise(
            c, top.right(-RANGE * (2 * end if end < 0 else end)), risk, coverage=coverage, level=level
        )
    found = {name: [goal(end) for end in (-1.0, 0.0, 1.0)] for name, goal in goals.items()}
    needed = {name: labels for name, (_, labels, _) in found.items()}
    between = {name: _range(labels) for name, labels in found.items()}
    return Plan(tuple(_forecast(rows.n_labels * time, right) for time in times), needed, between)


class _Rows(NamedTuple):
    """All rows, how likely each is right, how far these log-odds are off, how well that is known, and the labels."""

    confidence: Floats
    likely: Floats
    shift: float
    deviation: float
    n_labels: int

    def right(self, deviations: float) -> Floats:
        """Return how likely each row is right, with log-odds that are so many standard deviations higher."""
        return _moved(self.likely, shift=self.shift + deviations * self.deviation)

    def at_top(self, coverage: float, careful: float) -> _Rows:
        """Return the rows as the accepted ones are: their confidence is too low by so much, and less is known.

        The logarithm of the rate of an event that occurred m times has a variance of about 1 / m + 1 / (2 m²).
        """
        top = np.argsort(-self.confidence)[: max(1, round(coverage * len(self.confidence)))]
        wrong = 1 - float(_moved(self.likely[top], shift=self.shift + careful).mean())
        m = FIT_LABELS * coverage * wrong
        spread = self.deviation**2 + OFF_AT_TOP**2 + 1 / m + 1 / (2 * m**2)
        return self._replace(shift=self.shift + careful, deviation=float(np.sqrt(spread)))


def _rows(confidence: ArrayLike, correct: ArrayLike | None, unlabelled: ArrayLike | None, calibrated: bool) -> _Rows:
    c = np.asarray(as_confidence(confidence), dtype=np.float64)
    rows = c if unlabelled is None else np.asarray(as_confidence(unlabelled), dtype=np.float64)
    off, slope, usual = (OFF, 1.0, 0.0) if calibrated else (OWN_OFF, OWN_SLOPE, OWN_SHIFT)
    likely = _moved(rows, slope=slope, shift=usual)
    if correct is None:
        return _Rows(rows, likely, 0.0, off, 100)
    expected, right = _moved(c, slope=slope, shift=usual), as_correct(correct, n_rows=len(c))
    # The posterior mode of the shift: a pilot is small, and counts as far as it outweighs the prior.
    shift, precision = 0.0, 1 / off**2
    for _ in range(50):
        now, prior = _moved(expected, shift=shift), (TAIL + 1) / (TAIL * off**2 + shift**2)
        precision = float(np.sum(now * (1 - now))) + prior
        shift += float(np.clip((np.sum(right - now) - prior * shift) / precision, -1, 1))
    return _Rows(rows, likely, shift, precision**-0.5, len(c))


def _moved(c: Floats, *, slope: float = 1.0, shift: float) -> Floats:
    """Return confidences with other log-odds; even a sure one may be wrong."""
    inside = np.clip(c, 1e-4, 1 - 1e-4)
    return np.asarray(1 / (1 + ((1 - inside) / inside) ** slope * np.exp(-shift)))


def _forecast(n: int, right: Floats) -> Forecast:
    variance, standard_error = float(np.mean(right * (1 - right))), float(np.sqrt(_spread(right) / n))
    ece = ECE_FACTOR * standard_error
    return Forecast(n, Z * standard_error, ece, ece / ECE_WITHIN, ece * ECE_WITHIN, variance + np.pi / 2 * ece**2)


def _spread(right: Floats) -> float:
    """Return the variance of the correctness of a row."""
    return float(right.mean() * (1 - right.mean()))


def _range(found: list[int | None]) -> tuple[int | None, int | None]:
    """Return the fewest and the most labels; None where no number would do."""
    numbers = [each for each in found if each is not None]
    return min(numbers, default=None), None if None in found else max(numbers)
