"""Displays of the probabilities: heatmap, and t-SNE with the wrong predictions marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import Bools, Floats, Ints, as_class_names, as_whole, to_numpy
from auxcal._core.errors import InvalidInputError
from auxcal._core.float_errors import ignore_float_errors
from auxcal._core.threads import one_thread
from auxcal.predictions import Predictions
from auxcal.report.plots.style import (
    FAINT,
    HEAT,
    LONG_NAME,
    MOST_NAMES,
    SMALL,
    Display,
    canvas,
    class_colours,
    colour_scale,
    header,
    text_width,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# All by eye, for a panel of 2.5 inches.
_GAP = 0.06  # between the two blocks, each of height 1
_CROWDED = 12  # with more classes, even numbers are written vertically

_LEAST_ROWS = 4  # the perplexity is at most a third of the other rows, and at least 1
_LEAST_SPREAD = 1e-6  # with a smaller spread of the probabilities, up to the rounding of float32, they are all the same


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
        logits: ArrayLike | Predictions,
        y: ArrayLike | None = None,
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
        logits, y : arrays of shape (n, K) and (n,)
            The raw scores of the target classifier, and the true class or `NO_CLASS`. Instead of both, `Predictions`.
        of_class : int, optional
            The class of the correct predictions; by default the most frequent one.
        n_samples : int
            The samples in each block, or as many as there are.
        class_names : sequence of str, optional
            The names of the K classes; by default their indices.
        random_state : int or None
            The source of the draw.
        """
        proba, part = as_proba(proba, logits, y)
        as_whole(n_samples, "n_samples", least=1, advice="The paper uses 50.")
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
        ax, title
            Where to draw, by default on a new figure; and what is shown, such as the name of the method.
        colorbar : bool
            Whether to draw the scale of the probabilities.
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
        logits: ArrayLike | Predictions,
        y: ArrayLike | None = None,
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
        logits, y : arrays of shape (n, K) and (n,)
            The raw scores of the target classifier, and the true class or `NO_CLASS`. Instead of both, `Predictions`.
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
        proba, part = as_proba(proba, logits, y)
        as_whole(n_per_class, "n_per_class", least=1, advice="The paper uses 50.")
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
        ax, title, legend
            Where to draw, by default on a new figure; what is shown, such as the name of the method; and whether to
            draw the legend.
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


@ignore_float_errors
def as_proba(proba: ArrayLike, logits: ArrayLike | Predictions, y: ArrayLike | None) -> tuple[Floats, Predictions]:
    """Check `proba` of shape (n, K) or (n, K + 1), and the n rows and K classes that it is for."""
    if isinstance(logits, Predictions):
        part = logits
    elif y is None:
        raise InvalidInputError("y must be the true classes of the logits; got none. Give y, or auxcal.Predictions.")
    else:
        part = Predictions(logits, y)
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
    return array, part
