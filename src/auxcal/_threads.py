"""One thread for work that is too small to share."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """Give a context in which BLAS and OpenMP have one thread.

    Libraries come with imports, so that they are looked for again only where there were some since: to look takes
    longer than some fits.

    Examples
    --------
    >>> from threadpoolctl import threadpool_info
    >>> from auxcal.calibrators._threads import one_thread
    >>> with one_thread():
    ...     {pool["num_threads"] for pool in threadpool_info()}
    {1}
    """
    with _controller(len(sys.modules)).limit(limits=1):
        yield


@lru_cache(maxsize=1)
def _controller(n_modules: int) -> ThreadpoolController:
    return ThreadpoolController()
