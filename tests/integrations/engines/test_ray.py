"""A real local Ray, started once."""

import logging
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import ray
from ray._private import services

import auxcal

SOURCES = str(Path(auxcal.__file__).parent.parent)

pytestmark = pytest.mark.xdist_group("ray")


@pytest.fixture(scope="module")
def patient_start(wait_until):
    """Let Ray wait for its own node: its limit of half a minute, which a busy machine may need, can't be set."""
    node = services.get_node
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(services, "get_node", lambda *where: wait_until(lambda: node(*where), RuntimeError))
        yield


@pytest.fixture(scope="module")
def session(patient_start, patience):
    with pytest.MonkeyPatch.context() as patch:  # a runtime environment would need workers of its own
        patch.setenv("PYTHONPATH", SOURCES)
        start(patience)
    yield
    ray.shutdown()


def start(patience):
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        logging_level="ERROR",
        log_to_driver=False,
        object_store_memory=100_000_000,
        _system_config={
            "agent_register_timeout_ms": 1000 * patience,
            "health_check_timeout_ms": 1000 * patience,
            "worker_register_timeout_seconds": patience,
            "worker_niceness": 0,  # at its 15 a worker starts so late beside other programs that Ray starts ever more
            "memory_monitor_refresh_ms": 0,  # or it ends tasks where other programs use the memory
        },
    )
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)


@pytest.fixture(scope="module")
def ds(session, rows):
    return ray.data.read_parquet(str(rows.folder))


@pytest.fixture(scope="module")
def scored(ds, rows):
    return ds.map_batches(auxcal.ray.Score(rows.calibrator), batch_format="pyarrow").materialize()


def collected(dataset):
    return pa.concat_tables(ray.get(dataset.to_arrow_refs()))


def test_score_gives_what_predict_confidence_gives(scored, rows):
    table = collected(scored)
    assert table.column_names == ["id", "logits", "y", "group", "prediction", "confidence"]
    rows.check(table)


def test_a_killed_worker_is_replaced_and_nothing_is_lost(ds, rows, dies_once, tmp_path):
    score = auxcal.ray.Score(rows.file, keep_inputs=False)
    done = ds.map_batches(dies_once, batch_format="pyarrow").map_batches(score, batch_format="pyarrow")
    table = collected(done)
    assert (tmp_path / "died").exists()
    assert "logits" not in table.column_names
    rows.check(table)


def test_tensors_are_read_too(session, rows):
    logits = 3 * np.eye(3, dtype=np.float32)
    ds = ray.data.from_numpy(logits).map_batches(
        auxcal.ray.Score(rows.calibrator, columns="data"), batch_format="pyarrow"
    )
    assert [row["prediction"] for row in ds.take_all()] == ["cat", "dog", "bird"]


def test_mistakes_are_known_before_a_task_starts(tmp_path):
    with pytest.raises(FileNotFoundError):
        auxcal.ray.Score(tmp_path / "nowhere.safetensors")


def test_signals_with_gaps_and_text_are_scored(session, answers):
    ds = ray.data.from_arrow(answers.table).repartition(3)
    scored = ds.map_batches(auxcal.ray.Score(answers.calibrator), batch_format="pyarrow").materialize()
    table = collected(scored)
    assert table.column_names == ["id", "verbal", "words", "topic", "right", "confidence"]
    answers.check(table)
