"""What the five walks through the library take: compare, score, check, Monitor.update and threshold.

    python -m benchmarks.walks [--before TREE] [--runs N] [FOLDER]

Measures the tree that it runs in and, with --before, another checkout, whose `src` takes the place of ours. Each walk
runs in a fresh process, once on few rows, which imports what it needs, and once measured: CPU time of all threads, and
memory at its peak beyond what was held before. Processes of both trees take turns; the ratio is the median of those
within a turn, since others may use the machine. Another process counts the functions and the files of auxcal that the
walk enters; what runs while a module is imported does not count.

Also: what `auxcal score` of a CSV file takes beside reading and writing it with pyarrow plus `predict_confidence`, and
what watching adds to `auxcal score` of as many rows as it looks at: the command is run with a calibrator, and with the
same one that remembers nothing of its fit, with which `score` has nothing to compare the rows with. One draw of rows in
ten looks unusual at first and is compared at length, so it is the mean over several draws.

Writes walks.csv and walks-limits.csv into the folder, docs/figures by default, and the page that shows them. Takes ten
minutes on busy cores.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from types import CodeType, FrameType
from typing import Any

import numpy as np
from benchmarks.speed.measure import measured
from benchmarks.speed.tables import mark, megabytes, seconds, times

ROOT = Path(__file__).parent.parent
FIGURES = ROOT / "docs" / "figures"
K = 10
N_FIT, N_COMPARED, N_CSV, N_CHECKED, N_THRESHOLD, N_WATCHED = 5_000, 8_000, 200_000, 100_000, 300_000, 20_000
UPDATES, N_UPDATE = 20, 1_000
FEW = 400  # rows of the walk that is not measured
METHODS = ("temperature", "vector", "isotonic", "platt", "ccac-x")
TURNS = 5  # of what is measured within one process
DRAWS = 20  # of rows that are watched: two of them look unusual at first, as many as should
CSV_LIMIT, WATCHING_LIMIT = 1.5, 0.2

Call = Callable[[], Any]


# ---- in a process of its own, with auxcal of either tree: nothing here may import what knows how ours is cut ----


def draw(n: int, random_state: int) -> tuple[Any, Any]:
    """Draw logits of a classifier that is too sure, and the true classes."""
    rng = np.random.default_rng(random_state)
    logits = (3 * np.eye(K)[rng.integers(K, size=n)] + rng.normal(size=(n, K), scale=1.5)).astype(np.float32)
    return logits, (logits / 1.5 + rng.gumbel(size=logits.shape)).argmax(axis=1)


def prepare(work: Path) -> None:
    """Write the calibrators and the tables."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    import auxcal

    calibrator = auxcal.CCACX(random_state=0).fit(*draw(N_FIT, 0))
    calibrator.save(work / "calibrator.safetensors")
    calibrator.reference_ = None
    calibrator.save(work / "forgetful.safetensors")
    rng = np.random.default_rng(1)
    for name, n in {"rows": N_CSV, "few-rows": N_WATCHED}.items():  # from 1 MB on, other modules read
        logits, y = draw(n, 2)
        columns = {"id": np.arange(n)} | {f"logit_{k}": logits[:, k].astype(float).round(6) for k in range(K)}
        pyarrow.csv.write_csv(pa.table(columns | {"y": y}), work / f"{name}.csv")
    for name, n in {"scored": N_THRESHOLD, "few-scored": FEW}.items():
        confidence = rng.beta(4, 1, size=n)
        prediction = rng.integers(K, size=n)
        y = np.where(rng.random(n) < confidence, prediction, (prediction + 1) % K)
        columns = {"id": np.arange(n), "prediction": prediction, "confidence": confidence, "y": y}
        pyarrow.parquet.write_table(pa.table(columns), work / f"{name}.parquet")
    for place in range(DRAWS):
        np.save(work / f"watched-{place}.npy", draw(N_WATCHED, 100 + place)[0])


def command(*words: str | Path) -> None:
    """Run the command line in this process."""
    from auxcal import cli

    before, out = sys.argv, io.TextIOWrapper(io.BytesIO(), "utf-8")
    sys.argv = ["auxcal", *map(str, words)]
    try:
        with contextlib.redirect_stdout(out):
            cli.main()
    except SystemExit as end:
        if end.code:
            raise ChildProcessError(f"auxcal {' '.join(map(str, words))} ended with {end.code}") from None
    finally:
        sys.argv = before


def compare(work: Path) -> tuple[Call, Call]:
    """Compare some methods, with their intervals."""
    import auxcal

    few, many = draw(FEW, 4), draw(N_COMPARED, 4)
    return tuple(lambda rows=rows: auxcal.compare(*rows, methods=METHODS) for rows in (few, many))


