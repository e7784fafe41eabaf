"""What stands for each of the paper's 24 tables: its own data and network, others, or nothing yet."""

from __future__ import annotations

from collections.abc import Sequence

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
    counts, lines = dict.fromkeys((*_BASES, None), 0), []
    for (classifier, dataset), shifts in paper_tables().items():
        standing = _nearest((classifier, dataset), suites)
        counts[standing.basis if standing else None] += len(shifts)
        here = f"[{standing.name}]({standing.name}.md), {_BASES[standing.basis]}" if standing else "nothing yet"
        own = [suite for suite in SUITES if suite.basis == "own" and (classifier, dataset) in suite.stands_for]
        if own and own[0] != standing:
            here += f"; its own network needs {', '.join(own[0].needs)}"
        theirs = " / ".join(f"{PAPER_ACCURACIES[classifier, dataset][shift]:.0%}" for shift in shifts)
        ours = " / ".join(_accuracy(results, standing, shift) for shift in shifts) if standing else ""
        lines.append([f"{classifier} on {dataset}", ", ".join(shifts), here, theirs, ours])
    total = sum(counts.values())
    return [
        f"Of the paper's {total} tables, {counts['own'] + counts['network']} stand here on the paper's own images or "
        f"texts, {counts['own']} of them with its own network; {counts['substitute']} stand on other data, and "
        f"{counts[None]} wait for files that only a user can get. What differs is said on the pages, and the "
        f"accuracies tell how much.",
        markdown_table(
            ["The paper's tables", "Shifts", "What stands here", "Accuracy in the paper", "here"], lines, numbers=False
        ),
    ]


def _nearest(experiment: tuple[str, str], suites: Sequence[Suite]) -> Suite | None:
    found = [suite for suite in suites if experiment in suite.stands_for]
    return min(found, key=lambda suite: list(_BASES).index(suite.basis), default=None)


def _accuracy(results: Results, suite: Suite, shift: str) -> str:
    rows = results.where(suite=suite.name, shift=shift)
    return f"{sum(row.accuracy for row in rows) / len(rows):.0%}" if len(rows) else "–"
