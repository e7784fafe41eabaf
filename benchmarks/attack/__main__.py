"""Attack the library, or an earlier one beside it: docs/figures/attacks*.csv, for docs/evidence/reliability.md.

make attack                     # the code here
make attack BEFORE=1d54713      # and that of a commit, in a work tree of its own
python -m benchmarks.attack --every 10 --group numbers --jobs 1
"""

from __future__ import annotations

import argparse
import csv
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
GROUPS = {
    "numbers": "extreme numbers",
    "settings": "settings of NumPy, Python and torch",
    "files": "damaged files",
    "forgeries": "forged files",
    "commands": "interruptions and surroundings",
    "faults": "I/O errors and memory limits",
    "answers": "signals, and answers of language models",
    "threads": "eight threads",
    "fuzz": "a fuzzer on the readers",
}
OUTCOMES = ("lost", "silent", "foreign", "abort", "hang")
ALONE = ("threads", "fuzz")  # what has as many threads, or as much time, as it wants
PATIENCE = 150.0  # seconds for one attack
START = 600.0  # seconds for the imports before them, which is no matter of the library on a busy machine
LOGS = ROOT / "build" / "attack"
"""What each group said: the tracebacks of what is foreign."""


def main() -> None:
    """Run the groups, print what went wrong, and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--before", help="a commit to attack too")
    parser.add_argument("--every", type=int, default=1, help="only one of so many attacks")
    parser.add_argument("--jobs", type=int, default=2, help="the number of processes")
    parser.add_argument("--group", action="append", choices=GROUPS)
    asked = parser.parse_args()
    groups = asked.group or list(GROUPS)
    LOGS.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    found = {"now": attack(ROOT / "src", groups, asked.every, asked.jobs)}
    if asked.before:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["git", "worktree", "add", "--detach", folder, asked.before], cwd=ROOT, check=True)
            try:
                found["before"] = attack(Path(folder) / "src", groups, asked.every, asked.jobs)
            finally:
                subprocess.run(["git", "worktree", "remove", "--force", folder], cwd=ROOT, check=True)
    print(f"{(time.monotonic() - began) / 60:.1f} minutes with {asked.jobs} processes")
    write(found)


def attack(source: Path, groups: list[str], every: int, jobs: int) -> dict[str, Counter[str]]:
    """Return how often each outcome came in each group; those that can be are shared out among the processes."""
    tasks = [(group, share, jobs) for group in groups if group not in ALONE for share in range(jobs)]
    tasks += [(group, 0, 1) for group in groups if group in ALONE]
    found: dict[str, Counter[str]] = {group: Counter() for group in groups}
    with ThreadPoolExecutor(jobs) as pool:
        for (group, *_), outcomes in zip(
            tasks, pool.map(lambda task: _share(source, every, *task), tasks), strict=True
        ):
            there = max(found[group]["all"], outcomes["all"])
            found[group].update(outcomes)
            found[group]["all"] = there
    return found


def _share(source: Path, every: int, group: str, share: int, shares: int) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    done: int | None = 0
    while done is not None:
        done = _process(source, group, [done, every, share, shares], outcomes)
    return outcomes


def _process(source: Path, group: str, numbers: list[int], outcomes: Counter[str]) -> int | None:
    """Run a group from one attack on; return where to go on after one that ended its process, or None."""
    environment = os.environ | {"PYTHONPATH": f"{source}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"}
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
                    print(f"{source} {group} {rest}: {name}", flush=True)
                name = ""
        else:
            process.kill()
            return _count(outcomes, source, group, "hang", name, number)
    return _count(outcomes, source, group, "abort", name, number) if name or process.returncode else None


def _count(outcomes: Counter[str], source: Path, group: str, outcome: str, name: str, number: int) -> int | None:
    outcomes[outcome] += 1
    print(f"{source} {group} {outcome}: {name or 'before the first attack'}", flush=True)
    return number + 1 if name else None


def write(found: dict[str, dict[str, Counter[str]]]) -> None:
    """Write the table of the page, before and now side by side; the rows of groups that were not asked for stay."""
    path = ROOT / "docs" / "figures" / ("attacks-before.csv" if "before" in found else "attacks.csv")
    versions = [version for version in ("before", "now") if version in found]
    heads = [f"{outcome}, {version}" if len(versions) > 1 else outcome for outcome in OUTCOMES for version in versions]
    rows = {}
    if path.exists():
        with path.open(newline="", encoding="utf-8") as file:
            rows = {row[0]: row for row in csv.reader(file)}
    for group in found["now"]:
        counts = [found[version][group] for version in versions]
        tried, there = counts[-1].total() - counts[-1]["all"], counts[-1]["all"]
        cells = [str(count[outcome]) for outcome in OUTCOMES for count in counts]
        rows[GROUPS[group]] = [GROUPS[group], f"{tried:,}", f"{there:,}" if group != "fuzz" else "", *cells]
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["", "attacks", "of", *heads])
        table.writerows(rows[title] for title in GROUPS.values() if title in rows)
    print(f"the table is in {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
