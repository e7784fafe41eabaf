"""What more rows bring to CCAC-X where there are many already.

    python -m benchmarks.evidence.enough_rows

CCAC-X is fitted on more and more rows, all of which it uses: for 10 classes of five shifts of a ResNet-20 on CIFAR-10
together, for 100 classes as `benchmarks.speed` draws them. The Brier score on the same other rows goes to
docs/figures/enough-rows.csv. Takes four minutes of CPU time.
"""

from __future__ import annotations

import sys
from pathlib import Path
from unittest import mock

import numpy as np
from benchmarks.results import write_table
from benchmarks.speed.data import drawn, packaged

import auxcal

TABLE = Path(__file__).parents[2] / "docs" / "figures" / "enough-rows.csv"
SHIFTS = ("D0", "D1", "D2", "OOD", "AD")
SIZES = (3_000, 10_000, 30_000, 100_000)
MORE = (*SIZES, 300_000)
HEAD = ("classes", "rows", "Brier score")


def all_shifts() -> auxcal.Predictions:
    """Return the rows of all shifts in random order."""
    parts = [packaged("cifar10-resnet20", shift) for shift in SHIFTS]
    whole = auxcal.Predictions(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("logits", "y")))
    return whole.take(np.random.default_rng(0).permutation(len(whole)))


def curve(data: auxcal.Predictions, sizes: tuple[int, ...]) -> list[tuple[str, ...]]:
    """Return a row of the table for each number of rows; those beyond the last are the test part."""
    test, rows = data.take(slice(sizes[-1], None)), []
    for n in sizes:
        calibrator = auxcal.CCACX(random_state=0).fit(data.logits[:n], data.y[:n])
        score = auxcal.metrics.brier(calibrator.predict_confidence(test.logits), test.correct)
        rows.append((f"{data.n_classes}", f"{n:,}", f"{score:.5f}"))
    return rows


def main() -> None:
    """Write the table."""
    room = "auxcal.calibrators.ccac_x.method"
    with mock.patch(f"{room}._ENOUGH", sys.maxsize), mock.patch(f"{room}._MOST_LOGITS", sys.maxsize):
        rows = [*curve(all_shifts(), SIZES), *curve(drawn(500_000, 100), MORE)]
    write_table(TABLE, HEAD, rows)


if __name__ == "__main__":
    main()
