"""Tables for the terminal: a comparison's, and those of results, where the paper's number stands under ours."""

from __future__ import annotations

from rich.table import Table as RichTable
from rich.text import Text

from auxcal.comparison import Comparison
from auxcal.comparison._text import HEADS, cells
from auxcal.reports.tables import Cell, Table, heads


def comparison_to_rich(comparison: Comparison) -> RichTable:
    """Return the table of a comparison, which fits into 80 columns, best first and in bold."""
    shown = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    shown.add_column("")
    for head in (*HEADS.values(), "fit"):
        shown.add_column(head, justify="right", no_wrap=True)
    for entry in comparison.ranked:
        name = Text(entry.label, no_wrap=True)
        name.append("  best" if entry is comparison.best else "", style="not bold blue")
        name.append("  the classifier itself" if entry is comparison.before else "", style="not bold dim")
        shown.add_row(name, *cells(entry), style="bold" if entry is comparison.best else "")
    return shown


def to_rich(table: Table, title: str) -> RichTable:
    """Return a table of results that fits into 80 columns, the best of each column in bold."""
    shown = RichTable("", *heads(table), title=title, title_justify="left", box=None, pad_edge=False)
    for line in table.lines:
        shown.add_row(line.label, *map(_stacked, line.cells))
    return shown


def _stacked(cell: Cell) -> Text:
    text = Text(_narrow(cell.text), style="bold" if cell.best else "", no_wrap=True)
    if cell.paper:
        text.append(f"\n{_narrow(cell.paper)}", style="not bold dim")
    return text


def _narrow(text: str) -> str:
    return text.replace(" ± ", "±").replace(" %", "%").replace(" / ", "/")
