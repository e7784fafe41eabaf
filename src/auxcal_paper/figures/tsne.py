"""t-SNE of probabilities, with the wrong predictions as rings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import TYPE_CHECKING, Self

import numpy as np

from auxcal._core.arrays import Bools, Floats, Ints
from auxcal._core.labels import as_class_names
from auxcal._core.threads import one_thread
from auxcal.plots.style import FAINT, SMALL, Display, canvas, header
from auxcal.predictions import Predictions
from auxcal_paper.figures.heatmap import LONG_NAME, MOST_NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_N_PER_CLASS = 50  # the paper's
_LEAST_ROWS = 4  # the perplexity is at most a third of the other rows, and at least 1
_LEAST_SPREAD = 1e-6  # with a smaller spread of the probabilities, up to the rounding of float32, they are all the same
# Petroff's accessible sequence of ten colours, arXiv:2107.02270.
_COLOURS = (
    "#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6", "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd",
)  # fmt: skip
_IN_LEGEND = "#667380"


@dataclass(frozen=True, eq=False)
class TSNEDisplay(Display):
    """t-SNE map of the probabilities: nearby points have similar distributions.

    Equally many samples of each predicted class are drawn, out-of-distribution samples included: correct predictions as
    dots, wrong ones as rings, both in the colour of the class, and those beyond ten classes in grey. If a method's
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
    >>> from auxcal import Predictions, Uncalibrated
    >>> from auxcal_paper.figures import TSNEDisplay
    >>> rng = np.random.default_rng(0)
    >>> test = Predictions(rng.normal(size=(100, 3)), rng.integers(3, size=100))
    >>> proba = Uncalibrated().fit(test.logits, test.y).predict_proba(test.logits)
    >>> display = TSNEDisplay.from_predictions(proba, test, n_per_class=5)
    >>> display.embedding.shape, np.bincount(display.prediction)
    ((15, 2), array([5, 5, 5]))
    """

    embedding: Floats
    prediction: Ints
    correct: Bools
    class_names: tuple[str, ...]

    @classmethod
    def from_predictions(
        cls,
        proba: Floats,
        test: Predictions,
        *,
        n_per_class: int = _N_PER_CLASS,
        classes: Sequence[int] | None = None,
        class_names: Sequence[str] | None = None,
        random_state: int = 0,
    ) -> Self:
        """Draw the samples, the same ones for every `proba` of the same rows, and embed them.

        Parameters
        ----------
        proba : array of shape (n, K) or (n, K + 1)
            The distribution of each row, with the auxiliary class last if there is one.
        test : Predictions
            The n rows.
        n_per_class : int
            The samples of each predicted class, or as many as there are. The perplexity is twice that, since smaller
            values split the classes into specks.
        classes : sequence of int, optional
            The predicted classes to show; all by default. 5,000 samples take a minute.
        class_names : sequence of str, optional
            The names of the K classes; by default their indices.
        random_state : int
            The source of the draw and of the map.
        """
        rng = np.random.default_rng(random_state)
        shown = range(test.n_classes) if classes is None else classes
        of_class = (rng.permutation(np.flatnonzero(test.prediction == index)) for index in shown)
        rows = np.concatenate([drawn[:n_per_class] for drawn in of_class])
        embedding = _embed(proba[rows].astype(np.float64), 2.0 * n_per_class, random_state)
        return cls(embedding, test.prediction[rows], test.correct[rows], as_class_names(class_names, test.n_classes))

    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax, title
            Where to draw, by default on a new figure; and what is shown, such as the name of the method.
        """
        with canvas(self, ax, 3.6, 3.9) as ax:
            self._draw_points(ax)
            low, high = self.embedding.min(axis=0), self.embedding.max(axis=0)
            reach = 0.74 * max(float((high - low).max()), 1e-6)  # a square with room for the names around the points
            middle = (low + high) / 2
            ax.set(xlim=middle[0] + [-reach, reach], ylim=middle[1] + [-reach, reach], xticks=[], yticks=[])
            ax.set_aspect("equal")
            ax.spines[:].set(visible=True, color=FAINT)
            header(ax, title)
        return self

    def _draw_points(self, ax: Axes) -> None:
        shown = [int(index) for index in np.unique(self.prediction)]
        few = len(shown) <= MOST_NAMES
        keyed = few and max(len(self.class_names[index]) for index in shown) > LONG_NAME  # too long for the map
        for index, colour in zip(shown, chain(_COLOURS, repeat(FAINT)), strict=False):
            name, of_class = self.class_names[index], self.prediction == index
            dots, rings = (self.embedding[of_class & right].T for right in (self.correct, ~self.correct))
            ax.scatter(dots[0], dots[1], s=13, color=colour, linewidths=0, label=f"{index} {name}" if keyed else None)
            ax.scatter(rings[0], rings[1], s=11, facecolors="white", edgecolors=colour, linewidths=0.9)
            if few:
                self._name(ax, index, str(index) if keyed else name)
        ax.scatter([], [], s=13, color=_IN_LEGEND, linewidths=0, label="correct")
        ax.scatter([], [], s=11, facecolors="white", edgecolors=_IN_LEGEND, linewidths=0.9, label="wrong")

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


def _embed(proba: Floats, perplexity: float, random_state: int) -> Floats:
    if len(proba) < _LEAST_ROWS or np.ptp(proba, axis=0).max() < _LEAST_SPREAD:
        return proba[:, :2]
    from sklearn.manifold import TSNE

    tsne = TSNE(perplexity=min(perplexity, (len(proba) - 1) / 3), init="pca", random_state=random_state)
    with one_thread():  # several threads would sum in no fixed order
        return np.asarray(tsne.fit_transform(proba), dtype=np.float64)
