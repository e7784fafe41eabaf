"""A comparison in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auxcal._core.text import card, grid, note
from auxcal.report.comparison.text import HEADS, cells

if TYPE_CHECKING:
    from auxcal.report.comparison._comparison import Comparison


def to_html(comparison: Comparison) -> str:
    """Return the answer and the table, best first and in bold."""
    rows = [[entry.label, *cells(entry)] for entry in comparison.ranked]
    problems = [note(f"{entry.label}: {entry.problem}") for entry in comparison.ranked if entry.problem]
    return card(
        str(comparison.answer),
        f"{comparison.name}: {comparison.n_fit:,} rows to fit, {len(comparison.test):,} to test",
        grid(rows, head=["", *HEADS.values(), "fit"], bold=0),
        note("Best: the lowest Brier score. With an ECE up to the noise, perfect calibration is possible, not proven."),
        *problems,
    )
