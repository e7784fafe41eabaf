"""Heatmap of the probabilities of correct and of wrong predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import Floats, Ints, as_class_names
from auxcal._core.errors import InvalidInputError
from auxcal.predictions import Predictions
from auxcal.report.plots._display import Display, as_proba, canvas, check_count
from auxcal.report.plots.style import HEAT, LONG_NAME, MOST_NAMES, colour_scale, header, text_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# All by eye, for a panel of 2.5 inches.
_GAP = 0.06  # between the two blocks, each of height 1
_CROWDED = 12  # with more classes, even numbers are written vertically


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
    >>> from auxcal import Uncalibrated
    >>> from auxcal.plots import HeatmapDisplay
    >>> logits, y = [[3.0, 0.0], [2.0, 0.0], [0.0, 1.0]], [0, 1, 1]
    >>> proba = Uncalibrated().fit(logits, y).predict_proba(logits)
    >>> display = HeatmapDisplay.from_predictions(proba, logits, y, of_class=1)
    >>> display.correct.round(2), display.wrong.round(2)
    (array([[0.27, 0.73]]), array([[0.88, 0.12]]))
    >>> display.plot().ax_.get_xlabel()
    'class'
    """

    correct: Floats
    wrong: Floats
    of_class: int
    class_names: tuple[str, ...]

    @classmethod
    def from_predictions(
        cls,
        proba: ArrayLike,
        logits: ArrayLike,
        y: ArrayLike,
        *,
        of_class: int | None = None,
        n_samples: int = 50,
        class_names: Sequence[str] | None = None,
        random_state: int | None = 0,
    ) -> Self:
        """Draw the samples of both blocks; the same ones for every `proba` of the same logits.

        Parameters
        ----------
        proba : array of shape (n, K) or (n, K + 1)
            The distribution of each row, with the auxiliary class last if there is one.
        logits : array of shape (n, K)
            The raw scores of the target classifier.
        y : array of shape (n,)
            The true class, or `NO_CLASS`.
        of_class : int, optional
            The class of the correct predictions; by default the most frequent one.
        n_samples : int
            The samples in each block, or as many as there are.
        class_names : sequence of str, optional
            The names of the K classes; by default their indices.
        random_state : int or None
            The source of the draw.
        """
        part = Predictions(logits, y)
        check_count(n_samples, "n_samples")
        return cls.from_validated(as_proba(proba, part), part, of_class, n_samples, class_names, random_state)

    @classmethod
    def from_validated(
        cls,
        proba: Floats,
        part: Predictions,
        of_class: int | None = None,
        n_samples: int = 50,
        class_names: Sequence[str] | None = None,
        random_state: int | None = 0,
    ) -> Self:
        """Do what `from_predictions` does, with rows that are already checked."""
        if of_class is None:
            of_class = int(np.bincount(part.prediction[part.correct], minlength=part.n_classes).argmax())
        if not 0 <= of_class < part.n_classes:
            raise InvalidInputError(f"of_class must be a class index 0..{part.n_classes - 1}; got {of_class!r}.")
        rng = np.random.default_rng(random_state)
        correct = _draw(np.flatnonzero(part.correct & (part.prediction == of_class)), n_samples, rng)
        wrong = _draw(np.flatnonzero(~part.correct), n_samples, rng)
        wrong = wrong[np.argsort(part.prediction[wrong], kind="stable")]
        upper, lower = (proba[rows].astype(np.float64) for rows in (correct, wrong))
        return cls(upper, lower, of_class, as_class_names(class_names, part.n_classes))

    def plot(self, ax: Axes | None = None, *, title: str | None = None, colorbar: bool = True) -> Self:
        """Draw both blocks.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.
        title : str, optional
            What is shown, such as the name of the method.
        colorbar : bool
            Whether to draw the scale of the probabilities.

        Returns
        -------
        self, with `ax_` and `figure_`
        """
        with canvas(self, ax, 3.6, 3.8 + max(map(text_width, self.class_names))) as ax:
            self._draw_blocks(ax)
            self._label_columns(ax)
            ax.spines[:].set_visible(False)
            ax.tick_params(length=0, pad=2)
            ax.set_xlabel("class")
            if colorbar:
                colour_scale(ax.figure, [ax])
            header(ax, title)
        return self

    @property
    def _auxiliary(self) -> tuple[float, float]:
        """The left and right edge of the auxiliary column, set apart and wide enough to see next to many classes."""
        k = len(self.class_names)
        return 1.02 * k, 1.02 * k + max(1.0, k / 15)

    def _draw_blocks(self, ax: Axes) -> None:
        k = len(self.class_names)
        names: dict[str, float] = {}
        name = self.class_names[self.of_class]
        of_class = f"correct of class{chr(10) if len(name) > LONG_NAME else ' '}{name}"
        for what, block in ((of_class, self.correct), ("wrong", self.wrong)):
            if len(block) == 0:
                continue
            top = len(names) * (1 + _GAP)
            for columns, ends in ((block[:, :k], (0.0, float(k))), (block[:, k:], self._auxiliary)):
                if columns.shape[1]:
                    ax.imshow(columns, HEAT, vmin=0, vmax=1, extent=(*ends, top + 1, top), interpolation="nearest")
            names[f"{len(block)} {what}"] = top + 0.5
        ax.set(ylim=(max(names.values(), default=0.5) + 0.5, 0), aspect="auto")
        ax.set_yticks(list(names.values()), labels=list(names), rotation=90, va="center", multialignment="center")

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
