"""Risk–coverage curve: the error of the predictions that are accepted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import Floats, as_confidence, as_correct
from auxcal._core.text import percent
from auxcal.metrics import aurc, risk_coverage
from auxcal.report.plots._display import Display, canvas
from auxcal.report.plots.style import CORRECT, MUTED, REFERENCE, header, horizontal_grid, share_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
        confidence : array of shape (n,)
            The probability that each prediction is correct.
        correct : array of shape (n,)
            Whether it is.
        n_points : int
            The maximum number of points, evenly spaced.
        """
        confidence = as_confidence(confidence)
        correct = as_correct(correct, n_rows=len(confidence))
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
        linestyle: Any = "-",
        best: bool = True,
        legend: bool = True,
    ) -> Self:
        """Draw the curve; several can share axes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.
        title : str, optional
            What is shown, such as the name of the data.
        label : str
            The name of the curve in the legend.
        color : str
            The colour of the curve.
        linestyle : str or tuple
            Its line style, as matplotlib names it.
        best : bool
            Whether to draw the curve of a perfect ranking too.
        legend : bool
            Whether to draw the legend.

        Returns
        -------
        self, with `ax_` and `figure_`
        """
        with canvas(self, ax, 3.6, 2.9) as ax:
            ax.plot(self.coverage, self.risk, color=color, linestyle=linestyle, label=label)
            if best:
                ax.plot(self.coverage, self.best, color=MUTED, label="perfect ranking", **REFERENCE)
            horizontal_grid(ax)
            share_axis(ax, "x")
            ax.yaxis.set_major_formatter(lambda value, _: percent(value, decimals=0))
            ax.set_ylim(bottom=0)
            ax.set(xlabel="coverage", ylabel="error of the accepted")
            header(ax, title, f"AURC {percent(self.aurc)}" if legend else "", legend=legend)
        return self
