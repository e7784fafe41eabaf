"""Measure, print, and write docs/evidence/performance.md.

    python -m benchmarks.speed [--quick] [TOPIC ...]

Without topics all are measured; with some, the others on the page stay as they are. With --quick everything is smaller,
and nothing is written.
"""

from __future__ import annotations

import argparse
import importlib
import os
import time

from benchmarks.speed.libraries import ENVIRONMENT

os.environ |= ENVIRONMENT  # before anything imports NumPy, which then starts its threads

TOPICS = ("startup", "scoring", "default", "metrics", "networks", "fits", "growth")
"""Each is the file of that name, with `run(quick)`; the long ones come last."""


def main() -> None:
    """Measure the topics that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed")
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help=", ".join(TOPICS))
    parser.add_argument("--quick", action="store_true", help="smaller, in under three minutes; writes nothing")
    asked = parser.parse_args()
    unknown = set(asked.topics) - set(TOPICS)
    if unknown:
        parser.error(f"topics are {', '.join(TOPICS)}; got {', '.join(sorted(unknown))}")

    from benchmarks.speed import page

    results = {} if asked.quick else page.read()
    for topic in asked.topics or TOPICS:
        print(f"\n== {topic}", flush=True)
        load, start = os.getloadavg()[0], time.time()
        rows = importlib.import_module(f"benchmarks.speed.{topic}").run(asked.quick)
        results[topic] = {"rows": rows, "circumstances": page.circumstances(load, time.time() - start)}
        if not asked.quick:
            page.write(results)
    print("\n" + page.verdicts(results))


if __name__ == "__main__":
    main()
