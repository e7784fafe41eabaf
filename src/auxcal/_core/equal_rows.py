"""Equal rows: copies of one row, or draws that gave the same values.

Draws vary in how many there are of each value. A Poisson count that is k − 1, k or k + 1 is k with a probability of
1 / (1 + 2 sqrt(k / (k + 1))) at most, whatever its mean: of the values that 2, 3 or 4 rows have, 37 % at most have 3.
Where each row is there three times, all have. Copies in numbers that vary as chance does look like
draws.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Ints

RARE = 1e-4
"""How often rows that were drawn apart are taken for copies."""

_OFTEN = 10  # times: what repeats more often is a typical output of the classifier, not a row that was copied
_ALIKE = 0.25  # of the variance that chance gives to counts: these are no draws
_SETS = 10  # of copies: of fewer, the variance of their sizes means little
_ODD = np.uint64(0x9E3779B97F4A7C15)  # distinguishes labels in a hash


class EqualRows(NamedTuple):
    """Sets of rows that are equal, with equal labels: the set of each row, and the first row and the size of each."""

    of_row: Ints
    first: Ints
    counts: Ints

    @classmethod
    def of(cls, hashes: NDArray[np.uint64], y: Ints) -> EqualRows:
        """Find them by the hashes of the rows."""
        labelled = hashes + y.astype(np.uint64) * _ODD
        _, first, of_row, counts = np.unique(labelled, return_index=True, return_inverse=True, return_counts=True)
        return cls(of_row, first, counts)

    @property
    def times(self) -> int:
        """How often every row was copied: the number that all sizes are multiples of, unless chance explains it.

        A Poisson count is a multiple of 2 at most half of the time, and of a larger number more rarely, whatever its
        mean. All counts of draws have a common divisor with a probability of 2⁻ᵐ or little more, m being how many there
        are, and draws are taken for copies where that is below `RARE`.
        """
        return int(np.gcd.reduce(self.counts)) if 0.5 ** len(self.counts) < RARE else 1

    def rank(self) -> Ints:
        """Return how many rows of its set come before each row."""
        before = np.empty(len(self.of_row), dtype=np.intp)
        starts = np.cumsum(self.counts) - self.counts
        before[np.argsort(self.of_row, kind="stable")] = np.arange(len(before)) - np.repeat(starts, self.counts)
        return before


def are_copies(counts: Ints) -> bool:
    """Return whether values that stand there so often each, more than once, are rows that were copied."""
    if not len(counts) or counts.mean() <= _OFTEN:
        return bool(len(counts))
    return len(counts) >= _SETS and bool(counts.var() < _ALIKE * counts.mean())


def in_equal_numbers(counts: Ints, most: int) -> bool:
    """Return whether more values have the same number of rows, from 2 to the most, than draws would give it."""
    from scipy.special import bdtrc

    numbers = np.bincount(counts[counts <= most + 1], minlength=most + 2)
    k = np.arange(2, most + 1)
    k = k[numbers[k] > 0]
    near = numbers[k - 1] + numbers[k] + numbers[k + 1]
    rarity = bdtrc(numbers[k] - 1, near, 1 / (1 + 2 * np.sqrt(k / (k + 1))))
    return bool((rarity < RARE / most).any())
