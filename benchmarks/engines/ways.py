"""How each engine scores a folder: a function of (folder, calibrator's file, output), once the engine has started."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import auxcal

EXAMPLES = Path(__file__).parents[2] / "examples"
PLAIN, COMMAND = "plain loop", "auxcal score"

SCORED = pa.schema([("id", pa.int64()), ("prediction", pa.int64()), ("confidence", pa.float32())])

Run = Callable[[Path, Path, Path], None]


def plain_loop() -> Run:
    """Score file by file with nothing but pyarrow and NumPy."""

    def run(folder: Path, file: Path, out: Path) -> None:
        out.mkdir()
        calibrator = auxcal.load(file)
        for path in sorted(folder.iterdir()):
            with pq.ParquetFile(path) as source, pq.ParquetWriter(out / path.name, SCORED) as writer:
                for batch in source.iter_batches(2**16, use_threads=False):
                    logits = batch["logits"].flatten().to_numpy().reshape(-1, calibrator.n_features_in_)
                    confidence = calibrator.predict_confidence(logits)
                    writer.write_table(pa.table([batch["id"], logits.argmax(axis=1), confidence], schema=SCORED))

    return run


def command() -> Run:
    """Give the command; it starts again each time."""

    def run(folder: Path, file: Path, out: Path) -> None:
        words = ["score", str(file), str(folder), "-o", f"{out}/"]
        subprocess.run([sys.executable, "-m", "auxcal", *words], check=True, capture_output=True)

    return run


def recipe(name: str) -> Callable[[], Run]:
    """Take a recipe of the page."""

    def start() -> Run:
        sys.path.insert(0, str(EXAMPLES))
        import large_tables

        def run(folder: Path, file: Path, out: Path) -> None:
            if name == "dask":
                out.mkdir()
            getattr(large_tables, f"score_in_{name}")(folder, auxcal.load(file), out)

        return run

    return start


def spark(way: str) -> Callable[[], Run]:
    """Start Spark on two cores."""

    def start() -> Run:
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


def ray_data() -> Run:
    """Start Ray on two cores."""
    import ray

    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR", object_store_memory=1_000_000_000)
    ray.data.DataContext.get_current().enable_progress_bars = False

    def run(folder: Path, file: Path, out: Path) -> None:
        score = auxcal.ray.Score(file, keep_inputs=False)
        ray.data.read_parquet(str(folder)).map_batches(score, batch_format="pyarrow").write_parquet(str(out))

    return run


ENGINES: dict[str, Callable[[], Run]] = {
    PLAIN: plain_loop,
    COMMAND: command,
    "polars": recipe("polars"),
    "DuckDB": recipe("duckdb"),
    "Daft": recipe("daft"),
    "Dask": recipe("dask"),
    "Spark, score": spark("score"),
    "Spark, udf": spark("udf"),
    "Ray Data": ray_data,
}
