"""Eight threads at once: what one of them does must not show in another."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from benchmarks.attack.numbers import Case, small, train_quickly

_THREADS = 8
_TIMES = 16


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
    all_right = auxcal.Predictions(z, z.argmax(axis=1))
    one = partial(auxcal.compare, all_right, methods=["temperature"], bootstrap=0)
    yield "compare: no problem is missed", lambda: _same(lambda: _problems(one()))
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
