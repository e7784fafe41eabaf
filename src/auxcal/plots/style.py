"""What displays share: the house style, with its colours and fonts, axes to draw on, and how a notebook shows them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any, Self

from auxcal._core.extras import needs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Blue and vermilion differ under every common colour blindness, and in print (Okabe and Ito).
CORRECT = "#0072B2"
WRONG = "#D55E00"
INK = "#1f2933"
MUTED = "#667380"
FAINT = "#e3e7eb"
REFERENCE: dict[str, Any] = {"linewidth": 0.9, "linestyle": (0, (4, 3))}  # perfect calibration

# Sizes in points, and limits of what is legible: by eye.
TEXT = 8.5
SMALL = 7.5
DPI = 160

_RC: dict[Any, Any] = {
    "axes.facecolor": "white",
    "axes.titlecolor": INK,
    "axes.titlesize": TEXT + 0.5,
    "axes.titleweight": "bold",
    "figure.dpi": DPI,
    "figure.facecolor": "white",
    "font.family": ["DejaVu Sans"],  # comes with matplotlib, so that plots look the same on every machine
    "font.size": TEXT,
    "hatch.linewidth": 0.6,
    "legend.borderaxespad": 0.3,
    "legend.borderpad": 0.0,
    "legend.columnspacing": 1.2,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "legend.handlelength": 1.3,
    "legend.handletextpad": 0.5,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.6,
    "savefig.facecolor": "white",
    "text.color": INK,
}


def house_style() -> AbstractContextManager[None]:
    """Return a context in which matplotlib draws in the house style."""
    with needs("plots"):
        from matplotlib import rc_context
    return rc_context(_RC)


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of the given size in inches, without registering it with pyplot."""
    with needs("plots"):
        from matplotlib.figure import Figure
    return Figure(figsize=(width, height), dpi=DPI, layout="constrained")


def apply_style(ax: Axes) -> None:
    """Apply the house style to axes, which may have been made elsewhere."""
    # Ticks are created when they are first drawn, after the rc context has ended: the axes must know their style.
    ax.tick_params(
        which="both", color=MUTED, labelcolor=INK, labelsize=SMALL, labelfontfamily="DejaVu Sans", length=2.5, width=0.7
    )
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set(color=INK, fontfamily="DejaVu Sans", fontsize=TEXT)
    ax.spines[:].set(color=MUTED, linewidth=0.7)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)


class Display(ABC):
    """A plot whose numbers are already computed; `plot` draws it.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes that `plot` drew on last.
    figure_ : matplotlib.figure.Figure
        The figure of those axes.
    """

    ax_: Axes
    figure_: Any

    @abstractmethod
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on the given axes, or on a new figure."""

    def _repr_png_(self) -> bytes:
        figure = self.figure_ if hasattr(self, "figure_") else self.plot().figure_
        file = BytesIO()
        figure.canvas.figure.savefig(file, format="png")  # the top-level figure, even for axes in a sub-figure
        return file.getvalue()


@contextmanager
def canvas(display: Display, ax: Axes | None, width: float, height: float) -> Iterator[Axes]:
    """Return styled axes to draw on, and store them in the display."""
    with house_style():
        axes: Axes = new_figure(width, height).subplots() if ax is None else ax
        apply_style(axes)
        yield axes
    object.__setattr__(display, "ax_", axes)  # the numbers are frozen, the axes are not
    object.__setattr__(display, "figure_", axes.figure)


def horizontal_grid(ax: Axes) -> None:
    """Draw faint horizontal lines at the ticks."""
    ax.grid(axis="y", color=FAINT, linewidth=0.7, linestyle="-")


def share_axis(ax: Axes, which: str) -> None:
    """Set the limits of an axis to 0 and 1, with ticks at the quarters."""
    getattr(ax, f"set_{which}ticks")([0, 0.25, 0.5, 0.75, 1], labels=["0", "0.25", "0.5", "0.75", "1"])
    getattr(ax, f"set_{which}lim")(0, 1)


def header(ax: Axes, title: str | None, subtitle: str = "", *, legend: bool = False) -> None:
    """Put the title, a line of numbers and the legend above the axes, where they hide no data."""
    above = 3.0  # in points, as the heights of lines below: by eye
    if legend:
        handles, names = ax.get_legend_handles_labels()
        ncols = legend_columns(names, ax.get_window_extent().width / ax.figure.dpi)
        ax.legend(handles, names, loc="lower left", bbox_to_anchor=(0, 1), ncols=ncols)
        above += 2 + 11.6 * -(-len(names) // ncols)
    if subtitle:
        place: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
        ax.annotate(subtitle, (0, 1), (0, above), color=MUTED, fontsize=SMALL, **place)
        above += 13
    if title:
        ax.set_title(title, loc="left", pad=above)


def text_width(text: str) -> float:
    """Estimate the width of a small text, in inches: a letter of DejaVu Sans is 0.54 of its size wide on average."""
    return 0.056 * len(text)


def legend_columns(names: Sequence[str], width: float) -> int:
    """Return how many columns of a legend fit into a width in inches."""
    return min(len(names), max(1, int(width / (0.35 + max(map(text_width, names))))))


def figure_legend(figure: Figure, axes: Axes) -> None:
    """Draw the legend of one of the axes below all of them, and enlarge the figure by its height."""
    handles, names = axes.get_legend_handles_labels()
    if not names:
        return
    width, height = figure.get_size_inches()
    ncols = legend_columns(names, width)
    figure.set_size_inches(width, height + 0.1 + 0.16 * -(-len(names) // ncols))
    figure.legend(handles, names, loc="outside lower center", ncols=ncols)
