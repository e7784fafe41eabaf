"""How often a monitor alarms while nothing changes, for classifiers from poor to nearly perfect.

    python -m benchmarks.monitoring.quiet [FOLDER] [METHOD ...]

The logits are drawn so that their softmax is true: the classes are drawn from it. So the accuracy, the number of
classes and the rows of the fit can be chosen, and nothing is wrong but what a fit on so few rows leaves open. Each
stream has its own fit and 3,000 labelled rows. The classes are 2, 10 and 100 in turn, and the logits spread widely,
are two clusters (sure and unsure), or are rounded to whole numbers so that rows repeat. Writes monitoring-honest.csv,
the alarms of labels and of rows by method, accuracy and rows of the fit, into the folder, docs/figures by default.
Takes about an hour; each method alone a fraction of it.
"""

import sys
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
from benchmarks.results import write_table
from scipy.optimize import brentq
from scipy.special import softmax

from auxcal import AuxcalWarning, Monitor
from auxcal.calibrators import CALIBRATORS

METHODS = ("uncalibrated", "temperature", "platt", "histogram", "isotonic", "ccac-x")
ACCURACIES, ROWS = (0.5, 0.7, 0.9, 0.99, 0.999, 0.9999), (100, 300, 1000, 5000)
CLASSES, KINDS = (2, 10, 100), ("wide", "clusters", "rounded")
LEVEL, STREAM, STREAMS = 0.05, 3000, 90


def unscaled(kind: str, n_classes: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw logits of some kind; a scale gives them an accuracy."""
    logits = rng.normal(size=(n, n_classes))
    logits[np.arange(n), rng.integers(n_classes, size=n)] += 3
    if kind == "rounded":
        logits = np.round(logits)
    logits[np.arange(n), logits.argmax(axis=1)] += 0.5  # without a gap no scale makes a classifier nearly perfect
    if kind == "clusters":
        logits *= np.where(rng.random(n) < 0.1, 0.2, 1)[:, None]
    return logits


@cache
def scale_of(kind: str, n_classes: int, accuracy: float) -> float:
    """Return the scale at which the classifier is right so often, or nearly."""
    logits = unscaled(kind, n_classes, 20_000, np.random.default_rng(0))

    def missing(log_scale: float) -> float:
        proba = softmax(np.exp(log_scale) * logits, axis=1)
        return float(np.log((1 - proba.max(axis=1)).mean() / (1 - accuracy)))

    low, high = np.log(0.01), np.log(1000)
    if missing(low) <= 0 or missing(high) >= 0:
        return float(np.exp(low if missing(low) <= 0 else high))
    return float(np.exp(brentq(missing, low, high, xtol=1e-3)))


def draw(kind: str, n_classes: int, accuracy: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows of a classifier whose softmax is true, and their classes."""
    logits = (scale_of(kind, n_classes, accuracy) * unscaled(kind, n_classes, n, rng)).astype(np.float32)
    below = np.cumsum(softmax(logits.astype(np.float64), axis=1), axis=1)
    return logits, (rng.random((n, 1)) * below[:, -1:] > below).sum(axis=1)


def watched(method: str, accuracy: float, n_rows: int, state: int) -> Monitor:
    """Fit, and watch a stream in which nothing changes."""
    rng = np.random.default_rng([state, n_rows, round(accuracy * 10_000)])
    population = KINDS[state // len(CLASSES) % len(KINDS)], CLASSES[state % len(CLASSES)], accuracy
    calibrator = CALIBRATORS[method]().fit(*draw(*population, n_rows, rng))
    monitor = Monitor(calibrator, LEVEL, keep=0, random_state=state)
    monitor.update(*draw(*population, STREAM, rng))
    return monitor


def rates(method: str) -> Iterator[list[str]]:
    """Return the alarms of labels and of rows, in percent, for each accuracy, and each number of rows of the fit."""
    for accuracy in ACCURACIES:
        cells = []
        for n_rows in ROWS:
            monitors = [watched(method, accuracy, n_rows, state) for state in range(STREAMS)]
            kinds = [alarm.kind for monitor in monitors for alarm in monitor.alarms]
            cells.append(" / ".join(f"{100 * kinds.count(kind) / STREAMS:.1f}" for kind in ("labels", "data")))
        yield [method, f"{accuracy:.2%}", *cells]


def main(folder: str = "docs/figures", *methods: str) -> None:
    """Measure, and write the table."""
    warnings.simplefilter("ignore", AuxcalWarning)
    head = ["", "accuracy", *(f"fit on {n_rows:,}" for n_rows in ROWS)]
    rows = [row for method in methods or METHODS for row in rates(method)]
    write_table(Path(folder) / "monitoring-honest.csv", head, rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
