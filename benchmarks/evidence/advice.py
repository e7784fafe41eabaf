"""Whether what `compare` advises is right: of classifiers that are overconfident, and of calibrated ones.

    python -m benchmarks.evidence.advice

Simulated classifiers of 2 to 100 classes that are right in 60 to 95 % of the cases, with 200 to 1,000 labels. Some are
overconfident by 5 or 10 points: in all classes, in half of them, on samples of no class, or because labels are noisy.
The others are calibrated. Each gets the advice of `compare` with every method but the networks. The Brier score of
what is advised is measured on 20,000 more rows. The counts, by the number of labels, go to docs/figures/advice.csv.
Takes five minutes of CPU time.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from benchmarks.results import write_table
from scipy.optimize import brentq
from scipy.special import softmax

import auxcal
from auxcal.metrics import brier

TABLE = Path(__file__).parents[2] / "docs" / "figures" / "advice.csv"
METHODS = [name for name, kind in auxcal.CALIBRATORS.items() if not kind.starts_at_random]
CLASSES, LABELS, GAPS = (2, 5, 10, 30, 100), (200, 500, 1000), (0.05, 0.10)
N_CLASSIFIERS, MORE = 24, 20_000
FIRST_SEED, N_SEEDS = 100, 3
"""The limits of the advice were chosen on seeds below 100."""
HEAD = (
    "classifiers", "labels", "number", "told that nothing needs doing", "told that rows are too few",
    "told to calibrate", "of which it costs",
)  # fmt: skip

Drawn = tuple[np.ndarray, np.ndarray]
Spoil = Callable[[float, np.ndarray, np.ndarray, np.random.Generator], Drawn]


def sharpened(amount: float, logits: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Drawn:
    """Return logits at too low a temperature."""
    return (1 + 10 * amount) * logits, y


def sharpened_in_half_of_the_classes(
    amount: float, logits: np.ndarray, y: np.ndarray, rng: np.random.Generator
) -> Drawn:
    """Return logits that are too sure where the prediction is an even class."""
    even = logits.argmax(axis=1, keepdims=True) % 2 == 0
    return np.where(even, 1 + 30 * amount, 1) * logits, y


def with_other_samples(amount: float, logits: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Drawn:
    """Return rows of which some are of no class, and look like the others."""
    return logits, np.where(rng.random(len(y)) < amount, auxcal.NO_CLASS, y)


def with_noisy_labels(amount: float, logits: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Drawn:
    """Return rows of which some have any class, whatever the classifier was trained on."""
    anything = rng.integers(logits.shape[1], size=len(y))
    return logits, np.where(rng.random(len(y)) < amount, anything, y)


KINDS: tuple[Spoil, ...] = (sharpened, sharpened_in_half_of_the_classes, with_other_samples, with_noisy_labels)


def calibrated(n_classes: int, accuracy: float, rng: np.random.Generator) -> Drawn:
    """Return many rows whose softmax is the true probability, of classes that are not equally frequent."""
    shape, bias = rng.normal(size=(MORE + max(LABELS), n_classes)), 0.5 * rng.normal(size=n_classes)
    scale = brentq(lambda s: softmax(np.exp(s) * (shape + bias), axis=1).max(axis=1).mean() - accuracy, -6, 6)
    logits = np.exp(scale) * (shape + bias)
    return logits, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)


def overconfident(gap: float, spoil: Spoil, rows: Drawn, rng: np.random.Generator) -> Drawn | None:
    """Return rows whose confidence is too high by the gap, or None if this kind can't reach it."""
    state = rng.integers(2**32)

    def gap_at(amount: float) -> float:
        logits, y = spoil(amount, *rows, np.random.default_rng(state))
        return float(softmax(logits, axis=1).max(axis=1).mean() - (logits.argmax(axis=1) == y).mean() - gap)

    return spoil(brentq(gap_at, 0, 1, xtol=1e-3), *rows, np.random.default_rng(state)) if gap_at(1) > 0 else None


def classifiers(seed: int) -> Iterator[tuple[bool, int, Drawn]]:
    """Yield overconfident and calibrated classifiers, with the number of labels for each."""
    rng = np.random.default_rng(seed)
    for index in range(2 * N_CLASSIFIERS):
        rows, honest = None, index >= N_CLASSIFIERS
        while rows is None:
            rows = calibrated(int(rng.choice(CLASSES)), rng.uniform(0.6, 0.95), rng)
            if not honest:
                rows = overconfident(GAPS[index % 2], KINDS[index % len(KINDS)], rows, rng)
        yield honest, LABELS[index % len(LABELS)], rows


def outcome(n_labels: int, rows: Drawn, seed: int) -> tuple[str, ...]:
    """Return what this classifier is told."""
    logits, y = rows
    labelled = auxcal.Predictions(logits[:n_labels], y[:n_labels])
    comparison = auxcal.compare(labelled, methods=METHODS, bootstrap=0, random_state=seed)
    told = comparison.answer
    if "nothing needs doing" in told.then:
        return ("told that nothing needs doing",)
    if "too few to tell whether" in told.then:
        return ("told that rows are too few",)
    if told.verdict not in ("solved", "better"):
        return ()
    correct = logits[n_labels:].argmax(axis=1) == y[n_labels:]
    now, then = (
        brier(entry.measured()[0].predict_confidence(logits[n_labels:]), correct)
        for entry in (comparison.before, comparison.best)
    )
    return ("told to calibrate", *(("of which it costs",) if then > now else ()))


def main(first: int = FIRST_SEED, n_seeds: int = N_SEEDS) -> None:
    """Count, print each seed, and write the table."""
    warnings.simplefilter("ignore", auxcal.AuxcalWarning)
    counts: Counter[tuple[str, ...]] = Counter()
    for seed in range(first, first + n_seeds):
        here: Counter[tuple[str, str]] = Counter()
        for honest, n_labels, rows in classifiers(seed):
            kind = "calibrated" if honest else "overconfident"
            for each in ("number", *outcome(n_labels, rows, seed)):
                here[kind, each] += 1
                counts[kind, f"{n_labels:,}", each] += 1
        print(seed, dict(here), flush=True)
    table = [
        (kind, labels, *(counts[kind, labels, head] for head in HEAD[2:]))
        for kind in ("overconfident", "calibrated")
        for labels in (f"{n:,}" for n in LABELS)
    ]
    write_table(TABLE, HEAD, table)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
