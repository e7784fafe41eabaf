"""Whether promised thresholds keep their word, and how much they accept, beside other methods on the same rows.

    python -m benchmarks.promises [FOLDER]

Every bundle that is packaged or in cache/bundles is split: the default learns from up to 1,000 rows, and the rest is
the population from which labelled rows are drawn with replacement, so that the true risk of every threshold is known.
Writes promises.csv and promises-compared.csv, tables for docs/evidence/promises.md, and promises-cells.csv, the numbers
behind them, into the folder, docs/figures by default. Bundles whose cells are there are not measured again: for a new
start remove the file. Where MAPIE is installed, its controller for two classes, here "right"
and "wrong", takes part at 300 rows, with fewer draws. Takes about ten minutes.
"""

import sys
import warnings
from collections.abc import Callable, Collection, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from benchmarks.results import Kept, write_table
from scipy.special import bdtr

from auxcal import CCACX, Predictions
from auxcal.thresholds._promises import promised_rows, rarities, starts, sure_rows
from auxcal_paper.bundles import bundle, bundle_path, is_packaged
from auxcal_paper.suites import SUITES

RISKS, ROWS = (0.01, 0.05, 0.1, 0.2), (100, 300, 1000, 8000)
DELTA, DRAWS, FIT = 0.05, 1000, 1000
COMPARED, MAPIE_DRAWS = 300, 100

_starts = cache(starts)


def bundles(known: Collection[str] = ()) -> Iterator[tuple[str, Predictions]]:
    """Yield every bundle that is there and not known yet, with its name."""
    cache_dir = Path("cache") / "bundles"
    for suite in SUITES:
        for shift in suite.shifts:
            there = is_packaged(suite, shift) or bundle_path(suite, shift, cache_dir).exists()
            if there and f"{suite.name} {shift}" not in known:
                yield f"{suite.name} {shift}", bundle(suite, shift, Path("data"), cache_dir)


def populations(known: Collection[str] = ()) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield the name of each new bundle, and confidence and error of its population, the most confident first."""
    for name, data in bundles(known):
        fit, rest = data.split(min(FIT, len(data) // 4), len(data) * 3 // 4, random_state=0)
        confidence = CCACX().fit(fit.logits, fit.y).predict_confidence(rest.logits)
        order = np.lexsort((rest.correct, -confidence))
        yield name, confidence[order], ~rest.correct[order]


@cache
def exact_limits(n: int, risk: float, delta: float) -> np.ndarray:
    """Return the most errors among k = 0..n rows that an exact test allows; -1 for none."""
    return _limits(n, delta, lambda errors, k: bdtr(errors, k, risk))


@cache
def hoeffding_bentkus_limits(n: int, risk: float, delta: float) -> np.ndarray:
    """Return the same for the test of learn-then-test."""

    def p_value(errors: np.ndarray, k: np.ndarray) -> np.ndarray:
        share = np.minimum(errors / k, risk)
        entropy = np.where(share > 0, share * np.log(np.maximum(share, 1e-300) / risk), 0)
        entropy += (1 - share) * np.log((1 - share) / (1 - risk))
        return np.minimum(np.exp(-k * entropy), np.e * bdtr(errors, k, risk))

    return _limits(n, delta, p_value)


def _limits(n: int, delta: float, p_value: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    k, limits = np.arange(1, n + 1), np.full(n, -1)
    while (more := (limits + 1 < k) & (p_value(np.minimum(limits + 1, k), k) <= delta)).any():
        limits = limits + more
    return np.append(-1, limits)


def ours(confidence: np.ndarray, errors: np.ndarray, risk: float) -> int:
    """Return how many rows our promise accepts."""
    begun = _starts(len(errors), risk, DELTA, sure=sure_rows(confidence, risk))
    return promised_rows(confidence, rarities(errors, risk), begun)


def sgr(_: np.ndarray, errors: np.ndarray, risk: float) -> int:
    """Return how many rows the binary search of SGR accepts."""
    n = len(errors)
    steps = int(np.ceil(np.log2(n)))
    limits = exact_limits(n, risk, DELTA / steps)
    low, high, best = 1, n, 0
    for _step in range(steps):
        k = -(-(low + high) // 2)
        if errors[k - 1] <= limits[k]:
            low, best = k, max(best, k)
        else:
            high = k
    return best


def ltt(_: np.ndarray, errors: np.ndarray, risk: float) -> int:
    """Return how many rows learn-then-test accepts."""
    limits = hoeffding_bentkus_limits(len(errors), risk, DELTA)[1:]
    able = np.flatnonzero(limits >= 0)
    failed = np.flatnonzero((errors > limits)[able])
    return int(len(errors) if len(able) and not len(failed) else able[failed[0]] if len(failed) and failed[0] else 0)


def looks_best(_: np.ndarray, errors: np.ndarray, risk: float) -> int:
    """Return how many rows can be accepted if the error on them is all that counts."""
    kept = np.flatnonzero(errors <= risk * np.arange(1, len(errors) + 1))
    return int(kept[-1]) + 1 if len(kept) else 0


METHODS = {"promised": ours, "SGR": sgr, "LTT": ltt, "looks best": looks_best}


def mapie(procedure: str) -> Callable[[np.ndarray, np.ndarray, float], int]:
    """Return a method: how many rows the controller of MAPIE accepts on its own grid, from the top down."""
    from mapie.risk_control import BinaryClassificationController

    def accepted(confidence: np.ndarray, errors: np.ndarray, risk: float) -> int:
        controller = BinaryClassificationController(
            predict_function=lambda rows: np.column_stack([1 - rows[:, 0], rows[:, 0]]),
            risk="precision",
            target_level=1 - risk,
            confidence_level=1 - DELTA,
            best_predict_param_choice="recall",
            list_predict_params=np.arange(99, -1, -1) / 100,
            fwer_method=procedure,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            controller.calibrate(confidence[:, None], 1 - np.diff(errors, prepend=0))
        found = controller.best_predict_param
        return 0 if found is None else int((confidence >= found).sum())

    return accepted


def peers() -> dict[str, Callable[[np.ndarray, np.ndarray, float], int]]:
    """Return ours and MAPIE's, if that is installed."""
    if not find_spec("mapie"):
        return {}
    names = {"MAPIE": "bonferroni_holm", "MAPIE, fixed sequence": "fixed_sequence"}
    return {"promised, few draws": ours} | {name: mapie(procedure) for name, procedure in names.items()}


