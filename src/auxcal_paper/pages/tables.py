"""The paper's tables, made from results: our numbers next to the paper's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import fmean

from auxcal._core.text import write_score
from auxcal.metrics import METRICS
from auxcal_paper.methods import METHODS
from auxcal_paper.pages._spread import write_spread
from auxcal_paper.paper import PAPER_METRICS, paper_table
from auxcal_paper.results import Results
from auxcal_paper.suites import Suite


@dataclass(frozen=True)
class Cell:
    """Our number, whether it is the best of its column, and the paper's number if there is one."""

    text: str
    best: bool = False
    paper: str = ""


@dataclass(frozen=True)
class Line:
    """The cells of a method, one for each of the paper's metrics, and the CPU time of its fit."""

    label: str
    cells: tuple[Cell, ...]
    fit_seconds: float


@dataclass(frozen=True)
class Table:
    """The table of one shift of a suite."""

    metrics: tuple[str, ...]
    lines: tuple[Line, ...]

    @property
    def has_paper(self) -> bool:
        """Whether the paper has numbers of this table."""
        return any(cell.paper for line in self.lines for cell in line.cells)


def table(suite: Suite, shift: str, results: Results) -> Table:
    """Return the table of one shift: mean ± standard deviation over the random states, the best in bold.

    Parameters
    ----------
    suite : Suite
        Knows which of the paper's experiments to show next to it.
    shift : str
        One of its shifts.
    results : Results
        Rows of other suites and shifts are left out.
    """
    here = results.where(suite=suite.name, shift=shift)
    methods = [name for name in METHODS if name in here.distinct("method")]
    columns = {metric: _column(here, methods, metric) for metric in PAPER_METRICS}
    lines = []
    for i, name in enumerate(methods):
        theirs = METHODS[name].label_in_paper
        cells = [replace(columns[metric][i], paper=_paper(suite, shift, theirs, metric)) for metric in PAPER_METRICS]
        seconds = fmean(row.fit_seconds for row in here.where(method=name))
        lines.append(Line(METHODS[name].label, tuple(cells), seconds))
    return Table(PAPER_METRICS, tuple(lines))


def heads(table: Table) -> list[str]:
    """Return the names of the metrics' columns."""
    return [METRICS[metric].label + (" (floor)" if metric == "ece" else "") for metric in table.metrics]


def _column(here: Results, methods: list[str], metric: str) -> list[Cell]:
    spreads = [here.where(method=name).spread(metric) for name in methods]
    pick = max if METRICS[metric].higher_is_better else min
    means = [spread.mean for spread in spreads if spread.mean == spread.mean]
    best = write_score(metric, pick(means)) if means else ""
    cells = []
    for name, spread in zip(methods, spreads, strict=True):
        text = write_spread(metric, spread)
        if metric == "ece":
            text += f" ({write_score(metric, here.where(method=name).spread('ece_floor_p95').mean)})"
        cells.append(Cell(text, best=write_score(metric, spread.mean) == best))
    return cells


def _paper(suite: Suite, shift: str, label: str, metric: str) -> str:
    """Return the paper's number, one for each experiment that the suite stands for."""
    found = [paper_table(*experiment, shift).get(label, {}) for experiment in suite.stands_for]
    if not any(found):
        return ""
    return " / ".join(write_score(metric, scores[metric]) if metric in scores else "misprint" for scores in found)
