"""Bets that the confidence is off, on labelled rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from auxcal._core.arrays import Bools, Floats
from auxcal.monitoring._fit_doubt import FitDoubt, Said, bounded, from_log_odds, log_odds
from auxcal.monitoring._wealth import Numbers, Wealth

POINTS = 0.06
"""The mean error that a bettor suspects: one of half as much gains nothing, one of 5 points does soon."""

_HALF = 0.5  # of the mistakes, at most, are gone where the confidence is suspected to be too low
_THREE, _MOST = 3, 0.05  # n rows without a mistake leave 3 / n of them open: no fit is surer than that
_FARTHEST = 3.0  # the farthest that log-odds are shifted or stretched

Suspicion = Callable[[Numbers], Numbers]


def _suspicions(said: Said) -> list[tuple[str, Suspicion]]:
    """Return what may be wrong with a confidence, and the probability that a prediction is then correct."""
    right = said.mean(said.confidence)
    gain = min(POINTS / (1 - right), _HALF)
    down = _strength(said, lambda c, x: from_log_odds(log_odds(c) - x), POINTS)
    up = _strength(said, lambda c, x: from_log_odds(log_odds(c) + x), min(POINTS, _HALF * (1 - right)))
    shrunk = _strength(said, lambda c, x: from_log_odds(log_odds(c) / (1 + x)), POINTS)
    stretched = _strength(said, lambda c, x: from_log_odds(log_odds(c) * (1 + x)), POINTS)
    return [
        ("too high", lambda c: c * max(1 - POINTS / right, 1 - _HALF)),
        ("too high", lambda c: from_log_odds(log_odds(c) - down)),
        ("too low", lambda c: c + gain * (1 - c)),
        ("too low", lambda c: from_log_odds(log_odds(c) + up)),
        ("too extreme", lambda c: from_log_odds(log_odds(c) / (1 + shrunk))),
        ("too cautious", lambda c: from_log_odds(log_odds(c) * (1 + stretched))),
    ]


def _strength(said: Said, moved: Callable[[Numbers, float], Numbers], points: float) -> float:
    """Return how strong a change moves the confidence by so much on average over the reference."""
    from scipy.optimize import brentq  # a process that only scores need not wait for it

    def missing(x: float) -> float:
        return said.mean(np.abs(moved(said.confidence, x) - said.confidence)) - points

    return _FARTHEST if missing(_FARTHEST) <= 0 else float(brentq(missing, 0, _FARTHEST, xtol=1e-4))


class LabelBets:
    r"""Bets on whether each prediction is correct, against the confidence in it.

    The hypothesis is that a prediction is correct with the probability p that `FitDoubt` expects, give or take a
    tolerance. A bettor suspects another probability, q. Its stakes are multiplied by

    .. math:: e = q / p \text{ where it is correct, } (1 - q) / (1 - p) \text{ where not,}

    with the p of the range that is nearest to q, so that the mean of e is at most 1 for every one in it. Both are fixed
    before the label is known. Most suspect an error of some points. Much of a larger one is taken for an error that the
    fit left open, if its rows were few; so one bettor takes any error for possible, and learns it from the labels.

    Parameters
    ----------
    said : Said
        What the calibrator says of its reference.
    n_rows : float
        How many rows it was fitted on.
    tolerance : float
        By how much p may be off.
    """

    def __init__(self, said: Said, n_rows: float, tolerance: float) -> None:
        self._tolerance = tolerance
        self._least = min(_THREE / n_rows, _MOST)
        said = said._replace(confidence=bounded(said.confidence, self._least))  # as that of new rows will be
        self._doubt, self._learner = FitDoubt(said, n_rows), FitDoubt(said, 0)
        self._words, self._suspicions = zip(*_suspicions(said), strict=True)
        self._wealth = Wealth([len(self._words) + 1])

    def update(self, confidence: Floats, correct: Bools) -> Numbers:
        """Bet on labelled rows, and return the evidence after every one."""
        c = bounded(confidence, self._least)
        p = self._doubt.expect(c, correct)[:, None]
        each = [*(suspicion(c) for suspicion in self._suspicions), self._learner.expect(c, correct)]
        suspected = bounded(np.stack(each, axis=1), self._least)
        held = bounded(np.clip(suspected, p - self._tolerance, p + self._tolerance), self._least)
        factors = np.where(correct[:, None], suspected / held, (1 - suspected) / (1 - held))
        return self._wealth.grow(factors)[:, 0]

    @property
    def suspicion(self) -> str:
        """What is wrong with the confidence by those who won most."""
        learned = "too low" if self._learner.state[0] > 0 else "too high"
        return (*self._words, learned)[int(np.argmax(self._wealth.staked))]

    def state(self) -> dict[str, Any]:
        """Return what changes from row to row."""
        return {"wealth": self._wealth.state(), "doubt": [self._doubt.state, self._learner.state]}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where another one was."""
        self._wealth.restore(state["wealth"])
        for doubt, saved in zip((self._doubt, self._learner), state["doubt"], strict=True):
            doubt.restore(saved)
