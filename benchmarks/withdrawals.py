"""How often a promise is withdrawn on rows of the kind that it was found on, and on rows of another kind.

    python -m benchmarks.withdrawals [DRAWS]

Calibrators are fitted on the bundles that come with the package, and on made-up classifiers of 2 and 100 classes. A
promise is found on some rows, and other rows are scored: of the same bundle, where one run in a hundred may withdraw
it, or of another shift. Writes withdrawals-quiet.csv and withdrawals.csv into docs/figures. Takes two minutes of CPU
time.
"""

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from benchmarks.results import write_table
from benchmarks.speed.data import packaged

import auxcal
from auxcal.thresholds.certificate import RARE, FoundOn

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
METHODS = {"continuous": auxcal.PlattScaling, "ties": auxcal.HistogramBinning}
FOUND, SCORED, FITTED = (200, 1000, 5000), (100, 1000, 5000), 1000
PAIRS = (
    ("cifar10-resnet20", "D1", "D2"), ("cifar10-resnet20", "D2", "D1"), ("cifar10-resnet20", "D1", "OOD"),
    ("cifar10-resnet20", "D1", "AD"), ("cifar10-resnet20", "D0", "D1"), ("ng18-dan", "D1", "OOD"),
    ("r8-dan", "D1", "OOD"),
)  # fmt: skip


class Rows(NamedTuple):
    """What a promise is held against: confidences and predictions of many rows."""

    confidence: np.ndarray
    prediction: np.ndarray
    n_classes: int

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return rows drawn evenly; with replacement, so that all draws are of one population."""
        at = rng.integers(len(self.confidence), size=n)
        return self.confidence[at], self.prediction[at]


def packaged_rows(suite: str, shift: str) -> tuple[np.ndarray, np.ndarray]:
    """Return logits and labels of a bundle."""
    data = packaged(suite, shift)
    return data.logits, data.y


def made_up(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return logits and labels of a classifier whose classes are not equally frequent."""
    rng = np.random.default_rng(n_classes)
    y = rng.choice(n_classes, size=20_000, p=rng.dirichlet(np.full(n_classes, 2.0)))
    return (3 * np.eye(n_classes)[y] + rng.normal(size=(len(y), n_classes))).astype(np.float32), y


def scored(calibrator: auxcal.Calibrator, logits: np.ndarray) -> Rows:
    """Return what a calibrator says of rows."""
    return Rows(calibrator.predict_confidence(logits), logits.argmax(axis=1), logits.shape[1])


def withdrawn(found: Rows, new: Rows, n_found: int, n_new: int, draws: int) -> float:
    """Return the share of the draws in which rows are taken for others than those that a promise was found on."""
    rng = np.random.default_rng([n_found, n_new])
    rarities = [
        FoundOn.of(*found.draw(n_found, rng), found.n_classes).rarity(*new.draw(n_new, rng)) for _ in range(draws)
    ]
    return float(np.mean(np.array(rarities) < RARE))


def quiet(draws: int) -> None:
    """Write how often rows of the same kind withdraw a promise."""
    data = {f"{suite} {shift}": packaged_rows(suite, shift) for suite, *both in PAIRS for shift in both}
    data |= {f"made up, K = {k}": made_up(k) for k in (2, 100)}
    table = []
    for name, (logits, y) in sorted(data.items()):
        cells = []
        for method in METHODS.values():
            rows = scored(method().fit(logits[:FITTED], y[:FITTED]), logits[FITTED:])
            cells.append([withdrawn(rows, rows, n, m, draws) for n in FOUND for m in SCORED])
        table.append([name, *(f"{100 * np.mean(each):.1f} % ({100 * max(each):.1f} %)" for each in cells)])
    write_table(FIGURES / "withdrawals-quiet.csv", ["rows", *METHODS], table)


def changed(draws: int) -> None:
    """Write how often rows of another shift withdraw a promise."""
    table = []
    for suite, shift, other in PAIRS:
        (logits, y), (new, _) = packaged_rows(suite, shift), packaged_rows(suite, other)
        fitted = auxcal.PlattScaling().fit(logits[:FITTED], y[:FITTED])
        rows, others = scored(fitted, logits[FITTED:]), scored(fitted, new)
        shares = [withdrawn(rows, others, FOUND[1], m, draws) for m in SCORED[:2]]
        table.append([suite, shift, other, *(f"{100 * each:.0f} %" for each in shares)])
    head = ["classifier", "found on", "scored", *(f"withdrawn, {m:,} rows" for m in SCORED[:2])]
    write_table(FIGURES / "withdrawals.csv", head, table)


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    changed(number)
    quiet(number)
