"""A comparison as plain text: the answer, then the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auxcal.metrics import METRICS
from auxcal.metrics._written import write_score

if TYPE_CHECKING:
    from auxcal.comparison._comparison import Comparison, Entry

COLUMNS = ("auroc", "aupr", "p90", "brier", "ece", "ece_floor_p95")
"""The columns of a narrow table; the noise floor is next to its ECE."""

HEADS = {metric: METRICS[metric].label if metric in METRICS else "noise" for metric in COLUMNS}


def write_seconds(seconds: float) -> str:
    """Format a time in at most seven characters.

    Examples
    --------
    >>> from auxcal.comparison._text import write_seconds
    >>> write_seconds(0.004), write_seconds(14.25), write_seconds(300)
    ('0.0 s', '14.2 s', '300 s')
    """
    return f"{seconds:.1f} s" if seconds < 99.5 else f"{seconds:.0f} s"


def cells(entry: Entry) -> list[str]:
    """Return the row of a method: one cell per column, and the time of the fit."""
    scores = [write_score(metric, entry.scores[metric]) if entry.scores else "failed" for metric in COLUMNS]
    return [*scores, write_seconds(entry.fit_seconds)]


def to_text(comparison: Comparison) -> str:
    """Return the answer and a table that fits into 80 columns, best first."""
    lines = [
        f"{comparison.name}: {comparison.n_fit:,} rows to fit, {len(comparison.test):,} to test",
        str(comparison.answer),
        "",
        _line("", [*HEADS.values(), "fit"]),
        *(_line(_mark(comparison, entry) + entry.label, cells(entry)) for entry in comparison.ranked),
        *(f"! {entry.label}: {entry.problem}" for entry in comparison.ranked if entry.problem),
    ]
    return "\n".join(lines)


def _mark(comparison: Comparison, entry: Entry) -> str:
    return "* " if entry is comparison.best else "  "


def _line(name: str, values: list[str]) -> str:
    return f"{name:<16}" + "".join(f"{value:>9}" for value in values)
