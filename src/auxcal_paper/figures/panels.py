"""Figures of one panel for each method, with captions (a), (b), … and one legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from auxcal._core.arrays import Floats
from auxcal._core.errors import InvalidInputError
from auxcal.plots import ConfidenceHistogramDisplay, ReliabilityDisplay
from auxcal.plots.style import figure_legend, house_style, new_figure, text_width
from auxcal.predictions import Predictions
from auxcal_paper.figures.heatmap import HeatmapDisplay, colour_scale
from auxcal_paper.figures.tsne import TSNEDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ScoredMethods = Mapping[str, tuple[ArrayLike, ArrayLike]]
"""(confidence, correct) of each method, under the caption of its panel."""

_COLUMNS = 5  # panels in a row, as in the paper


def reliability_diagrams(scored: ScoredMethods, *, columns: int = _COLUMNS) -> Figure:
    """Draw the reliability diagram of every method.

    Examples
    --------
    >>> from auxcal_paper.figures import reliability_diagrams
    >>> correct = [True, True, False]
    >>> figure = reliability_diagrams({"Un-calibrated": ([0.9, 0.8, 0.9], correct), "CCAC": ([0.9, 0.8, 0.2], correct)})
    >>> [ax.get_title(loc="left") for ax in figure.axes]
    ['(a) Un-calibrated', '(b) CCAC']
    """
    displays = {label: ReliabilityDisplay.from_predictions(*pair) for label, pair in scored.items()}
    return _panels(displays, columns, 2.25, 2.75, legend=False)


def confidence_histograms(scored: ScoredMethods, *, columns: int = _COLUMNS) -> Figure:
    """Draw the histograms of confidence of every method, on one scale."""
    displays = {label: ConfidenceHistogramDisplay.from_predictions(*pair) for label, pair in scored.items()}
    return _panels(displays, columns, 2.25, 2.0, legend=False)


def heatmap_panels(
    probas: Mapping[str, Floats],
    test: Predictions,
    *,
    of_class: int | None = None,
    class_names: Sequence[str] | None = None,
) -> Figure:
    """Draw the heatmaps of the same samples under every method, side by side; see `HeatmapDisplay`."""
    displays = {
        label: HeatmapDisplay.from_predictions(proba, test, of_class=of_class, class_names=class_names)
        for label, proba in probas.items()
    }
    height = 3.2 + max(map(text_width, class_names or [""]))  # the names are vertical
    figure = _panels(displays, max(1, len(displays)), 2.5, height, share="y")
    colour_scale(figure, figure.axes)
    return figure


def tsne_panels(
    probas: Mapping[str, Floats],
    test: Predictions,
    *,
    classes: Sequence[int] | None = None,
    class_names: Sequence[str] | None = None,
) -> Figure:
    """Draw the t-SNE maps of the same samples under every method; see `TSNEDisplay`."""
    displays = {
        label: TSNEDisplay.from_predictions(proba, test, classes=classes, class_names=class_names)
        for label, proba in probas.items()
    }
    return _panels(displays, _COLUMNS, 2.25, 2.5, share="")


def _panels(
    displays: Mapping[str, Any], columns: int, width: float, height: float, *, share: str = "xy", **how: bool
) -> Figure:
    """Draw one panel for each display; width and height are a panel's, and `share` names the axes that are one."""
    n = len(displays)
    if not 1 <= n <= len(ascii_lowercase):
        raise InvalidInputError(
            f"a figure has 1 to {len(ascii_lowercase)} panels; got {n}. Give a dict with one entry for each method, "
            f"and make two figures of more."
        )
    columns = min(columns, n)
    rows = -(-n // columns)
    figure = new_figure(width * columns + 0.4, height * rows)
    axes: list[Axes] = []
    with house_style():
        for place, (label, display) in enumerate(displays.items()):
            shared = {f"share{which}": axes[0] for which in share if axes}
            ax = figure.add_subplot(rows, columns, place + 1, **shared)
            display.plot(ax, title=f"({ascii_lowercase[place]}) {label}", **how)
            axes.append(ax)
        for place, ax in enumerate(axes):
            if place % columns:
                for inner in (ax, *ax.child_axes):
                    inner.tick_params(axis="y", labelleft=False)
                    inner.set_ylabel("")
            if place + columns < len(axes):
                ax.set_xlabel("")
                ax.tick_params(axis="x", labelbottom="x" not in share)
        figure.align_xlabels(axes)
        figure_legend(figure, axes[0])
    return figure
