"""The pictures of docs/evidence/language-models.md."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, PercentFormatter

from auxcal.plots.style import (
    CORRECT,
    FAINT,
    INK,
    LINES,
    MUTED,
    REFERENCE,
    SMALL,
    WRONG,
    apply_style,
    figure_legend,
    horizontal_grid,
    house_style,
    new_figure,
)

_BINS = 12  # of equal numbers of answers, so that each point is as sure as the others


def _panels(n: int, height: float) -> tuple[Figure, Sequence[Axes]]:
    figure = new_figure(2.75 * n, height)
    axes = np.atleast_1d(figure.subplots(1, n)).tolist()
    for ax in axes:
        apply_style(ax)
    return figure, axes


def draw_reliability(found: Mapping[str, Mapping[str, tuple[np.ndarray, np.ndarray]]]) -> Figure:
    """Draw how often answers are right over what is said of them, by the model and by the calibrator."""
    with house_style():
        figure, axes = _panels(len(found), 2.9)
        for ax, (model, said) in zip(axes, found.items(), strict=True):
            ax.plot([0, 1], [0, 1], color=MUTED, **REFERENCE)
            for (name, (confidence, correct)), colour in zip(said.items(), (WRONG, CORRECT), strict=True):
                parts = np.array_split(np.argsort(confidence, kind="stable"), _BINS)
                x, y = ([each[rows].mean() for rows in parts] for each in (confidence, correct))
                ax.plot(x, y, marker="o", markersize=3.5, color=colour, label=name)
            ax.set(title=model, xlim=(0.2, 1.02), ylim=(0.2, 1.02), xlabel="what is said")
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes[0].set_ylabel("how often the answer is right")
        figure_legend(figure, axes[0])
        return figure


def draw_coverage(found: Mapping[str, Mapping[str, tuple[float, float]]]) -> Figure:
    """Draw the share of answers that can be accepted at the two risks that are promised, for each method."""
    with house_style():
        figure, axes = _panels(len(found), 2.3)
        for ax, (model, methods) in zip(axes, found.items(), strict=True):
            for place, (low, high) in enumerate(reversed(methods.values())):
                colour = CORRECT if place < _ours(methods) else MUTED
                ax.barh(place, high, height=0.62, color=colour, alpha=0.35)
                ax.barh(place, low, height=0.62, color=colour)
                text = f"{100 * low:.0f} % / {100 * high:.0f} %"
                ax.annotate(text, (high, place), (3, 0), textcoords="offset points", va="center", fontsize=SMALL)
            ax.set_yticks(range(len(methods)), list(reversed(methods)) if ax is axes[0] else [""] * len(methods))
            ax.set(title=model, xlim=(0, 1))
            ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
            ax.spines["left"].set_visible(False)
            ax.tick_params(axis="y", length=0)
            ax.set_xlabel("accepted at 5 % / 10 % risk")
        return figure


def _ours(methods: Mapping[str, object]) -> int:
    return sum("CCAC-X" in name or "Signal" in name for name in methods)


def draw_labels(found: Mapping[str, Mapping[str, tuple[Sequence[int], np.ndarray]]], axis_name: str) -> Figure:
    """Draw a score of each method over the number of labels, the mean and two standard errors."""
    colours = (INK, LINES[5], LINES[2], CORRECT, WRONG)
    with house_style():
        figure, axes = _panels(len(found), 2.5)
        for ax, (model, methods) in zip(axes, found.items(), strict=True):
            horizontal_grid(ax)
            for (name, (n_labels, values)), colour in zip(methods.items(), colours, strict=False):
                mean, error = values.mean(axis=1), 2 * values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])
                ax.fill_between(n_labels, mean - error, mean + error, color=colour, alpha=0.15, linewidth=0)
                ax.plot(n_labels, mean, marker="o", markersize=3, color=colour, label=name)
            ax.set(title=model, xscale="log", xlabel="labels")
            ax.set_xticks(n_labels, [f"{n:,}" for n in n_labels])
            ax.xaxis.set_minor_locator(NullLocator())
            ax.spines["bottom"].set_color(FAINT)
        axes[0].set_ylabel(axis_name)
        figure_legend(figure, axes[0])
        return figure
