"""t-SNE of the probabilities, with the wrong predictions marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import Bools, Floats, Ints, as_class_names
from auxcal._core.errors import InvalidInputError
from auxcal._core.threads import one_thread
from auxcal.predictions import Predictions
from auxcal.report.plots._display import Display, as_proba, canvas, check_count
from auxcal.report.plots.style import FAINT, LONG_NAME, MOST_NAMES, SMALL, class_colours, header

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEAST_ROWS = 4  # the perplexity is at most a third of the other rows, and at least 1
_LEAST_SPREAD = 1e-6  # with a smaller spread of the probabilities, up to the rounding of float32, they are all the same


@dataclass(frozen=True, eq=False)
class TSNEDisplay(Display):
    """t-SNE map of the probabilities: nearby points have similar distributions.

    Equally many samples of each predicted class are drawn, out-of-distribution samples included. If a method's
    distribution reveals wrong predictions, they form a cluster of their own.

    Parameters
    ----------
    embedding : array of shape (m, 2)
        The position of each sample.
    prediction : array of shape (m,)
        Its predicted class.
    correct : array of shape (m,)
        Whether that is right.
    class_names : tuple of str
        The names of the K classes.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal import Uncalibrated
    >>> from auxcal.plots import TSNEDisplay
    >>> rng = np.random.default_rng(0)
    >>> logits, y = rng.normal(size=(100, 3)), rng.integers(3, size=100)
    >>> proba = Uncalibrated().fit(logits, y).predict_proba(logits)
    >>> display = TSNEDisplay.from_predictions(proba, logits, y, n_per_class=5)
    >>> display.embedding.shape, np.bincount(display.prediction)
    ((15, 2), array([5, 5, 5]))
    >>> display.plot().ax_.get_legend_handles_labels()[1]
    ['wrong']
    """

    embedding: Floats
    prediction: Ints
    correct: Bools
    class_names: tuple[str, ...]

    @classmethod
    def from_predictions(
        cls,
        proba: ArrayLike,
        logits: ArrayLike,
        y: ArrayLike,
        *,
        n_per_class: int = 50,
        classes: Sequence[int] | None = None,
        class_names: Sequence[str] | None = None,
        perplexity: float | None = None,
        random_state: int | None = 0,
    ) -> Self:
        """Draw the samples, the same ones for every `proba` of the same logits, and embed them.

        Parameters
        ----------
        proba : array of shape (n, K) or (n, K + 1)
            The distribution of each row, with the auxiliary class last if there is one.
        logits : array of shape (n, K)
            The raw scores of the target classifier.
        y : array of shape (n,)
            The true class, or `NO_CLASS`.
        n_per_class : int
            The samples of each predicted class, or as many as there are.
        classes : sequence of int, optional
            The predicted classes to show; all by default. 5,000 samples take a minute.
        class_names : sequence of str, optional
            The names of the K classes; by default their indices.
        perplexity : float, optional
            The perplexity of t-SNE, at most a third of the samples; twice `n_per_class` by default, since smaller
            values split the classes into specks.
        random_state : int or None
            The source of the draw and of the map.
        """
        part = Predictions(logits, y)
        check_count(n_per_class, "n_per_class")
        proba = as_proba(proba, part)
        return cls.from_validated(proba, part, n_per_class, classes, class_names, perplexity, random_state)

    @classmethod
    def from_validated(
        cls,
        proba: Floats,
        part: Predictions,
        n_per_class: int,
        classes: Sequence[int] | None = None,
        class_names: Sequence[str] | None = None,
        perplexity: float | None = None,
        random_state: int | None = 0,
    ) -> Self:
        """Do what `from_predictions` does, with rows that are already checked."""
        names = as_class_names(class_names, part.n_classes)
        rng = np.random.default_rng(random_state)
        shown = range(part.n_classes) if classes is None else classes
        rows = np.concatenate(
            [rng.permutation(np.flatnonzero(part.prediction == index))[:n_per_class] for index in shown]
        )
        if len(rows) == 0:
            raise InvalidInputError(f"classes must contain a predicted class; got {classes!r}. Leave it out for all.")
        embedding = _embed(proba[rows].astype(np.float64), perplexity or 2.0 * n_per_class, random_state)
        return cls(embedding, part.prediction[rows], part.correct[rows], names)

    def plot(self, ax: Axes | None = None, *, title: str | None = None, legend: bool = True) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.
        title : str, optional
            What is shown, such as the name of the method.
        legend : bool
            Whether to draw the legend.

        Returns
        -------
        self, with `ax_` and `figure_`
        """
        with canvas(self, ax, 3.6, 3.9 + 0.1 * len(self._legend_names) * legend) as ax:
            self._draw_points(ax)
            low, high = self.embedding.min(axis=0), self.embedding.max(axis=0)
            reach = 0.74 * max(float((high - low).max()), 1e-6)  # a square with room for the names around the points
            middle = (low + high) / 2
            ax.set(xlim=middle[0] + [-reach, reach], ylim=middle[1] + [-reach, reach], xticks=[], yticks=[])
            ax.set_aspect("equal")
            ax.spines[:].set(visible=True, color=FAINT)
            header(ax, title, legend=legend)
        return self

    @property
    def _legend_names(self) -> dict[int, str]:
        """The legend's entry for each class, if the names are too long for the map."""
        shown = [int(index) for index in np.unique(self.prediction)]
        long = max(len(self.class_names[index]) for index in shown) > LONG_NAME
        return {index: f"{index} {self.class_names[index]}" for index in shown if long and len(shown) <= MOST_NAMES}

    def _draw_points(self, ax: Axes) -> None:
        shown, keyed = np.unique(self.prediction), self._legend_names
        for index, colour in zip(shown, class_colours(len(shown)), strict=True):
            x, y = self.embedding[self.prediction == index].T
            ax.scatter(x, y, s=15, color=colour, linewidths=0, label=keyed.get(index))
            if len(shown) <= MOST_NAMES:
                self._name(ax, index, str(index) if keyed else self.class_names[index])
        x, y = self.embedding[~self.correct].T
        ax.scatter(x, y, s=9, color="black", marker="x", linewidths=0.7, label="wrong")

    def _name(self, ax: Axes, index: int, name: str) -> None:
        """Write a name above or below the correct points of a class, on the side away from the centre of the map."""
        from matplotlib.patheffects import withStroke

        of_class = self.prediction == index
        of_class &= self.correct | ~self.correct[of_class].any()
        x, y = self.embedding[of_class].T
        above = np.median(y) >= self.embedding[:, 1].mean()
        ax.annotate(
            name,
            (float(np.median(x)), float(np.quantile(y, 0.9 if above else 0.1))),  # robust to outliers
            (0, 4 if above else -4),
            textcoords="offset points",
            ha="center",
            va="bottom" if above else "top",
            fontsize=SMALL,
            path_effects=[withStroke(linewidth=1.5, foreground="white")],
        )


def _embed(proba: Floats, perplexity: float, random_state: int | None) -> Floats:
    if len(proba) < _LEAST_ROWS or np.ptp(proba, axis=0).max() < _LEAST_SPREAD:
        return proba[:, :2]
    from sklearn.manifold import TSNE

    tsne = TSNE(perplexity=min(perplexity, (len(proba) - 1) / 3), init="pca", random_state=random_state)
    with one_thread():  # several threads would sum in no fixed order
        return np.asarray(tsne.fit_transform(proba), dtype=np.float64)
