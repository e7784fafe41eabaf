"""How many labels a promise takes: the run of tests behind it, simulated on rows as the confidence describes them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import Floats, as_confidence, check_shares
from auxcal._core.errors import InvalidInputError
from auxcal._core.float_errors import ignore_float_errors
from auxcal.thresholds._promises import Start, rows_to_promise, shares_at, starts, sure_rows

DRAWS, OFTEN = 200, 0.8
"""How many samples are simulated, which gives the share of those with a promise to ± 6 points, and which share must."""
MOST_ROWS = 20_000
"""Of a sample that is simulated; what takes more is far off, and one exact test tells how far."""
_POPULATION = 10_000  # rows that stand for all
_STEP = 1.05  # how fine the search is: well within the range of the forecast


@ignore_float_errors
def labels_to_promise(
    confidence: ArrayLike, right: ArrayLike, risk: float, *, coverage: float, level: float = 0.95
) -> int | None:
    """Return from how many labels on four of five samples promise the risk at this coverage; None if none do.

    Parameters
    ----------
    confidence, right : arrays of shape (N,)
        The confidence in each row, which the tests go by, and how likely the row is right.
    risk, coverage, level : float
        The error rate to promise, the share of the rows to accept, and the probability of the promise.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.thresholds import labels_to_promise
    >>> confidence = np.linspace(0.5, 1, 1000)
    >>> labels_to_promise(confidence, confidence, risk=0.2, coverage=0.5, level=0.95)
    378
    >>> labels_to_promise(confidence, confidence - 0.2, risk=0.2, coverage=0.5, level=0.95) is None
    True
    """
    check_shares(risk=risk, coverage=coverage, level=level)
    c, likely_right = (np.asarray(as_confidence(each), dtype=np.float64) for each in (confidence, right))
    if len(c) != len(likely_right):
        raise InvalidInputError(
            f"right must have one probability for each of the {len(c)} rows; got {len(likely_right)}. Give the "
            f"confidence itself, if it can be trusted."
        )
    order = np.argsort(-c, kind="stable")
    order = order[np.linspace(0, len(order) - 1, min(len(order), _POPULATION)).astype(np.intp)]
    rows, wrong = c[order], 1 - likely_right[order]
    likely = float(np.clip(wrong[: max(1, round(coverage * len(wrong)))].mean(), 1e-4, 1))
    about = rows_to_promise(likely, risk, coverage=coverage, level=level)
    if about is None or about > MOST_ROWS:
        return about
    low = high = float(about)
    while _granted(rows, wrong, int(high), risk, coverage, level) < OFTEN and high < MOST_ROWS:
        low, high = high, high * 1.3
    while _granted(rows, wrong, int(low), risk, coverage, level) >= OFTEN and low > 1:
        low, high = low / 1.3, low
    while high > _STEP * low:
        middle = np.sqrt(low * high)
        enough = _granted(rows, wrong, int(middle), risk, coverage, level) >= OFTEN
        low, high = (low, middle) if enough else (middle, high)
    return int(high)


def _granted(confidence: Floats, wrong: Floats, n: int, risk: float, coverage: float, level: float) -> float:
    """Return how often n rows promise the risk at this coverage."""
    begun = starts(n, risk, 1 - level, sure=round(n * sure_rows(confidence, risk) / len(confidence)))
    rng = np.random.default_rng(0)
    drawn = np.sort(rng.integers(len(wrong), size=(DRAWS, n)), axis=1)
    errors = np.cumsum(rng.random((DRAWS, n)) < wrong[drawn], axis=1)
    goal = (drawn < coverage * len(wrong)).sum(axis=1)  # the rank that a run must pass
    granted = np.zeros(DRAWS, dtype=bool)
    for i, (start, _) in enumerate(begun):
        failed = errors[:, start - 1 :] > _limits(n, risk, begun[i:])
        reached = np.where(failed.any(axis=1), start - 1 + failed.argmax(axis=1), n)
        granted |= reached >= np.maximum(goal, start)
    return float(granted.mean())


def _limits(n: int, risk: float, begun: list[Start]) -> Floats:
    """Return the most errors that the run from the first start allows at its ranks, −1 for none."""
    from scipy.special import bdtr, bdtrik

    rank = np.arange(begun[0].rank, n + 1)
    share = shares_at(rank, begun)
    near = np.maximum(np.nan_to_num(np.floor(bdtrik(share, rank, risk)), nan=-1.0), -1.0)
    allowed = near[:, None] + np.array([-1, 0, 1])  # rounding can put it next to the right one
    passing = (allowed >= 0) & (bdtr(np.maximum(allowed, 0), rank[:, None], risk) <= share[:, None])
    return np.asarray(np.where(passing, allowed, -1.0).max(axis=1))
