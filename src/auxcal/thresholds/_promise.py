"""Which thresholds can be promised to keep the error within a limit: a fixed sequence of exact binomial tests.

The rows are taken from the highest confidence down. Of the k most confident ones, all lie above the confidence of row
k + 1; given that confidence, their errors are binomial with the risk of just this threshold. So the k-th test, "would
so few errors be rare if the risk were above the limit?", is exact. From a start that is fixed beforehand the ranks are
tested one after the other, until a test fails. ``docs/promises.md`` has the proof that the run goes beyond the limit
with probability 1 − level at most, whatever the population is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auxcal._core.arrays import Floats, Ints
from auxcal._core.float_errors import ignore_float_errors

FACTOR = 3
"""The main start is at a third of the rows or above, and each further one at a third of the last."""
SURE = 0.6
"""Rows are sure if they are wrong with a probability of so much of the limit, by the confidence's own word."""
FURTHER = 0.1
"""The share of 1 − level that each further start has, to that of the last."""
POWER = 0.84
"""The normal quantile of 80 %: with the rows that are said to be needed, four of five such samples suffice."""


class Start(NamedTuple):
    """A rank from which a run of tests goes down, and its share of 1 − level."""

    rank: int
    share: float


def sure_rows(confidence: Floats, risk: float) -> int:
    """Return how many rows are sure to be right, by the confidence's own word."""
    return int(np.count_nonzero(confidence >= 1 - SURE * risk))


def starts(n: int, risk: float, delta: float, *, sure: int) -> list[Start]:
    """Return where the runs of tests of n rows start, the lowest rank first; nowhere if there are too few rows.

    Parameters
    ----------
    n : int
        The rows.
    risk, delta : float
        The limit, and 1 − level.
    sure : int
        How many rows are sure. If the confidence can be trusted, thresholds above theirs are good with room to spare,
        and those below soon are not, so the main start is not lower.

    Examples
    --------
    >>> from auxcal.thresholds._promise import starts
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

    What is promised are all rows with a higher confidence than the first row that is not accepted.

    Parameters
    ----------
    confidence, rarity : arrays of shape (n,)
        The confidences, the highest first, and how rare so few errors would be among the first 1, 2, ... n rows; equal
        confidences come in an order that does not depend on the errors, so that each test is valid among them too.
    begun : list of Start
        Where the runs of n rows start.
    """
    reached, n = 0, len(rarity)
    rank = np.arange(1, n + 1)
    for i, (start, _) in enumerate(begun):
        # A run that is still alive at the next start takes that one's share too.
        share = np.cumsum([later.share for later in begun[i:]])
        allowed = share[np.searchsorted([later.rank for later in begun[i:]], rank[start - 1 :], side="right") - 1]
        failed = rarity[start - 1 :] > allowed
        if not failed.any():
            return n
        # The last test that passed is about all that lies above the next row. Of rows with its confidence none is
        # accepted, and a run that ends among the ties it began in shows nothing.
        above = int(np.searchsorted(-confidence, -confidence[start - 1 + int(np.argmax(failed))]))
        reached = max(reached, above) if above >= start else reached
    return reached


@ignore_float_errors
def rows_needed(accepted: Ints, errors: Ints, risk: float, level: float) -> int | None:
    """Return about how many labelled rows it takes to promise any threshold; None if no number would do.

    Parameters
    ----------
    accepted, errors : arrays of shape (m,)
        The rows that each threshold accepts, and the wrong ones among them.
    risk, level : float
        What is to be promised.
    """
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
    >>> from auxcal.metrics import rows_to_promise
    >>> rows_to_promise(0.02, 0.05, coverage=0.5), rows_to_promise(0.06, 0.05)
    (504, None)
    """
    return None if likely >= risk else int(np.ceil(_rows(np.array(likely), risk, level) / coverage))


def _rows(likely: Floats, risk: float, level: float) -> Floats:
    """Return how many accepted rows tell each likely error rate from the risk."""
    from scipy.special import ndtri

    spread = float(ndtri(level)) * np.sqrt(risk * (1 - risk)) + POWER * np.sqrt(likely * (1 - likely))
    return np.maximum((spread / (risk - likely)) ** 2, least_rows(risk, 1 - level))
