"""What the benchmarks share: results that are stored row by row, and tables for the pages."""

import csv
import io
import math
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from auxcal import AuxcalWarning, Predictions, evaluate
from auxcal.calibrators import Calibrator
from auxcal_paper import Results, Row
from auxcal_paper.bundles import bundle
from auxcal_paper.results import spread
from auxcal_paper.suites import suite

BUNDLES = {
    ("cifar10-resnet20", "D1"): "CIFAR-10, D1",
    ("cifar10-resnet20", "OOD"): "CIFAR-10, OOD",
    ("cifar10-resnet20", "AD"): "CIFAR-10, AD",
    ("ng18-dan", "OOD"): "NG18, OOD",
    ("r8-dan", "D1"): "R8, D1",
}
"""Those that are looked at more closely, and what the tables call them."""

CLEAN = {
    ("cifar10-resnet20", "D0"): "ResNet-20, CIFAR-10",
    ("cifar10-resnet56", "D0"): "ResNet-56, CIFAR-10",
    ("lenet-5-cifar-10", "D0"): "LeNet-5, CIFAR-10",
    ("r8-dan", "D0"): "DAN, R8",
    ("ng18-dan", "D0"): "DAN, NG18",
    ("densenet-bc-100-cifar-100", "D0"): "DenseNet-BC, CIFAR-100",
}
"""Classifiers on their own clean test data; two of them are records of other people's classifiers."""

_RECORDS = {"lenet-5-cifar-10": (7500, 2500), "densenet-bc-100-cifar-100": (7500, 2500)}


@cache
def parts(where: tuple[str, str], random_state: int) -> tuple[Predictions, Predictions]:
    """Return the fit and the test part of a bundle, each in random order."""
    if where[0] in _RECORDS:
        with np.load(Path("data") / "records" / f"{where[0]}.npz") as record:
            logits = np.log(np.maximum(record["predictions"], np.finfo(np.float32).tiny))
            fit, test = Predictions(logits, record["ground_truth"]).split(
                *_RECORDS[where[0]], random_state=random_state
            )
        return fit, test
    entry = suite(where[0])
    data = bundle(entry, where[1], Path("data"), Path("cache") / "bundles")
    n_fit, _, n_test = entry.parts(len(data))
    fit, test = data.split(n_fit, n_test, random_state=random_state)
    return fit, test


class ResultsFile:
    """Results that are written to a file row by row, so that an interrupted run can be resumed.

    To measure everything again, delete the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.results = Results.read(path) if path.exists() else Results(())

    def lacks(self, where: tuple[str, str], method: str, random_state: int, n_labels: int) -> bool:
        """Whether the row is still to be measured."""
        suite, shift = where
        facts = {"suite": suite, "shift": shift, "method": method, "random_state": random_state, "n_fit": n_labels}
        return not len(self.results.where(**facts))

    def measure(
        self,
        where: tuple[str, str],
        method: str,
        random_state: int,
        n_labels: int,
        fit: Callable[[], Calibrator],
        test: Predictions,
    ) -> None:
        """Fit a calibrator, measure it on the test part and write the row."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AuxcalWarning)  # the row says whether the fit converged
            start = time.process_time()
            calibrator = fit()
            seconds = time.process_time() - start
        scores = evaluate(calibrator.predict_confidence(test.logits, **_features(test)), test.correct)
        what = (*where, method, random_state, n_labels, 0, len(test))
        row = Row(*what, float(test.correct.mean()), seconds, calibrator.converged_, scores)
        self.results = Results((*self.results, row))
        self.results.write(self.path)


def _features(part: Predictions) -> dict[str, object]:
    return {} if part.features is None else {"features": part.features}


class Kept:
    """Rows of a CSV file, as text by column, that are written as they are measured: an interrupted run can be resumed.

    Several processes may share the file, if each measures what is its own. To measure everything again, delete it.
    """

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.path, self.columns = path, columns
        if not path.exists():
            path.write_text(",".join(columns) + "\n", encoding="utf-8")
        with path.open(newline="", encoding="utf-8") as file:
            self.rows = list(csv.DictReader(file))

    def keys(self, *columns: str) -> set[tuple[str, ...]]:
        """Return what stands in these columns."""
        return {tuple(row[column] for column in columns) for row in self.rows}

    def add(self, rows: Iterable[Mapping[str, object]]) -> None:
        """Write rows, all at once; numbers get six digits."""
        new = [{column: _cell(row.get(column)) for column in self.columns} for row in rows]
        text = io.StringIO()
        csv.DictWriter(text, self.columns, lineterminator="\n").writerows(new)
        with self.path.open("ab", buffering=0) as file:
            file.write(text.getvalue().encode())
        self.rows += new


def _cell(value: object) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    return "" if value is None else str(value)


class Difference(NamedTuple):
    """The mean of paired differences, and its standard error."""

    mean: float
    error: float

    @property
    def significant(self) -> bool:
        """Whether the mean is more than two standard errors from 0."""
        return abs(self.mean) > 2 * self.error


def paired(ours: Results, theirs: Results, metric: str) -> Difference:
    """Return how much larger a metric of ours is, over the random states that both have."""
    here, there = ours.scores(metric), theirs.scores(metric)
    differences = [here[state] - there[state] for state in here if state in there]
    return Difference(spread(differences).mean, spread(differences).deviation / math.sqrt(len(differences)))


def write_table(path: Path, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table, which the page shows as it is, and print it."""
    table = [list(map(str, cells)) for cells in (head, *rows)]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(table)
    for cells in table:
        print(" | ".join(cells))
