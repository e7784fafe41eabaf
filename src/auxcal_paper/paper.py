"""The numbers of the paper's 24 tables."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

PAPER_METRICS = ("auroc", "aupr", "p90", "ece", "brier")
"""The columns of the paper's tables, as `METRICS` names them."""

PAPER_ACCURACIES = {
    ("VGG16", "CIFAR-10"): {"D1": 0.80, "D2": 0.62, "OOD": 0.71, "AD": 0.47},
    ("ResNet-50", "CIFAR-10"): {"D1": 0.75, "D2": 0.59, "OOD": 0.70, "AD": 0.63},
    ("VGG16", "CIFAR-100"): {"D1": 0.65, "D2": 0.47, "OOD": 0.77, "AD": 0.54},
    ("ResNet-50", "CIFAR-100"): {"D1": 0.55, "D2": 0.38, "OOD": 0.65, "AD": 0.37},
    ("VGG16", "ImageNet"): {"D1": 0.51, "OOD": 0.32},
    ("ResNet-50", "ImageNet"): {"D1": 0.64, "OOD": 0.34},
    ("DAN", "R8"): {"D1": 0.90, "OOD": 0.69},
    ("DAN", "20 Newsgroups"): {"D1": 0.75, "OOD": 0.33},
}
"""The target classifiers' accuracies, from the text of the paper."""


@dataclass(frozen=True)
class PaperRow:
    """One row of a table of the paper.

    Parameters
    ----------
    classifier, dataset, shift, method : str
        As the paper names them.
    scores : dict of str to float
        The five metrics; ECE is a fraction, not a percentage.
    misprint : str
        The metric that is misprinted in the paper, or empty. It is left out of `scores`.
    """

    classifier: str
    dataset: str
    shift: str
    method: str
    scores: dict[str, float]
    misprint: str = ""


@cache
def paper_rows() -> tuple[PaperRow, ...]:
    """Return all rows, in the paper's order.

    Examples
    --------
    >>> from auxcal_paper.paper import paper_rows
    >>> len(paper_rows())
    146
    >>> [(row.classifier, row.dataset, row.shift, row.method) for row in paper_rows() if row.misprint]
    [('ResNet-50', 'CIFAR-10', 'D2', 'CCAC')]
    """
    text = files("auxcal_paper").joinpath("paper_results.csv").read_text(encoding="utf-8")
    return tuple(_row(values) for values in csv.DictReader(text.splitlines()))


def paper_table(classifier: str, dataset: str, shift: str) -> dict[str, dict[str, float]]:
    """Return the metrics of every method of one of the paper's tables by the method's label; empty if there is none.

    Examples
    --------
    >>> from auxcal_paper.paper import paper_table
    >>> table = paper_table("DAN", "R8", "D1")
    >>> list(table), table["CCAC"]["ece"]
    (['MP', 'TS', 'SB', 'Dirichlet', 'CCAC', 'CCAC-S'], 0.019)
    """
    wanted = (classifier, dataset, shift)
    return {row.method: row.scores for row in paper_rows() if (row.classifier, row.dataset, row.shift) == wanted}


def paper_tables() -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the paper's experiments, classifier and data set, and the shifts of each, one table for each shift.

    Examples
    --------
    >>> from auxcal_paper.paper import paper_tables
    >>> sum(map(len, paper_tables().values()))
    24
    """
    shifts: dict[tuple[str, str], dict[str, None]] = {}
    for row in paper_rows():
        shifts.setdefault((row.classifier, row.dataset), {})[row.shift] = None
    return {experiment: tuple(found) for experiment, found in shifts.items()}


def _row(values: dict[str, str]) -> PaperRow:
    scores = {metric: float(values[metric]) for metric in PAPER_METRICS if metric != "ece"}
    scores["ece"] = round(float(values["ece_percent"]) / 100, 6)
    misprint = values["misprint"]
    return PaperRow(
        values["classifier"],
        values["dataset"],
        values["shift"],
        values["method"],
        {metric: scores[metric] for metric in PAPER_METRICS if metric != misprint},
        misprint,
    )
