"""How long each method takes to fit, beside the peers on the same arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from benchmarks.speed.answers import found_the_optimum, same_answer
from benchmarks.speed.data import predictions
from benchmarks.speed.libraries import METHODS_OF, OURS, Failure, Library, libraries
from benchmarks.speed.measure import Measured

SIZES = ((30_000, 10), (30_000, 100), (10_000, 1000))
QUICK_SIZES = ((2_000, 10),)

TARGETS = {
    "temperature": (3, 3, 3),
    "vector": (2, 2, 3),
    "matrix": (1, 1, 1),
    "dirichlet": (3, 3, 3),
    "scaling-binning": (5, 50, 20),
    "histogram": (1, 2, 2),
    "isotonic": (1, 1, 1),
    "ensemble-temperature": (5, 5, 5),
    "beta": (20, 20, 20),
}
"""How many times less than the fastest peer each fit is to take, at each of the three sizes."""

OTHER_MODELS = {"netcal, jointly"}
"""What fits more than we do, so that its loss may be lower: all classes as one multinomial model."""


@dataclass(frozen=True)
class Limits:
    """How much of a contender's time is enough: runs, seconds after which there is no other, seconds for one."""

    most_runs: int
    enough: float
    one_run: float


FULL, QUICK = Limits(3, 5, 60), Limits(1, 1, 2)


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Return a row for every method and size."""
    limits = QUICK if quick else FULL
    rows = []
    with libraries() as found, TemporaryDirectory() as folder:
        for column, (n, k) in enumerate(QUICK_SIZES if quick else SIZES):
            data = Path(folder) / f"{n}x{k}.npz"
            drawn = predictions(n, k)
            np.savez(data, logits=drawn.logits, y=drawn.y)
            for method, targets in TARGETS.items():
                results = compete(method, data, found, limits)
                rows.append(
                    {"method": method, "n": n, "k": k, **judged(method, results, None if quick else targets[column])}
                )
                print(line(rows[-1]), flush=True)
    return rows


def compete(
    method: str, data: Path, found: dict[str, Library], limits: Limits
) -> dict[str, tuple[Measured, float] | Failure]:
    """Let every library that has the method fit it in turns; return the best of each with its loss."""
    results: dict[str, tuple[Measured, float] | Failure] = {}
    spent: dict[str, float] = {}
    for _ in range(limits.most_runs):
        for name, library, call in contenders(method, found):
            if isinstance(results.get(name), Failure) or spent.get(name, 0) > limits.enough:
                continue
            answer = library.fit(call, data, 3 * limits.one_run if name == OURS else limits.one_run)
            if isinstance(answer, Failure):
                results[name] = answer
                continue
            taken = Measured(answer["wall"], answer["cpu"], answer["memory"])
            spent[name] = spent.get(name, 0) + taken.wall
            before = results.get(name)
            results[name] = (taken.best(before[0]) if before else taken, answer["loss"])
    return results


def contenders(method: str, found: dict[str, Library]) -> Iterator[tuple[str, Library, str]]:
    """Give the name of each contender, its library and what it calls the method."""
    yield OURS, found[OURS], method
    for name in METHODS_OF[method]:
        file, _, way = name.partition(", ")
        if file in found:
            yield name, found[file], f"{method}, {way}" if way else method


def judged(method: str, results: dict[str, tuple[Measured, float] | Failure], target: float | None) -> dict[str, Any]:
    """Return the contenders, the fastest peer that did the work, how many times its time ours is, and the verdict."""
    ours = results[OURS]
    everyone = {name: described(result) for name, result in results.items()}
    verdict: dict[str, Any] = {"contenders": everyone, "target": target, "peer": None, "ratio": None}
    if isinstance(ours, Failure):
        return {**verdict, "verdict": f"failed: {ours.reason}"}
    taken, loss = ours
    peers = {
        name: result
        for name, result in results.items()
        if name != OURS and not isinstance(result, Failure) and found_the_optimum(method, loss, result[1])
    }
    wrong = [name for name, (_, theirs) in peers.items() if name not in OTHER_MODELS and not same_answer(loss, theirs)]
    if not peers:
        return {**verdict, "verdict": "no peer finishes near the optimum"}
    fastest = min(peers, key=lambda name: peers[name][0].wall)
    ratio = peers[fastest][0].wall / taken.wall
    verdict |= {"peer": fastest, "ratio": ratio, "cpu_ratio": peers[fastest][0].cpu / taken.cpu}
    if wrong:
        return {**verdict, "verdict": f"wrong answer: a higher loss than {', '.join(wrong)}"}
    return {**verdict, "verdict": "" if target is None else "met" if ratio >= target else "missed"}


def described(result: tuple[Measured, float] | Failure) -> dict[str, Any]:
    """Return a contender's result as plain values."""
    if isinstance(result, Failure):
        return {"failure": result.reason}
    taken, loss = result
    return {"wall": taken.wall, "cpu": taken.cpu, "memory": taken.memory, "runs": taken.runs, "loss": loss}


def line(row: dict[str, Any]) -> str:
    """Write a row for the terminal."""
    parts = [f"{row['method']:>20} {row['n']:>6,} × {row['k']:<4}"]
    for name, result in row["contenders"].items():
        said = result.get("failure") or f"{result['wall']:.3f} s, {result['cpu']:.3f} CPU, loss {result['loss']:.4f}"
        parts.append(f"{name}: {said}")
    ratio = "" if row["ratio"] is None else f"{row['ratio']:.2f}× of {row['peer']}, target {row['target']}: "
    return " | ".join(parts) + f" → {ratio}{row['verdict']}"
