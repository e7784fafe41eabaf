"""Rows that look like copies of each other, which are one draw and not several.

Equal confidences alone say little: a method that bins gives them to rows that were drawn apart. Two things do. Draws
that fall on the same number vary in how many fall there: of the numbers that 2, 3 or 4 rows have, 37 % at most have
exactly 3 (a Poisson count given that it is k − 1, k or k + 1 is k with a probability of 1 / (1 + 2 sqrt(k / (k + 1)))
at most). And draws that fall on the same number are not all right or all wrong together.
"""

from __future__ import annotations

import numpy as np

from auxcal._arrays import Bools, Floats, Ints
from auxcal.metrics._cut import singles

RARE = 1e-4
"""How often rows that were drawn apart are taken for copies, by each of the two signs."""
MOST_COPIES = 20
"""Of one row; a number that more rows have is a tie that a method made."""
_NEIGHBOURS = 20  # equal numbers whose rows are taken to be wrong equally often


def look_like_copies(confidence: Floats, correct: Bools) -> bool:
    """Whether rows with the same confidence look like copies of one row.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.metrics._copies import look_like_copies
    >>> confidence = np.linspace(0.5, 1, 40)
    >>> correct = np.random.default_rng(0).random(40) < confidence
    >>> look_like_copies(confidence, correct), look_like_copies(confidence.repeat(3), correct.repeat(3))
    (False, True)
    """
    _, place, size = np.unique(singles(confidence), return_inverse=True, return_counts=True)
    few = (size > 1) & (size <= MOST_COPIES)
    if not few.any():
        return False
    wrong = np.bincount(place, ~correct)
    return _equal_in_size(size) or _agree(size[few], wrong[few])


def _equal_in_size(size: Ints) -> bool:
    """Whether more numbers have exactly k rows than chance gives, for any k."""
    from scipy.special import bdtrc

    n_sizes = np.bincount(size, minlength=MOST_COPIES + 2)
    k = np.arange(2, MOST_COPIES + 1)
    near = n_sizes[k - 1] + n_sizes[k] + n_sizes[k + 1]
    share = 1 / (1 + 2 * np.sqrt(k / (k + 1)))
    seen = n_sizes[k] > 0
    rarity = bdtrc(n_sizes[k][seen] - 1, near[seen], share[seen])
    return bool((rarity < RARE / len(k)).any())


def _agree(size: Ints, wrong: Floats) -> bool:
    """Whether rows of the same confidence are right or wrong together more often than chance makes them."""
    from scipy.special import pdtr

    block = np.arange(len(size)) // _NEIGHBOURS
    rate = (np.bincount(block, wrong) / np.bincount(block, size))[block]
    expected = np.sum(1 - rate**size - (1 - rate) ** size)
    mixed = np.count_nonzero((wrong > 0) & (wrong < size))
    return bool(expected > 0 and pdtr(mixed, expected) < RARE)
