"""How often the range of a plan holds the labels that a promise takes, for classifiers that are 90 to 99 % right.

    python -m benchmarks.labelling.plan_accurate [FOLDER]

Made-up classifiers of 2 to 1,000 classes, some with a few labels that are wrong however sure the classifier is, are
calibrated by four methods on 300 and on 1,000 rows. From a pilot of 100 labels `plan` forecasts how many a promise
takes at several risks and coverages; then samples are drawn from all rows until four of five give it. A promise that
nothing grants counts as held if the range is open above. Writes plan-accurate.csv into the folder, docs/figures by
default. Takes about ten minutes.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from benchmarks.results import write_table

from auxcal import CALIBRATORS, AuxcalWarning
from auxcal.labelling import plan
from auxcal.metrics import labels_to_promise

# Classes, how far the true class stands out, the share of wrong labels, and how much rows differ.
CLASSIFIERS = {
    "10 classes": (10, 4.5, 0.0, 1.2),
    "10 classes, 2 % wrong labels": (10, 5.5, 0.02, 1.2),
    "2 classes": (2, 3.2, 0.01, 1.0),
    "100 classes": (100, 6.5, 0.01, 1.5),
    "5 classes": (5, 6.0, 0.002, 0.8),
    "1,000 classes": (1000, 7.0, 0.01, 1.5),
}
METHODS = "temperature", "platt", "isotonic", "beta"
GOALS = (0.05, 0.8), (0.05, 0.95), (0.02, 0.7), (0.1, 0.9)
FITS, ROWS, PILOT = (300, 1000), 6000, 100


def draw(
    classifier: tuple[int, float, float, float], n: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw logits and true classes."""
    n_classes, apart, noise, spread = classifier
    y = rng.integers(n_classes, size=n)
    logits = rng.normal(size=(n, n_classes))
    logits[np.arange(n), y] += apart + spread * rng.standard_t(4, size=n)
    return (2 * logits).astype(np.float32), np.where(rng.random(n) < noise, rng.integers(n_classes, size=n), y)


def forecasts(classifier: tuple[int, float, float, float], n_fit: int, rng: np.random.Generator) -> np.ndarray:
    """Return what was forecast, the range, what it took, and the accuracy: a row for each method and goal."""
    found = []
    for method in METHODS:
        calibrator = CALIBRATORS[method]().fit(*draw(classifier, n_fit, rng))
        logits, y = draw(classifier, ROWS, rng)
        confidence, correct = calibrator.predict_confidence(logits).astype(float), logits.argmax(axis=1) == y
        pilot = rng.choice(ROWS, PILOT, replace=False)
        for risk, coverage in GOALS:
            if risk < 3 * (1 - correct.mean()):  # else all rows keep it with room to spare
                said = plan(confidence[pilot], correct[pilot], confidence, risk=risk, coverage=coverage)
                took = labels_to_promise(confidence, correct.astype(float), risk, coverage=coverage)
                numbers = said.needed["risk"], *said.between["risk"], took
                found.append([np.inf if n is None else n for n in numbers] + [correct.mean()])
    return np.array(found)


def main(folder: Path) -> None:
    """Write the table."""
    rows = []
    for name, classifier in CLASSIFIERS.items():
        for n_fit in FITS:
            said, low, high, took, accuracy = forecasts(classifier, n_fit, np.random.default_rng(11)).T
            held = 100 * np.mean((low <= took) & (took <= high))
            medians = f"{np.median(said):,.0f} / {np.median(took):,.0f}"
            open_above = 100 * np.mean(np.isinf(high))
            cells = [medians, f"{held:.0f} % of {len(said)}", f"{open_above:.0f} %"]
            rows.append([f"{name}, {100 * accuracy.mean():.0f} % right, fitted on {n_fit:,}", *cells])
            print(*rows[-1], flush=True)
    write_table(folder / "plan-accurate.csv", ["classifier", "labels", "in the range", "open above"], rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore", AuxcalWarning)
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/figures"))
