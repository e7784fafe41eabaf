"""Time and memory of one call, and the best of several calls that take turns."""

from __future__ import annotations

import ctypes
import gc
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Measured:
    """What a call takes: seconds by the clock and of all cores, and bytes at its peak beyond those held before."""

    wall: float
    cpu: float
    memory: int | None
    runs: int = 1

    def best(self, other: Measured) -> Measured:
        """Return the least time of both, since noise only ever adds, and the most memory."""
        memory = None if self.memory is None or other.memory is None else max(self.memory, other.memory)
        return Measured(min(self.wall, other.wall), min(self.cpu, other.cpu), memory, self.runs + other.runs)


def measured(call: Callable[[], Any]) -> tuple[Measured, Any]:
    """Return what one call takes, and what it returns."""
    gc.collect()
    before = _restart_peak()
    cpu, wall = time.process_time(), time.perf_counter()
    result = call()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    memory = None if before is None else max(0, _bytes("VmHWM") - before)
    return Measured(wall, cpu, memory), result


def in_turns(calls: dict[str, Callable[[], Any]], most_runs: int, seconds: float) -> dict[str, Measured]:
    """Return the best of several runs of each call.

    The calls take turns, so that a noisy neighbour meets all of them; one that has taken so many seconds is not run
    again.
    """
    best: dict[str, Measured] = {}
    spent = dict.fromkeys(calls, 0.0)
    for _ in range(most_runs):
        for name, call in calls.items():
            if spent[name] < seconds:
                new, _ = measured(call)
                best[name] = new.best(best[name]) if name in best else new
                spent[name] += new.wall
    return best


def _restart_peak() -> int | None:
    """Forget the highest memory of this process, and return what it holds now; None where that is not known."""
    try:
        ctypes.CDLL(None).malloc_trim(0)  # or what was freed would still be held, and be used again unseen
        _CLEAR.write_text("5")
        return _bytes("VmRSS")
    except (AttributeError, OSError):  # no Linux, or no glibc
        return None


def _bytes(field: str) -> int:
    found = re.search(rf"{field}:\s+(\d+) kB", _STATUS.read_text())
    if found is None:
        raise OSError(f"no {field} in {_STATUS}")
    return 1024 * int(found[1])
