"""Histograms of the confidence of correct and of wrong predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import Ints, as_confidence, as_correct
from auxcal.metrics.binning import bin_confidence
from auxcal.report.plots._display import Display, canvas
from auxcal.report.plots.style import CORRECT, WRONG, header, horizontal_grid, share_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class ConfidenceHistogramDisplay(Display):
    """How confident the correct and the wrong predictions are.

    A confidence that tells them apart has the correct predictions on the right and the wrong ones on the left; wrong
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
        confidence : array of shape (n,)
            The probability that each prediction is correct.
        correct : array of shape (n,)
            Whether it is.
        n_bins : int
            M, the number of bins of equal width.
        """
        confidence = as_confidence(confidence)
        bins = bin_confidence(confidence, as_correct(correct, n_rows=len(confidence)), n_bins, "width")
        right = bins.correct.astype(np.intp)
        return cls(correct=right, wrong=bins.count - right)

    def plot(self, ax: Axes | None = None, *, title: str | None = None, log: bool = False, legend: bool = True) -> Self:
        """Draw both histograms over each other.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.
        title : str, optional
            What is shown, such as the name of the method.
        log : bool
            Whether the counts are on a log scale.
        legend : bool
            Whether to draw the legend.

        Returns
        -------
        self, with `ax_` and `figure_`
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
