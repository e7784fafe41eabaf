"""The libraries that are compared, each in a process of its own, and those that can't be had."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
THREADS = int(os.environ.get("BENCH_THREADS", "2"))
"""For everyone; auxcal's own fits use one of them. On a busy machine one is fairer: waiting threads cost the peers."""

ENVIRONMENT = {
    name: str(THREADS) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
}

OURS = "ours"
DIRICHLETCAL_PYTHON = ROOT / ".venv-bench-dirichletcal" / "bin" / "python"

PEERS = {
    "scikit_learn": "scikit-learn",
    "netcal": "netcal",
    "probmetrics": "probmetrics",
    "torch_uncertainty": "torch-uncertainty",
    "uncertainty_calibration": "uncertainty-calibration",
    "dirichletcal": "dirichletcal",
}
"""The file of each peer in `peers`, and its name."""

METHODS_OF = {
    "temperature": ("scikit_learn", "netcal", "probmetrics", "torch_uncertainty"),
    "vector": ("probmetrics", "torch_uncertainty"),
    "matrix": ("probmetrics", "torch_uncertainty"),
    "dirichlet": ("torch_uncertainty", "dirichletcal"),
    "scaling-binning": ("uncertainty_calibration",),
    "histogram": ("netcal", "torch_uncertainty", "uncertainty_calibration"),
    "isotonic": ("scikit_learn", "netcal", "probmetrics", "torch_uncertainty"),
    "ensemble-temperature": ("probmetrics",),
    "beta": ("netcal, class by class", "netcal, jointly"),
}
"""Which peers have each method; what follows a comma names another way to call the same library."""


def versions() -> dict[str, str]:
    """Return the versions of everything that is measured and is installed here."""
    names = ("auxcal", "numpy", "scipy", "torch", "numba", "torchmetrics", "relplot")
    peers = [name for file, name in PEERS.items() if file != "dirichletcal"]
    found = {}
    for name in (*names, *peers):
        with contextlib.suppress(PackageNotFoundError):  # not all topics need the peers
            found[name] = version(name)
    return found


def left_out() -> dict[str, str]:
    """Return the libraries that can't be had here, and why."""
    reasons = {"torchcal": "it is on no package index; probmetrics' vector and matrix scaling are adapted from it"}
    if not DIRICHLETCAL_PYTHON.exists():
        reasons["dirichletcal"] = "it needs Python 3.12, which is not there: make bench PYTHON312=<its path>"
    return reasons


@dataclass(frozen=True)
class Failure:
    """Why a library has no result."""

    reason: str


class Library:
    """One library in a process of its own, which is started again after a task that took too long."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._process: subprocess.Popen[str] | None = None

    def fit(self, method: str, data: Path, limit: float) -> dict[str, Any] | Failure:
        """Return what a fit takes and the loss that it reaches, or why there is none."""
        process = self._started()
        if process.poll() is not None:
            self.close()
            return Failure("it can't be imported")
        process.stdin.write(json.dumps({"method": method, "data": str(data)}) + "\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], limit)
        if not ready:
            self.close()
            return Failure(f"over {limit:.0f} s")
        line = process.stdout.readline()
        if not line:
            self.close()
            return Failure("the process died")
        answer = json.loads(line)
        if "failure" in answer:
            wants_memory = any(word in answer["failure"] for word in ("Memory", "memory", "RESOURCE_EXHAUSTED"))
            return Failure("out of memory" if wants_memory else answer["failure"])
        return answer

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            python = str(DIRICHLETCAL_PYTHON) if self.file == "dirichletcal" else sys.executable
            self._process = subprocess.Popen(
                [python, "-m", "benchmarks.speed.worker", self.file],
                cwd=ROOT,
                env={**os.environ, **ENVIRONMENT},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            self._process.stdout.readline()  # "ready": importing it is no part of a fit
        return self._process


@contextlib.contextmanager
def libraries() -> Iterator[dict[str, Library]]:
    """Give the libraries that can be had, and end their processes afterwards."""
    found = {file: Library(file) for file in (OURS, *PEERS) if file != "dirichletcal" or DIRICHLETCAL_PYTHON.exists()}
    try:
        yield found
    finally:
        for library in found.values():
            library.close()
