"""Displays of a confidence: reliability diagram, histograms, and risk–coverage curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from auxcal._core.arrays import Floats, Ints, check_shares
from auxcal._core.text import percent
from auxcal.metrics import NoiseFloor, aurc, ece_noise_floor, risk_coverage
from auxcal.metrics.binning import bin_confidence
from auxcal.metrics.intervals import wilson
from auxcal.metrics.sample import as_sample
from auxcal.plots.style import (
    CORRECT,
    INK,
    MUTED,
    REFERENCE,
    WRONG,
    Display,
    apply_style,
    canvas,
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
        floor: NoiseFloor | None = None,
    ) -> Self:
        """Compute the diagram.

        Parameters
        ----------
        confidence, correct : arrays of shape (n,)
            The probability that each prediction is correct, and whether it is.
        n_bins : int
            M, the number of bins of equal width.
        level : float
            The confidence level of the interval of each bin.
        random_state : int or None
            The source of the noise floor's draws.
        floor : NoiseFloor, optional
            The noise floor, if it is known already.
        """
        check_shares(level=level)
        confidence, correct, *_ = as_sample(confidence, correct)
        bins = bin_confidence(confidence, correct, n_bins, "width")
        floor = floor or ece_noise_floor(confidence, n_bins=n_bins, random_state=random_state)
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
        ax, title, legend
            Where to draw, by default on a new figure; what is shown, such as the name of the method; and whether to
            draw the legend.
        intervals : bool
            Whether to draw the interval of each bin's accuracy.
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


@dataclass(frozen=True, eq=False)
class ConfidenceHistogramDisplay(Display):
    """How confident the correct and the wrong predictions are.

    A confidence that separates them has the correct predictions on the right and the wrong ones on the left; wrong
    predictions on the right are confidently wrong.

    Parameters
    ----------
    correct, wrong : arrays of shape (M,)
        The correct and the wrong predictions in each bin of equal width.

    Examples
    --------
    >>> from auxcal.plots import ConfidenceHistogramDisplay
    >>> display = ConfidenceHistogramDisplay.from_predictions([0.9, 0.8, 0.9], [True, False, False], n_bins=5)
    >>> display.correct, display.wrong
    (array([0, 0, 0, 0, 1]), array([0, 0, 0, 0, 2]))
    >>> display.plot(log=True).ax_.get_yscale()
    'log'
    """

    correct: Ints
    wrong: Ints

    @classmethod
    def from_predictions(cls, confidence: ArrayLike, correct: ArrayLike, *, n_bins: int = 20) -> Self:
        """Count the correct and the wrong predictions of each bin.

        Parameters
        ----------
        confidence, correct : arrays of shape (n,)
            The probability that each prediction is correct, and whether it is.
        n_bins : int
            M, the number of bins of equal width.
        """
        confidence, correct, *_ = as_sample(confidence, correct)
        bins = bin_confidence(confidence, correct, n_bins, "width")
        right = bins.correct.astype(np.intp)
        return cls(correct=right, wrong=bins.count - right)

    def plot(self, ax: Axes | None = None, *, title: str | None = None, log: bool = False, legend: bool = True) -> Self:
        """Draw both histograms over each other.

        Parameters
        ----------
        ax, title, legend
            Where to draw, by default on a new figure; what is shown, such as the name of the method; and whether to
            draw the legend.
        log : bool
            Whether the counts are on a log scale.
        """
        with canvas(self, ax, 3.6, 2.9) as ax:
            edges = np.linspace(0, 1, len(self.correct) + 1)
            for name, count, colour in (("correct", self.correct, CORRECT), ("wrong", self.wrong, WRONG)):
                ax.stairs(count, edges, baseline=0, fill=True, color=colour, alpha=0.1 if log else 0.3, linewidth=0)
                ax.stairs(count, edges, baseline=0, color=colour, linewidth=1.3, label=name)
            if log:
                ax.set_yscale("log")
                ax.set_ylim(bottom=0.6)
            ax.yaxis.set_major_formatter("{x:,.0f}")
            horizontal_grid(ax)
            share_axis(ax, "x")
            ax.set(xlabel="confidence", ylabel="predictions")
            header(ax, title, legend=legend)
        return self


@dataclass(frozen=True, eq=False)
class RiskCoverageDisplay(Display):
    """Risk–coverage curve: the error rate of the accepted predictions against the share that is accepted.

    Errors among equal confidences are spread evenly, as in `auxcal.metrics.aurc`.

    Parameters
    ----------
    coverage : array of shape (m,)
        The share of predictions that are accepted, from the most confident one to all.
    risk : array of shape (m,)
        The share of accepted predictions that are wrong.
    threshold : array of shape (m,)
        The lowest accepted confidence.
    best : array of shape (m,)
        The risk of a confidence that ranks every wrong prediction below every correct one.
    aurc : float
        The area under the risk.

    Examples
    --------
    >>> from auxcal.plots import RiskCoverageDisplay
    >>> display = RiskCoverageDisplay.from_predictions([0.9, 0.8, 0.3, 0.2], [True, False, True, False])
    >>> display.coverage.tolist(), display.risk.round(2).tolist()
    ([0.25, 0.5, 0.75, 1.0], [0.0, 0.5, 0.33, 0.5])
    >>> display.plot().ax_.get_xlabel()
    'coverage'
    """

    coverage: Floats
    risk: Floats
    threshold: Floats
    best: Floats
    aurc: float

    @classmethod
    def from_predictions(cls, confidence: ArrayLike, correct: ArrayLike, *, n_points: int = 1000) -> Self:
        """Compute the curve.

        Parameters
        ----------
        confidence, correct : arrays of shape (n,)
            The probability that each prediction is correct, and whether it is.
        n_points : int
            The maximum number of points, evenly spaced.
        """
        confidence, correct, *_ = as_sample(confidence, correct)
        n = len(confidence)
        curve = risk_coverage(confidence, correct)
        accepted = np.unique(np.linspace(1, n, min(n, n_points)).round().astype(np.intp))
        return cls(
            coverage=accepted / n,
            risk=np.interp(accepted, np.append(0, curve.accepted), np.append(0, curve.errors)) / accepted,
            threshold=curve.threshold[np.searchsorted(curve.accepted, accepted)],
            best=np.maximum(accepted - int(correct.sum()), 0) / accepted,
            aurc=aurc(confidence, correct),
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        title: str | None = None,
        label: str = "by confidence",
        color: str = CORRECT,
        best: bool = True,
        legend: bool = True,
    ) -> Self:
        """Draw the curve; several can share axes.

        Parameters
        ----------
        ax, title, legend
            Where to draw, by default on a new figure; what is shown, such as the name of the method; and whether to
            draw the legend.
        label : str
            The name of the curve in the legend.
        color : str
            The colour of the curve.
        best : bool
            Whether to draw the curve of a perfect ranking too.
        """
        with canvas(self, ax, 3.6, 2.9) as ax:
            ax.plot(self.coverage, self.risk, color=color, label=label)
            if best:
                ax.plot(self.coverage, self.best, color=MUTED, label="perfect ranking", **REFERENCE)
            horizontal_grid(ax)
            share_axis(ax, "x")
            ax.yaxis.set_major_formatter(lambda value, _: percent(value, decimals=0))
            ax.set_ylim(bottom=0)
            ax.set(xlabel="coverage", ylabel="error of the accepted")
            header(ax, title, f"AURC {percent(self.aurc)}" if legend else "", legend=legend)
        return self
