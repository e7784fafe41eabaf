"""How far the tables of r8-dan move with the instructions that the processor offers.

    python -m benchmarks.evidence.instruction_sets

The suite runs twice from the packaged logits: as it is, and in a process in which torch and NumPy may not use AVX-512
and OpenBLAS takes its kernels for another processor. Wants a processor with AVX-512. Takes about ten minutes.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from auxcal_paper.paper import PAPER_METRICS
from auxcal_paper.results import Results

OTHERS = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "OPENBLAS_CORETYPE": "SkylakeX",
}


def tables(folder: Path, environment: dict[str, str]) -> Results:
    """Run the suite in a process of its own and return its results."""
    command = [sys.executable, "-m", "auxcal", "reproduce", "r8-dan", "--no-figures"]
    command += ["--out", str(folder / "out"), "--cache", str(folder / "cache")]
    subprocess.run(command, env=os.environ | environment, check=True, stdout=subprocess.DEVNULL)
    return Results.read(folder / "out" / "r8-dan.csv")


def main() -> None:
    """Print, for each of the paper's metrics, the mean that moves most."""
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        ours, others = tables(Path(first), {}), tables(Path(second), OTHERS)
    for metric in PAPER_METRICS:
        moved = {}
        for shift in ours.distinct("shift"):
            for method in ours.where(shift=shift).distinct("method"):
                means = (each.where(shift=shift, method=method).spread(metric).mean for each in (ours, others))
                moved[shift, method] = abs(next(means) - next(means))
        most = max(moved, key=moved.__getitem__)
        print(f"{metric}: {moved[most]:.2g} ({' '.join(most)})")


if __name__ == "__main__":
    main()
