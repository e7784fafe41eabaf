"""Whether promised thresholds keep their word on populations that are made to break them.

    python -m benchmarks.promise_populations [FOLDER] [FIRST]

The populations have ties, atoms that are neighbours in float32, saturated confidences, a risk that crosses the limit
many times, rows that were drawn up to 1,000 times more rarely, and groups of all sizes. The truth is known, and rows
are accepted as users do it, in float32 and in float64: a promise is broken if any of these accepts too many errors.
Writes promise-populations.csv, a table for docs/evidence/promises.md, into the folder, docs/figures by default. Each
population, number of rows and risk gets FIRST draws, 1,000 by default, and those in which most promises are broken
1,000 new ones. Takes fifteen minutes of CPU time; with FIRST = 60, three.
"""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.results import write_table

from auxcal import InvalidInputError
from auxcal.thresholds import risk_at_coverage, thresholds_at_risks

RISKS, ROWS, LEVEL, COVERAGE = (0.05, 0.2), (100, 300, 1000), 0.95, 0.5
SIZE, DRAWS, CLOSER, PROCESSES = 4000, 1000, 5, 3
RATIOS = (3, 30, 100, 1000)

Sizes = Callable[[np.random.Generator, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Population:
    """Places with a confidence, an error rate and a mass; and how rows are drawn from it.

    `chance` is how likely a row of each place is drawn, to the others. `sizes` gives the sizes of groups by their
    places: rows of one group have the place of the first, or one near it, and are right or wrong together. Without
    sizes every row is drawn apart.
    """

    confidence: np.ndarray
    error: np.ndarray
    mass: np.ndarray
    chance: np.ndarray | None = None
    sizes: Sizes | None = None
    exact: bool = True

    @cached_property
    def ways(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The confidence as programs compare it, in ascending order, and the risk from there up."""
        single = self.confidence.astype(np.float32)
        text = np.array([float(str(each)) for each in single])
        found = []
        for values in (self.confidence, single, single.astype(np.float64), text):
            order = np.argsort(values)
            wrong, all_ = (np.cumsum(each[order][::-1])[::-1] for each in (self.error * self.mass, self.mass))
            found.append((values[order], np.append(wrong / all_, 0)))
        return found

    def risk(self, threshold: float) -> float:
        """Return the largest risk of the ways to compare."""
        return max(float(risk[np.searchsorted(values, values.dtype.type(threshold))]) for values, risk in self.ways)

    @cached_property
    def ends(self) -> np.ndarray:
        """The places as parts of a line from 0 to 1, for drawing."""
        chance = self.mass if self.chance is None else self.mass * self.chance
        return np.cumsum(chance) / chance.sum()

    def draw(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        """Return confidence and correctness of rows, and what else a promise is told."""
        places = np.searchsorted(self.ends, rng.random(n)).clip(max=SIZE - 1)
        wrong = rng.random(n) < self.error[places]
        if self.chance is not None:
            scale = np.exp(rng.normal())
            told = {"sample_weight": scale / self.chance[places], "max_weight": float(scale / self.chance.min())}
            return self.confidence[places], ~wrong, told
        if self.sizes is not None:
            groups = np.repeat(np.arange(n), self.sizes(rng, places))
            places = np.clip(places[groups] + (0 if self.exact else rng.integers(-9, 10, len(groups))), 0, SIZE - 1)
            return self.confidence[places], ~wrong[groups], {"groups": groups}
        return self.confidence[places], ~wrong, {}


def curves(risk: float) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """Return how often rows are wrong, by their place from the top."""
    return {
        "just above the limit": lambda u: np.full_like(u, 1.001 * risk),
        "step": lambda u: np.where(u < 0.35, 0.3 * risk, 0.6),
        "the top is worst": lambda u: np.where(u < 0.1, 3 * risk, np.where(u < 0.4, 0, np.where(u < 0.5, risk, 1))),
        "saw": lambda u: np.where((u * 40).astype(int) % 2 == 0, 2 * risk, 0),
        "linear": lambda u: 4 * risk * u * (u < 0.5) + u * (u >= 0.5),
        "late cliff": lambda u: np.where(u < 0.9, 0.99 * risk, 1.0),
    }


def confidences() -> dict[str, np.ndarray]:
    """Return confidences by place, the highest first."""
    u = (np.arange(SIZE) + 0.5) / SIZE
    ulp = np.float32(0.7)
    neighbours = [ulp := np.nextafter(ulp, np.float32(1)) for _ in range(20)][::-1]
    return {
        "continuous": 1 - u,
        "3 values": np.array([0.9, 0.7, 0.3])[(u * 3).astype(int)],
        "20 values": (1 - u).round(1) / 2 + 0.45,
        "200 values": np.floor((1 - u) * 200) / 200,
        "neighbours in float32": np.array(neighbours, dtype=np.float64)[(u * 20).astype(int)],
        "within one float32": 0.7 + 1e-9 * (1 - u),
        "saturated": np.where(u < 0.4, 1.0, 1 - u**6),
        "near 1": 1 - 1e-7 * u,
    }


def even(risk: float) -> Iterator[tuple[str, Population]]:
    """Yield populations of even draws."""
    u, mass = (np.arange(SIZE) + 0.5) / SIZE, np.full(SIZE, 1 / SIZE)
    for curve, error in curves(risk).items():
        for name, confidence in confidences().items():
            yield f"{name}, {curve}", Population(confidence, error(u), mass)


def weighted(risk: float) -> Iterator[tuple[str, Population]]:
    """Yield populations whose rows are drawn with different probabilities."""
    u, mass = (np.arange(SIZE) + 0.5) / SIZE, np.full(SIZE, 1 / SIZE)
    heavy = np.random.default_rng(0).random(SIZE) < 0.1
    for ratio in RATIOS:
        rarely = np.where(heavy, 1 / ratio, 1.0)
        yield f"1:{ratio}, a tenth always wrong", Population(1 - u, np.where(heavy, 1.0, 0.0), mass, rarely)
        share = np.where(heavy, np.minimum(10.01 * risk, 1), 0.0)
        yield f"1:{ratio}, at the limit by the rare", Population(1 - u, share, mass, rarely)
        smooth = ratio ** -(1 - u)
        yield f"1:{ratio}, the top drawn rarely", Population(1 - u, np.full(SIZE, 1.001 * risk), mass, smooth)
        yield f"1:{ratio}, the end drawn rarely", Population(1 - u, np.full(SIZE, 1.001 * risk), mass, ratio**-u)
        yield f"1:{ratio}, good at the top", Population(1 - u, np.where(u < 0.5, 0.2 * risk, 1), mass, smooth)
        tied = np.floor((1 - u) * 10) / 10
        yield f"1:{ratio}, ties", Population(tied, np.where(u < 0.3, 0.2 * risk, 2 * risk), mass, rarely)


def grouped(risk: float) -> Iterator[tuple[str, Population]]:
    """Yield populations whose rows come in groups."""
    u, mass = (np.arange(SIZE) + 0.5) / SIZE, np.full(SIZE, 1 / SIZE)
    sizes: dict[str, Sizes] = {
        "of 3": lambda rng, places: np.full(len(places), 3),
        "of 10": lambda rng, places: np.full(len(places), 10),
        "of 1 to 5": lambda rng, places: rng.integers(1, 6, len(places)),
        "of 1 to 9, geometric": lambda rng, places: rng.geometric(0.5, len(places)).clip(max=9),
    }
    for curve in ("just above the limit", "step", "saw"):
        error = curves(risk)[curve]
        for name, of in sizes.items():
            for exact in (True, False):
                kind = "copies" if exact else "rows alike"
                yield f"{kind} {name}, {curve}", Population(1 - u, error(u), mass, sizes=of, exact=exact)
        tied = np.floor((1 - u) * 5) / 5
        yield f"ties in groups of 1 to 5, {curve}", Population(tied, error(u), mass, sizes=sizes["of 1 to 5"])
    wrong = np.arange(SIZE) % 10 == 0
    for large in (3, 10):
        size = np.where(wrong, large, 1)
        rate = np.where(wrong, np.minimum(1.001 * risk * size.mean() * 10 / large, 1), 0.0)
        yield f"the wrong in groups of {large}", _by_place(1 - u, rate, size)


def _by_place(confidence: np.ndarray, error: np.ndarray, size: np.ndarray) -> Population:
    """Return a population of groups whose size depends on their place; its masses are those of rows."""
    found = Population(confidence, error, size / size.sum(), sizes=lambda rng, places: size[places])
    vars(found)["ends"] = (np.arange(SIZE) + 1) / SIZE  # groups are drawn evenly
    return found


class Count(NamedTuple):
    """What happened to the draws of one cell."""

    made: int
    broken: int
    broken_at_coverage: int
    refused: int


def measured(population: Population, n: int, risk: float, draws: int, dtype: type) -> Count:
    """Return how many promises are made and broken."""
    rng, made, broken, at_coverage, refused = np.random.default_rng([n, draws]), 0, 0, 0, 0
    for _ in range(draws):
        confidence, correct, told = population.draw(rng, n)
        confidence = confidence.astype(dtype)
        try:
            found = thresholds_at_risks(confidence, correct, [risk], level=LEVEL, **told)[risk]
            fixed = risk_at_coverage(confidence, correct, COVERAGE, level=LEVEL, **told)
        except InvalidInputError:
            refused += 1
            continue
        if found is not None:
            made += 1
            broken += population.risk(found.threshold) > risk * (1 + 1e-9)
        at_coverage += population.risk(fixed.threshold) > fixed.risk_upper * (1 + 1e-9)
    return Count(made, broken, at_coverage, refused)


class Cell(NamedTuple):
    """A population by its kind and its place there, a number of rows, and a risk."""

    kind: str
    place: int
    n: int
    risk: float

    def count(self, draws: int) -> Count:
        """Return what happens in so many draws."""
        _, population = list(KINDS[self.kind](self.risk))[self.place]
        return measured(population, self.n, self.risk, draws, np.float32 if self.n == ROWS[1] else np.float64)

    def __str__(self) -> str:
        name, _ = list(KINDS[self.kind](self.risk))[self.place]
        return f"{name}, {self.n} rows, {100 * self.risk:g} %"


def main(folder: Path, first: int) -> None:
    """Measure every population, look closer at the worst of each kind, and write these."""
    table = []
    with ProcessPoolExecutor(PROCESSES) as pool:
        for kind, populations in KINDS.items():
            places = range(len(list(populations(RISKS[0]))))
            cells = [Cell(kind, place, n, risk) for place in places for n in ROWS for risk in RISKS]
            counts = dict(zip(cells, pool.map(Cell.count, cells, [first] * len(cells)), strict=True))
            worst = {  # the first draws choose, others count
                what: sorted(cells, key=lambda cell: -getattr(counts[cell], what))[:CLOSER]
                for what in ("broken", "broken_at_coverage")
            }
            again = list(dict.fromkeys(cell for chosen in worst.values() for cell in chosen))
            closer = dict(zip(again, pool.map(Cell.count, again, [DRAWS] * len(again)), strict=True))
            for cell, count in closer.items():
                print(kind, cell, count, flush=True)
            made = np.mean([count.made for count in counts.values()]) / first
            shares = [max(getattr(count, what) for count in closer.values()) / DRAWS for what in worst]
            table.append([kind, f"{len(cells)}", *(f"{100 * each:.1f} %" for each in (made, *shares))])
    head = ["rows", "cells", "made", "broken at most", "broken at most, `--coverage`"]
    write_table(folder / "promise-populations.csv", head, table)


KINDS = {"drawn evenly": even, "drawn with weights up to 1:1000": weighted, "in groups": grouped}


if __name__ == "__main__":
    to = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/figures")
    main(to, int(sys.argv[2]) if len(sys.argv) > 2 else 1000)
