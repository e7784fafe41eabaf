"""Progress, by one protocol: a callable that gets the share of the work that is done."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Report: TypeAlias = Callable[[float], None]
"""Progress: the share that is done, from 0 to 1."""

RowReport: TypeAlias = Callable[[float, int], None]
"""Progress with rows: the share that is done, and how many rows that is so far."""

PATIENCE = 2.0
"""Seconds before a progress bar is shown."""

_report: ContextVar[Report | None] = ContextVar("report", default=None)


def silent(done: float) -> None:
    """Take a report of progress and show nothing."""


@contextmanager
def reported_to(report: Report) -> Iterator[None]:
    """Report the progress of every training in the block, after each epoch."""
    before = _report.set(report)
    try:
        yield
    finally:
        _report.reset(before)


def report_progress(done: float) -> None:
    """Report the progress of a training, if anyone asked for it."""
    report = _report.get()
    if report is not None:
        report(done)


@contextmanager
def progress_bar(what: str) -> Iterator[Report]:
    """Show a bar in a terminal or notebook after two seconds; yield the callable to report to.

    Until the first report, the bar is indeterminate.
    """
    with rows_bar(what) as report:
        yield lambda done: report(done, 0)


@contextmanager
def rows_bar(what: str) -> Iterator[RowReport]:
    """Show the bar of `progress_bar`, with the number of rows done and the rows per second."""
    watched = sys.stderr is not None and sys.stderr.isatty()
    if not (watched or "ipykernel" in sys.modules):  # then rich need not be imported
        yield lambda done, rows: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console(stderr=True)  # standard output is for results
    left = TextColumn("{task.fields[rows]}"), TextColumn("{task.fields[left]}"), TimeRemainingColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), *left)
    watched = console.is_terminal or console.is_jupyter
    shown = Progress(*columns, console=console, disable=not watched, transient=True)
    task = shown.add_task(what, total=None, left="", rows="")
    started = time.monotonic()

    def report(done: float, rows: int) -> None:
        pace = rows / max(time.monotonic() - started, 1e-9)
        text = f"{rows:,} rows, {pace:,.0f} rows/s" if rows else ""
        shown.update(task, completed=done, total=1, left="left:", rows=text)

    patience = threading.Timer(PATIENCE, shown.start)
    patience.start()
    try:
        yield report
    finally:
        patience.cancel()
        patience.join()
        shown.stop()
