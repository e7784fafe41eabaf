"""Fits keep to one thread."""

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from auxcal import PlattScaling
from auxcal._core import threads as _threads


@pytest.fixture(autouse=True)
def two_threads():
    """Let there be something to limit, also where the tests are run with one thread."""
    with threadpool_limits(2, "blas"):
        yield


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


def test_one_context_may_be_inside_another():
    before = threadpool_info()
    with _threads.one_thread():
        with _threads.one_thread():
            pass
        assert {pool["num_threads"] for pool in threadpool_info()} == {1}
    assert threadpool_info() == before


def test_the_last_of_many_threads_restores_what_the_first_found():
    """They enter at the same time and leave in any order, and each restores what is its own."""
    before, everybody = threadpool_info(), Barrier(8)

    def enter_and_leave(number):
        own, inside = threadpool_info(), set()
        everybody.wait()
        for _ in range(20 + number):
            with _threads.one_thread():
                inside |= {pool["num_threads"] for pool in threadpool_info()}
        everybody.wait()
        return own, inside, threadpool_info()

    with ThreadPoolExecutor(8) as pool:
        for own, inside, after in pool.map(enter_and_leave, range(8)):
            assert inside == {1}
            assert after == own
    assert threadpool_info() == before


def test_eight_threads_fit_at_the_same_time():
    before = threadpool_info()
    rng = np.random.default_rng(0)
    logits, y = rng.normal(size=(500, 3)), rng.integers(3, size=500)
    expected = PlattScaling().fit(logits, y).predict_confidence(logits)
    with ThreadPoolExecutor(8) as pool:
        for confidence in pool.map(lambda _: PlattScaling().fit(logits, y).predict_confidence(logits), range(40)):
            assert np.array_equal(confidence, expected)
    assert threadpool_info() == before


@pytest.mark.needs("torch")
def test_torch_keeps_to_one_thread_too():
    import torch

    threads, everybody = torch.get_num_threads(), Barrier(8)

    def enter_and_leave(_):
        everybody.wait()
        with _threads.one_thread():
            return torch.get_num_threads()

    try:
        torch.set_num_threads(3)
        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(enter_and_leave, range(8))) == {1}
        with _threads.one_thread(), pytest.raises(ZeroDivisionError), _threads.one_thread():
            raise ZeroDivisionError
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(threads)
