"""Rows that look like copies of each other, which are one draw and not several.

Equal confidences alone say little: a method that bins gives them to rows that were drawn apart. But draws that fall on
the same number vary in how many fall there. A Poisson count that is k − 1, k or k + 1 is k with a probability of
1 / (1 + 2 sqrt(k / (k + 1))) at most, whatever its mean: of the numbers that 2, 3 or 4 rows have, 37 % at most have 3.
Where each row is there three times, all have. Copies in numbers that vary as chance does can't be told from draws.
"""

from __future__ import annotations

import numpy as np

from auxcal._core.arrays import Floats
from auxcal.thresholds._cut import singles

RARE = 1e-4
"""How often rows that were drawn apart are taken for copies."""
MOST_COPIES = 20
"""Of one row; a number that more rows have is a tie that a method made."""


def look_like_copies(confidence: Floats) -> bool:
    """Whether rows with the same confidence come in such numbers as copies of a row do.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.thresholds._copies import look_like_copies
    >>> confidence = np.linspace(0.5, 1, 40)
    >>> look_like_copies(confidence), look_like_copies(confidence.repeat(3))
    (False, True)
    """
    from scipy.special import bdtrc

    _, size = np.unique(singles(confidence), return_counts=True)
    numbers = np.bincount(size[size <= MOST_COPIES + 1], minlength=MOST_COPIES + 2)
    k = np.arange(2, MOST_COPIES + 1)
    k = k[numbers[k] > 0]
    near = numbers[k - 1] + numbers[k] + numbers[k + 1]
    rarity = bdtrc(numbers[k] - 1, near, 1 / (1 + 2 * np.sqrt(k / (k + 1))))
    return bool((rarity < RARE / MOST_COPIES).any())