def score(work: Path) -> tuple[Call, Call]:
    """Score a CSV file, as the command does."""
    words = ["score", work / "calibrator.safetensors"], ["-o", work / "out.csv", "--overwrite"]
    return tuple(lambda file=file: command(*words[0], work / file, *words[1]) for file in ("few-rows.csv", "rows.csv"))


def check(work: Path) -> tuple[Call, Call]:
    """Check rows of the same kind."""
    import auxcal

    calibrator = auxcal.load(work / "calibrator.safetensors")
    few, many = draw(FEW, 5)[0], draw(N_CHECKED, 5)[0]
    return tuple(lambda logits=logits: auxcal.check(calibrator, logits) for logits in (few, many))


def update(work: Path) -> tuple[Call, Call]:
    """Let a monitor see rows with their labels, batch by batch."""
    import auxcal

    calibrator = auxcal.load(work / "calibrator.safetensors")

    def watch(updates: int, n: int) -> Call:
        batches, monitor = [draw(n, 10 + each) for each in range(updates)], auxcal.Monitor(calibrator)
        return lambda: [monitor.update(*batch) for batch in batches]

    return watch(2, FEW), watch(UPDATES, N_UPDATE)


def threshold(work: Path) -> tuple[Call, Call]:
    """Find a threshold in a scored file, as the command does."""
    return tuple(
        lambda file=file: command("threshold", work / file, "--risk", "0.2", "--json")
        for file in ("few-scored.parquet", "scored.parquet")
    )


WALKS: dict[str, tuple[Callable[[Path], tuple[Call, Call]], str]] = {
    "compare": (compare, f"`compare`, {N_COMPARED:,} rows, {len(METHODS)} methods"),
    "score": (score, f"`auxcal score`, CSV, {N_CSV:,} rows"),
    "check": (check, f"`check`, {N_CHECKED:,} rows"),
    "update": (update, f"`Monitor.update`, {UPDATES} × {N_UPDATE:,} rows"),
    "threshold": (threshold, f"`auxcal threshold`, parquet, {N_THRESHOLD:,} rows"),
}
"""Each gives the walk on a few rows and on many; and what the table calls it."""


def timed(name: str, work: Path) -> dict[str, Any]:
    """Return what a walk takes once everything is imported."""
    first, walk = WALKS[name][0](work)
    first()
    found, _ = measured(walk)
    return {"cpu": found.cpu, "memory": found.memory}


def counted(name: str, work: Path) -> dict[str, Any]:
    """Return how many functions and files of auxcal a walk enters."""
    import auxcal

    walk = WALKS[name][0](work)[1]
    home, entered = str(Path(auxcal.__file__).parent), set[CodeType]()
    state = threading.local()

    def look(frame: FrameType, event: str, _: Any) -> None:
        importing = getattr(state, "importing", 0)  # how many calls deep in the import of a module
        if event == "return":
            state.importing = max(0, importing - 1)
        elif event == "call":
            code = frame.f_code
            if importing or code.co_name == "<module>":
                state.importing = importing + 1
            elif code.co_filename.startswith(home):
                entered.add(code)

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        walk()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    functions = [code for code in entered if not code.co_name.endswith("comp>") and code.co_name != "<genexpr>"]
    return {"functions": len(functions), "files": len({code.co_filename for code in entered})}


def cpu_of(calls: Sequence[Call]) -> Iterator[list[float]]:
    """Give the CPU time of each call, in turns; the first turn, which imports, is not given."""
    for turn in range(TURNS + 1):
        taken = []
        for call in calls:
            start = time.process_time()
            call()
            taken.append(time.process_time() - start)
        if turn:
            yield taken


def beside_pyarrow(work: Path) -> dict[str, Any]:
    """Return the CPU time of scoring a CSV file over that of pyarrow with `predict_confidence`."""
    import pyarrow as pa
    import pyarrow.csv

    import auxcal

    def plain() -> None:
        calibrator = auxcal.load(work / "calibrator.safetensors")
        rows = pyarrow.csv.read_csv(work / "rows.csv")
        logits = np.column_stack([rows[f"logit_{k}"].to_numpy() for k in range(K)]).astype(np.float32)
        scores = {"prediction": logits.argmax(axis=1), "confidence": calibrator.predict_confidence(logits)}
        pyarrow.csv.write_csv(pa.table({"id": rows["id"], "y": rows["y"]} | scores), work / "plain.csv")

    return {"ratio": median(ours / theirs for ours, theirs in cpu_of([score(work)[1], plain]))}


def watching(work: Path) -> dict[str, Any]:
    """Return what watching adds to the CPU time of scoring, as a share of it, over all draws."""
    files, out = sorted(work.glob("watched-*.npy")), ["-o", work / "out.npz", "--overwrite"]

    def scored(name: str) -> Call:
        return lambda: [command("score", work / f"{name}.safetensors", file, *out) for file in files]

    turns = cpu_of([scored("calibrator"), scored("forgetful")])
    return {"ratio": median(watched / alone - 1 for watched, alone in turns)}


