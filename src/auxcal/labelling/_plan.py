"""How many labels a goal takes, as far as a pilot of labelled rows can show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import as_confidence, as_correct, check_shares
from auxcal._core.errors import InvalidInputError
from auxcal._core.float_errors import ignore_float_errors
from auxcal.metrics.intervals import Estimate
from auxcal.thresholds import rows_to_promise

Z = 1.96
"""The normal quantile of 95 % intervals."""
HELD = 0.8
"""How often the range of a number holds it, over the draw of the pilot: in four of five pilots or more."""
START = 100
"""The labels to begin with, where there are none."""


class Forecast(NamedTuple):
    """How well so many labels show the accuracy: `accuracy_within` is half the width of its 95 % interval."""

    n: int
    accuracy_within: float


@dataclass(frozen=True)
class Plan:
    """How many labels each goal takes.

    Parameters
    ----------
    accuracy : Estimate
        The accuracy in the pilot, with the range that its size allows. Without a pilot it is the mean confidence, and
        the range is from 0 to 1.
    outlooks : tuple of Forecast
        How well one, two, five and ten times the labels of the pilot show the accuracy.
    needed : dict of str to int or None
        The labels that each goal takes, if the pilot is like all rows. None for a promise of a smaller error than the
        accepted rows of the pilot have.
    between : dict of str to pair of int or None
        The range in which that number is. None at its upper end: perhaps no number reaches the goal.
    """

    accuracy: Estimate
    outlooks: tuple[Forecast, ...]
    needed: dict[str, int | None]
    between: dict[str, tuple[int | None, int | None]]


@ignore_float_errors
def plan(
    confidence: ArrayLike,
    correct: ArrayLike | None = None,
    unlabelled: ArrayLike | None = None,
    *,
    accuracy_within: float | None = None,
    risk: float | None = None,
    coverage: float = 0.5,
    level: float = 0.95,
    times: Sequence[int] = (1, 2, 5, 10),
) -> Plan:
    """Return how many labels a goal takes, with the range that a pilot allows.

    The ranges are exact: they follow from the binomial distribution of the errors in the pilot alone.

    Parameters
    ----------
    confidence, correct : arrays of shape (n,)
        Of the pilot: labelled rows that were drawn uniformly. Without `correct` the confidence in unlabelled rows,
        whose mean then stands for the accuracy.
    unlabelled : array of shape (N,), optional
        The confidence in the rows that a threshold is for, by default those of the pilot.
    accuracy_within : float, optional
        A goal: the accuracy, known to ± so much.
    risk, coverage : float
        A goal: a threshold that is promised to keep the risk and accepts that share. It takes a pilot.
    level : float
        The probability of that promise.
    times : sequence of int
        The multiples of the labels there are, or of 100 if there are none.

    Returns
    -------
    Plan

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.labelling import plan
    >>> confidence = np.linspace(0.5, 1, 200)
    >>> numbers = plan(confidence, confidence > 0.6, accuracy_within=0.02, risk=0.05)
    >>> numbers.needed, numbers.between
    ({'accuracy_within': 1537, 'risk': 118}, {'accuracy_within': (1315, 1757), 'risk': (118, 631)})
    """
    asked = {"accuracy_within": accuracy_within, "risk": risk}
    check_shares(**{name: goal for name, goal in asked.items() if goal is not None}, coverage=coverage, level=level)
    if not all(isinstance(time, int | np.integer) and time >= 1 for time in times) or not len(times):
        raise InvalidInputError(f"times must be whole numbers of at least 1; got {times!r}. Use (1, 2, 5, 10).")
    c = as_confidence(confidence)
    right = None if correct is None else as_correct(correct, n_rows=len(c))
    accuracy = Estimate(float(c.mean()), 0.0, 1.0) if right is None else _share(int(right.sum()), len(c))
    n = START if right is None else len(c)
    numbers: dict[str, tuple[int | None, ...]] = {}
    if accuracy_within is not None:
        numbers["accuracy_within"] = tuple(_labels(p, accuracy_within) for p in _by_spread(accuracy))
    if risk is not None:
        if right is None:
            raise InvalidInputError(
                f"a promise takes a pilot, which shows how rare errors are among the accepted; got no labels. Label "
                f"{START} rows, drawn uniformly."
            )
        rows = c if unlabelled is None else as_confidence(unlabelled)
        accepted = c >= np.sort(rows)[::-1][max(1, round(coverage * len(rows))) - 1]
        errors = _share(int((~right[accepted]).sum()), int(accepted.sum()))
        numbers["risk"] = tuple(
            rows_to_promise(rate, risk, coverage=coverage, level=level)
            for rate in (errors.low, errors.value, errors.high)
        )
    return Plan(
        accuracy,
        tuple(Forecast(n * time, Z * float(np.sqrt(_variance(accuracy.value) / (n * time)))) for time in times),
        {name: number for name, (_, number, _) in numbers.items()},
        {name: (low, high) for name, (low, _, high) in numbers.items()},
    )


def _share(k: int, n: int) -> Estimate:
    """Return a share with the ends of Clopper and Pearson's interval."""
    from scipy.special import betaincinv  # a process that scores imports no SciPy

    tail = (1 - HELD) / 2
    low = float(betaincinv(k, n - k + 1, tail)) if k else 0.0
    high = float(betaincinv(k + 1, n - k, 1 - tail)) if k < n else 1.0
    return Estimate(k / n if n else 0.5, low, high)


def _variance(share: float) -> float:
    return share * (1 - share)


def _by_spread(share: Estimate) -> tuple[float, float, float]:
    """Return the share of the range with the least variance, the share itself, and that with the most."""
    return min(share.low, share.high, key=_variance), share.value, min(max(0.5, share.low), share.high)


def _labels(share: float, within: float) -> int:
    return max(1, int(np.ceil(_variance(share) * (Z / within) ** 2)))
