"""What the displays share: their axes, and how a notebook shows them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any, Self

from auxcal.report.plots.style import apply_style, house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
