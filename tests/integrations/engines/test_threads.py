"""What threads of engines do after they gave their result is not ours to judge; our own threads may not fail."""

import threading

import pytest


def fail_in(file):
    """Let a thread fail in a file."""
    thread = threading.Thread(target=exec, args=[compile("raise InterruptedError", file, "exec")])
    thread.start()
    thread.join()


@pytest.mark.parametrize("engine", ["ray", "pyspark", "py4j", "daft", "dask"])
def test_a_thread_of_an_engine_may_fail(engine):
    fail_in(f"/lib/python3/site-packages/{engine}/queue.py")


@pytest.mark.xfail(raises=pytest.PytestUnhandledThreadExceptionWarning)
def test_a_thread_of_ours_may_not():
    fail_in("/repository/src/auxcal/ray.py")
