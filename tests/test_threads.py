"""Fits keep to one thread."""

import sys

from threadpoolctl import ThreadpoolController, threadpool_info

from auxcal.calibrators import _threads


def test_libraries_are_looked_for_again_after_an_import_alone(monkeypatch):
    looks = []

    def look():
        looks.append(1)
        return ThreadpoolController()

    monkeypatch.setattr(_threads, "ThreadpoolController", look)
    _threads._controller.cache_clear()
    for _ in range(2):
        with _threads.one_thread():
            assert len(looks) == 1
    monkeypatch.setitem(sys.modules, "a library that was not there", sys)
    with _threads.one_thread():
        assert len(looks) == 2


def test_nothing_is_limited_outside_the_context():
    before = threadpool_info()
    limited = _threads.one_thread()
    assert threadpool_info() == before
    with limited:
        assert {pool["num_threads"] for pool in threadpool_info()} == {1}
    assert threadpool_info() == before
