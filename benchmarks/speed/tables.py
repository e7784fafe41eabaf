"""Numbers and tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table whose first column is text and whose others are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def seconds(value: float | None) -> str:
    """Write a time with two digits that count."""
    if value is None:
        return "–"
    if value >= 100:
        return f"{value:,.0f} s"
    if value >= 1:
        return f"{value:.2g} s" if value < 10 else f"{value:.0f} s"
    return f"{1000 * value:.2g} ms" if value < 0.1 else f"{1000 * value:.0f} ms"


def megabytes(value: float | None) -> str:
    """Write a number of bytes in MB."""
    return "–" if value is None else f"{value / 1e6:,.0f} MB"


def times(value: float | None) -> str:
    """Write a ratio with two digits that count."""
    if value is None:
        return "–"
    return f"{value:,.0f}×" if value >= 10 else f"{value:.2g}×"


def mark(verdict: str) -> str:
    """Write a verdict so that a miss is seen."""
    return verdict if verdict in ("", "met") else f"**{verdict}**"
