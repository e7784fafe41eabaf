"""What stands for each of the paper's 24 tables: its own data and network, others, or nothing yet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from auxcal_paper.datasets import dataset
from auxcal_paper.pages.markdown import markdown_table
from auxcal_paper.paper import PAPER_ACCURACIES, paper_tables
from auxcal_paper.results import Results
from auxcal_paper.suites import SUITES, Suite
from auxcal_paper.suites._suite import Basis

_BASES: dict[Basis, str] = {
    "own": "its data and its network",
    "network": "its data, another network",
    "substitute": "other data and another network",
}
"""What a suite stands on, the nearest to the paper first."""


def tables_of_the_paper(suites: Sequence[Suite], results: Results) -> list[str]:
    """Return how many of the paper's tables stand on what, and a line for each of its experiments."""
    counts: dict[Basis | None, int] = dict.fromkeys((*_BASES, None), 0)
    lines = []
    for experiment, shifts in paper_tables().items():
        standing = _nearest(experiment, suites)
        accuracies = {shift: _accuracy(results, standing, shift) for shift in shifts}
        for accuracy in accuracies.values():
            counts[standing.basis if standing and accuracy is not None else None] += 1
        theirs, ours = _percents(PAPER_ACCURACIES[experiment].values()), _percents(accuracies.values())
        lines.append([" on ".join(experiment), ", ".join(shifts), _what(experiment, standing), theirs, ours])
    total = sum(counts.values())
    return [
        f"Of the paper's {total} tables, {counts['own'] + counts['network']} stand here on the paper's own images or "
        f"texts, {counts['own']} of them with its own network; {counts['substitute']} stand on other data, and "
        f"{counts[None]} have nothing here yet. What differs is said on the pages, and the "
        f"accuracies tell how much.",
        markdown_table(
            ["The paper's tables", "Shifts", "What stands here", "Accuracy in the paper", "here"], lines, numbers=False
        ),
    ]


def _nearest(experiment: tuple[str, str], suites: Sequence[Suite]) -> Suite | None:
    found = [suite for suite in suites if experiment in suite.stands_for]
    return min(found, key=lambda suite: list(_BASES).index(suite.basis), default=None)


def _what(experiment: tuple[str, str], standing: Suite | None) -> str:
    here = f"[{standing.name}]({standing.name}.md), {_BASES[standing.basis]}" if standing else "nothing yet"
    own = [suite for suite in SUITES if suite.basis == "own" and experiment in suite.stands_for]
    if not own or own[0] == standing:
        return here
    return f"{here}; its own waits for {' and '.join(name for name in own[0].needs if not dataset(name).url)}"


def _accuracy(results: Results, suite: Suite | None, shift: str) -> float | None:
    rows = results.where(suite=suite.name if suite else "", shift=shift)
    return fmean(row.accuracy for row in rows) if len(rows) else None


def _percents(accuracies: Iterable[float | None]) -> str:
    return " / ".join("–" if accuracy is None else f"{100 * accuracy:.0f}" for accuracy in accuracies) + " %"
