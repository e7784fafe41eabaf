"""What becomes of log-probabilities that were not returned: several floors for -inf, and the full logits.

    python -m benchmarks.evidence.missing_logits

Language models return the log-probabilities of the likeliest tokens alone, so some of the classes are missing.
Simulated: the four answers of a question among 2,000 tokens of which the 20 likeliest are known, and 100 and 30 classes
of which the 20, 5 or 3 likeliest are. Temperature, Platt and vector scaling are fitted on 1,000 rows and measured on
8,000. The Brier scores go to docs/figures/missing-logits.csv. Takes a minute of CPU time.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from benchmarks.results import write_table

import auxcal
from auxcal.metrics import brier

TABLE = Path(__file__).parents[2] / "docs" / "figures" / "missing-logits.csv"
METHODS = {"TS": auxcal.TemperatureScaling, "Platt": auxcal.PlattScaling, "VS": auxcal.VectorScaling}
N_FIT, N_TEST, TOO_SURE = 1000, 8000, 1.8
HEAD = ("logits", "missing", "floor", *METHODS)


def populations(rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield a name, the full logits, and the logits of the likeliest with -inf elsewhere."""
    n = N_FIT + N_TEST
    for spread, more in ((2.0, 7.0), (3.0, 12.0)):
        tokens = spread * rng.normal(size=(n, 2000))
        tokens[:, :4] += more
        yield f"4 answers, spread {spread:g}, top 20 of 2,000", tokens[:, :4], _likeliest(tokens, 20)[:, :4]
    for n_classes, top, spread in ((100, 20, 3.0), (100, 5, 3.0), (30, 3, 2.0)):
        logits = spread * rng.normal(size=(n, n_classes))
        yield f"top {top} of {n_classes}", logits, _likeliest(logits, top)


def _likeliest(logits: np.ndarray, top: int) -> np.ndarray:
    return np.where(logits >= np.sort(logits, axis=1)[:, [-top]], logits, -np.inf)


def scores(logits: np.ndarray, y: np.ndarray) -> Iterator[str]:
    """Yield the Brier score of each method."""
    for method in METHODS.values():
        fitted = method().fit(logits[:N_FIT], y[:N_FIT])
        test, correct = logits[N_FIT:], logits[N_FIT:].argmax(axis=1) == y[N_FIT:]
        yield f"{brier(fitted.predict_confidence(test), correct):.4f}"


def main() -> None:
    """Write the table."""
    rng, rows = np.random.default_rng(0), []
    for name, full, known in populations(rng):
        some = np.isfinite(known).any(axis=1)
        full, known = full[some], known[some]
        y = (full / TOO_SURE + rng.gumbel(size=full.shape)).argmax(axis=1)
        missing = f"{np.isneginf(known).mean():.0%}"
        floors = {
            "full logits": full,
            "floor_logits": auxcal.floor_logits(known),
            "-1e4": np.where(np.isneginf(known), -1e4, known),
        }
        for floor, logits in floors.items():
            rows.append((name, missing, floor, *scores(logits, y)))
    write_table(TABLE, HEAD, rows)


if __name__ == "__main__":
    main()
