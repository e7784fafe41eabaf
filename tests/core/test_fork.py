"""A fork while another thread works: the child must not wait for a thread that it does not have."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")

BEGIN = """
import os, sys, threading, warnings
import numpy as np
import auxcal
from auxcal._core import threads as _threads

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
logits = rng.normal(size=(300, 3))
y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
busy, forked = threading.Event(), threading.Event()

def forked_while(work, then):
    # Fork while another thread works, and exit with what the child says.
    thread = threading.Thread(target=work)
    thread.start()
    busy.wait()
    threading.Timer(0.2, forked.set).start()  # a fork that waits for the thread must not wait for ever
    child = os.fork()
    if not child:
        os._exit(0 if then() else 1)
    forked.set()
    thread.join()
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def run(script):
    """Run a script that forks; a child that hangs is ended with it."""
    process = subprocess.Popen([sys.executable, "-c", BEGIN + script], start_new_session=True)
    try:
        return process.wait(timeout=600)  # seconds, which a busy machine may take
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        return "hangs"


def test_while_another_thread_limits_the_pools():
    script = """
def limit():
    with _threads._lock:
        busy.set()
        forked.wait()

forked_while(limit, lambda: auxcal.PlattScaling().fit(logits, y).converged_)
"""
    assert run(script) == 0


def test_while_another_thread_computes_what_is_cached():
    script = """
class Slow:
    @_threads.cached_property
    def value(self):
        busy.set()
        forked.wait()
        return 1

def child():
    forked.set()
    return Slow().value == 1

forked_while(lambda: Slow().value, child)
"""
    assert run(script) == 0


def test_while_another_thread_is_inside_the_limits_are_restored_in_the_child():
    script = """
from threadpoolctl import threadpool_info, threadpool_limits

threads = lambda: [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

def fit():
    with _threads.one_thread():
        busy.set()
        forked.wait()

before = threads()

def child():
    with _threads.one_thread():
        pass
    return threads() == before

forked_while(fit, child)
"""
    assert run(script) == 0


def test_while_another_thread_updates_a_monitor():
    script = """
from auxcal.monitoring import _monitor

monitor = auxcal.Monitor(auxcal.PlattScaling().fit(logits, y))
grow = monitor._rows.update

def slowly(found):
    busy.set()
    forked.wait()
    return grow(found)

monitor._rows.update = slowly

def child():
    forked.set()
    monitor.update(logits, y)
    return monitor.evidence.n_rows == 2 * len(y) == monitor._waiting.n_rows

forked_while(lambda: monitor.update(logits, y), child)
"""
    assert run(script) == 0
