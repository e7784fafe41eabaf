"""How many labels a wish takes, from a pilot of labelled rows or from unlabelled ones alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from auxcal._arrays import Floats, as_confidence, as_correct
from auxcal._errors import InvalidInputError
from auxcal.metrics import rows_to_promise

Z = 1.96
"""The normal quantile of 95 % intervals."""
ECE_FACTOR = 1.0
"""The ECE of the default from n labels is about this times sqrt(mean c (1 − c) / n), or half or twice that."""


@dataclass(frozen=True)
class Outlook:
    """What to expect of so many labels.

    Parameters
    ----------
    n : int
        The labels.
    accuracy_within : float
        Half the width of the 95 % interval of the accuracy, from even draws.
    ece, brier : float
        Of the default, fitted on so many labels.
    """

    n: int
    accuracy_within: float
    ece: float
    brier: float


@dataclass(frozen=True)
class Plan:
    """What more labels would bring, and how many a wish takes; None for a wish that no number of labels grants.

    Parameters
    ----------
    outlooks : tuple of Outlook
        At one, two, five and ten times the labels there are.
    needed : dict of str to int or None
        The labels that each wish takes.
    """

    outlooks: tuple[Outlook, ...]
    needed: dict[str, int | None]


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
    times: Sequence[int] = (1, 2, 5, 10),
) -> Plan:
    """Forecast what more labels would bring, and how many a wish takes.

    Parameters
    ----------
    confidence, correct : arrays of shape (n,)
        Of the labelled rows; without `correct` the confidence of unlabelled rows, which is then taken at its word.
    unlabelled : array of shape (N,), optional
        The confidence in further rows, for a steadier forecast.
    ece, accuracy_within : float, optional
        Wishes: an ECE of the default, and an accuracy that is known to ± so much.
    risk, coverage : float
        The wish of a threshold that is promised to keep the risk and accepts that share.
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
    >>> found = plan(np.linspace(0.5, 1, 1000), accuracy_within=0.02, risk=0.2, coverage=0.5)
    >>> found.needed
    {'accuracy_within': 1801, 'risk': 311}
    """
    c, offset, n = _rows(confidence, correct, unlabelled)
    accuracy = float(np.clip(c.mean() + offset, 1e-3, 1 - 1e-3))
    open_ = float(np.mean(c * (1 - c)))
    wishes = {"ece": ece, "accuracy_within": accuracy_within, "risk": risk}
    for name, wish in (wishes | {"coverage": coverage, "level": level}).items():
        if wish is not None and not 0 < wish < 1:
            raise InvalidInputError(f"{name} must be a share in (0, 1); got {wish!r}. For 5 % give 0.05.")
    needed: dict[str, int | None] = {}
    if ece is not None:
        needed["ece"] = int(np.ceil(ECE_FACTOR**2 * open_ / ece**2))
    if accuracy_within is not None:
        needed["accuracy_within"] = int(np.ceil(Z**2 * accuracy * (1 - accuracy) / accuracy_within**2))
    if risk is not None:
        needed["risk"] = _for_promise(c, offset, risk, coverage, level)
    return Plan(tuple(_outlook(n * time, accuracy, open_) for time in times), needed)


def _rows(confidence: ArrayLike, correct: ArrayLike | None, unlabelled: ArrayLike | None) -> tuple[Floats, float, int]:
    """Return all confidences, how much higher the accuracy is than they say, and how many labels there are."""
    if correct is None:
        return np.asarray(as_confidence(confidence), dtype=np.float64), 0.0, 100
    c = as_confidence(confidence)
    right = as_correct(correct, n_rows=len(c))
    rest = c if unlabelled is None else as_confidence(unlabelled)
    # A pilot is small: what it says against the confidence counts as far as chance does not explain it.
    gap, noise = float(np.mean(right - c)), float(np.mean(c * (1 - c)) / len(c))
    return np.concatenate([c, rest]).astype(np.float64), gap * max(0.0, 1 - noise / max(gap**2, 1e-12)), len(c)


def _outlook(n: int, accuracy: float, open_: float) -> Outlook:
    within = Z * float(np.sqrt(accuracy * (1 - accuracy) / n))
    error = ECE_FACTOR * float(np.sqrt(open_ / n))
    return Outlook(n, within, error, open_ + np.pi / 2 * error**2)


def _for_promise(c: Floats, offset: float, risk: float, coverage: float, level: float) -> int | None:
    top = np.sort(c)[-max(1, round(coverage * len(c))) :]
    likely = float(np.clip(1 - top.mean() - min(offset, 0.0), 1e-4, 1))
    return rows_to_promise(likely, risk, coverage=coverage, level=level)
