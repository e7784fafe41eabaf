"""Tables of results for the terminal, with the paper's number below ours."""

from __future__ import annotations

from rich.table import Table as RichTable
from rich.text import Text

from auxcal_paper.pages.tables import Cell, Table, heads


def to_rich(table: Table, title: str) -> RichTable:
    """Return a table of results that fits into 80 columns, the best of each column in bold."""
    shown = RichTable("", title=title, title_justify="left", box=None, pad_edge=False)
    for head in heads(table):
        shown.add_column(head, no_wrap=True)  # where it is narrow, the labels wrap
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
