"""How often the range of a plan holds the labels that a promise takes, for classifiers that are 90 to 99 % right.

    python -m benchmarks.labelling.plan_accurate [FOLDER]

Made-up classifiers of 2 to 1,000 classes are calibrated by four methods on 300 and on 1,000 rows: honest ones, some
with a share of labels that are wrong however sure the classifier is, and some that are sure of a wrong class now and
then. From a pilot of 100 labels `plan` forecasts how many a promise takes; then samples are drawn from all rows until
four of five give it. A promise that nothing grants counts as held if the range is open above. Writes
plan-accurate.csv into the folder, docs/figures by default. Takes about two minutes.
"""

import sys
import warnings
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from benchmarks.results import write_table

from auxcal import CALIBRATORS, AuxcalWarning
from auxcal.labelling import plan
from auxcal.thresholds import _power, labels_to_promise


class Classifier(NamedTuple):
    """How far the true class stands out, how much rows differ, and which share is sure of a wrong class."""

    n_classes: int
    apart: float
    spread: float
    wrong_labels: float = 0.0
    wrong_tops: float = 0.0


CLASSIFIERS = {
    "2 classes": Classifier(2, 2.6, 0.5),
    "10 classes": Classifier(10, 3.6, 0.6),
    "10 classes, 5 % wrong labels": Classifier(10, 6.0, 1.0, wrong_labels=0.05),
    "10 classes, overconfident at the top": Classifier(10, 4.2, 1.0, wrong_tops=0.015),
    "100 classes": Classifier(100, 5.2, 1.0),
    "100 classes, 3 % wrong labels": Classifier(100, 7.0, 1.5, wrong_labels=0.03),
    "100 classes, overconfident at the top": Classifier(100, 6.0, 1.2, wrong_tops=0.015),
    "1,000 classes": Classifier(1000, 6.5, 1.2),
    "1,000 classes, 2 % wrong labels": Classifier(1000, 8.0, 2.0, wrong_labels=0.02),
    "1,000 classes, overconfident at the top": Classifier(1000, 7.0, 1.0, wrong_tops=0.015),
}
METHODS = "temperature", "platt", "isotonic", "beta"
GOALS = (0.02, 0.7), (0.03, 0.5), (0.05, 0.8), (0.05, 0.95), (0.1, 0.9)
FITS, REPEATS, ROWS, PILOT = (300, 1000), 2, 4000, 100


def draw(classifier: Classifier, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw logits and true classes."""
    k, every = classifier.n_classes, np.arange(n)
    y = rng.integers(k, size=n)
    logits = rng.normal(size=(n, k)).astype(np.float32)
    logits[every, y] += classifier.apart + classifier.spread * rng.normal(size=n)
    logits[every, rng.integers(k, size=n)] += (rng.random(n) < classifier.wrong_tops) * (classifier.apart + 4)
    return 2 * logits, np.where(rng.random(n) < classifier.wrong_labels, rng.integers(k, size=n), y)


def forecasts(classifier: Classifier, rng: np.random.Generator) -> np.ndarray:
    """Return what was forecast, the range, what it took, and the accuracy, with two goals for each fit."""
    found = []
    for method, n_fit, _ in product(METHODS, FITS, range(REPEATS)):
        calibrator = CALIBRATORS[method]().fit(*draw(classifier, n_fit, rng))
        logits, y = draw(classifier, ROWS, rng)
        confidence, correct = calibrator.predict_confidence(logits).astype(float), logits.argmax(axis=1) == y
        pilot = rng.choice(ROWS, PILOT, replace=False)
        # What all rows keep with room to spare is no question.
        hard = [goal for goal in GOALS if goal[0] < 3 * (1 - correct.mean())] or GOALS[:1]
        for risk, coverage in rng.permutation(hard)[:2]:
            said = plan(confidence[pilot], correct[pilot], confidence, risk=risk, coverage=coverage)
            took = labels_to_promise(confidence, correct.astype(float), risk, coverage=coverage)
            numbers = said.needed["risk"], *said.between["risk"], took
            found.append([np.inf if n is None else n for n in numbers] + [correct.mean()])
    return np.array(found)


def main(folder: Path) -> None:
    """Write the table."""
    rows = []
    for name, classifier in CLASSIFIERS.items():
        said, low, high, took, accuracy = forecasts(classifier, np.random.default_rng(2027)).T
        held = 100 * np.mean((low <= took) & (took <= high))
        is_open = np.isinf(high)
        medians = [_medians(said[rows], took[rows]) for rows in (~is_open, is_open)]
        cells = [f"{100 * accuracy.mean():.0f} %", f"{held:.0f} %", f"{100 * is_open.mean():.0f} %", *medians]
        rows.append([name, *cells])
        print(*rows[-1], flush=True)
    columns = ["classifier", "accuracy", "in the range", "open above", "labels, closed range", "labels, open range"]
    write_table(folder / "plan-accurate.csv", columns, rows)


def _medians(said: np.ndarray, took: np.ndarray) -> str:
    if not len(said):
        return "–"
    return " / ".join(f"{n:,.0f}" if np.isfinite(n) else "none" for n in (np.median(said), np.median(took)))


if __name__ == "__main__":
    warnings.simplefilter("ignore", AuxcalWarning)
    _power.DRAWS, _power.MOST_ROWS = 100, 3000  # coarser forecasts and truths, in a tenth of the time
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/figures"))
