"""Terminal output: lines, JSON and tables. No character of a name or a message controls the terminal."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

import auxcal
from auxcal._core.text import percent, visible, without_nan, write_score

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_LEAST_COLUMNS = 80  # the width of a VT100, which all tables are laid out for
_MOST_COLUMNS = 100  # of text: longer lines are hard to read


def echo(text: str) -> None:
    """Print a line."""
    typer.echo(visible(text))


def echo_error(sentence: str) -> None:
    """Print one line to standard error; where that is closed, the exit code has to do."""
    try:
        typer.echo(visible(f"auxcal: {' '.join(sentence.split())}"), err=True)
    except OSError:
        if sys.stderr is not None:
            discard(sys.stderr.fileno())


def discard(descriptor: int) -> None:
    """Let go of all that is written to a stream from now on."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def echo_json(value: Mapping[str, Any] | list[Any]) -> None:
    """Print JSON, with null for NaN."""
    echo_json_text(json.dumps(without_nan(value), indent=2, ensure_ascii=False))


def echo_result(found: Mapping[str, Any] | list[Any], lines: Iterable[str], *, json: bool) -> None:
    """Print what a command found, as JSON or in these lines."""
    if json:
        echo_json(found)
        return
    for line in lines:
        echo(line)


def wrapped(sentences: Iterable[str]) -> list[str]:
    """Return sentences in lines that fit a terminal; each begins a line."""
    width = min(max(shutil.get_terminal_size().columns, _LEAST_COLUMNS), _MOST_COLUMNS)
    return [line for sentence in sentences for line in textwrap.wrap(sentence, width, subsequent_indent="  ")]


def echo_json_text(text: str) -> None:
    """Print JSON; control characters, and those that the terminal can't show, are escaped as JSON escapes them."""
    is_unicode = "utf" in (sys.stdout.encoding or "").lower()
    typer.echo(re.sub(r"[\x7f-\x9f]" if is_unicode else r"[^\x00-\x7e]", _escaped, text))


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found.group())[1:-1] if found.group() > "\x7f" else "\\u007f"


def console(*, quiet: bool = False) -> Console:
    """Return a console as wide as the terminal, but wide enough for a table.

    Names come from files, so nothing in them is markup, and control characters are escaped.
    """
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class SafeConsole(Console):
        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else visible(text), style, control)

    width = max(shutil.get_terminal_size().columns, _LEAST_COLUMNS)
    return SafeConsole(quiet=quiet, highlight=False, markup=False, emoji=False, width=width)


def slice_table(by: str, slices: Sequence[auxcal.metrics.Slice]) -> Table:
    """Return a table with a row for each slice."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column(visible(by), overflow="fold")
    for head in ("rows", "accuracy", "confidence", "ECE", "noise up to", "Brier", ""):
        table.add_column(head, justify="right", no_wrap=True)
    for each in slices:
        scores = (write_score(name.split("_")[0], each.scores[name]) for name in ("ece", "ece_floor_p95", "brier"))
        mark = "noise" if each.is_noise else ""
        table.add_row(
            visible(each.value), f"{each.rows:,}", percent(each.accuracy), percent(each.confidence), *scores, mark
        )
    return table


def slice_note(slices: Sequence[auxcal.metrics.Slice]) -> str:
    """Return how to read the table of slices."""
    # At a level of 5 % one slice in twenty exceeds its noise by chance, which matters where there are several.
    many = f", and of {len(slices)} slices one in twenty is off by chance alone" if len(slices) > 5 else ""
    few = auxcal.metrics.Slice.FEW_ROWS
    return f"noise: the ECE is within what chance gives, or there are fewer than {few} rows{many}."
