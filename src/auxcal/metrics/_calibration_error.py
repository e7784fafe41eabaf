"""The gap between confidence and accuracy, bin by bin; how large it would be by chance alone, and its interval."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import (
    Bools,
    Floats,
    Groups,
    Ints,
    Weight,
    as_confidence,
    as_groups,
    as_rng,
    as_sample_weight,
    as_whole,
)
from auxcal._core.float_errors import ignore_float_errors
from auxcal.metrics.binning import Bins, Strategy, bin_confidence, bin_index, check_bins
from auxcal.metrics.intervals import ece_bounds, student, with_one_off
from auxcal.metrics.sample import Sample, checked_as_given

N_BINS = 20
"""Of the ECE, as in the paper."""

CELLS_PER_BIN = 32
"""How finely the noise floor cuts each bin. A draw with the mean confidence of a cell has too large a variance by that
of the confidences in it, at most (1 / 640)² / 4 for each row."""


@checked_as_given
def ece(
    confidence: Floats,
    correct: Bools,
    *,
    n_bins: int = 20,
    strategy: Strategy = "width",
    sample_weight: Weight | None = None,
) -> float:
    """Expected calibration error: the mean gap between confidence and accuracy over bins.

    ECE = Σ_m |B_m| / N · |Acc(B_m) − Conf(B_m)|, the paper's with M = 20 bins of equal width.

    Parameters
    ----------
    confidence : array of shape (n,)
        The probability that each prediction is correct.
    correct : array of shape (n,)
        Whether it is.
    n_bins : int
        M, the number of bins.
    strategy : {"width", "mass"}
        Bins of equal width, or bins that hold equally many rows.
    sample_weight : array of shape (n,), optional
        How often each row counts; once by default.

    Examples
    --------
    >>> from auxcal.metrics import ece
    >>> round(ece([0.9, 0.9, 0.9, 0.9], [True, True, True, False]), 4)
    0.15
    """
    return mean_gap(bin_confidence(confidence, correct, n_bins, strategy, sample_weight))


@checked_as_given
def ece_mass(confidence: Floats, correct: Bools, *, n_bins: int = 20, sample_weight: Weight | None = None) -> float:
    """Expected calibration error over bins that hold equally many rows.

    Examples
    --------
    >>> from auxcal.metrics import ece_mass
    >>> round(ece_mass([0.9, 0.9, 0.9, 0.9], [True, True, True, False]), 4)
    0.15
    """
    return mean_gap(bin_confidence(confidence, correct, n_bins, "mass", sample_weight))


@checked_as_given
def mce(
    confidence: Floats,
    correct: Bools,
    *,
    n_bins: int = 20,
    strategy: Strategy = "width",
    sample_weight: Weight | None = None,
) -> float:
    """Maximum calibration error: the largest gap between confidence and accuracy in any bin.

    Examples
    --------
    >>> from auxcal.metrics import mce
    >>> mce([0.25, 0.25, 0.75, 0.75], [False, False, True, False])
    0.25
    """
    return largest_gap(bin_confidence(confidence, correct, n_bins, strategy, sample_weight))


def mean_gap(bins: Bins) -> float:
    """Return the ECE of bins."""
    return float(np.sum(bins.share * np.abs(bins.gap)))


def largest_gap(bins: Bins) -> float:
    """Return the MCE of bins."""
    return float(np.max(np.abs(bins.gap)))


class NoiseFloor(NamedTuple):
    """The ECE that a perfectly calibrated confidence shows by chance: its mean and 95th percentile."""

    mean: float
    p95: float


@ignore_float_errors
def ece_noise_floor(
    confidence: ArrayLike,
    *,
    n_bins: int = 20,
    strategy: Strategy = "width",
    n_draws: int = 1000,
    random_state: int | None = 0,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> NoiseFloor:
    """Return the ECE that these confidences would have if each of them were the true probability.

    Even a perfectly calibrated confidence has an ECE above 0 on a finite sample. An ECE below `p95` may be that of
    perfect calibration. Correctness is simulated `n_draws` times: each bin is cut into 32 cells, and the number of
    correct rows in a cell is a binomial draw with the cell's mean confidence, so the cost does not grow with the rows.
    A row of weight 2 is drawn as two; rows of one group that share a cell are drawn as one.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.metrics import ece_noise_floor
    >>> confidence = np.random.default_rng(0).uniform(size=8000)
    >>> mean, p95 = ece_noise_floor(confidence)
    >>> print(f"{mean:.1%} on average, {p95:.1%} in one case of twenty")
    1.6% on average, 2.0% in one case of twenty
    """
    check_bins(n_bins, strategy)
    as_whole(n_draws, "n_draws", least=1, advice="Use 1000.")
    c = as_confidence(confidence)
    weight = as_sample_weight(sample_weight, n_rows=len(c))
    labels = None if groups is None else as_groups(groups, n_rows=len(c))
    return noise_floor(Sample(c, np.zeros(len(c), dtype=bool), weight, labels), n_bins, strategy, n_draws, random_state)


def noise_floor(
    rows: Sample, n_bins: int = N_BINS, strategy: Strategy = "width", n_draws: int = 1000, random_state: int | None = 0
) -> NoiseFloor:
    """Return the noise floor of rows that are already checked; see `ece_noise_floor`."""
    n_cells = n_bins * CELLS_PER_BIN
    wrong = np.zeros_like(rows.correct)  # what is right does not matter here
    cells = bin_confidence(rows.confidence, wrong, n_cells, strategy, rows.sample_weight)
    used = cells.count > 0
    count, mass = cells.count[used], cells.confidence[used]
    independent = count
    if rows.groups is not None:
        cell = bin_index(rows.confidence, n_cells, strategy, rows.sample_weight)
        independent = _independent_rows(cell, rows.sample_weight, rows.groups, n_cells)[used]
    trials = np.maximum(np.rint(independent), 1).astype(np.intp)
    scale = count / np.sqrt(trials * independent)  # so that a draw has the spread of its cell, whatever is rounded
    drawn = as_rng(random_state).binomial(trials, np.clip(mass / count, 0, 1), (n_draws, used.sum()))
    excess = drawn * scale - mass * (trials * scale / count)
    bins = np.flatnonzero(used) // CELLS_PER_BIN
    of_bins = np.add.reduceat(excess, np.flatnonzero(np.diff(bins, prepend=-1)), axis=1)
    draws = np.abs(of_bins).sum(axis=1) / count.sum()
    return NoiseFloor(float(draws.mean()), float(np.quantile(draws, 0.95)))


def _independent_rows(cell: Ints, sample_weight: Weight | None, groups: Groups, n_cells: int) -> Floats:
    """Return how many independent draws each cell is worth, (Σ u)² / Σ u² over the weights u of its groups."""
    _, group = np.unique(groups, return_inverse=True)
    units, of_row = np.unique(cell.astype(np.intp) * (group.max() + 1) + group, return_inverse=True)
    weight, of_unit = np.bincount(of_row, sample_weight), units // (group.max() + 1)
    total, squares = (np.bincount(of_unit, each, minlength=n_cells) for each in (weight, weight**2))
    return np.asarray(total**2 / np.where(squares > 0, squares, 1))


def ece_interval(rows: Sample, strategy: Strategy, level: float) -> tuple[float, float]:
    """Return an interval of the true ECE that holds for any miscalibration, and so a wide one.

    Resampling can't give it: it adds noise to every bin, and noise raises the ECE. The ECE is at least what noise does
    not explain, and at least the size of the mean gap.
    """
    bins = bin_index(rows.confidence, N_BINS, strategy, rows.sample_weight)
    gap, variance, of_sum, n = _gaps(rows, bins)
    z = student(level, n - 1)
    below = z * math.sqrt(of_sum)
    above = math.hypot(below, z**2 / (2 * n)) + z**2 / (2 * n)  # Wilson's: few rows may lack those that are off
    low, high = ece_bounds(gap, variance, below, above)
    return max(low, abs(float(gap.sum())) - below), high


def _gaps(rows: Sample, bins: Ints) -> tuple[Floats, Floats, float, float]:
    """Return confidence short of correctness in each bin, as a share of all rows; its variance, that of the sum, and n.

    The variance is what the rows show, and not below what the confidence expects.
    """
    c, w = rows.confidence.astype(np.float64), rows.weight
    off, total = rows.correct - c, float(w.sum())

    def of_bins(values: Floats) -> Floats:
        return np.bincount(bins, values, minlength=N_BINS).astype(np.float64)

    gap, spread = of_bins(w * off) / total, with_one_off(c * (1 - c), w)
    if rows.groups is None:  # a row of weight 2 is two rows
        variance = np.maximum(of_bins(w * off**2), of_bins(w * spread)) / total**2
        return gap, variance, float(variance.sum()), total
    labels, group = np.unique(rows.groups, return_inverse=True)

    def of_groups(values: Floats) -> Floats:
        return np.bincount(group * N_BINS + bins, values, minlength=N_BINS * len(labels)).reshape(-1, N_BINS) / total

    parts = of_groups(w * off), of_groups(w * np.sqrt(spread))  # what the rows of a group lack or exceed may be all one
    variance = np.maximum(*(np.square(part).sum(axis=0) for part in parts))
    of_sum = max(float(np.square(np.abs(part).sum(axis=1)).sum()) for part in parts)
    return gap, variance, of_sum, len(labels)
