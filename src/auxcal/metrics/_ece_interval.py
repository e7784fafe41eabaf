"""An interval of the true ECE, which resampling can't give: it adds noise to every bin, and noise raises the ECE."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from auxcal._core.arrays import Floats, Ints
from auxcal.metrics._bootstrap import Scored
from auxcal.metrics.binning import Strategy, bin_index

N_BINS = 20
"""Of the ECE, as in the paper."""
PURE_NOISE = math.sqrt(2 / math.pi)
"""The mean size of a standard normal number."""


def ece_interval(rows: Scored, strategy: Strategy, level: float) -> tuple[float, float]:
    """Return an interval that holds for any miscalibration, and so a wide one.

    The ECE is at least what noise does not explain, and at least the size of the mean gap.
    """
    bins = bin_index(rows.confidence, N_BINS, strategy, rows.sample_weight)
    gap, variance, of_sum, n = _gaps(rows, bins)
    z = student(level, n - 1)
    below = z * math.sqrt(of_sum)
    above = math.hypot(below, z**2 / (2 * n)) + z**2 / (2 * n)  # Wilson's: few rows may lack those that are off
    low, high = ece_bounds(gap, variance, below, above)
    return max(low, abs(float(gap.sum())) - below), high


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


def student(level: float, freedom: float) -> float:
    """Return how many standard deviations an interval goes up and down: Student's quantile, as a series."""
    z, v = NormalDist().inv_cdf((1 + level) / 2), max(freedom, 1.0)
    return z + (z**3 + z) / (4 * v) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2)


class _Gaps(NamedTuple):
    """Confidence short of correctness in each bin, as a share of all rows; its variance, that of the sum, and n."""

    gap: Floats
    variance: Floats
    of_sum: float
    n: float


def _gaps(rows: Scored, bins: Ints) -> _Gaps:
    """Return the gaps. Their variance is what the rows show, and not below what the confidence expects."""
    c, w = rows.confidence.astype(np.float64), rows.weight
    off, total = rows.correct - c, float(w.sum())

    def of_bins(values: Floats) -> Floats:
        return np.bincount(bins, values, minlength=N_BINS).astype(np.float64)

    gap, spread = of_bins(w * off) / total, with_one_off(c * (1 - c), w)
    if rows.groups is None:  # a row of weight 2 is two rows
        variance = np.maximum(of_bins(w * off**2), of_bins(w * spread)) / total**2
        return _Gaps(gap, variance, float(variance.sum()), total)
    labels, group = np.unique(rows.groups, return_inverse=True)

    def of_groups(values: Floats) -> Floats:
        return np.bincount(group * N_BINS + bins, values, minlength=N_BINS * len(labels)).reshape(-1, N_BINS) / total

    parts = of_groups(w * off), of_groups(w * np.sqrt(spread))  # what the rows of a group lack or exceed may be all one
    variance = np.maximum(*(np.square(part).sum(axis=0) for part in parts))
    of_sum = max(float(np.square(np.abs(part).sum(axis=1)).sum()) for part in parts)
    return _Gaps(gap, variance, of_sum, len(labels))


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
