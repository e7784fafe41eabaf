"""Intervals: Wilson's of a share, Student's quantile, and bounds of the true ECE."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from auxcal._core.arrays import Floats

PURE_NOISE = math.sqrt(2 / math.pi)
"""The mean size of a standard normal number."""


class Estimate(NamedTuple):
    """A number with its interval."""

    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """The width of the interval."""
        return self.high - self.low


def wilson(share: Any, n: Any, z: float) -> tuple[Any, Any]:
    """Return Wilson's interval of a share of n rows, z standard deviations up and down; of arrays too.

    Examples
    --------
    >>> from auxcal.metrics.intervals import wilson
    >>> print("{:.3f} to {:.3f}".format(*wilson(1.0, 50, z=1.96)))
    0.929 to 1.000
    """
    spread = z**2 / n  # in this form, the interval of a share of 0 begins at 0 to the bit
    middle = (share + spread / 2) / (1 + spread)
    half = np.sqrt(share * (1 - share) * spread + spread**2 / 4) / (1 + spread)
    return middle - half, middle + half


def student(level: float, freedom: float) -> float:
    """Return how many standard deviations an interval goes up and down: Student's quantile, as a series."""
    z, v = NormalDist().inv_cdf((1 + level) / 2), max(freedom, 1.0)
    return z + (z**3 + z) / (4 * v) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2)


def ece_bounds(gap: Floats, variance: Floats, below: float, above: float) -> tuple[float, float]:
    """Return bounds of the ECE from the gap of each bin and its variance.

    With gaps g and their deviations σ, the sum of the absolute gaps is Σ σ h(g / σ) on average, with h(x) the mean of
    |x + a normal number|, and no more uncertain than the gaps are together: it is at most so much `below` and `above`.
    h is convex, so of all gaps that give this sum those with equal g / σ have the largest ECE; and h(x) ≤ h(0) + x, so
    the noise adds h(0) Σ σ at most.
    """
    size, noise = float(np.abs(gap).sum()), float(np.sqrt(variance).sum())
    return max(0.0, size - below - PURE_NOISE * noise), min(1.0, noise * _shift_of(size + above, noise))


def with_one_off(spread: Floats, weight: Floats) -> Floats:
    """Return variances of correctness that add up to 1 at least: few labels do not show that none of them is off."""
    return spread + max(1 - float(weight @ spread), 0.0) / float(weight.sum())


def _mean_size(shift: float) -> float:
    """Return the mean of |shift + a normal number|."""
    return PURE_NOISE * math.exp(-(shift**2) / 2) + shift * math.erf(shift / math.sqrt(2))


def _shift_of(size: float, noise: float) -> float:
    """Return the shift at which noise of this deviation has so large a mean size; 0 if it needs none."""
    if noise * PURE_NOISE >= size:
        return 0.0
    low, high = 0.0, size / noise  # the mean size is never below the shift
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if noise * _mean_size(middle) < size else (low, middle)
    return high
