"""The gap between confidence and accuracy, bin by bin; and how large it would be by chance alone."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from auxcal._arrays import Bools, Floats, Weight, as_confidence, as_rng
from auxcal._errors import InvalidInputError
from auxcal.metrics._checked import checked
from auxcal.metrics.binning import Bins, Strategy, bin_confidence, check_bins

_CELLS_PER_BIN = 32  # for the noise floor


@checked
def ece(
    confidence: Floats,
    correct: Bools,
    *,
    n_bins: int = 20,
    strategy: Strategy = "width",
    weight: Weight | None = None,
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
    weight : array of shape (n,), optional
        How often each row counts; once by default.

    Examples
    --------
    >>> from auxcal.metrics import ece
    >>> round(ece([0.9, 0.9, 0.9, 0.9], [True, True, True, False]), 4)
    0.15
    """
    return _mean_gap(bin_confidence(confidence, correct, n_bins, strategy, weight))


@checked
def ece_mass(confidence: Floats, correct: Bools, *, n_bins: int = 20, weight: Weight | None = None) -> float:
    """Expected calibration error over bins that hold equally many rows.

    Examples
    --------
    >>> from auxcal.metrics import ece_mass
    >>> round(ece_mass([0.9, 0.9, 0.9, 0.9], [True, True, True, False]), 4)
    0.15
    """
    return _mean_gap(bin_confidence(confidence, correct, n_bins, "mass", weight))


@checked
def mce(
    confidence: Floats,
    correct: Bools,
    *,
    n_bins: int = 20,
    strategy: Strategy = "width",
    weight: Weight | None = None,
) -> float:
    """Maximum calibration error: the largest gap between confidence and accuracy in any bin.

    Examples
    --------
    >>> from auxcal.metrics import mce
    >>> mce([0.25, 0.25, 0.75, 0.75], [False, False, True, False])
    0.25
    """
    return float(np.max(np.abs(bin_confidence(confidence, correct, n_bins, strategy, weight).gap)))


def _mean_gap(bins: Bins) -> float:
    return float(np.sum(bins.share * np.abs(bins.gap)))


class NoiseFloor(NamedTuple):
    """The ECE that a perfectly calibrated confidence shows by chance: its mean and 95th percentile."""

    mean: float
    p95: float


def ece_noise_floor(
    confidence: ArrayLike,
    *,
    n_bins: int = 20,
    strategy: Strategy = "width",
    n_draws: int = 1000,
    random_state: int | None = 0,
) -> NoiseFloor:
    """Return the ECE that these confidences would have if each of them were the true probability.

    Even a perfectly calibrated confidence has an ECE above 0 on a finite sample. An ECE below `p95` can't be told from
    perfect calibration. Correctness is simulated `n_draws` times: each bin is cut into 32 cells, and the number of
    correct rows in a cell is a binomial draw with the cell's mean confidence, so the cost does not grow with the rows.

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
    return noise_floor(as_confidence(confidence), n_bins, strategy, n_draws, random_state)


def noise_floor(
    confidence: Floats,
    n_bins: int = 20,
    strategy: Strategy = "width",
    n_draws: int = 1000,
    random_state: int | None = 0,
) -> NoiseFloor:
    """Return the noise floor of a confidence that is already checked; see `ece_noise_floor`."""
    cells = bin_confidence(confidence, np.zeros(len(confidence), dtype=bool), n_bins * _CELLS_PER_BIN, strategy)
    used = cells.count > 0
    probability = np.clip(cells.confidence[used] / cells.count[used], 0, 1)
    drawn = as_rng(random_state).binomial(cells.count[used], probability, (n_draws, used.sum()))
    excess = np.zeros((n_draws, n_bins * _CELLS_PER_BIN))
    excess[:, used] = drawn - cells.confidence[used]
    draws = np.abs(excess.reshape(n_draws, n_bins, _CELLS_PER_BIN).sum(axis=2)).sum(axis=1) / len(confidence)
    return NoiseFloor(float(draws.mean()), float(np.quantile(draws, 0.95)))
