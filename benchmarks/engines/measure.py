"""Measure one engine: CPU time inside its own process, memory from outside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.engines.processes import descendants, tree_cpu, tree_memory
from benchmarks.engines.ways import COMMAND, ENGINES

import auxcal

N_FILES = 16
SMALL = 4  # files, a quarter of the rows
K = 10
FEW = 100  # rows of a file that show what a command costs before it does anything
GLANCE = 0.3  # seconds between looks at the memory
# Engines use the cores by processes of their own; BLAS threads that wait for each other would count as work.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def measure(name: str, work: Path) -> dict[str, float]:
    """Return the CPU seconds of the start and of the small and the large folder, in this process and those below it."""
    pid, run = os.getpid(), ENGINES[name]()
    run(work / "small", work / "calibrator.safetensors", work / f"{name}-first")
    found, anew = {"start": tree_cpu(pid)}, 0.0
    for size in ("few", "small", "large") if name == COMMAND else ("small", "large"):
        before = tree_cpu(pid)
        run(work / size, work / "calibrator.safetensors", work / f"{name}-{size}")
        found[size] = tree_cpu(pid) - before - anew
        anew = found["few"] if size == "few" else anew
    return found | ({"start": anew} if anew else {})


def watched(name: str, work: Path) -> dict[str, float]:
    """Measure an engine in a process of its own, and watch its memory from here, which costs it nothing."""
    command = [sys.executable, "-m", "benchmarks.engines", "--one", name, "--work", str(work)]
    with (work / "told").open("w+") as told, (work / "complaints").open("w+") as complaints:
        engine = subprocess.Popen(command, stdout=told, stderr=complaints, env=os.environ | ONE_THREAD)
        peak = 0
        while engine.poll() is None:
            alive = descendants(engine.pid)
            peak = max(peak, tree_memory(alive[1:] if name == COMMAND else alive))
            time.sleep(GLANCE)
        told.seek(0), complaints.seek(0)
        try:
            found = json.loads(told.read().splitlines()[-1])
        except (IndexError, ValueError):
            raise ChildProcessError(f"{name} could not be measured: {complaints.read()[-600:]}") from None
    for size in ("small", "large"):
        rows = pq.read_table(work / f"{name}-{size}", columns=["confidence"])
        found |= {f"{size}_rows": len(rows), f"{size}_null": rows["confidence"].null_count}
    return found | {"memory": peak}


def write_rows(work: Path, rows: int) -> None:
    """Write a calibrator, and three folders: a few rows of all files, a quarter of the files, and all of them."""
    rng = np.random.default_rng(0)

    def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
        logits = rng.normal(size=(n, K), scale=2).astype(np.float32)
        return logits, (1.2 * logits + rng.gumbel(size=logits.shape)).argmax(axis=1)

    auxcal.CCACX().fit(*draw(20_000)).save(work / "calibrator.safetensors")
    for folder in ("few", "small", "large"):
        (work / folder).mkdir()
    for part in range(N_FILES):
        n = rows // N_FILES
        lists = pa.ListArray.from_arrays(np.arange(0, K * n + 1, K, dtype=np.int32), draw(n)[0].ravel())
        table = pa.table({"id": np.arange(n) + part * n, "logits": lists})
        pq.write_table(table, work / f"large/{part:02}.parquet")
        pq.write_table(table[:FEW], work / f"few/{part:02}.parquet")
        if part < SMALL:
            (work / f"small/{part:02}.parquet").hardlink_to(work / f"large/{part:02}.parquet")


def engines(rows: int, names: list[str]) -> Iterator[tuple[str, dict[str, float]]]:
    """Measure each engine in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        write_rows(work, rows)
        print(f"with the size of the batch CCAC-X moves by {moves(work / 'calibrator.safetensors'):.1e}", flush=True)
        for name in names:
            try:
                yield name, watched(name, work)
            except ChildProcessError as error:
                print(error, file=sys.stderr)


def moves(file: Path) -> float:
    """Return how far the confidence of CCAC-X moves with the size of the batch."""
    calibrator, logits = auxcal.load(file), np.random.default_rng(1).normal(size=(4000, K), scale=2).astype(np.float32)
    whole = calibrator.predict_confidence(logits)
    farthest = 0.0
    for n in (1, 256, 999):
        parts = np.concatenate([calibrator.predict_confidence(logits[i : i + n]) for i in range(0, 4000, n)])
        farthest = max(farthest, float(np.abs(parts - whole).max()))
    return farthest
