"""Attack the library: docs/figures/attacks.csv, for docs/evidence/reliability.md.

make attack
python -m benchmarks.attack --every 10 --group numbers --jobs 1
"""

from __future__ import annotations

import argparse
import csv
import os
import selectors
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.results import write_table

ROOT = Path(__file__).parents[2]
GROUPS = {
    "numbers": "extreme numbers",
    "files": "damaged files",
    "forgeries": "forged files",
    "commands": "interruptions and surroundings",
    "faults": "I/O errors and memory limits",
    "answers": "answers of language models",
}
OUTCOMES = ("lost", "silent", "foreign", "abort", "hang")
PATIENCE = 150.0  # seconds for one attack
START = 600.0  # seconds for the imports before them, which is no matter of the library on a busy machine
LOGS = ROOT / "build" / "attack"
"""What each group said: the tracebacks of what is foreign."""


def main() -> None:
    """Run the groups, print what went wrong, and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=1, help="only one of so many attacks")
    parser.add_argument("--jobs", type=int, default=2, help="the number of processes")
    parser.add_argument("--group", action="append", choices=GROUPS)
    asked = parser.parse_args()
    groups = asked.group or list(GROUPS)
    LOGS.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    found = attack(groups, asked.every, asked.jobs)
    print(f"{(time.monotonic() - began) / 60:.1f} minutes with {asked.jobs} processes")
    write(found)


def attack(groups: list[str], every: int, jobs: int) -> dict[str, Counter[str]]:
    """Return how often each outcome came in each group, which the processes share."""
    tasks = [(group, share, jobs) for group in groups for share in range(jobs)]
    found: dict[str, Counter[str]] = {group: Counter() for group in groups}
    with ThreadPoolExecutor(jobs) as pool:
        for (group, *_), outcomes in zip(tasks, pool.map(lambda task: _share(every, *task), tasks), strict=True):
            there = max(found[group]["all"], outcomes["all"])
            found[group].update(outcomes)
            found[group]["all"] = there
    return found


def _share(every: int, group: str, share: int, shares: int) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    done: int | None = 0
    while done is not None:
        done = _process(group, [done, every, share, shares], outcomes)
    return outcomes


def _process(group: str, numbers: list[int], outcomes: Counter[str]) -> int | None:
    """Run a group from one attack on; return where to go on after one that ended its process, or None."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"}
    worker = [sys.executable, "-m", "benchmarks.attack.worker", group, *map(str, numbers)]
    number, name = numbers[0], ""
    with (
        (LOGS / f"{group}.txt").open("a") as log,
        subprocess.Popen(worker, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=log, bufsize=0) as process,
        selectors.DefaultSelector() as ready,
    ):
        assert process.stdout is not None
        ready.register(process.stdout, selectors.EVENT_READ)
        while ready.select(PATIENCE if name else START):
            line = process.stdout.readline().decode()
            if not line:
                break
            word, place, rest = line.rstrip("\n").split("\t")
            number = int(place)
            if word == "all":
                outcomes["all"] = number
            elif word == "begin":
                name = rest
            else:
                outcomes[rest] += 1
                if rest != "fine":
                    print(f"{group} {rest}: {name}", flush=True)
                name = ""
        else:
            process.kill()
            return _count(outcomes, group, "hang", name, number)
    return _count(outcomes, group, "abort", name, number) if name or process.returncode else None


def _count(outcomes: Counter[str], group: str, outcome: str, name: str, number: int) -> int | None:
    outcomes[outcome] += 1
    print(f"{group} {outcome}: {name or 'before the first attack'}", flush=True)
    return number + 1 if name else None


def write(found: dict[str, Counter[str]]) -> None:
    """Write the table of the page; the rows of groups that were not asked for stay."""
    path = ROOT / "docs" / "figures" / "attacks.csv"
    rows = {}
    if path.exists():
        with path.open(newline="", encoding="utf-8") as file:
            rows = {row[0]: row for row in csv.reader(file)}
    for group, counts in found.items():
        tried, there = counts.total() - counts["all"], counts["all"]
        cells = [str(counts[outcome]) for outcome in OUTCOMES]
        rows[GROUPS[group]] = [GROUPS[group], f"{tried:,}", f"{there:,}", *cells]
    write_table(path, ["", "attacks", "of", *OUTCOMES], [rows[title] for title in GROUPS.values() if title in rows])


if __name__ == "__main__":
    main()
