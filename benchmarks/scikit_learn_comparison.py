"""CalibratedClassifier beside scikit-learn's CalibratedClassifierCV, on data that come with scikit-learn.

    python -m benchmarks.scikit_learn_comparison [FOLDER]

Every method gets the same rows, all in their defaults. Those of no class are left out for scikit-learn, which has no
label for them. A confidence is scored against the prediction that it belongs to; CalibratedClassifierCV, which averages
five classifiers, makes its own. Writes scikit-learn.csv and tables for the page into the folder, docs/figures by
default. Takes about ten minutes, and goes on where it was stopped; to measure anew, delete scikit-learn.csv.

A row of scikit-learn.csv has the classifier as its suite and the data as its shift.
"""

import sys
import time
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.results import ResultsFile, paired, write_table
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from auxcal import METRICS, AuxcalWarning, CalibratedClassifier, TemperatureScaling, evaluate
from auxcal._core.text import write_score
from auxcal_paper import Results, Row
from auxcal_paper.shifts import Augment

RANDOM_STATES = range(10)
NO_CLASS = -1

CLASSIFIERS: dict[str, tuple[str, Callable[[], Any]]] = {
    "logistic": ("logistic regression", lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))),
    "bayes": ("naive Bayes", lambda: make_pipeline(StandardScaler(), GaussianNB(var_smoothing=1e-3))),
    "forest": ("random forest", lambda: RandomForestClassifier(random_state=0)),
}


class Parts(NamedTuple):
    """The classifier to calibrate, the rows to do it with, and those to measure it on."""

    estimator: Any
    x: Any
    y: Any
    x_test: Any
    y_test: Any


def breast_cancer(classifier: Any, random_state: int) -> Parts:
    """Two classes: the classifier and its calibrator learn from the same half."""
    return Parts(classifier, *halves(*load_breast_cancer(return_X_y=True), random_state))


def digits(classifier: Any, random_state: int) -> Parts:
    """Ten classes: the classifier and its calibrator learn from the same half."""
    return Parts(classifier, *halves(*load_digits(return_X_y=True), random_state))


def rotated(classifier: Any, random_state: int) -> Parts:
    """A classifier of upright digits meets rotated ones, and has labels of half of these."""
    x, y, x_met, y_met = halves(*load_digits(return_X_y=True), random_state)
    x_met = Augment(rotation=25)(x_met.reshape(-1, 1, 8, 8), random_state).reshape(-1, 64)
    return Parts(FrozenEstimator(classifier.fit(x, y)), *halves(x_met, y_met, random_state))


def unseen(classifier: Any, random_state: int) -> Parts:
    """A classifier of the digits 0 to 7 meets 8 and 9 too, which are samples of no class."""
    x, y = load_digits(return_X_y=True)
    return Parts(classifier, *halves(x, np.where(y <= 7, y, NO_CLASS), random_state))


def halves(x: Any, y: Any, random_state: int) -> tuple[Any, Any, Any, Any]:
    """Split rows into two stratified halves."""
    x, x_test, y, y_test = train_test_split(x, y, test_size=0.5, stratify=y, random_state=random_state)
    return x, y, x_test, y_test


DATA: dict[str, tuple[str, Callable[[Any, int], Parts]]] = {
    "breast-cancer": ("breast cancer", breast_cancer),
    "digits": ("digits", digits),
    "digits-rotated": ("digits, rotated", rotated),
    "digits-unseen": ("digits, 8 and 9 unseen", unseen),
}


def alone(parts: Parts) -> Any:
    """The classifier itself, with its largest probability as its confidence."""
    known = parts.y != NO_CLASS
    return parts.estimator.fit(parts.x[known], parts.y[known])


def theirs(method: str) -> Callable[[Parts], Any]:
    """scikit-learn's, which is shown the rows that have a class."""

    def fit(parts: Parts) -> Any:
        known = parts.y != NO_CLASS
        return CalibratedClassifierCV(parts.estimator, method=method, cv=5).fit(parts.x[known], parts.y[known])

    return fit


