"""Parts handed to several processes, and how far they have got."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from threading import Thread
from typing import Any, TypeAlias

from auxcal._core.progress import RowReport
from auxcal._core.threads import one_thread
from auxcal.tables._parts import Part

Tell: TypeAlias = Callable[[int, float], None]
"""What a part is told of: rows that are done now, and the share of the part that is done so far."""

Work: TypeAlias = Callable[[Part, Tell], Any]

_ROWS, _BYTES, _STOP = range(3)  # what the processes share: what is done by all of them, and whether to stop
_GLANCE = 0.2  # seconds between looks at them


def run(work: Work, parts: Sequence[Part], jobs: int, report: RowReport) -> Iterator[tuple[int, Any]]:
    """Yield the place of each part and what the work on it returned, as they come; each process has one thread.

    What the work returns must be small, a page of memory at most: a process that is killed in the middle of a larger
    message leaves everybody waiting for the rest.
    """
    total = max(sum(part.size for part in parts), 1)
    if min(jobs, len(parts)) > 1:
        yield from _in_processes(work, parts, jobs, total, report)
        return
    counts = [0.0, 0.0, 0.0]
    for place, part in enumerate(parts):
        tell = _teller(counts, part)

        def told(rows: int, share: float, tell: Tell = tell) -> None:
            tell(rows, share)
            report(counts[_BYTES] / total, int(counts[_ROWS]))

        with one_thread():
            result = work(part, told)
        yield place, result


def _in_processes(
    work: Work, parts: Sequence[Part], jobs: int, total: int, report: RowReport
) -> Iterator[tuple[int, Any]]:
    context = multiprocessing.get_context("spawn")  # a fork would copy the locks of threads that it does not have
    # The lock is for those who add: one that is killed while it holds it must not stop whoever only looks.
    counts, lock = context.RawArray("d", 3), context.Lock()
    with ProcessPoolExecutor(min(jobs, len(parts)), context, _start, (work, counts, lock)) as pool:
        places = {pool.submit(_do, part): place for place, part in enumerate(parts)}
        waiting = set(places)
        try:
            while waiting:
                done, waiting = wait(waiting, _GLANCE, FIRST_COMPLETED)
                report(counts[_BYTES] / total, int(counts[_ROWS]))
                for future in done:
                    yield places[future], future.result()
        except BrokenProcessPool as error:
            raise ChildProcessError(
                f"a process was ended from outside, perhaps for want of memory; {len(parts) - len(waiting)} of "
                f"{len(parts)} parts were done. Start again: it resumes where it stopped."
            ) from error
        finally:
            counts[_STOP] = 1
            pool.shutdown(wait=False, cancel_futures=True)


def _teller(counts: Any, part: Part) -> Tell:
    """Return what adds the progress of a part to that of all."""
    before = 0.0

    def tell(rows: int, share: float) -> None:
        nonlocal before
        counts[_ROWS] += rows
        counts[_BYTES] += (share - before) * part.size
        before = share
        if counts[_STOP]:
            raise InterruptedError("the run was stopped")

    return tell


# In a process of its own ----------------------------------------------------------------------------------------------

_own: list[Any] = []  # the work, what the processes share, and the lock of those who add to it


def _start(work: Work, counts: Any, lock: Any) -> None:
    _own[:] = work, counts, lock
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it decides
    parent = multiprocessing.parent_process()
    if parent is not None:
        Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Any) -> None:
    """Wait for the end of the process that started this one, and end too: nobody asks for more work."""
    parent.join()
    os._exit(1)


def _do(part: Part) -> Any:
    work, counts, lock = _own
    tell = _teller(counts, part)

    def told(rows: int, share: float) -> None:
        with lock:
            tell(rows, share)

    with one_thread():
        return work(part, told)
