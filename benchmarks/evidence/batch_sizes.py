"""What the batch size of the paper's recipe, which the paper leaves open, changes in quality and in time.

    python -m benchmarks.evidence.batch_sizes [--rows N]

CCAC with the paper's epochs and the whole grid of λ, on at most N rows (by default 5,000) of two packaged bundles,
with two random states. Writes docs/figures/batch-sizes.csv. Takes two minutes.
"""

import sys
import time
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np
from benchmarks.results import write_table
from benchmarks.speed.data import packaged

from auxcal import CCAC, evaluate
from auxcal._core.text import write_score, write_seconds
from auxcal.calibrators import auxiliary
from auxcal_paper.suites import suite

OUT = Path(__file__).parents[2] / "docs" / "figures" / "batch-sizes.csv"
BUNDLES = (("r8-dan", "D1"), ("r8-dan", "OOD"))
BATCHES, RANDOM_STATES, SHOWN = (32, 256), (0, 1), ("auroc", "ece", "brier")


def main(most_rows: int) -> None:
    """Measure every batch size on every bundle, and write the table."""
    rows = []
    for where, batch in product(BUNDLES, BATCHES):
        scores, seconds, n_fit = [], [], 0
        for random_state in RANDOM_STATES:
            whole = packaged(*where)
            fit, select, test = whole.split(*suite(where[0]).parts(len(whole)), random_state=random_state)
            fit = fit.take(slice(0, most_rows))
            calibrator, started = CCAC(recipe="paper", random_state=random_state), time.process_time()
            with patch.object(auxiliary, "PAPER_BATCH", batch):
                calibrator.fit(fit.logits, fit.y, select=(select.logits, select.y))
            seconds.append(time.process_time() - started)
            got = evaluate(calibrator.predict_confidence(test.logits), test.correct)
            scores.append([got[metric] for metric in SHOWN])
            n_fit = len(fit)
        means = dict(zip(SHOWN, np.mean(scores, axis=0), strict=True))
        cells = [write_score(metric, float(means[metric])) for metric in SHOWN]
        rows.append([" ".join(where), f"{n_fit:,}", batch, *cells, write_seconds(float(np.mean(seconds)))])
    write_table(OUT, ["bundle", "rows", "batch", "AUROC", "ECE", "Brier", "CPU time"], rows)


if __name__ == "__main__":
    main(int(sys.argv[2]) if sys.argv[1:2] == ["--rows"] else 5_000)
