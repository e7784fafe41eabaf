"""The same table for every engine: nulls, NaN, ragged and empty lists among its rows, and an empty file."""

import gc
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import auxcal

NAMES = ["cat", "dog", "bird"]

# What engines leave to be collected, and what they say of their own dependencies, is not ours to judge.
OF_ENGINES = ("ResourceWarning", "DeprecationWarning", "FutureWarning", "pytest.PytestUnraisableExceptionWarning")


def pytest_itemcollected(item):
    """Ignore warnings of engines in the tests of this folder. Those of their threads: see pyproject.toml."""
    for category in OF_ENGINES:
        item.add_marker(pytest.mark.filterwarnings(f"ignore::{category}"))


class Table:
    """A folder of parquet files, and what its scores must be."""

    def __init__(self, folder):
        rng = np.random.default_rng(0)
        logits = rng.normal(size=(2000, 3), scale=3).astype(np.float32)
        y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
        # One whose confidence is the same in any batch. That of CCAC-X moves a little with the size of the batch, which
        # engines choose: see "Large tables". That each batch is scored right is in tests/arrow.
        self.calibrator = auxcal.PlattScaling().fit(logits, y, class_names=NAMES)
        self.folder = folder / "rows"
        self.file = folder / "calibrator.safetensors"
        self.calibrator.save(self.file)
        rows = logits.tolist()
        rows[5], rows[6][1], rows[7][0], rows[8][2] = None, None, np.nan, np.inf
        rows[9], rows[10], rows[11] = [1.0, 2.0], [1.0, 2.0, 3.0, 4.0], []
        self.bad = list(range(5, 12))
        self.good = np.setdiff1d(np.arange(2000), self.bad)
        self.confidence = self.calibrator.predict_confidence(logits[self.good])
        self.prediction = [NAMES[k] for k in logits[self.good].argmax(axis=1)]
        self.y, self.groups = np.array(NAMES)[y], np.where(np.arange(2000) % 3, "day", "night")
        self.table = pa.table(
            {
                "id": np.arange(2000),
                "logits": pa.array(rows, pa.list_(pa.float32())),
                "y": self.y,
                "group": self.groups,
            }
        )
        self.folder.mkdir()
        for part, (start, end) in enumerate([(0, 500), (500, 500), (500, 1200), (1200, 2000)]):
            pq.write_table(self.table[start:end], self.folder / f"{part}.parquet")

    def check(self, scored):
        """Check a scored table, in whatever order its rows are: all are there once, and the bad ones null."""
        scored = scored.sort_by("id")
        assert scored["id"].to_pylist() == list(range(2000))
        for column in ("prediction", "confidence"):
            null = scored[column].is_null().to_numpy(zero_copy_only=False)
            assert np.flatnonzero(null).tolist() == self.bad
        found = scored.take(self.good)
        assert found["prediction"].to_pylist() == self.prediction
        assert np.abs(found["confidence"].to_numpy() - self.confidence).max() < 1e-6


@pytest.fixture(scope="module", autouse=True)
def nothing_left():
    """Collect what an engine left behind while its warnings are ignored, not in the middle of a later test."""
    yield
    gc.collect()


@pytest.fixture(scope="session")
def rows(tmp_path_factory):
    return Table(tmp_path_factory.mktemp("engines"))


@pytest.fixture
def dies_once(tmp_path):
    """Give a function that passes batches on; the process of the first one dies."""
    flag = str(tmp_path / "died")

    def passed_on(batch):
        try:
            Path(flag).touch(exist_ok=False)
        except FileExistsError:
            return batch
        os._exit(1)

    return passed_on


class SignalTable:
    """Answers with numbers, gaps and text, and what their confidence must be."""

    def __init__(self):
        rng = np.random.default_rng(0)
        verbal, topic = rng.random(1500).round(2), rng.choice(["law", "maths"], 1500).astype(object)
        self.correct = rng.random(1500) < np.where(topic == "law", verbal, 0.5)
        verbal[::7], topic[::11] = np.nan, None
        table = {"verbal": verbal, "words": rng.integers(1, 300, 1500), "topic": topic}
        self.calibrator = auxcal.SignalCalibrator(random_state=0).fit(table, self.correct)
        self.confidence = self.calibrator.predict_confidence(table)
        null = pa.array(verbal, mask=np.isnan(verbal))
        self.table = pa.table({"id": np.arange(1500), **table, "verbal": null, "right": self.correct})

    def check(self, scored):
        """Check the scores of all rows, in whatever order."""
        scored = scored.sort_by("id")
        np.testing.assert_allclose(scored["confidence"].to_numpy(), self.confidence, atol=1e-6)


@pytest.fixture(scope="session")
def answers():
    return SignalTable()
