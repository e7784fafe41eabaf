"""The paper's figures: one panel for each method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from auxcal._core.errors import InvalidInputError
from auxcal._core.text import percent
from auxcal.predictions import Predictions
from auxcal.report.plots.of_confidence import ConfidenceHistogramDisplay, ReliabilityDisplay, RiskCoverageDisplay
from auxcal.report.plots.of_probabilities import HeatmapDisplay, TSNEDisplay
from auxcal.report.plots.style import DASHES, LINES, colour_scale, figure_legend, house_style, new_figure, text_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ScoredMethods = Mapping[str, tuple[ArrayLike, ArrayLike]]


def reliability_diagrams(
    scored: ScoredMethods, *, n_bins: int = 20, intervals: bool = False, columns: int = 5, random_state: int | None = 0
) -> Figure:
    """Draw the reliability diagram of every method.

    Parameters
    ----------
    scored : mapping of str to (confidence, correct)
        What each panel shows, under its caption.
    n_bins, intervals, random_state
        As in `ReliabilityDisplay`.
    columns : int
        The maximum number of panels per row.

    Examples
    --------
    >>> from auxcal.plots import reliability_diagrams
    >>> correct = [True, True, False]
    >>> figure = reliability_diagrams({"Un-calibrated": ([0.9, 0.8, 0.9], correct), "CCAC": ([0.9, 0.8, 0.2], correct)})
    >>> [ax.get_title(loc="left") for ax in figure.axes]
    ['(a) Un-calibrated', '(b) CCAC']
    """
    displays = {
        label: ReliabilityDisplay.from_predictions(*pair, n_bins=n_bins, random_state=random_state)
        for label, pair in scored.items()
    }
    return _panels(displays, columns, 2.25, 2.75, intervals=intervals, legend=False)


def confidence_histograms(scored: ScoredMethods, *, n_bins: int = 20, log: bool = False, columns: int = 5) -> Figure:
    """Draw the histograms of confidence of every method, on one scale.

    Parameters
    ----------
    scored : mapping of str to (confidence, correct)
        What each panel shows, under its caption.
    n_bins, log
        As in `ConfidenceHistogramDisplay`.
    columns : int
        The maximum number of panels per row.

    Examples
    --------
    >>> from auxcal.plots import confidence_histograms
    >>> correct = [True, True, False]
    >>> figure = confidence_histograms({"MP": ([0.9, 0.8, 0.9], correct), "CCAC": ([0.9, 0.8, 0.2], correct)})
    >>> len(figure.axes)
    2
    """
    displays = {
        label: ConfidenceHistogramDisplay.from_predictions(*pair, n_bins=n_bins) for label, pair in scored.items()
    }
    return _panels(displays, columns, 2.25, 2.0, log=log, legend=False)


def risk_coverage_curves(scored: ScoredMethods, *, title: str | None = None) -> Figure:
    """Draw the risk–coverage curves of all methods over each other.

    Parameters
    ----------
    scored : mapping of str to (confidence, correct)
        The curves, under their names.
    title : str, optional
        What is shown, such as the name of the data.

    Examples
    --------
    >>> from auxcal.plots import risk_coverage_curves
    >>> correct = [True, True, False]
    >>> figure = risk_coverage_curves({"Un-calibrated": ([0.9, 0.8, 0.9], correct), "CCAC": ([0.9, 0.8, 0.2], correct)})
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['Un-calibrated, AURC 46.8 %', 'CCAC, AURC 6.3 %', 'perfect ranking']
    """
    figure = new_figure(4.6, 3.2)
    ax = figure.subplots()
    for place, (label, pair) in enumerate(scored.items()):
        display = RiskCoverageDisplay.from_predictions(*pair)
        display.plot(
            ax, title=title, label=f"{label}, AURC {percent(display.aurc)}", color=LINES[place % len(LINES)],
            linestyle=DASHES[place // len(LINES) % len(DASHES)], best=place == len(scored) - 1, legend=False,
        )  # fmt: skip
    with house_style():
        figure_legend(figure, ax)
    return figure


def heatmap_panels(
    probas: Mapping[str, ArrayLike],
    logits: ArrayLike,
    y: ArrayLike,
    *,
    of_class: int | None = None,
    n_samples: int = 50,
    class_names: Sequence[str] | None = None,
    columns: int = 4,
    random_state: int | None = 0,
) -> Figure:
    """Draw the heatmaps of the same samples under every method, such as before and after calibration.

    Parameters
    ----------
    probas : mapping of str to array of shape (n, K) or (n, K + 1)
        The distributions of each method, under the caption of its panel.
    logits, y : arrays of shape (n, K) and (n,)
        The raw scores of the target classifier, and the true class or `NO_CLASS`.
    of_class, n_samples, class_names, random_state
        As in `HeatmapDisplay.from_predictions`.
    columns : int
        The maximum number of panels per row.

    Examples
    --------
    >>> from auxcal.plots import heatmap_panels
    >>> logits, y = [[3.0, 0.0], [2.0, 0.0], [0.0, 1.0]], [0, 1, 1]
    >>> before = [[0.95, 0.05], [0.88, 0.12], [0.27, 0.73]]
    >>> after = [[0.95, 0.0, 0.05], [0.4, 0.1, 0.5], [0.2, 0.7, 0.1]]
    >>> figure = heatmap_panels({"Un-calibrated": before, "CCAC": after}, logits, y)
    >>> [tick.get_text() for tick in figure.axes[1].get_xticklabels()]
    ['0', '1', 'aux']
    """
    part = Predictions(logits, y)
    displays = {
        label: HeatmapDisplay.from_predictions(
            proba, part, of_class=of_class, n_samples=n_samples, class_names=class_names, random_state=random_state
        )
        for label, proba in probas.items()
    }
    height = 3.2 + max(map(text_width, class_names or [""]))  # the names are vertical
    figure = _panels(displays, columns, 2.5, height, share_x=False, colorbar=False)
    colour_scale(figure, figure.axes)
    return figure


def tsne_panels(
    probas: Mapping[str, ArrayLike],
    logits: ArrayLike,
    y: ArrayLike,
    *,
    n_per_class: int = 50,
    classes: Sequence[int] | None = None,
    class_names: Sequence[str] | None = None,
    columns: int = 5,
    random_state: int | None = 0,
) -> Figure:
    """Draw the t-SNE maps of the same samples under every method.

    Parameters
    ----------
    probas : mapping of str to array of shape (n, K) or (n, K + 1)
        The distributions of each method, under the caption of its panel.
    logits, y : arrays of shape (n, K) and (n,)
        The raw scores of the target classifier, and the true class or `NO_CLASS`.
    n_per_class, classes, class_names, random_state
        As in `TSNEDisplay.from_predictions`.
    columns : int
        The maximum number of panels per row.

    Examples
    --------
    >>> from auxcal.plots import tsne_panels
    >>> logits, y = [[3.0, 0.0], [2.0, 0.0], [0.0, 1.0]], [0, 1, 1]
    >>> before = [[0.95, 0.05], [0.88, 0.12], [0.27, 0.73]]
    >>> after = [[0.95, 0.0, 0.05], [0.4, 0.1, 0.5], [0.2, 0.7, 0.1]]
    >>> len(tsne_panels({"Un-calibrated": before, "CCAC": after}, logits, y).axes)
    2
    """
    part = Predictions(logits, y)
    displays = {
        label: TSNEDisplay.from_predictions(
            proba, part, n_per_class=n_per_class, classes=classes, class_names=class_names, random_state=random_state
        )
        for label, proba in probas.items()
    }
    return _panels(displays, columns, 2.25, 2.5, share_x=False, share_y=False, legend=False)


def _panels(
    displays: Mapping[str, Any],
    columns: int,
    width: float,
    height: float,
    *,
    share_x: bool = True,
    share_y: bool = True,
    **how: bool,
) -> Figure:
    """Draw one panel for each display, with captions (a), (b), … and one legend; width and height are a panel's."""
    n = len(displays)
    if not 1 <= n <= len(ascii_lowercase) or columns < 1:
        raise InvalidInputError(
            f"a figure has 1 to {len(ascii_lowercase)} panels, in at least 1 column; got {n} in {columns!r}. "
            f"Give a dict with one entry for each method, and make two figures of more."
        )
    columns = min(columns, n)
    rows = -(-n // columns)
    figure = new_figure(width * columns + 0.4, height * rows)
    axes: list[Axes] = []
    with house_style():
        for place, (label, display) in enumerate(displays.items()):
            first = axes[0] if axes else None
            ax = figure.add_subplot(
                rows, columns, place + 1, sharex=first if share_x else None, sharey=first if share_y else None
            )
            display.plot(ax, title=f"({ascii_lowercase[place]}) {label}", **how)
            axes.append(ax)
        for place, ax in enumerate(axes):
            if place % columns:
                for each in (ax, *ax.child_axes):
                    each.tick_params(axis="y", labelleft=False)
                    each.set_ylabel("")
            if place + columns < len(axes):
                ax.set_xlabel("")
                ax.tick_params(axis="x", labelbottom=not share_x)
        figure.align_xlabels(axes)
        figure_legend(figure, axes[0])
    return figure
