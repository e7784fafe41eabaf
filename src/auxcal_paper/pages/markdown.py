"""Tables and lists as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from auxcal.metrics import METRICS
from auxcal_paper.pages.tables import Table, heads


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = True) -> str:
    """Return a table whose columns after the first are aligned right, if they are numbers.

    Examples
    --------
    >>> from auxcal_paper.pages.markdown import markdown_table
    >>> print(markdown_table(["Method", "ECE"], [["TS", "1.3 %"]]))
    | Method | ECE |
    |---|---:|
    | TS | 1.3 % |
    """
    rule = ["---", *("---:" if numbers else "---" for _ in columns[1:])]
    lines = [f"|{'|'.join(rule)}|"]
    lines += [_line(row) for row in rows]
    return "\n".join([_line(columns), *lines])


def to_markdown(table: Table) -> str:
    """Return a table of results, the best of each column in bold, the paper's numbers in the last columns, if any."""
    papers = [f"paper's {METRICS[metric].label}" for metric in table.metrics] if table.has_paper else []
    rows = [
        [
            line.label,
            *(f"**{cell.text}**" if cell.best else cell.text for cell in line.cells),
            f"{line.fit_seconds:.1f}",
            *(cell.paper for cell in line.cells if table.has_paper),
        ]
        for line in table.lines
    ]
    return markdown_table(["Method", *heads(table), "Fit, s", *papers], rows)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
