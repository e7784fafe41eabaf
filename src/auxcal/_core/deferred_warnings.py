"""Warnings that a caller can collect instead, separately for each thread, unlike Python's filters."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from auxcal._core.float_errors import undecorated

_kept: ContextVar[list[Warning] | None] = ContextVar("kept", default=None)


@contextmanager
def collect_warnings() -> Iterator[list[Warning]]:
    """Give a list that collects what `warn` would warn of in the block."""
    collected: list[Warning] = []
    before = _kept.set(collected)
    try:
        yield collected
    finally:
        _kept.reset(before)


def warn(message: str, category: type[Warning], stacklevel: int = 1) -> None:
    """Warn, or add the warning to the list of `collect_warnings`."""
    collected = _kept.get()
    if collected is None:
        warnings.warn(message, category, stacklevel=undecorated(stacklevel + 1))
    else:
        collected.append(category(message))
