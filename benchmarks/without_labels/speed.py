"""What a check of a million rows costs beside scoring them: a table of "Without labels".

    python -m benchmarks.without_labels.speed [FOLDER] [ROWS]

Fits CCAC-X on 3,000 rows of the packaged CIFAR-10 bundle with foreign samples, and repeats its other rows. Time is the
best of three runs that alternate, memory the most that Python held beside the logits. Writes without-labels-speed.csv
into the folder, docs/figures by default.
"""

import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
from benchmarks.results import write_table

from auxcal import CCACX, check
from auxcal_paper.bundles import bundle
from auxcal_paper.suites import suite

FIT = 3000
RUNS = 3


def seconds(call: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def megabytes(call: Callable[[], object]) -> float:
    """Return the most memory that a call holds at once."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def main(folder: str = "docs/figures", rows: str = "1000000") -> None:
    """Measure, and write the table."""
    data = bundle(suite("cifar10-resnet20"), "OOD", Path("data"), Path("cache") / "bundles")
    order = np.random.default_rng(0).permutation(len(data))
    fit, rest = data.take(order[:FIT]), data.take(order[FIT:])
    calibrator = CCACX(random_state=0).fit(fit.logits, fit.y)
    logits = np.resize(rest.logits, (int(rows), data.n_classes))
    calls: dict[str, Callable[[], object]] = {
        "predict_confidence": lambda: calibrator.predict_confidence(logits),
        "check": lambda: check(calibrator, logits),
    }
    check(calibrator, logits[:1000])  # imports what it needs
    taken = np.min([[seconds(call) for call in calls.values()] for _ in range(RUNS)], axis=0)
    lines = [
        [f"`{name}`", f"{best:.2f}", f"{best / taken[0]:.2f}", f"{megabytes(call):.0f}"]
        for (name, call), best in zip(calls.items(), taken, strict=True)
    ]
    head = [f"{int(rows):,} rows of {data.n_classes} classes", "seconds", "times scoring", "MB at most"]
    write_table(Path(folder) / "without-labels-speed.csv", head, lines)


if __name__ == "__main__":
    main(*sys.argv[1:])
