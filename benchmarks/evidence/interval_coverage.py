"""How often the 95 % intervals of `evaluate` hold the truth.

    python -m benchmarks.evidence.interval_coverage [FOLDER]

Samples of 50 to 2,000 rows are drawn from made-up classifiers whose true metrics are known: calibrated, overconfident,
underconfident, 99 % right, sure and wrong, with few distinct confidences, of low accuracy. A sample whose metric is
undefined, because no row is wrong, gives no interval and is left out. Two more draw rows with weights, and in clusters.
Writes intervals.csv, a table for docs/evidence/metrics.md, into the folder, docs/figures by default, and prints the
coverage and the mean width of every metric and population. Takes about ten minutes.
"""

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from benchmarks.results import write_table
from scipy.special import expit

from auxcal import AuxcalWarning, evaluate
from auxcal.metrics import METRICS, ece_noise_floor

SIZES = 50, 200, 400, 2000
DRAWS, RESAMPLES = 100, 100
TRUTH_ROWS = 1_000_000
SHOWN = [name for name in METRICS if name != "mce"]

Draw = Callable[[int, np.random.Generator], "Sample"]


class Sample(NamedTuple):
    """Rows of a population, with the weights that make up for how they were drawn, and their clusters."""

    confidence: np.ndarray
    correct: np.ndarray
    sample_weight: np.ndarray | None = None
    groups: np.ndarray | None = None


def logistic(mean: float, deviation: float, slope: float, shift: float) -> Draw:
    """Return a population of normal log-odds of the confidence, whose true log-odds are slope * these + shift."""

    def draw(n: int, rng: np.random.Generator) -> Sample:
        odds = rng.normal(mean, deviation, n)
        return Sample(expit(odds), rng.random(n) < expit(slope * odds + shift))

    return draw


def few_levels(n: int, rng: np.random.Generator) -> Sample:
    """Draw five distinct confidences, each five points too high."""
    confidence = rng.choice([0.3, 0.55, 0.7, 0.9, 0.98], n, p=[0.05, 0.1, 0.15, 0.2, 0.5])
    return Sample(confidence, rng.random(n) < confidence - 0.05)


def two_kinds(n: int, rng: np.random.Generator) -> Sample:
    """Draw sure rows that are nearly always right, and one in ten that is a guess."""
    guess = rng.random(n) < 0.1
    confidence = np.where(guess, rng.uniform(0.3, 0.6, n), expit(rng.normal(5, 1, n)))
    return Sample(confidence, rng.random(n) < np.where(guess, 0.5, 0.995))


def six_points(n: int, rng: np.random.Generator) -> Sample:
    """Draw confidences that are six points too high everywhere."""
    confidence = rng.uniform(0.5, 1, n)
    return Sample(confidence, rng.random(n) < confidence - 0.06)


def weighted(n: int, rng: np.random.Generator) -> Sample:
    """Draw uncertain rows four times as often, with weights that make up for it."""
    sample = logistic(2.0, 1.5, 0.7, -0.2)(8 * n, rng)
    chance = np.where(sample.confidence < 0.8, 1.0, 0.25)
    rows = rng.choice(8 * n, n, replace=False, p=chance / chance.sum())
    weight = 1 / chance[rows]
    return Sample(sample.confidence[rows], sample.correct[rows], weight * n / weight.sum(), np.arange(n))


def clusters(n: int, rng: np.random.Generator) -> Sample:
    """Draw clusters of five, whose rows share what is hard about them."""
    group = np.repeat(np.arange(n // 5), 5)
    odds = rng.normal(1.5, 1, n // 5)[group] + rng.normal(0, 1, n)
    hard = rng.normal(0, 1, n // 5)[group]
    return Sample(expit(odds), rng.random(n) < expit(0.8 * odds + hard), None, group)


POPULATIONS: dict[str, Draw] = {
    "calibrated": logistic(1.5, 1.5, 1.0, 0.0),
    "overconfident": logistic(2.5, 2.0, 0.5, -0.2),
    "overconfident by 6 points": six_points,
    "underconfident": logistic(0.8, 0.7, 2.0, 0.5),
    "99 % right": logistic(6.0, 1.5, 0.6, 1.3),
    "98.5 % right, sure of all": logistic(6.0, 1.5, 0.0, 4.18),
    "sure or guessed": two_kinds,
    "five confidences": few_levels,
    "30 % right": logistic(0.0, 1.5, 1.0, -1.0),
    "weighted": weighted,
    "in clusters of five": clusters,
}


def ours(sample: Sample, state: int) -> dict[str, tuple[float, float]]:
    """Return the intervals of `evaluate`; none (NaN) where the metric is undefined."""
    scores = evaluate(
        sample.confidence,
        sample.correct,
        bootstrap=RESAMPLES,
        random_state=state,
        sample_weight=sample.sample_weight,
        groups=sample.groups,
    )
    return {name: (scores[f"{name}_low"], scores[f"{name}_high"]) for name in SHOWN}


def truth(draw: Draw, rng: np.random.Generator) -> dict[str, float]:
    """Return the metrics of so many rows that chance does not show, the ECE without what little noise is left."""
    rows = draw(TRUTH_ROWS, rng)
    found = {
        name: METRICS[name].kernel(rows.confidence, rows.correct, sample_weight=rows.sample_weight) for name in SHOWN
    }
    floor = ece_noise_floor(rows.confidence, n_draws=20).mean
    return found | {name: float(np.sqrt(max(found[name] ** 2 - floor**2, 0.0))) for name in ("ece", "ece_mass")}


def coverage(draw: Draw, true: dict[str, float], n: int, rng: np.random.Generator) -> dict[str, tuple[float, float]]:
    """Return for each metric how often the interval held the truth, and its mean width."""
    held: dict[str, list[tuple[bool, float]]] = {name: [] for name in SHOWN}
    for state in range(DRAWS):
        for name, (low, high) in ours(draw(n, rng), state).items():
            if not np.isnan(low):
                held[name].append((low <= true[name] <= high, high - low))
    return {name: tuple(np.mean(each, axis=0)) for name, each in held.items()}


def main(folder: str = "docs/figures") -> None:
    """Print all coverages, and write the median and the least of each metric over the populations."""
    shares: dict[tuple[str, int], list[float]] = {(name, n): [] for name in SHOWN for n in SIZES}
    for population, draw in POPULATIONS.items():
        rng = np.random.default_rng(0)
        true = truth(draw, rng)
        for n in SIZES:
            found = coverage(draw, true, n, rng)
            line = (f"{name} {100 * share:.0f} ({width:.3f})" for name, (share, width) in found.items())
            print(f"{n:>6} {population:<26}", *line, flush=True)
            for name in SHOWN:
                shares[name, n].append(100 * found[name][0])
    rows = []
    for name in SHOWN:
        cells = (f"{np.median(shares[name, n]):.0f} % (from {min(shares[name, n]):.0f} %)" for n in SIZES)
        rows.append([METRICS[name].label, *cells])
    write_table(Path(folder) / "intervals.csv", ["metric", *(f"{n:,} rows" for n in SIZES)], rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore", AuxcalWarning)
    main(*sys.argv[1:])