def measure(
    wrong: np.ndarray, confidence: np.ndarray, n: int, methods: dict = METHODS, draws: int = DRAWS
) -> Iterator[tuple[str, float, float, float, float]]:
    """Yield method and risk, with the mean coverage, the share of broken promises and of promises made."""
    true_risk = np.cumsum(wrong) / np.arange(1, len(wrong) + 1)
    above = np.searchsorted(-confidence, -confidence)  # rows accepted with each as the first that is not
    rng = np.random.default_rng(1)
    found = {(method, risk): np.zeros((draws, 2)) for method in methods for risk in RISKS}
    for draw in range(draws):
        rows = np.sort(rng.integers(len(wrong), size=n))
        errors, drawn = np.cumsum(wrong[rows]), confidence[rows]
        for (method, risk), cells in found.items():
            k = methods[method](drawn, errors, risk)
            if k:
                accepted = len(wrong) if k == n else above[rows[k]]
                cells[draw] = accepted / len(wrong), accepted and true_risk[accepted - 1] > risk
    for (method, risk), cells in found.items():
        yield method, risk, cells[:, 0].mean(), cells[:, 1].mean(), (cells[:, 0] > 0).mean()


def cells(folder: Path) -> Kept:
    """Return the numbers behind the tables."""
    return Kept(folder / "promises-cells.csv", ("bundle", "rows", "method", "risk", "coverage", "broken", "made"))


def main(folder: Path) -> None:
    """Measure every bundle that the cells do not have yet."""
    kept = cells(folder)
    for name, confidence, wrong in populations({name for (name,) in kept.keys("bundle")}):
        found = []
        for n in ROWS:
            few = measure(wrong, confidence, n, peers(), MAPIE_DRAWS) if n == COMPARED else ()
            found += [(name, n, *row) for row in (*measure(wrong, confidence, n), *few)]
        kept.add(dict(zip(kept.columns, row, strict=True)) for row in found)
        print(name, flush=True)


def tabulate(folder: Path) -> None:
    """Write promises.csv: the mean coverage of each method, and the worst share of broken promises."""
    of: dict[tuple[int, float, str], list[tuple[float, float]]] = {}
    for cell in cells(folder).rows:
        key = int(cell["rows"]), float(cell["risk"]), cell["method"]
        of.setdefault(key, []).append((float(cell["coverage"]), float(cell["broken"])))
    table = [
        [f"{n:,}", f"{100 * risk:g} %"]
        + [
            f"{100 * coverage.mean():.1f} % ({100 * broken.max():.1f} %)"
            for coverage, broken in (np.array(of[n, risk, method]).T for method in METHODS)
        ]
        for n in ROWS
        for risk in RISKS
    ]
    write_table(folder / "promises.csv", ["labelled rows", "risk", *METHODS], table)


def compare(folder: Path) -> None:
    """Write promises-compared.csv: at 300 rows, how much more our promise accepts than others, bundle by bundle."""
    here = [cell for cell in cells(folder).rows if cell["rows"] == str(COMPARED)]
    found = {(cell["method"], cell["bundle"], cell["risk"]): float(cell["coverage"]) for cell in here}
    table, keys = [], list(dict.fromkeys((cell["bundle"], cell["risk"]) for cell in here))
    for other in dict.fromkeys(cell["method"] for cell in here):
        if "promised" in other or other == "looks best":
            continue
        mine = "promised, few draws" if "MAPIE" in other else "promised"
        gains = {key: found[(mine, *key)] - found[(other, *key)] for key in keys}
        worst = min(gains, key=lambda key: gains[key])
        least = f"{100 * gains[worst]:+.1f} points ({worst[0]}, {100 * float(worst[1]):g} %)"
        fewer = sum(gain < 0 for gain in gains.values())
        table.append([other, f"{100 * np.mean(list(gains.values())):+.1f} points", least, f"{fewer} of {len(gains)}"])
    write_table(folder / "promises-compared.csv", ["against", "mean", "worst", "less in"], table)


if __name__ == "__main__":
    to = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/figures")
    main(to)
    tabulate(to)
    compare(to)
