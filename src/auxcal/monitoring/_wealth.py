"""Wealth: what bets against a hypothesis have won, whenever they began."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

AT_ONCE = 0.5
"""The share of its money that a bettor stakes at the first row."""

HALF_STAKED = 2000
"""The row by which half of the rest is staked."""

MOST = 1e300  # wealth that grows beyond it says nothing more

Numbers = NDArray[np.float64]


class Wealth:
    r"""The wealth of bettors in groups, each of whom began with 1.

    At row t a bettor's stakes are multiplied by a factor whose mean is at most 1 while the hypothesis holds. Whoever
    stakes all at the first row is ruined before a change that comes late. So a part :math:`w_t` of the money is staked
    at every row, :math:`\sum_t w_t = 1`:

    .. math:: W_t = (W_{t-1} + w_t) e_t

    With the money that is not yet staked, this is a martingale from 1. By Ville's inequality it ever reaches
    :math:`1 / \alpha` with a probability of at most :math:`\alpha`, however long the stream is and however often one
    looks.

    Parameters
    ----------
    sizes : sequence of int
        How many bettors each group has. The wealth of a group is the mean of theirs.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.monitoring._wealth import Wealth
    >>> wealth = Wealth([2])
    >>> wealth.grow(np.array([[1.5, 0.5], [1.5, 0.5], [1.5, 0.5]])).round(3)
    array([[1.   ],
           [1.125],
           [1.375]])
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = np.asarray(sizes)
        self.staked: Numbers = np.zeros(int(self._sizes.sum()))
        self.n_rows = 0

    def grow(self, factors: Numbers) -> Numbers:
        """Multiply the stakes by the factors, of shape (n, bettors), and return each group's wealth after every row."""
        rows = self.n_rows + np.arange(len(factors))
        grown = np.empty_like(factors)
        staked = self.staked
        for row, stake, factor in zip(grown, _stakes(rows), factors, strict=True):
            staked = np.minimum((staked + stake) * factor, MOST, out=row)
        self.staked, self.n_rows = staked.copy(), self.n_rows + len(factors)
        starts = np.cumsum(self._sizes) - self._sizes
        return np.add.reduceat(grown, starts, axis=1) / self._sizes + _not_staked(rows + 1)[:, None]

    def state(self) -> dict[str, Any]:
        """Return what changes from row to row."""
        return {"staked": self.staked, "n_rows": self.n_rows}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where another one was."""
        self.staked, self.n_rows = state["staked"].copy(), state["n_rows"]


def _not_staked(n_rows: NDArray[np.int64]) -> Numbers:
    """Return what is left of 1 after so many rows, one at least."""
    return (1 - AT_ONCE) * HALF_STAKED / (HALF_STAKED + n_rows)


def _stakes(rows: NDArray[np.int64]) -> Numbers:
    left = np.where(rows == 0, 1.0, _not_staked(rows))
    return left - _not_staked(rows + 1)
