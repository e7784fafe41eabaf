"""How far something has got, for whoever waits for it: one protocol, a callable that is told the share that is done."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Report: TypeAlias = Callable[[float], None]
"""What is told of progress: the share that is done, from 0 to 1."""

PATIENCE = 2.0
"""Seconds before a progress bar is shown."""

_report: ContextVar[Report | None] = ContextVar("report", default=None)


def silent(done: float) -> None:
    """Take a report of progress and show nothing."""


@contextmanager
def reported_to(report: Report) -> Iterator[None]:
    """Tell `report` the share that is done of every training in the block, after each epoch.

    Examples
    --------
    >>> from auxcal._progress import reported_to, tell
    >>> shares = []
    >>> with reported_to(shares.append):
    ...     tell(0.5)
    >>> tell(1.0)  # nobody listens any more
    >>> shares
    [0.5]
    """
    before = _report.set(report)
    try:
        yield
    finally:
        _report.reset(before)


def tell(done: float) -> None:
    """Report the share of a training that is done, if anyone has asked for it."""
    report = _report.get()
    if report is not None:
        report(done)


@contextmanager
def progress_bar(what: str) -> Iterator[Report]:
    """Show a bar in a terminal or notebook after two seconds; yield what is told the share that is done.

    Until it is told for the first time, the bar shows only that something is under way.

    Examples
    --------
    >>> from auxcal._progress import progress_bar
    >>> with progress_bar("scoring") as report:
    ...     report(0.5)
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console(stderr=True)  # standard output is for results
    left = TextColumn("{task.fields[left]}"), TimeRemainingColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), *left)
    watched = console.is_terminal or console.is_jupyter
    shown = Progress(*columns, console=console, disable=not watched, transient=True)
    task = shown.add_task(what, total=None, left="")
    patience = threading.Timer(PATIENCE, shown.start)
    patience.start()
    try:
        yield lambda done: shown.update(task, completed=done, total=1, left="left:")
    finally:
        patience.cancel()
        patience.join()
        shown.stop()
