"""How often a check raises a false alarm where nothing has changed, on made-up classifiers.

    python -m benchmarks.without_labels.quiet [DRAWS] [PART OF A NAME ...]

Each draw makes a population anew, fits a calibrator on rows of it and checks other rows of it. Populations: classifiers
that are right in 70 to 99.9 % of the rows, with 2, 10 and 100 classes; classifiers whose logits take few values (3, 12,
50), which repeat by themselves; and rows that are copied, in the fit, among the new rows, or in both. Prints a table
with the share of checks that say "mix" or "new"; the level is 5 %. Parts of names choose rows of it, such as `values`
or `CCAC-X`. A hundred draws of all take some hours; those of Platt scaling five minutes of CPU time. What is chosen
goes to docs/figures/without-labels-quiet.csv, by kind of population and number of classes: the mean over the sizes.
"""

import sys
import warnings
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.results import write_table

import auxcal

Rows = tuple[np.ndarray, np.ndarray]
Make = Callable[[np.random.Generator], Callable[[int], Rows]]
LEVEL = 0.05
TABLE = Path(__file__).parents[2] / "docs" / "figures" / "without-labels-quiet.csv"
FIRST_STATE, PROCESSES = 10_000, 3
CLASSES = (2, 10, 100)
SIZES = ((100, 1000), (300, 100), (1000, 1000), (2000, 5000), (5000, 5000))  # of the fit, and of the new rows
METHODS: dict[str, Callable[[], Any]] = {
    "Platt": auxcal.PlattScaling,
    "TS": auxcal.TemperatureScaling,
    "histogram": auxcal.HistogramBinning,
    "matrix": auxcal.MatrixScaling,
    "CCAC-X": lambda: auxcal.CCACX(random_state=0),
}


class Population(NamedTuple):
    """What a draw of rows looks like: `make` gives a function that draws (logits, y); rows may be copied."""

    kind: str
    n_classes: int
    make: Make
    fit_copies: str = "none"
    new_copies: str = "none"

    @property
    def name(self) -> str:
        """What the printed table says."""
        return f"{self.kind}, K={self.n_classes}"


def accurate(n_classes: int, accuracy: float) -> Make:
    """Gaussian logits whose distance between classes gives about this accuracy."""
    trial = np.random.default_rng(0)
    noise = trial.normal(size=(20_000, n_classes))
    signal = float(np.quantile(noise[:, 1:].max(axis=1) - noise[:, 0], accuracy))

    def make(rng: np.random.Generator) -> Callable[[int], Rows]:
        scale = rng.uniform(0.5, 3)
        shares = rng.dirichlet(np.full(n_classes, 5.0))

        def draw(n: int) -> Rows:
            y = rng.choice(n_classes, size=n, p=shares)
            logits = scale * (signal * np.eye(n_classes)[y] + rng.normal(size=(n, n_classes)))
            return logits.astype(np.float32), y

        return draw

    return make


def few_values(n_values: int, n_classes: int, sharpness: float) -> Make:
    """Logits that take a few values only, each with its own distribution of labels."""

    def make(rng: np.random.Generator) -> Callable[[int], Rows]:
        values = rng.normal(scale=sharpness, size=(n_values, n_classes)).astype(np.float32)
        proba = np.exp(0.8 * values - (0.8 * values).max(axis=1, keepdims=True))
        ends = np.cumsum(proba / proba.sum(axis=1, keepdims=True), axis=1)
        shares = rng.dirichlet(np.full(n_values, 2.0))

        def draw(n: int) -> Rows:
            at = rng.choice(n_values, size=n, p=shares)
            y = (rng.random(n)[:, None] > ends[at, :-1]).sum(axis=1)
            return values[at], y

        return draw

    return make


def copied(rows: Rows, how: str, n: int, rng: np.random.Generator) -> Rows:
    """Return n rows, where `how` says how often each stands there."""
    if how == "none":
        return rows
    times = {"five": np.full(n, 5), "some": rng.integers(1, 6, size=n), "twice": 1 + (rng.random(n) < 0.2)}[how]
    at = rng.permutation(np.repeat(np.arange(n), times)[:n])
    return rows[0][at], rows[1][at]


POPULATIONS = (
    *(Population(f"{100 * a:g} % right", k, accurate(k, a)) for k in CLASSES for a in (0.7, 0.9, 0.999)),
    *(
        Population(f"{d} values{', sharp' if s > 3 else ''}", k, few_values(d, k, s))
        for d in (3, 12, 50)
        for k, s in ((2, 2.0), (10, 2.0), (10, 8.0))
    ),
    *(
        Population(f"90 % right, copies: fit {f}, new {m}", k, accurate(k, 0.9), f, m)
        for k in (2, 10)
        for f, m in (("five", "none"), ("none", "five"), ("five", "five"), ("some", "some"), ("twice", "twice"))
    ),
)


def alarms(place: int, method: str, sizes: tuple[int, int], draws: int) -> tuple[int, int]:
    """Return how many of the checks of a population said mix, and new."""
    warnings.simplefilter("ignore")
    population, (n_fit, n_new), verdicts = POPULATIONS[place], sizes, []
    for state in range(FIRST_STATE, FIRST_STATE + draws):
        rng = np.random.default_rng([state, n_fit, n_new])
        draw = population.make(rng)
        fitted = METHODS[method]().fit(*copied(draw(n_fit), population.fit_copies, n_fit, rng))
        logits, _ = copied(draw(n_new), population.new_copies, n_new, rng)
        verdicts.append(auxcal.check(fitted, logits, level=LEVEL).verdict)
    return verdicts.count("mix"), verdicts.count("new")


def main(draws: int, parts: list[str]) -> None:
    """Print the table, and write what it says on average."""
    asked = [
        (place, method, sizes)
        for place, population in enumerate(POPULATIONS)
        for method in METHODS
        if all(part in f"{population.name} | {method}" for part in parts)
        for sizes in SIZES
    ]
    cells: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    print("| population | calibrator | fit on | new rows | false alarms | of these new |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    with ProcessPoolExecutor(PROCESSES) as pool:
        found = pool.map(alarms, *zip(*asked, strict=True), [draws] * len(asked))
        for (place, method, sizes), (mix, new) in zip(asked, found, strict=True):
            rates = f"{100 * (mix + new) / draws:.1f} | {100 * new / draws:.1f}"
            print(f"| {POPULATIONS[place].name} | {method} | {sizes[0]} | {sizes[1]} | {rates} |", flush=True)
            cells[POPULATIONS[place].kind, method][POPULATIONS[place].n_classes].append((mix + new) / draws)
    table = [
        [kind, method, *(f"{100 * np.mean(of[k]):.1f} %" if k in of else "" for k in CLASSES)]
        for (kind, method), of in cells.items()
    ]
    write_table(TABLE, ["population", "calibrator", *(f"K = {k}" for k in CLASSES)], table)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100, sys.argv[2:])
