"""Which thresholds can be promised to keep the error within a limit: a fixed sequence of tests of labelled rows.

The rows are taken from the highest confidence down. Of the k most confident ones, all lie above the confidence of row
k + 1; given that confidence, their errors are binomial with the risk of just this threshold. So the k-th test, "would
so few errors be rare if the risk were above the limit?", is exact. From a start that is fixed beforehand the ranks are
tested one after the other, until a test fails. ``docs/evidence/promises.md`` has the proof that the run goes beyond the
limit with probability 1 − level at most, whatever the population is.

Rows that were drawn with known probabilities have weights. A row of weight w stands for w rows, but it is one draw, and
the errors of the k most confident rows are not binomial. With Y = w (wrong − risk), the risk above a threshold is the
limit exactly where the mean of Y is 0. A bettor who stakes a share on "fewer are wrong" at every row multiplies the
capital by 1 − λ Y. If the risk is the limit or more, the expected capital is 1 at most, so it reaches 1 / δ with a
probability of δ at most. That needs a capital which no row can make negative, also one that was not drawn, so weights
are shares of the largest that the design can give. How much is staked at a row may depend on the number of rows and on
rows that come before it in a random order, but not on the row itself: picked rows are few where a promise begins, and
there an error of the largest weight costs nearly all; of many rows each counts less.
"""

from __future__ import annotations

from typing import NamedTuple
from zlib import crc32

import numpy as np

from auxcal._core.arrays import Bools, Floats, Ints, Weight
from auxcal._core.float_errors import ignore_float_errors

# A promise holds whatever these are; they decide how much it accepts. SURE and FURTHER were chosen with
# benchmarks/promises.py, on other random states than those of docs/evidence/promises.md. STAKE and ROOM are plain
# choices, which benchmarks/labelling/picks.py measures.
FACTOR = 3
"""The main start is at a third of the rows or above, and each further one at a third of the last."""
SURE = 0.6
"""Rows are sure if their own confidence gives an error of at most this share of the allowed risk."""
FURTHER = 0.1
"""The share of 1 − level that each further start has, to that of the last."""
POWER = 0.84
"""The normal quantile of 80 %: with the rows that `rows_to_promise` gives, four of five such samples suffice."""
STAKE = 0.99
"""The most of the capital that an error of the largest weight may cost; all of it could not be won back."""
RARE = 20
"""The capital that the stakes are made for: that of a level of 95 %."""
ROOM = 1.7
"""A weighted run starts at so many times the rows that suffice without an error, for errors and smaller weights."""


class Start(NamedTuple):
    """A rank from which a run of tests goes down, and its share of 1 − level."""

    rank: int
    share: float


def sure_rows(confidence: Floats, risk: float) -> int:
    """Return how many rows are sure to be right, by their own confidence."""
    return int(np.count_nonzero(confidence >= 1 - SURE * risk))


