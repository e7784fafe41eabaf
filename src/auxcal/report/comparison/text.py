"""A comparison as plain text: the answer, then the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auxcal._core.text import write_score, write_seconds
from auxcal.metrics import METRICS

if TYPE_CHECKING:
    from auxcal.report.comparison._comparison import Comparison, Entry

SHOWN = ("auroc", "aupr", "p90", "ece", "brier")
"""The metrics of the table: those of the paper."""

COLUMNS = ("auroc", "aupr", "p90", "brier", "ece", "ece_floor_p95")
"""The columns of a narrow table; the noise floor is next to its ECE."""

HEADS = {metric: METRICS[metric].label if metric in METRICS else "noise" for metric in COLUMNS}


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
