"""Measure one engine: CPU time inside its own process, memory from outside, with Linux's /proc."""

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
from benchmarks.engines.ways import COMMAND, ENGINES

import auxcal

N_FILES = 16
SMALL = 4  # files, a quarter of the rows
K = 10
FEW = 100  # rows of a file that show what a command costs before it does anything
GLANCE = 0.3  # seconds between looks at the memory
# Engines use the cores by processes of their own; BLAS threads that wait for each other would count as work.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
TICKS = os.sysconf("SC_CLK_TCK")


def descendants(root: int) -> list[int]:
    """Return a process and all below it."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    tree = [root]
    for pid in tree:
        tree.extend(children.get(pid, []))
    return tree


def tree_cpu(root: int) -> float:
    """Return the CPU seconds of a process and of all below it, with those that have ended and been waited for."""
    total = 0
    for pid in descendants(root):
        try:
            total += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:15]))
        except OSError:
            continue
    return total / TICKS


def tree_memory(pids: list[int]) -> int:
    """Return the memory of processes in bytes; of what several processes share, each counts its part."""
    total = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total * 1024


def measure(name: str, work: Path) -> dict[str, float]:
    """Return the CPU seconds of the start and of the small and the large folder, in this process and those below it."""
    pid, run = os.getpid(), ENGINES[name]()
    run(work / "small", work / "calibrator.safetensors", work / f"{name}-first")
    seconds, start = {"start": tree_cpu(pid)}, 0.0
    for size in ("few", "small", "large") if name == COMMAND else ("small", "large"):
        before = tree_cpu(pid)
        run(work / size, work / "calibrator.safetensors", work / f"{name}-{size}")
        seconds[size] = tree_cpu(pid) - before - start
        start = seconds["few"] if size == "few" else start
    return seconds | ({"start": start} if start else {})


def watched(name: str, work: Path) -> dict[str, float]:
    """Measure an engine in a process of its own, and watch its memory from here, which costs it nothing."""
    command = [sys.executable, "-m", "benchmarks.engines", "--one", name, "--work", str(work)]
    with (work / "output").open("w+") as output, (work / "errors").open("w+") as errors:
        engine = subprocess.Popen(command, stdout=output, stderr=errors, env=os.environ | ONE_THREAD)
        peak = 0
        while engine.poll() is None:
            alive = descendants(engine.pid)
            peak = max(peak, tree_memory(alive[1:] if name == COMMAND else alive))
            time.sleep(GLANCE)
        output.seek(0), errors.seek(0)
        try:
            cost = json.loads(output.read().splitlines()[-1])
        except (IndexError, ValueError):
            raise ChildProcessError(f"{name} could not be measured: {errors.read()[-600:]}") from None
    for size in ("small", "large"):
        confidence = pq.read_table(work / f"{name}-{size}", columns=["confidence"])["confidence"]
        rows = sum(pq.read_metadata(path).num_rows for path in (work / size).iterdir())
        if len(confidence) != rows or confidence.null_count:
            raise ChildProcessError(f"{name} gave {len(confidence) - confidence.null_count} of {rows} confidences")
    return cost | {"memory": peak}


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
        for name in names:
            try:
                yield name, watched(name, work)
            except ChildProcessError as error:
                print(error, file=sys.stderr)