JOBS: dict[str, Callable[..., dict[str, Any] | None]] = {
    "prepare": prepare,
    "timed": timed,
    "counted": counted,
    "beside-pyarrow": beside_pyarrow,
    "watching": watching,
}


# ---- in the process that is asked ----


def job(tree: Path, *words: str | Path) -> Any:
    """Run a job in a process of its own, with auxcal of a tree, and return what it found."""
    environment = os.environ | {"PYTHONPATH": f"{tree / 'src'}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"}
    asked = [sys.executable, "-m", "benchmarks.walks", "--job", *map(str, words)]
    done = subprocess.run(asked, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ChildProcessError(f"{tree}: {' '.join(map(str, words))}: {done.stderr[-2000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    if not Path(found["home"]).is_relative_to(tree.resolve()):
        raise ChildProcessError(f"{tree}: auxcal came from {found['home']}")
    return found["found"]


def walks(trees: dict[str, Path], work: Path, runs: int) -> tuple[list[str], list[list[str]]]:
    """Return the table of the walks, whose head says how much other work used the cores when it began."""
    load = os.getloadavg()[0]
    taken: dict[tuple[str, str], list[dict[str, Any]]] = {(walk, tree): [] for walk in WALKS for tree in trees}
    for run in range(runs):
        for walk, tree in taken:
            taken[walk, tree].append(job(trees[tree], "timed", walk, work))
        print(f"turn {run + 1} of {runs}", file=sys.stderr, flush=True)
    rows = []
    for walk, (_, title) in WALKS.items():
        here = [taken[walk, tree] for tree in trees]
        counts = [job(trees[tree], "counted", walk, work) for tree in trees]
        cells = [seconds(median(each["cpu"] for each in found)) for found in here]
        if len(here) > 1:
            cells.append(times(median(now["cpu"] / before["cpu"] for before, now in zip(*here, strict=True))))
        cells += [megabytes(median(each["memory"] for each in found)) for found in here]
        cells += [str(count[what]) for what in ("functions", "files") for count in counts]
        rows.append([title, *cells])
    cpu = [f"CPU time, {tree}" for tree in trees] + ["ratio"] * (len(trees) > 1)
    others = [f"{what}, {tree}" for what in ("memory", "functions", "files") for tree in trees]
    return [f"walk, at a load of {load:.0f}", *cpu, *others], rows


def limits(trees: dict[str, Path], work: Path, runs: int) -> tuple[list[str], list[list[str]]]:
    """Return the table of what is to stay below a limit."""
    rows = []
    for title, name, limit, write in (
        (f"`auxcal score`, CSV, {N_CSV:,} rows, beside pyarrow", "beside-pyarrow", CSV_LIMIT, times),
        (
            f"watching in `auxcal score`, {DRAWS} × {N_WATCHED:,} rows, beside scoring",
            "watching",
            WATCHING_LIMIT,
            percent,
        ),
    ):
        found: dict[str, list[float]] = {tree: [] for tree in trees}
        for _ in range(runs):
            for tree, path in trees.items():
                found[tree].append(job(path, name, work)["ratio"])
        now = [median(ratios) for ratios in found.values()]
        verdict = mark("met" if now[-1] <= limit else "missed")
        rows.append([title, *map(write, now), f"at most {write(limit)}", verdict])
    return ["CPU time", *trees, "target", ""], rows


def percent(value: float) -> str:
    """Write a share."""
    return f"{100 * value:.0f} %"


def name_of(tree: Path) -> str:
    """Return the commit that a tree is at."""
    asked = ["git", "-C", str(tree), "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    """Measure, and write the tables and the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.walks")
    parser.add_argument("--before", type=Path, metavar="TREE", help="another checkout, to measure beside this one")
    parser.add_argument("--runs", type=int, default=7, metavar="N", help="how often each walk is measured")
    parser.add_argument("folder", nargs="?", type=Path, default=FIGURES, metavar="FOLDER")
    parser.add_argument("--job", nargs="+", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.job:
        import auxcal

        name, *words = asked.job
        found = JOBS[name](*words[:-1], Path(words[-1]))
        print(json.dumps({"home": str(Path(auxcal.__file__).resolve()), "found": found}))
        return

    from benchmarks.results import write_table
    from benchmarks.speed import page

    trees = {} if asked.before is None else {name_of(asked.before): asked.before.resolve()}
    trees["now"] = ROOT
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        job(next(iter(trees.values())), "prepare", work)  # the older tree reads only its own files
        found = {"walks": walks(trees, work, asked.runs), "walks-limits": limits(trees, work, max(1, asked.runs // 2))}
    for name, (head, rows) in found.items():
        write_table(asked.folder / f"{name}.csv", head, rows)
    if asked.folder.resolve() == FIGURES:
        page.PAGE.write_text(page.text(page.read()))


if __name__ == "__main__":
    main()
