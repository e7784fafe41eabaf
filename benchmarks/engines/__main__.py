"""What a row costs in each engine, beside a plain loop in the same run: read, score with CCAC-X, write.

    python -m benchmarks.engines                      # 2 million rows; writes docs/figures/engines.csv
    python -m benchmarks.engines --rows 400000 --print

CPU time is that of a process and of all below it, Java included, without the start: every engine first scores a quarter
of the rows unmeasured. Every process has one thread for BLAS. The command starts again each time; what it takes for 16
files of a hundred rows is its start.
"""

import argparse
import json
import os
from pathlib import Path

from benchmarks.engines.measure import N_FILES, SMALL, engines, measure
from benchmarks.engines.ways import ENGINES, PLAIN
from benchmarks.results import write_table

TABLE = Path(__file__).parents[2] / "docs/figures/engines.csv"
HEAD = ["engine", "CPU time a row", "of the plain loop", "a further row", "start", "memory"]


def as_rows(costs: dict[str, dict[str, float]], rows: int) -> list[list[str]]:
    """Return the table of the page."""
    small, large = rows // N_FILES * SMALL, rows // N_FILES * N_FILES
    return [
        [
            name,
            f"{cost['large'] / large * 1e6:.2f} µs",
            f"{cost['large'] / costs[PLAIN]['large']:.2f}",
            f"{(cost['large'] - cost['small']) / (large - small) * 1e6:.2f} µs",
            f"{cost['start']:.0f} s",
            f"{cost['memory'] / 1e6:,.0f} MB",
        ]
        for name, cost in costs.items()
    ]


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--engines", nargs="*", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("--print", action="store_true", help="write no file")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.one, arguments.work)), flush=True)
        os._exit(0)  # some engines wait for their threads
    costs = dict(engines(arguments.rows, [PLAIN, *(name for name in arguments.engines if name != PLAIN)]))
    write_table(Path(os.devnull) if arguments.print else TABLE, HEAD, as_rows(costs, arguments.rows))


if __name__ == "__main__":
    main()
