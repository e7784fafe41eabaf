"""The numbers of the paper's 24 tables."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

PAPER_METRICS = ("auroc", "aupr", "p90", "ece", "brier")
"""The columns of the paper's tables, as `METRICS` names them."""


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


def paper_scores(classifier: str, dataset: str, shift: str, method: str) -> dict[str, float]:
    """Return the paper's metrics for a classifier, a data set, a shift and a method's label; empty if it has none.

    Examples
    --------
    >>> from auxcal_paper.paper import paper_scores
    >>> paper_scores("DAN", "R8", "D1", "CCAC")["ece"]
    0.019
    >>> paper_scores("DAN", "R8", "D1", "Platt")
    {}
    """
    wanted = (classifier, dataset, shift, method)
    for row in paper_rows():
        if (row.classifier, row.dataset, row.shift, row.method) == wanted:
            return row.scores
    return {}


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
