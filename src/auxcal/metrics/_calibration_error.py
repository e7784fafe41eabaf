"""The gap between confidence and accuracy, bin by bin; and how large it would be by chance alone."""

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
)
from auxcal._core.errors import InvalidInputError
from auxcal._core.float_errors import ignore_float_errors
from auxcal.metrics._checked import checked
from auxcal.metrics.binning import Bins, Strategy, bin_confidence, bin_index, check_bins

CELLS_PER_BIN = 32
"""How finely the noise floor cuts each bin."""


@checked
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


@checked
def ece_mass(confidence: Floats, correct: Bools, *, n_bins: int = 20, sample_weight: Weight | None = None) -> float:
    """Expected calibration error over bins that hold equally many rows.

    Examples
    --------
    >>> from auxcal.metrics import ece_mass
    >>> round(ece_mass([0.9, 0.9, 0.9, 0.9], [True, True, True, False]), 4)
    0.15
    """
    return mean_gap(bin_confidence(confidence, correct, n_bins, "mass", sample_weight))


@checked
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

    Even a perfectly calibrated confidence has an ECE above 0 on a finite sample. An ECE below `p95` can't be told from
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
    if not isinstance(n_draws, int | np.integer) or n_draws < 1:
        raise InvalidInputError(f"n_draws must be a whole number of at least 1; got {n_draws!r}. Use 1000.")
    checked = as_confidence(confidence)
    weight = as_sample_weight(sample_weight, n_rows=len(checked))
    labels = None if groups is None else as_groups(groups, n_rows=len(checked))
    return noise_floor(checked, n_bins, strategy, n_draws, random_state, weight, labels)


def noise_floor(
    confidence: Floats,
    n_bins: int = 20,
    strategy: Strategy = "width",
    n_draws: int = 1000,
    random_state: int | None = 0,
    sample_weight: Weight | None = None,
    groups: Groups | None = None,
) -> NoiseFloor:
    """Return the noise floor of a confidence that is already checked; see `ece_noise_floor`."""
    n_cells = n_bins * CELLS_PER_BIN
    wrong = np.zeros(len(confidence), dtype=bool)
    cells = bin_confidence(confidence, wrong, n_cells, strategy, sample_weight)
    independent = None
    if groups is not None:
        cell = bin_index(confidence, n_cells, strategy, sample_weight)
        independent = _independent_rows(cell, sample_weight, groups, n_cells)
    return floor_of(cells, n_bins, n_draws, random_state, independent)


def floor_of(
    cells: Bins,
    n_bins: int,
    n_draws: int = 1000,
    random_state: int | None = 0,
    independent_rows: Floats | None = None,
) -> NoiseFloor:
    """Return the noise floor of `n_bins` bins of which each is cut into 32 cells; see `ece_noise_floor`."""
    used = cells.count > 0
    count, mass = cells.count[used], cells.confidence[used]
    independent = count if independent_rows is None else independent_rows[used]
    trials = np.maximum(np.rint(independent), 1).astype(np.intp)
    scale = count / np.sqrt(trials * independent)  # so that a draw has the spread of its cell, whatever is rounded
    drawn = as_rng(random_state).binomial(trials, np.clip(mass / count, 0, 1), (n_draws, used.sum()))
    excess = np.zeros((n_draws, len(used)))
    excess[:, used] = drawn * scale - mass * (trials * scale / count)
    draws = np.abs(excess.reshape(n_draws, n_bins, CELLS_PER_BIN).sum(axis=2)).sum(axis=1) / count.sum()
    return NoiseFloor(float(draws.mean()), float(np.quantile(draws, 0.95)))


def _independent_rows(cell: Ints, sample_weight: Weight | None, groups: Groups, n_cells: int) -> Floats:
    """Return how many independent draws each cell is worth, (Σ u)² / Σ u² over the weights u of its groups."""
    _, group = np.unique(groups, return_inverse=True)
    units, of_row = np.unique(cell.astype(np.intp) * (group.max() + 1) + group, return_inverse=True)
    weight, of_unit = np.bincount(of_row, sample_weight), units // (group.max() + 1)
    total, squares = (np.bincount(of_unit, each, minlength=n_cells) for each in (weight, weight**2))
    return np.asarray(total**2 / np.where(squares > 0, squares, 1))