def ours(calibrator: Any) -> Callable[[Parts], Any]:
    """auxcal's, with one of its calibrators."""
    return lambda parts: CalibratedClassifier(parts.estimator, calibrator, no_class=NO_CLASS).fit(parts.x, parts.y)


METHODS: dict[str, tuple[str, Callable[[Parts], Any]]] = {
    "alone": ("classifier alone", alone),
    "sklearn-sigmoid": ("CV, sigmoid", theirs("sigmoid")),
    "sklearn-isotonic": ("CV, isotonic", theirs("isotonic")),
    "sklearn-temperature": ("CV, temperature", theirs("temperature")),
    "temperature": ("auxcal, TS", ours(TemperatureScaling())),
    "ccac-x": ("auxcal, CCAC-X", ours(None)),
}


def measured(method: str, parts: Parts) -> tuple[float, float, dict[str, float]]:
    """Return the seconds of a fit, its accuracy and all scores on the test rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AuxcalWarning)  # easy data have folds without a mistake
        start = time.process_time()
        fitted = METHODS[method][1](parts)
        seconds = time.process_time() - start
        correct = fitted.predict(parts.x_test) == parts.y_test
        return seconds, float(correct.mean()), evaluate(confidence_of(fitted, parts.x_test), correct)


def confidence_of(fitted: Any, x: Any) -> Any:
    """Return our confidence, or the largest probability."""
    if isinstance(fitted, CalibratedClassifier):
        return fitted.predict_confidence(x)
    return np.clip(fitted.predict_proba(x).max(axis=1), 0, 1)  # scikit-learn's sums exceed 1 in the last digit


def fill(file: ResultsFile) -> None:
    """Measure what is still lacking."""
    for random_state, name, data in product(RANDOM_STATES, CLASSIFIERS, DATA):
        for method in METHODS:
            if len(file.results.where(suite=name, shift=data, method=method, random_state=random_state)):
                continue
            parts = DATA[data][1](CLASSIFIERS[name][1](), random_state)
            seconds, accuracy, scores = measured(method, parts)
            size = (len(parts.y), 0, len(parts.y_test))
            row = Row(name, data, method, random_state, *size, accuracy, seconds, True, scores)
            file.results = Results((*file.results, row))
        file.results.write(file.path)


def table(results: Results, metric: str) -> tuple[list[str], list[list[str]]]:
    """Return the mean of a metric for each method, and how much higher it is than that of CCAC-X, with its error."""
    rows = []
    for data, name in product(DATA, CLASSIFIERS):
        here = {method: results.where(suite=name, shift=data, method=method) for method in METHODS}
        cells = [cell(metric, here[method], here["ccac-x"]) for method in METHODS]
        rows.append([f"{DATA[data][0]}, {CLASSIFIERS[name][0]}", *cells])
    return ["", *(label for label, _ in METHODS.values())], rows


def cell(metric: str, other: Results, default: Results) -> str:
    """Write a mean, and the difference in thousandths; in bold where CCAC-X is worse by two standard errors."""
    mean = write_score(metric, other.spread(metric).mean)
    difference = paired(other, default, metric)
    if other == default:
        return mean
    text = f"{mean} ({1000 * difference.mean:+.1f} ± {1000 * difference.error:.1f})"
    better = (difference.mean > 0) == METRICS[metric].higher_is_better
    return f"**{text}**" if better and difference.significant else text


def main(folder: str = "docs/figures") -> None:
    """Measure, and write the tables."""
    file = ResultsFile(Path(folder) / "scikit-learn.csv")
    fill(file)
    for metric in ("brier", "ece", "auroc"):
        write_table(Path(folder) / f"scikit-learn-{metric}.csv", *table(file.results, metric))


if __name__ == "__main__":
    main(*sys.argv[1:])
