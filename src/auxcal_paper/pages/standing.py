"""What stands for each of the paper's 24 tables: its own data and network, others, or nothing yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from auxcal_paper.pages.markdown import markdown_table
from auxcal_paper.paper import PAPER_ACCURACIES, paper_tables
from auxcal_paper.results import Results
from auxcal_paper.suites import Suite
from auxcal_paper.suites._suite import Basis

_BASES: dict[Basis, str] = {
    "own": "its data and its network",
    "layout": "its data, its network's layout trained by us",
    "network": "its data, another network",
}
"""What a suite stands on, the nearest to the paper first."""


def tables_of_the_paper(suites: Sequence[Suite], results: Results) -> list[str]:
    """Return how many of the paper's tables stand on what, and a line for each of its experiments."""
    counts: dict[Basis | None, int] = dict.fromkeys((*_BASES, None), 0)
    lines = []
    for experiment, shifts in paper_tables().items():
        standing = {shift: _nearest(experiment, shift, suites, results) for shift in shifts}
        for suite in standing.values():
            counts[suite.basis if suite else None] += 1
        theirs = _percents(PAPER_ACCURACIES[experiment].values())
        ours = _percents(_accuracy(results, suite, shift) for shift, suite in standing.items())
        lines.append([" on ".join(experiment), ", ".join(shifts), _what(standing), theirs, ours])
    nothing = counts.pop(None)
    return [
        f"Of the paper's {sum(counts.values()) + nothing} tables, {sum(counts.values())} stand here on the paper's own "
        f"images or texts: {counts['own']} with its own network, {counts['layout']} with its network's layout trained "
        f"by us, and {counts['network']} with another network; {nothing} have nothing here yet. What differs is said "
        f"on the pages, and the accuracies tell how much.",
        markdown_table(
            ["The paper's tables", "Shifts", "What stands here", "Accuracy in the paper", "here"], lines, numbers=False
        ),
        "The paper's other networks run once you add the files of their weights: `auxcal reproduce --list` names them.",
    ]


def stands_nearest(suite: Suite, shift: str, suites: Sequence[Suite], results: Results) -> bool:
    """Whether no other suite is nearer to a table of the paper that this one stands for."""
    return any(_nearest(experiment, shift, suites, results) == suite for experiment in suite.stands_for)


def _nearest(experiment: tuple[str, str], shift: str, suites: Sequence[Suite], results: Results) -> Suite | None:
    found = [
        suite
        for suite in suites
        if experiment in suite.stands_for and len(results.where(suite=suite.name, shift=shift))
    ]
    return min(found, key=lambda suite: list(_BASES).index(suite.basis), default=None)


def _what(standing: Mapping[str, Suite | None]) -> str:
    """Say which suites stand for an experiment, and the shifts of each where there are several."""
    by_name: dict[str, list[str]] = {}
    for shift, suite in standing.items():
        text = f"[{suite.name}]({suite.name}.md), {_BASES[suite.basis]}" if suite else "nothing yet"
        by_name.setdefault(text, []).append(shift)
    return "; ".join(f"{text} ({', '.join(shifts)})" if len(by_name) > 1 else text for text, shifts in by_name.items())


def _accuracy(results: Results, suite: Suite | None, shift: str) -> float | None:
    rows = results.where(suite=suite.name if suite else "", shift=shift)
    return fmean(row.accuracy for row in rows) if len(rows) else None


def _percents(accuracies: Iterable[float | None]) -> str:
    return " / ".join("–" if accuracy is None else f"{100 * accuracy:.0f}" for accuracy in accuracies) + " %"
