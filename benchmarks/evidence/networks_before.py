"""What training the networks of CCAC and CCAC-S in NumPy changed, beside a checkout in which torch trains them.

    mkdir before && git archive 32dd37f src | tar -x -C before
    python -m benchmarks.evidence.networks_before before

Time and memory: the whole grid of λ on 6,000 rows of 10 classes, in fresh processes of both trees that take turns; what
is imported, and the memory that it holds, do not count. Quality: the Brier score on every packaged bundle, with at most
6,000 rows to fit and five random states. Writes networks-before.csv and networks-before-quality.csv into docs/figures.
Takes about ten minutes.
"""

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from statistics import fmean

from benchmarks.speed.measure import measured

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "docs" / "figures"
KINDS = {"CCAC": "CCAC", "CCAC-S": "SimplifiedCCAC"}
TREES = {"torch": "", "NumPy": str(ROOT)}  # the first is given on the command line
N_ROWS, TURNS, STATES = 6_000, 3, 5
BUNDLES = sorted(
    path
    for folder in ("src/auxcal_paper/packaged", "src/auxcal/cli/demo_data")
    for path in (ROOT / folder).glob("*.npz")
    if path.stem.startswith(("cifar10-resnet20", "r8-dan", "ng18-dan"))
)


# ---- in a process of its own, with auxcal of either tree ----


def take_time(kind: str) -> list[float]:
    """Return the CPU time of a fit in seconds, and its memory in MB."""
    import auxcal

    (path,) = (path for path in BUNDLES if path.stem == "cifar10-resnet20-D1")
    fit, few = auxcal.Predictions.load(path).split(N_ROWS, 400, random_state=0)
    getattr(auxcal, kind)(lambda1=0, lambda2=1, mean="wrong", random_state=0).fit(few.logits, few.y)  # imports all
    taken, _ = measured(lambda: getattr(auxcal, kind)(random_state=0).fit(fit.logits, fit.y))
    return [taken.cpu, (taken.memory or 0) / 1e6]


def brier_scores(kind: str) -> dict[str, list[float]]:
    """Return the Brier score for every bundle and random state."""
    import auxcal

    scores: dict[str, list[float]] = {}
    for path, state in product(BUNDLES, range(STATES)):
        whole = auxcal.Predictions.load(path)
        n_fit, n_select = min(N_ROWS, len(whole) * 6 // 10), min(1_000, len(whole) // 10)
        fit, select, test = whole.split(n_fit, n_select, len(whole) - n_fit - n_select, random_state=state)
        fitted = getattr(auxcal, kind)(random_state=state).fit(fit.logits, fit.y, select=(select.logits, select.y))
        confidence = fitted.predict_confidence(test.logits).astype(float)
        scores.setdefault(path.stem, []).append(float(((confidence - test.correct) ** 2).mean()))
    return scores


# ---- in the process that compares them ----


def in_tree(tree: str, what: str, kind: str) -> list[float] | dict[str, list[float]]:
    """Return what a function of this file gives with auxcal of a tree."""
    path = os.pathsep.join([f"{tree}/src", str(ROOT)])
    command = [sys.executable, "-m", "benchmarks.evidence.networks_before", what, kind]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def main() -> None:
    """Write both tables."""
    from benchmarks.results import write_table

    rows = []
    for label, kind in KINDS.items():
        runs = {name: [in_tree(tree, "take_time", kind) for _ in range(TURNS)] for name, tree in TREES.items()}
        cpu = {name: min(seconds for seconds, _ in taken) for name, taken in runs.items()}
        memory = [f"{max(megabytes for _, megabytes in taken):.0f} MB" for taken in runs.values()]
        ratio = cpu["torch"] / cpu["NumPy"]
        rows.append([label, *(f"{seconds:.2f} s" for seconds in cpu.values()), f"{ratio:.1f}×", *memory])
        print(*rows[-1], sep=" | ", flush=True)
    heads = ["CPU time, torch", "NumPy", "ratio", "memory, torch", "memory, NumPy"]
    write_table(FIGURES / "networks-before.csv", ["", *heads], rows)
    found = {
        (label, name): in_tree(tree, "brier_scores", kind)
        for label, kind in KINDS.items()
        for name, tree in TREES.items()
    }
    rows = [[bundle.stem, *(f"{fmean(scores[bundle.stem]):.4f}" for scores in found.values())] for bundle in BUNDLES]
    for row in rows:
        print(*row, sep=" | ")
    write_table(FIGURES / "networks-before-quality.csv", ["", *(", ".join(key) for key in found)], rows)


if __name__ == "__main__":
    if sys.argv[1] in ("take_time", "brier_scores"):
        print(json.dumps(globals()[sys.argv[1]](sys.argv[2])))
    else:
        TREES["torch"] = str(Path(sys.argv[1]).resolve())
        main()
