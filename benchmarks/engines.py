"""What a row costs in each engine, beside a plain loop in the same run: read, score with CCAC-X, write.

    python -m benchmarks.engines                      # 8 million rows; writes docs/figures/engines*.csv
    python -m benchmarks.engines --rows 400000 --print

CPU time is that of a process and of all below it, Java included, without the start: every engine first scores a quarter
of the rows unmeasured. Every process has one thread for BLAS. The command starts anew each time; what it takes for 16
files of a hundred rows is its start.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import auxcal

ROOT = Path(__file__).parent.parent
FIGURES = ROOT / "docs/figures"
N_FILES = 16
SMALL = 4  # files, a quarter of the rows
K = 10
TICKS = os.sysconf("SC_CLK_TCK")
COMMAND = "auxcal score"
FEW = 100  # rows of a file that show what a command costs before it does anything
GLANCE = 0.3  # seconds between looks at the memory
# Engines use the cores by processes of their own; BLAS threads that wait for each other would count as work.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")

ON_DEATH = {
    "plain loop, two processes": "not tested",
    COMMAND: "the run stops, and goes on where it was when it is started again",
    "polars": "no workers, one process",
    "DuckDB": "no workers, one process",
    "Daft": "no workers, one process",
    "Dask": "not tested; files so far are visible",
    "Spark, score": "the task is tried again",
    "Spark, udf": "the task is tried again",
    "Ray Data": "the task is tried again",
}


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
    found = [root]
    for pid in found:
        found.extend(children.get(pid, []))
    return found


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
    """Return the memory of processes in bytes; what they share, libraries above all, is counted once.

    Pages of files count in full even where processes of others on the machine have them in memory too.
    """
    own, files = 0, dict[tuple[str, ...], int]()
    for pid in pids:
        try:
            rollup, maps = (Path(f"/proc/{pid}/{name}").read_text().splitlines() for name in ("smaps_rollup", "smaps"))
        except OSError:
            continue
        own += sum(int(line.split()[1]) for line in rollup if line.startswith(("Pss_Anon:", "Pss_Shmem:")))
        of_file, resident = None, 0
        for words in map(str.split, maps):
            if not words[0].endswith(":"):
                of_file = tuple(words[1:]) if len(words) > 5 and words[5].startswith("/") else None
            elif words[0] == "Rss:":
                resident = int(words[1])
            elif words[0] == "Anonymous:" and of_file is not None:
                files[of_file] = max(files.get(of_file, 0), resident - int(words[1]))
    return (own + sum(files.values())) * 1024


# How each engine scores a folder: a function of (folder, calibrator file, output), after it has started.


def plain_part(job: tuple[Path, Path, Path]) -> None:
    """Score one file with nothing but pyarrow and NumPy."""
    path, file, out = job
    calibrator = auxcal.load(file)
    with pq.ParquetFile(path) as source:
        writer = None
        for batch in source.iter_batches(2**16, use_threads=False):
            logits = batch.column("logits").flatten().to_numpy().reshape(-1, K)
            confidence = calibrator.predict_confidence(logits)
            table = pa.table({"id": batch.column("id"), "prediction": logits.argmax(axis=1), "confidence": confidence})
            writer = writer or pq.ParquetWriter(out / path.name, table.schema)
            writer.write_table(table)
        if writer:
            writer.close()


def plain_loop() -> Callable[[Path, Path, Path], None]:
    """Start two processes."""
    pool = multiprocessing.get_context("spawn").Pool(2)

    def run(folder: Path, file: Path, out: Path) -> None:
        out.mkdir()
        pool.map(plain_part, [(path, file, out) for path in sorted(folder.iterdir())], chunksize=1)

    return run


def command() -> Callable[[Path, Path, Path], None]:
    """Give the command; it starts anew each time."""

    def run(folder: Path, file: Path, out: Path) -> None:
        words = ["score", str(file), str(folder), "-o", f"{out}/"]
        subprocess.run([sys.executable, "-m", "auxcal.cli", *words, "--jobs", "2"], check=True, capture_output=True)

    return run


def recipe(name: str) -> Callable[[], Callable[[Path, Path, Path], None]]:
    """Take a recipe of the page."""

    def start() -> Callable[[Path, Path, Path], None]:
        sys.path.insert(0, str(ROOT / "examples"))
        import large_tables

        def run(folder: Path, file: Path, out: Path) -> None:
            if name == "dask":
                out.mkdir()
            getattr(large_tables, f"score_in_{name}")(folder, auxcal.load(file), out)

        return run

    return start


def spark(way: str) -> Callable[[], Callable[[Path, Path, Path], None]]:
    """Start Spark on two cores."""

    def start() -> Callable[[Path, Path, Path], None]:
        os.environ["PYSPARK_PYTHON"] = sys.executable
        from pyspark.sql import SparkSession

        session = (
            SparkSession.builder.master("local[2,4]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.memory", "2g")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.sql.execution.arrow.maxRecordsPerBatch", "50000")
            .getOrCreate()
        )

        def run(folder: Path, file: Path, out: Path) -> None:
            df = session.read.parquet(str(folder))
            if way == "score":
                scored = auxcal.spark.score(df, file, keep_inputs=False)
            else:
                scored = df.select("id", auxcal.spark.udf(file)("logits").alias("scores")).select("id", "scores.*")
            scored.write.parquet(str(out))

        return run

    return start


def ray_data() -> Callable[[Path, Path, Path], None]:
    """Start Ray on two cores."""
    import ray

    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR", object_store_memory=1_000_000_000)
    ray.data.DataContext.get_current().enable_progress_bars = False

    def run(folder: Path, file: Path, out: Path) -> None:
        score = auxcal.ray.Score(file, keep_inputs=False)
        ray.data.read_parquet(str(folder)).map_batches(score, batch_format="pyarrow").write_parquet(str(out))

    return run


ENGINES: dict[str, Callable[[], Callable[[Path, Path, Path], None]]] = {
    "plain loop, two processes": plain_loop,
    COMMAND: command,
    "polars": recipe("polars"),
    "DuckDB": recipe("duckdb"),
    "Daft": recipe("daft"),
    "Dask": recipe("dask"),
    "Spark, score": spark("score"),
    "Spark, udf": spark("udf"),
    "Ray Data": ray_data,
}


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

    auxcal.CrossFittedCCAC().fit(*draw(20_000)).save(work / "calibrator.safetensors")
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


def as_rows(found: dict[str, dict[str, float]], rows: int) -> list[list[str]]:
    """Return the table of the page."""
    files = rows // N_FILES * SMALL, rows // N_FILES * N_FILES
    plain = found["plain loop, two processes"]["large"]
    head = ["engine", "CPU time a row", "of the plain loop", "a further row", "start", "memory", "when a worker dies"]
    table = [head]
    for name, cost in found.items():
        further = (cost["large"] - cost["small"]) / (files[1] - files[0])
        table.append(
            [
                name,
                f"{cost['large'] / files[1] * 1e6:.2f} µs",
                f"{cost['large'] / plain:.2f}",
                f"{further * 1e6:.2f} µs",
                f"{cost['start']:.0f} s",
                f"{cost['memory'] / 1e6:,.0f} MB",
                ON_DEATH[name],
            ]
        )
    return table


def billion(found: dict[str, dict[str, float]], rows: int) -> list[list[str]]:
    """Return what a billion further rows take on one core, and on ten machines of eight cores each."""
    table = [["engine", "on one core", "on ten machines of eight cores"]]
    for name, cost in found.items():
        further = (cost["large"] - cost["small"]) / (rows // N_FILES * (N_FILES - SMALL)) * 1e9
        table.append([name, f"{further / 60:.0f} minutes", f"{further / 80:.0f} s"])
    return table


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=8_000_000)
    parser.add_argument("--engines", nargs="*", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("--print", action="store_true", help="write no file")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.one, arguments.work)), flush=True)
        os._exit(0)  # some engines wait for their threads
    found = {}
    for name, cost in engines(arguments.rows, arguments.engines):
        found[name] = cost
        print(name, cost, flush=True)
        if not arguments.print:
            write_tables(found, arguments.rows)
    for table in (as_rows(found, arguments.rows), billion(found, arguments.rows)):
        for row in table:
            print(" | ".join(row))


def write_tables(found: dict[str, dict[str, float]], rows: int) -> None:
    """Write what is measured so far."""
    known = {name: found[name] for name in ENGINES if name in found}
    for name, table in {"engines": as_rows(known, rows), "engines-billion": billion(known, rows)}.items():
        with (FIGURES / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(table)


if __name__ == "__main__":
    main()
