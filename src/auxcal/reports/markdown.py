"""Tables and lists as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from auxcal.reports.tables import Table


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = True) -> str:
    """Return a table whose columns after the first are aligned right, if they are numbers.

    Examples
    --------
    >>> from auxcal.reports.markdown import markdown_table
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
    """Return a table of results, the best of each column in bold."""
    rows = [[f"**{cell.text}**" if cell.best else cell.text for cell in row] for row in table.rows]
    return markdown_table(table.columns, rows)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
