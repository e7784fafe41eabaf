"""The table of a comparison for the terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from auxcal.report.comparison import Comparison
from auxcal.report.comparison.text import HEADS, cells


def comparison_to_rich(comparison: Comparison) -> Table:
    """Return the table of a comparison, which fits into 80 columns, best first and in bold."""
    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    shown.add_column("")
    for head in (*HEADS.values(), "fit"):
        shown.add_column(head, justify="right", no_wrap=True)
    for entry in comparison.ranked:
        name = Text(entry.label, no_wrap=True)
        name.append("  best" if entry is comparison.best else "", style="not bold blue")
        name.append("  the classifier itself" if entry is comparison.before else "", style="not bold dim")
        shown.add_row(name, *cells(entry), style="bold" if entry is comparison.best else "")
    return shown
