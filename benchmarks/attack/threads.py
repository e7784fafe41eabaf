"""Eight threads at once, and forks: what one of them does must not show in another."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
from benchmarks.attack.numbers import Case, small, train_quickly
from benchmarks.attack.surroundings import wait_for

_THREADS = 8
_TIMES = 16
_FORKS = 5  # for each method


def cases() -> Iterator[tuple[str, Case]]:
    """Give the attacks: fits, comparisons, and what they leave behind."""
    import auxcal

    train_quickly()
    rng = np.random.default_rng(0)
    z = rng.normal(size=(300, 4))
    y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    for method, made in auxcal.CALIBRATORS.items():
        kind = partial(made, **small(made))
        yield f"{method}: the same bits", lambda kind=kind: _same(lambda: kind().fit(z, y).predict_confidence(z))
        yield f"{method}: the same threads", lambda kind=kind: _unchanged(_pools, lambda: kind().fit(z, y))
        yield f"{method}: fitted while others score", lambda kind=kind: _refitted(kind, z, y)
        yield f"{method}: forked while another thread fits", lambda kind=kind: _forked(lambda: kind().fit(z, y))
    all_right = auxcal.Predictions(z, z.argmax(axis=1))
    one = partial(auxcal.compare, all_right, methods=["temperature"], bootstrap=0)
    yield "compare: no problem is missed", lambda: _same(lambda: _problems(one()))
    watched = auxcal.TemperatureScaling().fit(z, y)
    yield "monitor: no row is lost", lambda: _watched(watched, z, y)
    yield "monitor: what is saved meanwhile can be read", lambda: _saved(watched, z, y)
    yield "compare: filters", lambda: _unchanged(lambda: list(warnings.filters), one)


def _problems(comparison: Any) -> Any:
    return np.array([entry.problem is None for entry in comparison.entries])


def _pools() -> list[int]:
    from threadpoolctl import threadpool_info

    return [pool["num_threads"] for pool in threadpool_info()]


def _same(work: Callable[[], Any]) -> str:
    alone = work()
    with ThreadPoolExecutor(_THREADS) as pool:
        found = list(pool.map(lambda _: work(), range(_TIMES)))
    return "fine" if all(np.array_equal(alone, each) for each in found) else "silent"


def _unchanged(state: Callable[[], Any], work: Callable[[], Any]) -> str:
    work()
    before = state()
    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(lambda _: work(), range(_TIMES)))
    return "fine" if state() == before else "silent"


def _refitted(kind: Callable[[], Any], z: Any, y: Any) -> str:
    """Fit one calibrator in turn on two sets of rows, while all others score with it: with one fit or the other."""
    from auxcal import NotFittedError

    shared, parts = kind(), ((z, y), (-z[::-1], y))
    known = set()
    for rows in parts:
        known.add(shared.fit(*rows).predict_confidence(z[:20]).tobytes())
    done = Event()

    def score() -> set[bytes]:
        found = set()
        while not done.is_set():
            found.add(shared.predict_confidence(z[:20]).tobytes())
        return found

    with ThreadPoolExecutor(_THREADS - 1) as pool:
        scored = [pool.submit(score) for _ in range(_THREADS - 1)]
        try:
            for number in range(_TIMES):
                shared.fit(*parts[number % 2])
        finally:
            done.set()
    try:
        return "fine" if all(each.result() <= known for each in scored) else "silent"
    except NotFittedError:
        return "lost"  # the fit that it had


def _forked(work: Callable[[], Any]) -> str:
    """Fork while another thread works, and let the child do the same work."""
    done = Event()

    def go_on() -> None:
        while not done.is_set():
            work()

    with ThreadPoolExecutor(1) as pool:
        others = pool.submit(go_on)
        try:
            codes = [_child(work) for _ in range(_FORKS)]
        finally:
            done.set()
        others.result()
    return "hang" if None in codes else "lost" if any(codes) else "fine"


def _child(work: Callable[[], Any]) -> int | None:
    """Let a child work, and return its exit code, or None where it does not end."""
    time.sleep(0.01)  # so that the thread is somewhere else each time
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forks beside threads
        process = os.fork()
    if not process:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    try:
        return wait_for(process)
    except subprocess.TimeoutExpired:
        return None


def _watched(calibrator: Any, z: Any, y: Any) -> str:
    """Let all threads show rows and labels to one monitor: it must have seen each of them once."""
    import auxcal

    monitor = auxcal.Monitor(calibrator, random_state=0)

    def show(number: int) -> list[int]:
        rows = slice(15 * (number % 20), 15 * (number % 20) + 15)
        numbers = monitor.update(z[rows])
        monitor.label(numbers[:5], y[rows][:5])
        return list(numbers)

    with ThreadPoolExecutor(_THREADS) as pool:
        numbers = [each for found in pool.map(show, range(10 * _TIMES)) for each in found]
    seen = monitor.evidence.n_rows, monitor.evidence.n_labels
    return "fine" if len(set(numbers)) == len(numbers) and seen == (len(numbers), len(numbers) // 3) else "lost"


def _saved(calibrator: Any, z: Any, y: Any) -> str:
    """Save a monitor again and again while the others show it rows."""
    import auxcal

    monitor, done = auxcal.Monitor(calibrator, random_state=0), Event()

    def show() -> None:
        while not done.is_set():
            monitor.update(z[:15], y[:15])

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(_THREADS - 1) as pool:
        shown = [pool.submit(show) for _ in range(_THREADS - 1)]
        paths = [Path(folder) / f"{number}.safetensors" for number in range(_TIMES)]
        try:
            for path in paths:
                monitor.save(path)
        finally:
            done.set()
        for each in shown:
            each.result()
        for path in paths:
            if auxcal.Monitor.load(path, calibrator).evidence.n_rows % 15:
                return "lost"
    return "fine"
