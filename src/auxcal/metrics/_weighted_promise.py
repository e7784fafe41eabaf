"""The tests behind a promise for rows that were drawn with known probabilities, and so have weights.

A row of weight w stands for w rows, but it is one draw, and the errors of the k most confident rows are not binomial.
With Y = w (wrong − risk), the risk above a threshold is the limit exactly where the mean of Y is 0. A bettor who stakes
a share on "fewer are wrong" at every row multiplies the capital by 1 − λ Y. If the risk is the limit or more, the
expected capital is 1 at most, whatever the weights are, so it reaches 1 / δ with a probability of δ at most. Two
bettors, one bold and one careful, share the capital.
"""

from __future__ import annotations

import numpy as np

from auxcal._arrays import Bools, Floats, Weight
from auxcal.metrics._promise import FACTOR, Start

STAKES = np.array([0.5, 0.9])
"""The shares of their capital that the bettors stake on a row of the largest weight."""


def rarities(wrong: Bools, weight: Weight, risk: float) -> Floats:
    """Return for the first 1, 2, ... n rows how rare so few errors would be if the risk were above the limit.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.metrics._weighted_promise import rarities
    >>> rarities(np.zeros(100, dtype=bool), np.ones(100), risk=0.05)[[9, 99]].round(3)
    array([0.693, 0.017])
    """
    stake = _stakes(weight, risk)
    gain = np.cumsum(np.log1p(-stake[:, None] * (weight * (wrong - risk))), axis=1)
    capital = np.logaddexp.reduce(gain, axis=0) - np.log(len(stake))
    return np.asarray(np.exp(-np.maximum(capital, 0)))


def weighted_starts(weight: Weight, risk: float, delta: float, *, sure: int) -> list[Start]:
    """Return where the run of tests starts; nowhere if there are too few rows. See `starts`."""
    bold = np.log1p(_stakes(weight, risk)[-1] * weight.max() * risk)  # what the bold one gains from a row that is right
    least = 2 * int(np.ceil((np.log(len(STAKES)) - np.log(delta)) / bold))  # with room for errors and smaller weights
    return [Start(max(min(len(weight) // FACTOR, sure), least), delta)] if least <= len(weight) else []


def upper_risk(wrong: Bools, weight: Weight, delta: float) -> float:
    """Return the least risk that these rows, drawn from above one threshold, show not to be exceeded."""
    low, high = 0.0, 1.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        shown = rarities(wrong, weight, middle)[-1] <= delta
        low, high = (low, middle) if shown else (middle, high)
    return high


def _stakes(weight: Weight, risk: float) -> Floats:
    return np.asarray(STAKES / ((1 - risk) * weight.max()))
