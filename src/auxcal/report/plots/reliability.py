"""Reliability diagram: accuracy against confidence, bin by bin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from auxcal._core.arrays import Bools, Floats, Ints, as_confidence, as_correct
from auxcal._core.errors import InvalidInputError
from auxcal._core.text import percent
from auxcal.metrics import NoiseFloor, ece_noise_floor
from auxcal.metrics.binning import bin_confidence
from auxcal.metrics.intervals import wilson
from auxcal.report.plots._display import Display, canvas
from auxcal.report.plots.style import (
    CORRECT,
    INK,
    MUTED,
    REFERENCE,
    WRONG,
    apply_style,
    header,
    horizontal_grid,
    share_axis,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Shares of the height, by eye.
_COUNTS_HEIGHT = 0.2  # of the strip with the counts
_ZERO_HEIGHT = 0.27  # of an accuracy of 0, above the strip


@dataclass(frozen=True, eq=False)
class ReliabilityDisplay(Display):
    """Reliability diagram: the accuracy in each bin of confidence, and how many predictions it holds.

    With perfect calibration, the accuracy of each bin lies on the diagonal. The gap between accuracy and mean
    confidence is shaded; its mean over the rows is the ECE. An empty bin has no bar.

    Parameters
    ----------
    count : array of shape (M,)
        The rows of each bin of equal width.
    confidence, accuracy : arrays of shape (M,)
        Their mean confidence, and the share of them that are correct; NaN for an empty bin.
    low, high : arrays of shape (M,)
        The Wilson interval of each accuracy.
    ece : float
        The expected calibration error.
    floor : NoiseFloor
        The ECE that a perfectly calibrated confidence has by chance: mean and 95th percentile, shown as a range next to
        the ECE.

    Examples
    --------
    >>> from auxcal.plots import ReliabilityDisplay
    >>> display = ReliabilityDisplay.from_predictions([0.9, 0.9, 0.9, 0.9], [True, True, True, False], n_bins=5)
    >>> display.accuracy
    array([ nan,  nan,  nan,  nan, 0.75])
    >>> round(display.ece, 4)
    0.15
    >>> display.plot().ax_.get_ylabel()
    'accuracy'
    """

    count: Ints
    confidence: Floats
    accuracy: Floats
    low: Floats
    high: Floats
    ece: float
    floor: NoiseFloor

    @classmethod
    def from_predictions(
        cls,
        confidence: ArrayLike,
        correct: ArrayLike,
        *,
        n_bins: int = 20,
        level: float = 0.95,
        random_state: int | None = 0,
    ) -> Self:
        """Compute the diagram.

        Parameters
        ----------
        confidence : array of shape (n,)
            The probability that each prediction is correct.
        correct : array of shape (n,)
            Whether it is.
        n_bins : int
            M, the number of bins of equal width.
        level : float
            The confidence level of the interval of each bin.
        random_state : int or None
            The source of the noise floor's draws.
        """
        if not 0 < level < 1:
            raise InvalidInputError(f"level must be a share in (0, 1); got {level!r}. Use 0.95.")
        checked = as_confidence(confidence)
        floor = ece_noise_floor(checked, n_bins=n_bins, random_state=random_state)
        return cls.from_validated(checked, as_correct(correct, n_rows=len(checked)), floor, n_bins=n_bins, level=level)

    @classmethod
    def from_validated(
        cls, confidence: Floats, correct: Bools, floor: NoiseFloor, *, n_bins: int = 20, level: float = 0.95
    ) -> Self:
        """Do what `from_predictions` does, with rows that are already checked and their noise floor."""
        bins = bin_confidence(confidence, correct, n_bins, "width")
        rows = np.where(bins.count > 0, bins.count, np.nan)
        accuracy = bins.correct / rows
        low, high = np.clip(wilson(accuracy, rows, ndtri((1 + level) / 2)), 0, 1)
        ece = float(np.sum(bins.share * np.abs(bins.gap)))
        return cls(bins.count, bins.confidence / rows, accuracy, low, high, ece, floor)

    def plot(
        self, ax: Axes | None = None, *, title: str | None = None, intervals: bool = False, legend: bool = True
    ) -> Self:
        """Draw the diagram, with the counts in a strip below it.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.
        title : str, optional
            What is shown, such as the name of the method.
        intervals : bool
            Whether to draw the interval of each bin's accuracy.
        legend : bool
            Whether to draw the legend.

        Returns
        -------
        self, with `ax_` and `figure_`
        """
        with canvas(self, ax, 3.6, 3.9) as ax:
            self._draw_bins(ax, intervals)
            horizontal_grid(ax)
            share_axis(ax, "x")
            share_axis(ax, "y")
            ax.set_ylim(-_ZERO_HEIGHT / (1 - _ZERO_HEIGHT), 1)
            ax.spines["left"].set_bounds(0, 1)
            ax.set_xlabel("confidence")
            ax.set_ylabel("accuracy", y=(1 + _ZERO_HEIGHT) / 2)
            self._draw_counts(ax)
            floor = f"{100 * self.floor.mean:.1f}–{percent(self.floor.p95)}"
            header(ax, title, f"ECE {percent(self.ece)}, noise floor {floor}", legend=legend)
        return self

    def _draw_bins(self, ax: Axes, intervals: bool) -> None:
        used = self.count > 0
        width = 1 / len(self.count)
        left = np.arange(len(self.count))[used] * width
        accuracy, confidence = self.accuracy[used], self.confidence[used]
        lower, upper = np.minimum(accuracy, confidence), np.maximum(accuracy, confidence)
        ax.bar(left, lower, width, align="edge", color=CORRECT, alpha=0.3, linewidth=0)
        ax.bar(left, upper - lower, width, lower, align="edge", color=WRONG, alpha=0.35, linewidth=0, label="gap")
        ax.hlines(accuracy, left, left + width, color=CORRECT, linewidth=2, label="accuracy")
        ax.plot([0, 1], [0, 1], color=MUTED, label="perfect", **REFERENCE)
        if intervals:
            ax.vlines(left + width / 2, self.low[used], self.high[used], color=INK, linewidth=0.8)

    def _draw_counts(self, ax: Axes) -> None:
        from matplotlib.ticker import NullLocator

        strip = ax.inset_axes((0, 0, 1, _COUNTS_HEIGHT))
        apply_style(strip)
        used = self.count > 0
        n_bins, n_rows = len(self.count), int(self.count.sum())
        strip.bar(np.flatnonzero(used) / n_bins, self.count[used], 1 / n_bins, align="edge", color=MUTED, edgecolor="w")
        # A log scale keeps small bins visible next to large ones; it ends at n, so that methods can be compared.
        strip.set(xlim=(0, 1), yscale="log", ylim=(0.6, max(n_rows, 10)), ylabel="rows")
        top = int(np.log10(max(n_rows, 10)))
        powers = range(0, top + 1, top // 2 if top % 2 == 0 else top)
        strip.set_yticks([10.0**power for power in powers], labels=[_short(power) for power in powers])
        strip.yaxis.set_minor_locator(NullLocator())
        strip.xaxis.set_major_locator(NullLocator())


def _short(power: int) -> str:
    return f"{10 ** (power % 3)}{('', 'k', 'M', 'G')[power // 3]}"
