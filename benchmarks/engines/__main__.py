"""What a row costs in each engine, beside a plain loop in the same run: read, score with CCAC-X, write.

    python -m benchmarks.engines                      # 8 million rows; writes docs/figures/engines*.csv
    python -m benchmarks.engines --rows 400000 --print

CPU time is that of a process and of all below it, Java included, without the start: every engine first scores a quarter
of the rows unmeasured. Every process has one thread for BLAS. The command starts anew each time; what it takes for 16
files of a hundred rows is its start.
"""

import argparse
import json
import os
from pathlib import Path

from benchmarks.engines.measure import engines, measure
from benchmarks.engines.tables import as_rows, billion, write_tables
from benchmarks.engines.ways import ENGINES


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


if __name__ == "__main__":
    main()
