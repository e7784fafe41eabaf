"""How much memory `auxcal monitor` takes on tables of ten classes in twenty days.

    python -m benchmarks.monitoring.memory [FOLDER] [ROWS ...]

Fits CCAC-X on 3,000 rows of the packaged CIFAR-10 bundle with foreign samples, and writes its other rows, again and
again, to parquet files: sorted by day, from the last day to the first, and shuffled. A tenth of the rows have labels.
Memory is the most that the process holds, less that for a table of 2,000 rows. Ten minutes on an idle core.
Writes monitoring-memory.csv into the folder, docs/figures by default.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from benchmarks.results import write_table
from pyarrow import parquet

from auxcal import CCACX, Predictions
from auxcal_paper.bundles import bundle
from auxcal_paper.suites import suite

FIT, DAYS, LABELLED, FEW = 3000, 20, 0.1, 2000
ROWS = ("2000000", "10000000")
MEASURED = """
import re, sys
from pathlib import Path
from auxcal.cli import main
try:
    main()
finally:
    print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1], file=sys.stderr)
"""
"""The command, which tells its peak at the end: what the system counts for a child begins with that of its parent."""


def table_of(data: Predictions, n_rows: int, rng: np.random.Generator) -> pa.Table:
    """Return rows of a bundle, again and again, one day after the other."""
    rows = rng.integers(len(data), size=n_rows)
    days = pa.array([f"2026-11-{day + 1:02d}" for day in range(DAYS)]).take(np.arange(n_rows) * DAYS // n_rows)
    y = pa.array(data.y[rows], mask=rng.random(n_rows) >= LABELLED)
    return pa.table({"day": days, "y": y} | {f"logit_{k}": data.logits[rows, k] for k in range(data.n_classes)})


def megabytes(calibrator: Path, table: Path) -> float:
    """Return the most memory that the command holds at once."""
    command = [sys.executable, "-c", MEASURED, "monitor", calibrator, table, "--by", "day", "--json"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode not in (0, 3, 4):  # the verdicts
        raise RuntimeError(done.stderr)
    return int(done.stderr.split()[-1]) * 1024 / 1e6


def main(folder: str = "docs/figures", *rows: str) -> None:
    """Measure, and write the table."""
    data = bundle(suite("cifar10-resnet20"), "OOD", Path("data"), Path("cache") / "bundles")
    rng = np.random.default_rng(0)
    order = rng.permutation(len(data))
    fit, rest = data.take(order[:FIT]), data.take(order[FIT:])
    lines = []
    with tempfile.TemporaryDirectory() as scratch:
        calibrator, path = Path(scratch) / "ccac-x.safetensors", Path(scratch) / "rows.parquet"
        CCACX(random_state=0).fit(fit.logits, fit.y).save(calibrator)
        parquet.write_table(table_of(rest, FEW, rng), path)
        least = megabytes(calibrator, path)
        for n_rows in map(int, rows or ROWS):
            table = table_of(rest, n_rows, rng)
            line = [f"{n_rows:,}", f"{n_rows * data.n_classes * 4 / 1e6:.0f}"]
            for order in (np.arange(n_rows), np.arange(n_rows)[::-1], rng.permutation(n_rows)):
                parquet.write_table(table.take(order), path, row_group_size=2**17)
                line.append(f"{megabytes(calibrator, path) - least:.0f}")
            lines.append(line)
    head = ["rows", "MB of logits", "MB, sorted by day", "MB, the last day first", "MB, shuffled"]
    write_table(Path(folder) / "monitoring-memory.csv", head, lines)


if __name__ == "__main__":
    main(*sys.argv[1:])
