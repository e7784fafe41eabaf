"""Fits keep to one thread."""

import sys

from threadpoolctl import ThreadpoolController

from auxcal.calibrators import _threads


def test_libraries_are_looked_for_again_after_an_import_alone(monkeypatch):
    looks = []

    def look():
        looks.append(1)
        return ThreadpoolController()

    monkeypatch.setattr(_threads, "ThreadpoolController", look)
    _threads._controller.cache_clear()
    _threads.one_thread()
    with _threads.one_thread():
        assert len(looks) == 1
    monkeypatch.setitem(sys.modules, "a library that was not there", sys)
    with _threads.one_thread():
        assert len(looks) == 2
