"""Numbers to cut a confidence at, so that every comparison accepts the same rows.

A confidence is kept as float32 or float64, or as the shortest text that reads as its float32, and a threshold is
compared with all of these, by programs that round to float32 first and by others that don't. So confidences that are
equal in float32 are ties, and a threshold t is a number that is at most its own float32 and still rounds to it: then no
confidence whose float32 is lower reaches t, and each whose float32 is that of t or higher does.
"""

from __future__ import annotations

import numpy as np

from auxcal._core.arrays import Floats

_DECIMALS = 7  # which people can read and copy; no two such numbers below 1 have the same float32
_TRIED = 10


def singles(confidence: Floats) -> Floats:
    """Return confidences in the precision in which they are ties."""
    return confidence.astype(np.float32, copy=False)


def cut_above(low: np.floating, high: float) -> float:
    """Return a number just above the first one, which all from the second up reach: with seven decimals if one fits.

    Parameters
    ----------
    low : float32
        The highest confidence that is not accepted.
    high : float
        The lowest that is.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.thresholds._cut import cut_above
    >>> cut_above(np.float32(0.7), 0.8), cut_above(np.float32(0.7), 0.70000005)
    (0.7000001, 0.7000000178813934)
    """
    first = np.floor(float(low) * 10**_DECIMALS)
    for step in range(1, _TRIED + 1):
        short = round((first + step) / 10**_DECIMALS, _DECIMALS)
        if low < np.float32(short) and short <= min(high, float(np.float32(short))):
            return float(short)
    return _least(np.nextafter(low, np.float32(1)))


def cut_at(high: float) -> float:
    """Return a number that this confidence and those of the same float32 reach, and none below.

    Examples
    --------
    >>> from auxcal.thresholds._cut import cut_at
    >>> cut_at(0.8), cut_at(0.9)
    (0.8, 0.8999999761581421)
    """
    single = np.float32(high)
    for number in (float(str(single)), float(single)):
        if number <= min(high, float(single)):
            return number
    return _least(single)


def _least(single: np.floating) -> float:
    """Return the smallest float64 that rounds to a float32."""
    if single == 0:
        return 0.0
    middle = (float(np.nextafter(single, np.float32(0))) + float(single)) / 2
    return middle if np.float32(middle) == single else float(np.nextafter(middle, 1.0))
