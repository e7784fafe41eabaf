"""How much the confidences of CCAC and CCAC-S depend on the processor that trains them.

    python -m benchmarks.evidence.processors

Trains on 2,500 rows of packaged bundles as the machine is, and in processes in which OpenBLAS and NumPy may use less of
it; and once more in this machine's way with another random state, for comparison. Writes docs/figures/processors.csv.
Wants a processor with AVX-512. Takes about two minutes.
"""

import os
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

import numpy as np
from benchmarks.results import write_table
from benchmarks.speed.data import packaged

from auxcal import CCAC, SimplifiedCCAC
from auxcal._core.arrays import Floats

OUT = Path(__file__).parents[2] / "docs" / "figures" / "processors.csv"
BUNDLES = (("r8-dan", "D1"), ("cifar10-resnet20", "D1"))
KINDS, N_ROWS = (CCAC, SimplifiedCCAC), 2_500
_NO_AVX512 = "X86_V4 AVX512_ICL AVX512_SPR"
LESS = {
    "without AVX-512": {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": _NO_AVX512},
    "without AVX2": {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": f"X86_V3 {_NO_AVX512}"},
}
SEARCHES = {"one setting": {"lambda1": 0, "lambda2": 1, "mean": "wrong"}, "the whole search": {}}


def confidences(random_state: int) -> dict[str, Floats]:
    """Return the confidences in rows that were not trained on, of every method, search and bundle."""
    said = {}
    for where, kind, (search, parameters) in product(BUNDLES, KINDS, SEARCHES.items()):
        fit, test = packaged(*where).split(N_ROWS, N_ROWS, random_state=0)
        fitted = kind(**parameters, random_state=random_state).fit(fit.logits, fit.y)
        said[f"{' '.join(where)}, {kind.abbreviation}, {search}"] = fitted.predict_confidence(test.logits)
    return said


def elsewhere(environment: dict[str, str]) -> dict[str, Floats]:
    """Return the same from a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "said.npz"
        command = [sys.executable, "-m", "benchmarks.evidence.processors", str(path)]
        subprocess.run(command, env=os.environ | environment, check=True)
        with np.load(path) as file:
            return dict(file)


def main() -> None:
    """Write how far the confidences are from those of this machine, on average and at most."""
    ours = confidences(random_state=0)
    others = {name: elsewhere(environment) for name, environment in LESS.items()}
    others["another random state"] = confidences(random_state=1)
    rows = []
    for name in ours:
        off = [np.abs(ours[name].astype(np.float64) - other[name]) for other in others.values()]
        rows.append([name, *(f"{each.mean():.4f}, {each.max():.2f}" for each in off)])
    write_table(OUT, ["mean and largest difference", *others], rows)


if __name__ == "__main__":
    if sys.argv[1:]:
        np.savez(sys.argv[1], **confidences(random_state=0))
    else:
        main()
