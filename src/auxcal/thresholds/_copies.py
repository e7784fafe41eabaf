"""Rows that look like copies of each other, which are one draw and not several.

Equal confidences alone say little: a method that bins gives them to rows that were drawn apart. But draws that fall on
the same number vary in how many fall there; see `auxcal._core.equal_rows`.
"""

from __future__ import annotations

import numpy as np

from auxcal._core.arrays import Floats
from auxcal._core.equal_rows import in_equal_numbers
from auxcal.thresholds._cut import singles

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
    _, size = np.unique(singles(confidence), return_counts=True)
    return in_equal_numbers(size, MOST_COPIES)
