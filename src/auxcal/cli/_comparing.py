"""What `compare` and `demo` share: progress, and the answer and the table in the terminal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from auxcal.comparison import Comparison
    from auxcal.comparison._compare import Report


def share_of(update: Callable[[float], None], index: int, sets: int) -> Report:
    """Return what tells the progress of all comparisons about the one with the given index."""

    def report(_: str, done: int, total: int) -> None:
        # The charts of a data set, which come after all comparisons, take about as long as one more method.
        update((index * total + done) / (sets * (total + 1)))

    return report


def show(console: Console, comparison: Comparison) -> None:
    """Print the answer, then the table."""
    from rich.text import Text

    from auxcal.reports.terminal import comparison_to_rich

    console.print(Text(comparison.name, style="dim"))
    console.print(Text(comparison.answer.found, style="bold"))
    console.print(Text(comparison.answer.then, style="bold blue"))
    console.print()
    console.print(comparison_to_rich(comparison))
    for entry in comparison.ranked:
        if entry.problem:
            console.print(Text(f"{entry.label}: {entry.problem}", style="dim"))
    console.print()


def explain(console: Console) -> None:
    """Explain the columns, once below all tables."""
    from rich.text import Text

    text = (
        "AUROC, AUPR and p.9 measure how well the confidence tells right from wrong: higher is better. Brier and ECE "
        "measure how honest it is: lower is better. An ECE up to the noise next to it can't be told from perfect."
    )
    console.print(Text(text, style="dim"))


def open_page(page: Path) -> None:
    """Open a page in the browser."""
    import webbrowser

    webbrowser.open(page.resolve().as_uri())
