"""How often `auxcal score` warns of rows, beside a full comparison of the same rows, and how much of the time it takes.

    python -m benchmarks.without_labels.watching [DRAWS] [FOLDER]

`ScoreWatch` compares some rows quickly, and all of them only if these seem to differ. Each draw makes a population as
`benchmarks.without_labels.quiet` does, fits on 5,000 rows of it and watches 20,000 others: unchanged, with other
logits, in another mix, or with rows of no class. Writes without-labels-watching.csv into the folder, docs/figures by
default: the share of draws in which the watch warns, and in which the full comparison of its rows does, both at the
1 % level, and the time of the watch over that of the full comparison. Forty draws take two minutes of CPU time.
"""

import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
from benchmarks.results import write_table
from benchmarks.without_labels.quiet import Rows, accurate

import auxcal
from auxcal.monitoring import ScoreWatch, _sample

FIGURES = Path(__file__).parents[2] / "docs" / "figures"
FIRST_STATE, FIT, NEW, CLASSES, ACCURACIES = 50_000, 5_000, 20_000, (2, 10, 100), (0.7, 0.9)
Change = Callable[[Rows, np.random.Generator], np.ndarray]


def scaled(factor: float) -> Change:
    """Return logits that are less sure."""
    return lambda rows, rng: rows[0] * np.float32(factor)


def other_mix(share: float) -> Change:
    """Leave out some of the rows of the first class."""
    return lambda rows, rng: rows[0][(rows[1] > 0) | (rng.random(len(rows[1])) >= share)]


def foreign(share: float) -> Change:
    """Replace some rows by such that belong to no class: their logits are noise."""

    def changed(rows: Rows, rng: np.random.Generator) -> np.ndarray:
        logits = rows[0].copy()
        place = rng.random(len(logits)) < share
        logits[place] = rng.normal(scale=logits.std(), size=logits[place].shape)
        return logits

    return changed


CHANGES: dict[str, Change] = {
    "unchanged": scaled(1),
    "logits × 0.98": scaled(0.98),
    "logits × 0.95": scaled(0.95),
    "logits × 0.9": scaled(0.9),
    "a class loses 10 %": other_mix(0.1),
    "a class loses 25 %": other_mix(0.25),
    "a class loses 50 %": other_mix(0.5),
    "1 % of no class": foreign(0.01),
    "3 % of no class": foreign(0.03),
    "10 % of no class": foreign(0.1),
}


def watched(calibrator: auxcal.Calibrator, logits: np.ndarray, level: float) -> tuple[bool, float]:
    """Return whether the watch warns if it compares quickly at a level, and the time of its verdict."""
    _sample.SCREEN_LEVEL = level
    watch = ScoreWatch(calibrator)
    watch.update(logits, None)
    start = time.process_time()
    return watch.verdict() != "same", time.process_time() - start


def main() -> None:
    """Count, and write the table."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else FIGURES
    found: dict[str, list[tuple[bool, float, bool, float]]] = defaultdict(list)
    level = _sample.SCREEN_LEVEL
    for draw in range(draws):
        n_classes, accuracy = CLASSES[draw % 3], ACCURACIES[draw // 3 % 2]
        rng = np.random.default_rng(FIRST_STATE + draw)
        population = accurate(n_classes, accuracy)(rng)
        calibrator = auxcal.PlattScaling() if draw // 6 % 2 else auxcal.CCACX(random_state=0)
        calibrator.fit(*population(FIT))
        for name, change in CHANGES.items():
            logits = change(population(NEW), rng)
            found[name].append((*watched(calibrator, logits, level), *watched(calibrator, logits, 0.0)))
    rows = []
    for name, each in found.items():
        quick, taken, full, all_taken = np.array(each, dtype=float).T
        rows.append(
            [name, f"{100 * quick.mean():.0f} %", f"{100 * full.mean():.0f} %", f"{taken.sum() / all_taken.sum():.2f}"]
        )
    head = ["change", "the watch warns", "a full comparison does", "its time over that of all"]
    write_table(folder / "without-labels-watching.csv", head, rows)


if __name__ == "__main__":
    main()
