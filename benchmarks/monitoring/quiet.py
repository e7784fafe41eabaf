"""How often a monitor alarms while nothing changes, for classifiers from poor to nearly perfect.

    python -m benchmarks.monitoring.quiet [FOLDER] [METHOD ...]

The classes are drawn from the softmax of made-up logits, which are then multiplied by 1, 2 or 1/2: a classifier that is
calibrated, overconfident or underconfident, of any accuracy. Nothing is wrong with a calibrator but what a fit on so
few rows leaves open. Each stream has its own fit, on 100, 300, 1,000 or 5,000 rows, and 1,500 labelled rows. The
classes are 2 or 10, and the logits spread widely, are two clusters (sure and unsure), are rounded to whole numbers so
that they repeat, or are those of a fit in which each row stands three times. Writes monitoring-honest.csv, the alarms
of labels and of rows by method and accuracy, into the folder, docs/figures by default. Takes some ten minutes.
"""

import sys
import warnings
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
from benchmarks.results import write_table
from scipy.optimize import brentq
from scipy.special import softmax

from auxcal import AuxcalWarning, Monitor
from auxcal.calibrators import CALIBRATORS

METHODS = ("temperature", "platt", "histogram", "isotonic", "matrix", "ccac-x")
ACCURACIES, ROWS = (0.5, 0.7, 0.9, 0.99, 0.999, 0.9999), (100, 300, 1000, 5000)
CLASSES, KINDS, SCALES = (2, 10), ("wide", "clusters", "rounded", "copies"), (1, 2, 0.5)
LEVEL, STREAM = 0.05, 1500
STREAMS = len(SCALES) * len(ROWS) * len(CLASSES) * len(KINDS)


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
        return float(np.log(max((1 - proba.max(axis=1)).mean(), 1e-300) / (1 - accuracy)))

    low, high = np.log(0.01), np.log(1000)
    if missing(low) <= 0 or missing(high) >= 0:
        return float(np.exp(low if missing(low) <= 0 else high))
    return float(np.exp(brentq(missing, low, high, xtol=1e-3)))


def draw(kind: str, n_classes: int, accuracy: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows of a classifier whose softmax is true, and their classes."""
    logits = (scale_of(kind, n_classes, accuracy) * unscaled(kind, n_classes, n, rng)).astype(np.float32)
    below = np.cumsum(softmax(logits.astype(np.float64), axis=1), axis=1)
    return logits, (rng.random((n, 1)) * below[:, -1:] > below).sum(axis=1)


def watched(method: str, accuracy: float, state: int) -> Monitor:
    """Fit, and watch a stream in which nothing changes."""
    rng = np.random.default_rng([state, round(accuracy * 10_000), 1])
    factor, n_rows, n_classes, kind = list(product(SCALES, ROWS, CLASSES, KINDS))[state]
    population, scale = (kind, n_classes, accuracy), np.float32(factor)
    times = 3 if kind == "copies" else 1
    logits, y = draw(*population, n_rows // times, rng)
    calibrator = CALIBRATORS[method](**({"random_state": state} if method == "ccac-x" else {}))
    calibrator.fit(scale * logits.repeat(times, axis=0), y.repeat(times))
    monitor = Monitor(calibrator, LEVEL, keep=0, random_state=state)
    logits, y = draw(*population, STREAM, rng)
    monitor.update(scale * logits, y)
    return monitor


def rates(method: str) -> list[str]:
    """Return the alarms of labels and of rows for each accuracy, and for all."""
    found = np.zeros((len(ACCURACIES) + 1, 2), dtype=int)
    for i, accuracy in enumerate(ACCURACIES):
        for state in range(STREAMS):
            kinds = [alarm.kind for alarm in watched(method, accuracy, state).alarms]
            found[i] += ["labels" in kinds, "data" in kinds]
    found[-1] = found.sum(axis=0)
    return [method, *(f"{labels} / {rows}" for labels, rows in found)]


def main(folder: str = "docs/figures", *methods: str) -> None:
    """Measure, and write the table."""
    warnings.simplefilter("ignore", AuxcalWarning)
    accuracies = (f"{100 * accuracy:g} %" for accuracy in ACCURACIES)
    head = ["", *accuracies, f"all {STREAMS * len(ACCURACIES)}"]
    rows = [rates(method) for method in methods or METHODS]
    write_table(Path(folder) / "monitoring-honest.csv", head, rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
