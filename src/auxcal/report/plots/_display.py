"""What the displays share: their axes, how a notebook shows them, and the check of a distribution."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import Floats, to_numpy
from auxcal._core.errors import InvalidInputError
from auxcal._core.float_errors import ignore_float_errors
from auxcal.predictions import Predictions
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


@ignore_float_errors
def as_proba(proba: ArrayLike, part: Predictions) -> Floats:
    """Check `proba` and return it as floats of shape (n, K) or (n, K + 1), for the n rows and K classes of `part`."""
    array = to_numpy(proba, "proba")
    n, k = part.logits.shape
    if array.shape not in ((n, k), (n, k + 1)):
        raise InvalidInputError(
            f"proba must have shape {(n, k)}, or {(n, k + 1)} with an auxiliary class, for logits of shape {(n, k)}; "
            f"got {array.shape}. Use calibrator.predict_proba(logits)."
        )
    if array.dtype.kind != "f" or not (np.isfinite(array).all() and array.min() >= 0 and array.max() <= 1):
        raise InvalidInputError(
            f"proba must hold probabilities in [0, 1]; got other values (dtype {array.dtype}). "
            f"Use calibrator.predict_proba(logits), not the logits themselves."
        )
    return array


def check_count(value: int, name: str) -> None:
    """Check that a number of samples is a whole number above 0."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise InvalidInputError(f"{name} must be a whole number of at least 1; got {value!r}. The paper uses 50.")
