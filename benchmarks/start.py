"""How long a process takes that loads a calibrator and scores one row, and how long a row takes once it is warm.

python -m benchmarks.start writes docs/figures/start.json.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from benchmarks.speed.data import packaged

import auxcal

ROOT = Path(__file__).parent.parent
CALIBRATOR = ROOT / "tests/golden/ccac-x.safetensors"
OUT = ROOT / "docs/figures/start.json"

PROCESSES = {
    "load_and_score": f"""
import auxcal, numpy
calibrator = auxcal.load({str(CALIBRATOR)!r})
calibrator.predict_confidence(numpy.zeros((1, calibrator.n_features_in_), numpy.float32))
""",
    "numpy_and_safetensors": f"""
import numpy
from safetensors.numpy import load_file
load_file({str(CALIBRATOR)!r})
""",
    "import_sklearn": "import sklearn.base",
}
"""What is run in fresh processes: ours, the least that it could be, and what it does without."""


def cpu_seconds(code: str, environment: dict[str, str]) -> float:
    """Return the CPU time of a fresh process, all its threads together."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def starts(runs: int) -> dict[str, float]:
    """Return the median CPU time of each process, in seconds; they take turns, and their bytecode is on file."""
    taken: dict[str, list[float]] = {name: [] for name in PROCESSES}
    with tempfile.TemporaryDirectory() as folder:
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment = kept | {"PYTHONPYCACHEPREFIX": folder}
        for _ in range(runs + 1):
            for name, code in PROCESSES.items():
                taken[name].append(cpu_seconds(code, environment))
    return {name: median(seconds[1:]) for name, seconds in taken.items()}


def warm_row(runs: int) -> float:
    """Return the median time of a row alone, with the logits of 10 classes, in seconds."""
    data = packaged("cifar10-resnet20", "OOD").take(slice(1000))
    calibrator = auxcal.CCACX(random_state=0).fit(data.logits, data.y)
    row = data.logits[:1].astype(np.float32)
    return median(timed(lambda: calibrator.predict_confidence(row)) for _ in range(runs))


def timed(call: Callable[[], object]) -> float:
    """Return how long a call takes, in seconds."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main(runs: int = 9, rows: int = 5000) -> dict[str, float]:
    """Measure, print and return the seconds of everything."""
    found = {f"{name}_cpu_seconds": seconds for name, seconds in starts(runs).items()}
    found["warm_row_seconds"] = warm_row(rows)
    print(json.dumps(found, indent=2))
    return found


if __name__ == "__main__":
    OUT.write_text(json.dumps(main(), indent=2) + "\n")
