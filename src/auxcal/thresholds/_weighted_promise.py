"""The tests behind a promise for rows that were drawn with known probabilities, and so have weights.

A row of weight w stands for w rows, but it is one draw, and the errors of the k most confident rows are not binomial.
With Y = w (wrong − risk), the risk above a threshold is the limit exactly where the mean of Y is 0. A bettor who stakes
a share on "fewer are wrong" at every row multiplies the capital by 1 − λ Y. If the risk is the limit or more, the
expected capital is 1 at most, so it reaches 1 / δ with a probability of δ at most. That needs a capital which no row
can make negative, also one that was not drawn, so weights are shares of the largest that the design can give. How much
is staked at a row may depend on the number of rows and on rows that come before it in a random order, but not on the
row itself: picked rows are few where a promise begins, and there an error of the largest weight costs nearly all; of
many rows each counts less.
"""

from __future__ import annotations

from zlib import crc32

import numpy as np

from auxcal._core.arrays import Bools, Floats, Weight
from auxcal.thresholds._promise import FACTOR, Start

STAKE = 0.99
"""The most of the capital that an error of the largest weight may cost."""
RARE = 20
"""The capital that the stakes are made for: that of a level of 95 %."""
ROOM = 1.7
"""How many times the rows that suffice without an error a run starts at, for errors and for smaller weights."""


def rarities(wrong: Bools, weight: Weight, risk: float) -> Floats:
    """Return for the first 1, 2, ... n rows how rare so few errors would be if the risk were above the limit.

    Parameters
    ----------
    wrong : array of shape (n,)
        Whether each prediction is wrong.
    weight : array of shape (n,)
        The weights, as shares of the largest that a row could have had.
    risk : float
        The limit.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.thresholds._weighted_promise import rarities
    >>> rarities(np.zeros(100, dtype=bool), np.ones(100), risk=0.05)[[9, 99]].round(3)
    array([0.602, 0.006])
    """
    surplus, usual = weight * (wrong - risk), _means_before(weight)
    ranks = np.arange(1, len(weight) + 1)
    about = 2 ** (np.round(8 * np.log2(ranks)) / 8)  # few numbers, so that few sums are needed
    gain = np.empty(len(weight))
    for number in np.unique(about):
        of = np.flatnonzero(about == number)
        rows = slice(of[-1] + 1)
        gain[of] = np.cumsum(np.log1p(-_stakes(usual[rows], number, risk) * surplus[rows]))[of]
    return np.asarray(np.exp(-np.maximum(gain, 0)))


def weighted_starts(n: int, risk: float, delta: float, *, sure: int) -> list[Start]:
    """Return where the run of tests starts; nowhere if there are too few rows. See `starts`."""
    gain = np.log1p(STAKE / (1 - risk) * risk)  # from a row that is right and has the largest weight
    least = int(np.ceil(-ROOM * np.log(delta) / gain))
    return [Start(max(min(n // FACTOR, sure), least), delta)] if least <= n else []


def upper_risk(wrong: Bools, weight: Weight, delta: float) -> float:
    """Return the least risk that these rows, drawn from above one threshold, show not to be exceeded."""
    low, high, usual = 0.0, 1.0, _means_before(weight)
    while high - low > 1e-6:
        middle = (low + high) / 2
        gain = np.log1p(-_stakes(usual, len(weight), middle) * weight * (wrong - middle)).sum()
        low, high = (low, middle) if gain >= -np.log(delta) else (middle, high)
    return high


def _means_before(weight: Weight) -> Floats:
    """Return for each row the mean weight of those before it in a random order, and of one with the largest weight.

    Of rows above a threshold that come in a random order, each is a new draw, whatever those before it were.
    """
    order = np.random.default_rng(crc32(weight.tobytes())).permutation(len(weight))
    means = np.empty(len(weight))
    means[order] = (1 + np.cumsum(weight[order]) - weight[order]) / np.arange(1, len(weight) + 1)
    return means


def _stakes(usual: Weight, number: float, risk: float) -> Floats:
    """Return the λ of rows, by the usual weight: what gains most if this number of rows is just enough.

    That takes the mean of the squared weights, which would be too small where heavy rows are rare. It lies between the
    square of the mean and the mean, and is taken to be half way.
    """
    wished = np.sqrt(2 * np.log(RARE) / (number * risk * (1 - risk) * usual**1.5))
    return np.minimum(wished, STAKE / (1 - risk))
