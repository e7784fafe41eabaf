"""The slices of `auxcal evaluate --by`, as a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from auxcal.cli._terminal import console, say

if TYPE_CHECKING:
    from rich.table import Table

    from auxcal.metrics import Slice

_MOST = 12  # slices whose metrics are all shown; the others are in the JSON


def say_slices(by: str, slices: Sequence[Slice], table_of: Callable[[dict[str, float]], list[str]]) -> None:
    """Print a table of the slices, then every metric of the largest ones."""
    say("")
    console().print(slice_table(by, slices))
    say(reading_of(slices))
    for each in slices[:_MOST]:
        say(f"\n{by} = {each.value}, {each.rows:,} rows")
        for line in table_of(each.scores):
            say(line)
    if len(slices) > _MOST:
        say(f"\nAll metrics of the other {len(slices) - _MOST} slices: --json.")


def slice_table(by: str, slices: Sequence[Slice]) -> Table:
    """Return one row for each slice, with what matters most."""
    from rich.table import Table

    from auxcal._core.text import percent, visible, write_score

    table = Table(box=None, pad_edge=False)
    table.add_column(visible(by), overflow="fold")
    for head in ("rows", "right", "says", "ECE", "noise up to", "Brier", ""):
        table.add_column(head, justify="right", no_wrap=True)
    for each in slices:
        scores = (write_score(name.split("_")[0], each.scores[name]) for name in ("ece", "ece_floor_p95", "brier"))
        mark = "noise" if each.is_noise else ""
        table.add_row(
            visible(each.value), f"{each.rows:,}", percent(each.accuracy), percent(each.confidence), *scores, mark
        )
    return table


def reading_of(slices: Sequence[Slice]) -> str:
    """Return how to read the table."""
    from auxcal.metrics import Slice

    many = f", and of {len(slices)} slices one in twenty is off by chance alone" if len(slices) > 5 else ""
    return f"noise: the ECE is within what chance gives, or there are fewer than {Slice.FEW_ROWS} rows{many}."