def starts(n: int, risk: float, delta: float, *, sure: int) -> list[Start]:
    """Return where the runs of tests of n rows start, the lowest rank first; nowhere if there are too few rows.

    If the confidence can be trusted, thresholds above that of the `sure` rows are good with room to spare, and those
    below soon are not, so the main start is not lower.

    Examples
    --------
    >>> from auxcal.thresholds._promises import starts
    >>> starts(300, 0.05, 0.05, sure=250), starts(300, 0.05, 0.05, sure=20), starts(58, 0.05, 0.05, sure=58)
    ([Start(rank=93, share=0.05)], [Start(rank=59, share=0.05)], [])
    >>> [start.rank for start in starts(10_000, 0.05, 0.05, sure=9000)]
    [345, 1087, 3331]
    """
    least = least_rows(risk, delta)
    if least > n:
        return []
    ranks, shares = [min(n // FACTOR, sure)], [1 - FURTHER]
    while (rank := n // FACTOR ** (len(ranks) + 1)) >= least_rows(risk, delta * shares[-1] * FURTHER):
        ranks.append(rank)
        shares.append(shares[-1] * FURTHER)
    scaled = [delta * share / sum(shares) for share in shares]
    ranks[0] = max(ranks[0], least_rows(risk, scaled[0]))
    return sorted(Start(_moved_up(rank, risk, share), share) for rank, share in zip(ranks, scaled, strict=True))


def _moved_up(rank: int, risk: float, share: float) -> int:
    """Return the first rank at which as many errors are allowed as at this one."""
    from scipy.special import bdtr

    allowed = np.flatnonzero(bdtr(np.arange(int(rank * risk) + 1), rank, risk) <= share)[-1]
    ranks = np.arange(allowed + 1, rank + 1)
    return int(ranks[np.argmax(bdtr(allowed, ranks, risk) <= share)])


def least_rows(risk: float, delta: float) -> int:
    """Return how many rows without an error show that the risk is not larger."""
    return int(np.ceil(np.log(delta) / np.log1p(-risk)))


def rarities(errors: Ints, risk: float) -> Floats:
    """Return for the first 1, 2, ... n rows how rare so few errors would be if the risk were above the limit."""
    from scipy.special import bdtr

    return np.asarray(bdtr(errors, np.arange(1, len(errors) + 1), risk))


def promised_rows(confidence: Floats, rarity: Floats, begun: list[Start]) -> int:
    """Return how many of the rows, the most confident first, may be accepted; 0 if none can be promised.

    What is promised are all rows with a higher confidence than the first row that is not accepted. Equal confidences
    come in an order that does not depend on the errors, so that each test is valid among them too.
    """
    reached, n = 0, len(rarity)
    rank = np.arange(1, n + 1)
    for i, (start, _) in enumerate(begun):
        failed = rarity[start - 1 :] > shares_at(rank[start - 1 :], begun[i:])
        if not failed.any():
            return n
        # The last test that passed is about all that lies above the next row. Of rows with its confidence none is
        # accepted, and a run that ends among the ties it began in shows nothing.
        above = int(np.searchsorted(-confidence, -confidence[start - 1 + int(np.argmax(failed))]))
        reached = max(reached, above) if above >= start else reached
    return reached


def shares_at(ranks: Ints, begun: list[Start]) -> Floats:
    """Return the share of 1 − level that the run from the first start has at each rank.

    A run that is still alive at the next start takes that one's share too.
    """
    place = np.searchsorted([start.rank for start in begun], ranks, side="right") - 1
    return np.asarray(np.cumsum([start.share for start in begun])[place])


# Rows with weights ----------------------------------------------------------------------------------------------------


def weighted_rarities(wrong: Bools, weight: Weight, risk: float) -> Floats:
    """Return what `rarities` does for rows with weights, as shares of the largest that a row could have had.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.thresholds._promises import weighted_rarities
    >>> weighted_rarities(np.zeros(100, dtype=bool), np.ones(100), risk=0.05)[[9, 99]].round(3)
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
    best = np.sqrt(2 * np.log(RARE) / (number * risk * (1 - risk) * usual**1.5))
    return np.minimum(best, STAKE / (1 - risk))


# How many rows it takes -----------------------------------------------------------------------------------------------


@ignore_float_errors
def rows_needed(accepted: Ints, errors: Ints, risk: float, level: float) -> int | None:
    """Return what `rows_to_promise` does for the best of several thresholds, by what each accepts and gets wrong."""
    likely = (errors + 0.5) / (accepted + 1)
    below = likely < risk
    if not below.any():
        return None
    return int(np.ceil(np.min(_rows(likely[below], risk, level) / (accepted[below] / accepted[-1]))))


@ignore_float_errors
def rows_to_promise(likely: float, risk: float, *, coverage: float = 1.0, level: float = 0.95) -> int | None:
    """Return about how many labelled rows it takes to promise a risk; None if no number would do.

    With so many rows, four of five samples suffice.

    Parameters
    ----------
    likely : float
        The error rate that the accepted predictions have.
    risk : float
        The error rate that is to be promised.
    coverage : float
        The share of predictions that are accepted.
    level : float
        The probability of the promise.

    Examples
    --------
    >>> from auxcal.thresholds import rows_to_promise
    >>> rows_to_promise(0.02, 0.05, coverage=0.5), rows_to_promise(0.06, 0.05)
    (504, None)
    """
    return None if likely >= risk else int(np.ceil(_rows(np.array(likely), risk, level) / coverage))


def _rows(likely: Floats, risk: float, level: float) -> Floats:
    """Return how many accepted rows it takes to distinguish each likely error rate from the risk."""
    from scipy.special import ndtri

    spread = float(ndtri(level)) * np.sqrt(risk * (1 - risk)) + POWER * np.sqrt(likely * (1 - likely))
    return np.maximum((spread / (risk - likely)) ** 2, least_rows(risk, 1 - level))
