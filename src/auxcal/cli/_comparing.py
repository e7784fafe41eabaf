"""What `compare` and `demo` share: progress, and the answer and the table in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from auxcal._core.text import visible
from auxcal.cli._slices import reading_of, slice_table

if TYPE_CHECKING:
    from rich.console import Console

    from auxcal._core.progress import Report
    from auxcal.report.comparison import Comparison


COMPARING = 0.95
"""The share of the time until the charts, which come after all comparisons."""


def share_of(update: Report, index: int, sets: int) -> Report:
    """Return what tells the progress of all comparisons about the one with the given index."""
    return lambda done: update(COMPARING * (index + done) / sets)


def show(console: Console, comparison: Comparison) -> None:
    """Print the answer, then the table."""
    from rich.text import Text

    from auxcal.report.terminal import comparison_to_rich

    console.print(Text(visible(comparison.name), style="dim"))
    console.print(Text(comparison.answer.found, style="bold"))
    console.print(Text(comparison.answer.then, style="bold blue"))
    console.print()
    console.print(comparison_to_rich(comparison))
    for entry in comparison.ranked:
        if entry.problem:
            console.print(Text(visible(f"{entry.label}: {entry.problem}"), style="dim"))
    console.print()
    for each in comparison.slices:
        console.print(Text(f"{comparison.best.label} by {each.by}", style="dim"))
        console.print(slice_table(each.by, each.after))
        console.print(Text(reading_of(each.after), style="dim"))
        console.print()


def print_plain(console: Console, *lines: str) -> None:
    """Print lines that may hold names of files, in which nothing is markup, unbroken."""
    from rich.text import Text

    console.print(*(Text(visible(line)) for line in lines), sep="\n", soft_wrap=True)


def explain(console: Console) -> None:
    """Explain the columns, once below all tables."""
    from rich.text import Text

    text = (
        "AUROC, AUPR and p.9 measure how well the confidence tells right from wrong: higher is better. Brier and ECE "
        "measure how honest it is: lower is better. With an ECE up to the noise next to it, perfect calibration is "
        "possible, not proven."
    )
    console.print(Text(text, style="dim"))


def open_page(written: Sequence[Path]) -> None:
    """Open the page in the browser, if it is among the files that were written."""
    import webbrowser

    from auxcal.report.folder import PAGE

    for path in written:
        if path.name == PAGE:
            webbrowser.open(path.resolve().as_uri())
