"""One thread for work that is too small to share."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from threading import RLock, get_ident
from typing import TYPE_CHECKING, Any, NamedTuple

from threadpoolctl import ThreadpoolController

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:

    class cached_property:  # noqa: N801
        """As in Python 3.12. Before, all instances share a lock, and a fork copies it while another thread has it."""

        def __init__(self, compute: Callable[[Any], Any]) -> None:
            self._compute, self.__doc__ = compute, compute.__doc__

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            return instance.__dict__.setdefault(self._compute.__name__, self._compute(instance))


class _Pool(NamedTuple):
    """A library's thread pool."""

    name: str
    read: Callable[[], int]
    limit: Callable[[int], object]


def fork_safe_lock() -> RLock:
    """Return a lock for a module; a fork waits for it, since in the child nobody would release it."""
    lock = RLock()
    if hasattr(os, "register_at_fork"):  # Windows has no fork
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock


_lock = fork_safe_lock()
_inside: Counter[int] = Counter()  # contexts of each thread
_before: dict[str, tuple[_Pool, int]] = {}  # of the pools that all threads share


@contextmanager
def one_thread() -> Iterator[None]:
    """Give a context in which BLAS, OpenMP and torch, if it is there, have one thread.

    Any number of threads can be inside at once: the first saves the limits, and the last restores them.
    """
    with _lock:
        for pool in [*_torch(), *_libraries(shared=True)]:  # torch first: it sets up OpenMP when it is asked
            if pool.name not in _before:
                _before[pool.name] = pool, pool.read()
        own = [(pool, pool.read()) for pool in _libraries(shared=False)]
        for pool, _ in [*_before.values(), *own]:
            pool.limit(1)
        _inside[get_ident()] += 1
    try:
        yield
    finally:
        with _lock:
            _inside[get_ident()] -= 1
            if not _inside.total():
                _inside.clear()
                for pool, threads in _before.values():
                    pool.limit(threads)
                _before.clear()
            for pool, threads in own:
                pool.limit(threads)


def _only_this_thread() -> None:
    """Forget the other threads, which a forked child does not have and which would never leave."""
    for thread in _inside.keys() - {get_ident()}:
        del _inside[thread]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_only_this_thread)


def _torch() -> list[_Pool]:
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "set_num_threads"):  # another thread may be importing it
        return []
    return [_Pool("torch", torch.get_num_threads, torch.set_num_threads)]


def _libraries(*, shared: bool) -> list[_Pool]:
    """Return the pools that all threads share, or the thread-local ones, of OpenMP.

    Imports bring libraries, so they are searched again only after an import: the search takes longer than some fits.
    """
    controllers = _controller(len(sys.modules)).lib_controllers
    return [
        _Pool(library.filepath, library.get_num_threads, partial(_limit, library))
        for library in controllers
        if shared != ("openmp" in (library.user_api, getattr(library, "threading_layer", None)))
    ]


def _limit(library: Any, threads: int) -> None:
    # Newer versions of threadpoolctl let one thread alone limit OpenBLAS. Here the lock does that.
    release = getattr(library, "clear_controlling_thread", lambda force: None)
    release(force=True)
    library.set_num_threads(threads)
    release(force=True)


@lru_cache(maxsize=1)
def _controller(n_modules: int) -> ThreadpoolController:
    return ThreadpoolController()
