"""What a tally costs beside reading its columns, and how far its metrics are from those of the rows.

python -m benchmarks.tally            # 100 million rows; writes docs/figures/tally.csv
python -m benchmarks.tally --rows 5000000 --print
"""

from __future__ import annotations

import argparse
import csv
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import auxcal
from auxcal.metrics import METRICS, Tally

OUT = Path(__file__).parent.parent / "docs/figures/tally.csv"
BATCH = 2**20


def write_rows(path: Path, rows: int) -> None:
    """Write scored rows."""
    rng, schema = np.random.default_rng(0), pa.schema([("confidence", pa.float32()), ("correct", pa.bool_())])
    with pq.ParquetWriter(path, schema) as file:
        for start in range(0, rows, BATCH):
            confidence = (1 / (1 + np.exp(-rng.normal(2, 2, size=min(BATCH, rows - start))))).astype(np.float32)
            correct = rng.random(len(confidence)) < confidence**1.2
            file.write_table(pa.table([confidence, correct], schema=schema))


def batches(path: Path) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Read a million rows at a time."""
    for batch in pq.ParquetFile(path).iter_batches(BATCH, use_threads=False):
        yield batch.column(0).to_numpy(), batch.column(1).to_numpy(zero_copy_only=False)


def read(path: Path) -> float:
    """Return the CPU seconds of reading."""
    before = time.process_time()
    for _ in batches(path):
        pass
    return time.process_time() - before


def tally(path: Path) -> tuple[Tally, float]:
    """Return the tally, and the CPU seconds of reading and counting."""
    before, whole = time.process_time(), Tally()
    for confidence, correct in batches(path):
        whole += Tally.of(confidence, correct)
    return whole, time.process_time() - before


def measure(rows: int) -> list[list[str]]:
    """Return the table of the page."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scored.parquet"
        write_rows(path, rows)
        read(path)  # so that the file is in memory for both
        start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        reading = read(path)
        whole, both = tally(path)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        found, table = whole.evaluate(), pq.read_table(path)
        exact = auxcal.evaluate(table["confidence"].to_numpy(), table["correct"].to_numpy())
    counting = both - reading
    return [
        ["", "measured"],
        ["rows", f"{rows:,}"],
        ["reading confidence and correct", f"{reading / rows * 1e9:.1f} ns of CPU time a row"],
        ["the tally", f"{counting / rows * 1e9:.1f} ns, {counting / reading:.1f} times the reading"],
        ["memory of the process", f"{memory / 1024:.0f} MB, {(memory - start) / 1024:.0f} MB more than before"],
        ["size of the tally", f"{len(whole.to_bytes()) / 1e6:.1f} MB"],
        *([f"{each.label}, off by", error(found, exact, name)] for name, each in METRICS.items()),
    ]


def error(found: dict[str, float], exact: dict[str, float], name: str) -> str:
    """Tell how far a metric is off, and how far it could be."""
    bound = f"{found[f'{name}_error']:.1e}" if f"{name}_error" in found else "none: it adds up"
    return f"{abs(found[name] - exact[name]):.1e}; stated bound {bound}"


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--print", action="store_true", help="write no file")
    arguments = parser.parse_args()
    table = measure(arguments.rows)
    for row in table:
        print(" | ".join(row))
    if not arguments.print:
        with OUT.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(table)


if __name__ == "__main__":
    main()
