"""How far something has got, for whoever waits for it: one protocol, a callable that is told the share that is done."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Report: TypeAlias = Callable[[float], None]
"""What is told of progress: the share that is done, from 0 to 1."""

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
