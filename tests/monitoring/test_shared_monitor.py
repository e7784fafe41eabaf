"""A monitor that threads share, and copies of one."""

import copy
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import numpy as np
import pytest

from auxcal import Monitor, PlattScaling


@pytest.fixture
def often():
    """Let threads take turns as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_eight_threads_lose_no_row_and_save_whole_files(often, platt, draw, tmp_path):
    monitor, paths = Monitor(platt, level=1e-9, keep=5000), count()
    logits, y = draw(50, random_state=1)

    def work(_):
        for _ in range(6):
            rows = monitor.update(logits)
            monitor.label(rows, y)
            monitor.update(logits, y)
            path = tmp_path / f"{next(paths)}.safetensors"
            monitor.save(path)
            assert Monitor.load(path, platt).evidence.n_rows % len(y) == 0
            assert len(monitor.alarms) <= 2
        return rows

    with ThreadPoolExecutor(8) as pool:
        last = list(pool.map(work, range(8)))
    assert len(np.unique(np.concatenate(last))) == 8 * len(y)
    assert monitor.evidence[:2] == (2 * 8 * 6 * len(y), 2 * 8 * 6 * len(y))
    assert monitor._waiting.n_rows == monitor._rows.wealth.n_rows == monitor.evidence.n_rows


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda monitor: pickle.loads(pickle.dumps(monitor))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_a_copy_goes_on_by_itself_to_the_same_bits(copied, calibrator, draw):
    monitor = Monitor(calibrator, level=0.01, tolerance=0.01, keep=70, random_state=5)
    rows = monitor.update(*(draw(100, random_state=2)[:1]))
    monitor.label(rows[50:60], draw(100, random_state=2)[1][50:60])
    other = copied(monitor)
    before = monitor.evidence
    other.label(rows[60:70], draw(100, random_state=2)[1][60:70])
    other.update(*draw(500, random_state=3))
    assert monitor.evidence == before
    monitor.label(rows[60:70], draw(100, random_state=2)[1][60:70])
    monitor.update(*draw(500, random_state=3))
    assert other.evidence == monitor.evidence
    assert repr(other) == repr(monitor)


def test_a_calibrator_that_is_fitted_again_is_still_watched_as_it_was(draw):
    platt = PlattScaling().fit(*draw(300, random_state=4))
    monitor, before = Monitor(platt), platt.predict_confidence(4 * np.eye(3))
    platt.fit(*draw(300, scale=5.0, random_state=5))
    assert np.array_equal(monitor.calibrator.predict_confidence(4 * np.eye(3)), before)
    assert not np.array_equal(platt.predict_confidence(4 * np.eye(3)), before)
