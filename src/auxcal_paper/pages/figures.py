"""The paper's figures of a suite: one panel for each method, on the out-of-distribution shift."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from auxcal._core.arrays import Floats
from auxcal._core.files import atomic_write
from auxcal._core.logits import softmax
from auxcal.calibrators import Calibrator, ProbaCalibrator
from auxcal.predictions import Predictions
from auxcal_paper.methods import METHODS
from auxcal_paper.results import Results
from auxcal_paper.suites import Suite

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURE_SHIFT = "OOD"
"""The shift that the paper draws."""

FIGURE_METHODS = ("uncalibrated", "temperature", "scaling-binning", "dirichlet", "ccac")
"""The methods that the paper draws; CCAC-S takes the place of CCAC where that is left out.

Of both ways with rows of no class, the one with the better Brier score is drawn.
"""

_DOTS = 110
_SHOWN_CLASS = 6  # the paper's, whose correct predictions the heatmaps show; counted from 0
_MOST_SHOWN = 10  # classes of a map; more colours look alike
_MOST_CLASSES = 100  # with more, the plot is unreadable


@dataclass(frozen=True)
class Fitted:
    """The calibrators of one shift by the label of their method, and the test part."""

    calibrators: Mapping[str, Calibrator]
    test: Predictions
    class_names: tuple[str, ...] | None = None

    def scored(self) -> dict[str, tuple[object, object]]:
        """Return (confidence, correct) of every method."""
        return {
            label: (calibrator.predict_confidence(self.test.logits), self.test.correct)
            for label, calibrator in self.calibrators.items()
        }

    def probas(self) -> dict[str, Floats]:
        """Return every method's distribution; for SB, which gives a confidence only, the softmax shares the rest."""
        return {
            label: calibrator.predict_proba(self.test.logits)
            if isinstance(calibrator, ProbaCalibrator)
            else _with_the_rest(calibrator.predict_confidence(self.test.logits), self.test)
            for label, calibrator in self.calibrators.items()
        }


def _with_the_rest(confidence: Floats, test: Predictions) -> Floats:
    """Return distributions with the given probability of the prediction, and the rest in proportion to the softmax."""
    proba = softmax(test.logits)
    rows = np.arange(len(test)), test.prediction
    proba[rows] = 0
    proba *= ((1 - confidence) / np.maximum(proba.sum(axis=1), np.finfo(proba.dtype).tiny))[:, None]
    proba[rows] = confidence
    return proba


@dataclass(frozen=True)
class FigureKind:
    """What a figure shows, how it is drawn, and of how many classes at most."""

    caption: str
    draw: Callable[[Fitted], Figure]
    most_classes: float = math.inf


def _histograms(fitted: Fitted) -> Figure:
    from auxcal_paper.figures import confidence_histograms

    return confidence_histograms(fitted.scored())  # type: ignore[arg-type]


def _reliability(fitted: Fitted) -> Figure:
    from auxcal_paper.figures import reliability_diagrams

    return reliability_diagrams(fitted.scored())  # type: ignore[arg-type]


def _tsne(fitted: Fitted) -> Figure:
    from auxcal_paper.figures import tsne_panels

    counts = np.bincount(fitted.test.prediction, minlength=fitted.test.n_classes)
    most_predicted = np.argsort(-counts, kind="stable")[:_MOST_SHOWN]
    return tsne_panels(
        fitted.probas(),
        fitted.test,
        classes=sorted(most_predicted.tolist()),
        class_names=fitted.class_names,
    )


def _heatmaps(fitted: Fitted) -> Figure:
    from auxcal_paper.figures import heatmap_panels

    return heatmap_panels(
        fitted.probas(),
        fitted.test,
        of_class=_SHOWN_CLASS if fitted.test.n_classes > _SHOWN_CLASS else None,
        class_names=fitted.class_names,
    )


FIGURES: dict[str, FigureKind] = {
    "histograms": FigureKind("Confidence of the correct and of the wrong predictions.", _histograms),
    "reliability": FigureKind("Reliability diagrams, with the number of predictions in each bin.", _reliability),
    "tsne": FigureKind(
        "t-SNE of the probabilities, coloured by the predicted class: correct ones are dots, wrong ones rings. Of "
        "more than ten classes, the ten that are predicted most.",
        _tsne,
        _MOST_CLASSES,
    ),
    "heatmaps": FigureKind(
        "Probabilities of 50 correct predictions of one class and of 50 wrong ones.", _heatmaps, _MOST_CLASSES
    ),
}
"""The figures of a suite, in the order of its page."""


def figure_path(out: Path, suite: Suite, shift: str, name: str) -> Path:
    """Return the path of a figure in the folder of the pages."""
    return out / "figures" / f"{suite.name}-{shift}-{name}.png"


def figure_methods(here: Results) -> list[str]:
    """Return the methods that are drawn, of those that have results on the shift."""
    present = here.distinct("method")
    drawn = FIGURE_METHODS if "ccac" in present else (*FIGURE_METHODS[:-1], "ccac-s")
    return [stronger(here, name) for name in drawn if name in present]


def stronger(here: Results, name: str) -> str:
    """Return a method or its variant for rows of no class, whichever has the better Brier score."""
    ways = [way for way in (name, f"{name}-uniform") if len(here.where(method=way))]
    return min(ways, key=lambda way: here.where(method=way).spread("brier").mean)


def write_figures(suite: Suite, fitted: Mapping[str, Calibrator], test: Predictions, out: Path) -> list[Path]:
    """Draw the figures of a suite into a folder.

    Parameters
    ----------
    suite : Suite
        The suite that the figures are named after.
    fitted : mapping of str to Calibrator
        The calibrators of the out-of-distribution shift by the name of their method.
    test : Predictions
        The test part.
    out : Path
        The folder of the pages.
    """
    labelled = {METHODS[name].label: calibrator for name, calibrator in fitted.items()}
    shown = Fitted(labelled, test, suite.class_names or None)
    paths = []
    for name, kind in FIGURES.items():
        if test.n_classes > kind.most_classes:
            continue
        path = figure_path(out, suite, FIGURE_SHIFT, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as temporary:
            kind.draw(shown).savefig(temporary, format="png", dpi=_DOTS)
        paths.append(path)
    return paths
