"""Probabilities as a heatmap: correct predictions of one class above wrong ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from auxcal._core.arrays import Floats, Ints
from auxcal._core.labels import as_class_names
from auxcal.plots.style import Display, apply_style, canvas, header, text_width
from auxcal.predictions import Predictions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONG_NAME = 12
"""Letters; a longer class name has a line of its own, or is in the legend."""
MOST_NAMES = 20
"""With more classes there is no room for the name of each."""

# All by eye, for a panel of 2.5 inches.
_COLOURS = "cividis"
_GAP = 0.06  # between the two blocks, each of height 1
_CROWDED = 12  # with more classes, even numbers are written vertically
_N_SAMPLES = 50  # the paper's


@dataclass(frozen=True, eq=False)
class HeatmapDisplay(Display):
    """Probabilities of correct predictions of one class, above those of wrong predictions.

    Each row is a sample and each column a class; the auxiliary class, if there is one, is the column set apart. The
    wrong predictions are sorted by predicted class: confident mistakes form a staircase, which a good auxiliary class
    removes.

    Parameters
    ----------
    correct, wrong : arrays of shape (m, K) or (m, K + 1)
        The probabilities of both blocks of samples; either can be empty.
    of_class : int
        The class of the correct predictions.
    class_names : tuple of str
        The names of the K classes.

    Examples
    --------
    >>> from auxcal import Predictions, Uncalibrated
    >>> from auxcal_paper.figures import HeatmapDisplay
    >>> test = Predictions([[3.0, 0.0], [2.0, 0.0], [0.0, 1.0]], [0, 1, 1])
    >>> proba = Uncalibrated().fit(test.logits, test.y).predict_proba(test.logits)
    >>> display = HeatmapDisplay.from_predictions(proba, test, of_class=1)
    >>> display.correct.round(2), display.wrong.round(2)
    (array([[0.27, 0.73]]), array([[0.88, 0.12]]))
    """

    correct: Floats
    wrong: Floats
    of_class: int
    class_names: tuple[str, ...]

    @classmethod
    def from_predictions(
        cls,
        proba: Floats,
        test: Predictions,
        *,
        of_class: int | None = None,
        n_samples: int = _N_SAMPLES,
        class_names: Sequence[str] | None = None,
    ) -> Self:
        """Draw the samples of both blocks; the same ones for every `proba` of the same rows.

        Parameters
        ----------
        proba : array of shape (n, K) or (n, K + 1)
            The distribution of each row, with the auxiliary class last if there is one.
        test : Predictions
            The n rows.
        of_class : int, optional
            The class of the correct predictions; by default the most frequent one.
        n_samples : int
            The samples in each block, or as many as there are.
        class_names : sequence of str, optional
            The names of the K classes; by default their indices.
        """
        if of_class is None:
            of_class = int(np.bincount(test.prediction[test.correct], minlength=test.n_classes).argmax())
        rng = np.random.default_rng(0)
        correct = _draw(np.flatnonzero(test.correct & (test.prediction == of_class)), n_samples, rng)
        wrong = _draw(np.flatnonzero(~test.correct), n_samples, rng)
        wrong = wrong[np.argsort(test.prediction[wrong], kind="stable")]
        upper, lower = (proba[rows].astype(np.float64) for rows in (correct, wrong))
        return cls(upper, lower, of_class, as_class_names(class_names, test.n_classes))

    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Self:
        """Draw both blocks.

        Parameters
        ----------
        ax, title
            Where to draw, by default on a new figure; and what is shown, such as the name of the method.
        """
        with canvas(self, ax, 3.6, 3.8 + max(map(text_width, self.class_names))) as ax:
            self._draw_blocks(ax)
            self._label_columns(ax)
            ax.spines[:].set_visible(False)
            ax.tick_params(length=0, pad=2)
            ax.set_xlabel("class")
            header(ax, title)
        return self

    @property
    def _auxiliary(self) -> tuple[float, float]:
        """The left and right edge of the auxiliary column, set apart and wide enough to see next to many classes."""
        k = len(self.class_names)
        return 1.02 * k, 1.02 * k + max(1.0, k / 15)

    def _draw_blocks(self, ax: Axes) -> None:
        k = len(self.class_names)
        middles: dict[str, float] = {}
        name = self.class_names[self.of_class]
        of_class = f"correct of class{chr(10) if len(name) > LONG_NAME else ' '}{name}"
        for what, block in ((of_class, self.correct), ("wrong", self.wrong)):
            if len(block) == 0:
                continue
            top = len(middles) * (1 + _GAP)
            for columns, ends in ((block[:, :k], (0.0, float(k))), (block[:, k:], self._auxiliary)):
                if columns.shape[1]:
                    ax.imshow(columns, _COLOURS, vmin=0, vmax=1, extent=(*ends, top + 1, top), interpolation="nearest")
            middles[f"{len(block)} {what}"] = top + 0.5
        ax.set(ylim=(max(middles.values(), default=0.5) + 0.5, 0), aspect="auto")
        ax.set_yticks(list(middles.values()), labels=list(middles), rotation=90, va="center", multialignment="center")

    def _label_columns(self, ax: Axes) -> None:
        k = len(self.class_names)
        ticks = np.arange(0, k, 1 if k <= MOST_NAMES else -(-k // 5))
        places, labels = [*(ticks + 0.5)], [self.class_names[tick] for tick in ticks]
        upright = max(map(len, labels)) <= 3 and not _CROWDED < k <= MOST_NAMES
        if self.correct.shape[1] > k:
            places.append(sum(self._auxiliary) / 2)
            labels.append("aux" if upright else "auxiliary")
        ax.set_xlim(0, k if self.correct.shape[1] == k else self._auxiliary[1])
        ax.set_xticks(places, labels=labels, rotation=0 if upright else 90)


def _draw(rows: Ints, n_samples: int, rng: np.random.Generator) -> Ints:
    return np.sort(rng.permutation(rows)[:n_samples])


def colour_scale(figure: Any, axes: Sequence[Axes]) -> None:
    """Draw the colour bar of the probabilities next to axes with heatmaps, if any has something to show."""
    image = next((image for ax in axes for image in ax.images), None)
    if image is None:
        return
    bar = figure.colorbar(image, ax=axes, shrink=0.5, aspect=22, pad=0.02)
    apply_style(bar.ax)
    bar.set_label("probability")
    bar.outline.set_visible(False)
