"""What picked labels and unlabelled rows are worth.

    python -m benchmarks.labelling.picks [FOLDER] [intervals | promises | fits]

For every bundle that is packaged or in cache/bundles the default learns from up to 1,000 rows, and the rest is the
population: n labels of it are picked or drawn evenly, and the estimates are compared with what is true of all of it.
Beside the widths stand the least ones that any allocation of the labels could have. Then the default learns from picked
and from even labels, and promises are made from picked ones. Writes labelling.csv, labelling-bundles.csv,
labelling-held.csv, labelling-fits.csv and labelling-promises.csv, tables for docs/evidence/labelling.md, into the
folder, docs/figures by default. Takes about an hour.
"""

import sys
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from benchmarks.promises import bundles, populations
from benchmarks.results import Kept, write_table

from auxcal import CCACX, AuxcalWarning, Predictions
from auxcal.labelling import Estimate, estimate, pick
from auxcal.metrics import brier, ece
from auxcal.metrics.intervals import wilson
from auxcal.thresholds import thresholds_at_risks

LABELS, SHOWN, DRAWS = (50, 100, 200, 500), 200, 200
FITS, STATES, MORE_STATES, WORSE = (100, 300, 1000), 4, 16, 0.002
PICKED = {"own": "none: its own confidence", "calibrated": "fitted on 200 labels"}
RISKS, PROMISES, PROMISE_DRAWS = (0.05, 0.1, 0.2), (300, 1000), 1000
LEAST_ROWS, MOST_ROWS = 3000, 12_000
BINS, CELLS = 20, 200
METRICS = "accuracy", "ece", "brier"

Population = tuple[str, np.ndarray, np.ndarray]


def plain(correct: np.ndarray) -> Estimate:
    """Return the accuracy of even draws with Wilson's interval."""
    return Estimate(correct.mean(), *wilson(correct.mean(), len(correct), z=1.96))


def measured(confidence: np.ndarray, correct: np.ndarray, n: int) -> dict[str, list[Estimate]]:
    """Return the estimates of every draw, by what they are from."""
    found: dict[str, list[Estimate]] = {}
    for state in range(DRAWS):
        rng = np.random.default_rng(state)
        picks = pick(confidence, n, random_state=state)
        even = rng.choice(len(confidence), size=2 * n, replace=False)
        weight = picks.sample_weight
        estimates = {
            "picked": estimate(confidence[picks.rows], correct[picks.rows], confidence, sample_weight=weight),
            "twice": estimate(confidence[even], correct[even], confidence),
        }
        for name, each in estimates.items():
            for metric, value in each.items():
                found.setdefault(f"{name} {metric}", []).append(value)
        found.setdefault("plain accuracy", []).append(plain(correct[even]))
    return found


def least(confidence: np.ndarray, correct: np.ndarray) -> tuple[float, float]:
    """Return the least widths of accuracy and ECE that any allocation of n labels has, to those of 2 n even draws.

    For the accuracy Neyman's: (Σ W s)² / n against p (1 − p) / 2 n. For the ECE, whose noise is Σ W s / sqrt(n_b) over
    its bins, n_b in proportion to (W s)^(2/3).
    """
    right, p = correct[np.argsort(confidence)], correct.mean()
    parts = [part.mean() for part in np.array_split(right, min(CELLS, len(right) // 30))]
    spread = float(np.mean(np.sqrt(np.array(parts) * (1 - np.array(parts)))))
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    count = np.bincount(bins, minlength=BINS)
    share, rate = count / count.sum(), np.bincount(bins, correct, minlength=BINS) / np.maximum(count, 1)
    noise = share * np.sqrt(rate * (1 - rate))
    used = noise > 0
    given = noise[used] ** (2 / 3) / np.sum(noise[used] ** (2 / 3))
    even = np.sum(noise[used] / np.sqrt(2 * share[used]))
    return spread / np.sqrt(p * (1 - p) / 2), float(np.sum(noise[used] / np.sqrt(given)) / even)


def width(estimates: list[Estimate]) -> float:
    """Return the mean width of intervals."""
    return float(np.mean([each.width for each in estimates]))


def people() -> list[Population]:
    """Return the populations that are large enough to draw from without exhausting them."""
    return [(name, confidence, ~wrong) for name, confidence, wrong in populations() if len(wrong) > LEAST_ROWS]


def intervals(folder: Path) -> None:
    """Write how wide the intervals are, for one number of labels by bundle too, and how often they hold the truth."""
    of_all = people()
    rows, floor = [], np.array([least(confidence, correct) for _, confidence, correct in of_all])
    for n in LABELS:
        cells = []
        for _, confidence, correct in of_all:
            found = measured(confidence, correct, n)
            truth = correct.mean(), ece(confidence, correct), brier(confidence, correct)
            held = [
                np.mean([each.low <= true <= each.high for each in found[f"picked {metric}"]])
                for metric, true in zip(METRICS, truth, strict=True)
            ]
            bias = np.mean([each.value for each in found["picked accuracy"]]) - correct.mean()
            ratios = (
                width(found["picked accuracy"]) / width(found["plain accuracy"]),
                width(found["picked ece"]) / width(found["twice ece"]),
            )
            cells.append((*ratios, *held, abs(bias)))
        table = np.array(cells)
        if n == SHOWN:
            where = [
                [name, *(f"{number:.2f}" for number in (each[0], best[0], each[1], best[1]))]
                for (name, *_), each, best in zip(of_all, table, floor, strict=True)
            ]
        rows.append(
            [f"{n}"]
            + [_median(column) for pair in zip(table.T[:2], floor.T, strict=True) for column in pair]
            + [f"{100 * each.mean():.1f} % (from {100 * each.min():.1f} %)" for each in table.T[2:5]]
            + [f"{100 * table[:, 5].max():.2f} %"]
        )
        print(rows[-1], flush=True)
    widths = ["accuracy, to 2 n", "at best", "ECE, to 2 n", "at best"]
    cut = 1 + len(widths)
    write_table(folder / "labelling.csv", ["labels", *widths], [row[:cut] for row in rows])
    held_by = ["labels", "accuracy", "ECE", "Brier score", "bias of the accuracy"]
    write_table(folder / "labelling-held.csv", held_by, [row[:1] + row[cut:] for row in rows])
    write_table(folder / "labelling-bundles.csv", [f"{SHOWN} labels", *widths], where)


def _median(values: np.ndarray) -> str:
    return f"{np.median(values):.2f} (to {values.max():.2f})"


def brier_scores(data: Predictions, n: int, state: int) -> dict[str, float]:
    """Return the Brier score of the default from n labels: even ones, picked without a calibrator, and with one."""
    order = np.random.default_rng(state).permutation(len(data))[:MOST_ROWS]
    pool, test = data.take(order[: len(order) // 2]), data.take(order[len(order) // 2 :])
    before = CCACX().fit(pool.logits[:200], pool.y[:200]).predict_confidence(pool.logits)
    own = 1 / np.exp(pool.logits - pool.logits.max(axis=1, keepdims=True)).sum(axis=1)
    even = np.random.default_rng(state).choice(len(pool), size=n, replace=False)
    drawn = {
        "even": (even, None),
        "own": pick(own, n, calibrated=False, random_state=state)[:2],
        "calibrated": pick(before, n, random_state=state)[:2],
    }
    scores = {}
    for name, (rows, weight) in drawn.items():
        fitted = CCACX().fit(pool.logits[rows], pool.y[rows], sample_weight=weight)
        scores[name] = float(np.mean((fitted.predict_confidence(test.logits) - test.correct) ** 2))
    return scores


def fits(folder: Path) -> None:
    """Write labelling-fits.csv: how much the Brier score of the default gains or loses by picking.

    Where four random states show a loss, twelve others tell whether it is chance: they alone count then. The cells
    behind it are in labelling-fits-cells.csv; a run that was stopped goes on where it was.
    """
    kept = Kept(folder / "labelling-fits-cells.csv", ("bundle", "labels", "random_state", *PICKED))
    for states, n, (name, data) in product((STATES, MORE_STATES), FITS, list(bundles())):
        of = [row for row in kept.rows if (row["bundle"], row["labels"]) == (name, str(n))]
        lost = max((np.mean([float(row[kind]) for row in of]) for kind in PICKED), default=0) if of else 0
        enough = min(len(data), MOST_ROWS) // 2 >= 2 * n and (states == STATES or lost > WORSE)
        for state in range(states) if enough else ():
            if str(state) not in {row["random_state"] for row in of}:
                scores = brier_scores(data, n, 100 + state)
                gains = {kind: round(scores[kind] - scores["even"], 5) for kind in PICKED}
                kept.add([{"bundle": name, "labels": n, "random_state": state} | gains])
    _tabulate_fits(kept.rows, folder)


def _tabulate_fits(cells: list[dict[str, str]], folder: Path) -> None:
    rows = []
    for n, (kind, title) in product(FITS, PICKED.items()):
        here = [cell for cell in cells if cell["labels"] == str(n)]
        of: dict[str, list[float]] = {}
        for name in dict.fromkeys(cell["bundle"] for cell in here):
            gains = {int(cell["random_state"]): float(cell[kind]) for cell in here if cell["bundle"] == name}
            of[name] = [gain for state, gain in gains.items() if state >= STATES] or list(gains.values())
        if not of:
            continue
        means = {name: float(np.mean(gains)) for name, gains in of.items()}
        chance = np.mean([np.std(gains, ddof=1) / np.sqrt(len(gains)) for gains in of.values() if len(gains) > 1])
        worst = max(means, key=lambda name: means[name])
        worse = f"{sum(gain > WORSE for gain in means.values())} of {len(means)}"
        median = f"{np.median(list(means.values())):+.4f}"
        rows.append([f"{n:,}", title, median, f"{means[worst]:+.4f} ({worst})", worse, f"± {chance:.4f}"])
    head = ["labels", "calibrator of the picks", "median", "worst", "worse by 0.002", "chance of one bundle"]
    write_table(folder / "labelling-fits.csv", head, rows)


def promises(folder: Path) -> None:
    """Write labelling-promises.csv: what is promised from picked labels and from even ones, and what is broken."""
    rows, of_all = [], people()
    for n in PROMISES:
        found: dict[tuple[str, float], list[list[tuple[float, bool]]]] = {}
        for _, confidence, correct in of_all:
            of: dict[tuple[str, float], list[tuple[float, bool]]] = {}
            for state in range(PROMISE_DRAWS):
                picks = pick(confidence, n, random_state=state)
                even = np.random.default_rng(state).choice(len(correct), size=n, replace=False)
                told = {"sample_weight": picks.sample_weight, "max_weight": picks.max_weight}
                for kind, drawn, weights in (("picked", picks.rows, told), ("even", even, {})):
                    promised = thresholds_at_risks(confidence[drawn], correct[drawn], RISKS, **weights)
                    for risk, each in promised.items():
                        accepted = np.zeros(len(correct), bool) if each is None else confidence >= each.threshold
                        broken = bool(accepted.any() and (~correct[accepted]).mean() > risk)
                        of.setdefault((kind, risk), []).append((accepted.mean(), broken))
            for key, cells in of.items():
                found.setdefault(key, []).append(cells)
        for risk in RISKS:
            cells = [np.array(found[kind, risk]) for kind in ("picked", "even")]
            rows.append(
                [f"{n:,}", f"{100 * risk:g} %"]
                + [
                    f"{100 * each[..., 0].mean():.1f} % ({100 * each[..., 1].mean(axis=1).max():.0f} %)"
                    for each in cells
                ]
            )
    write_table(folder / "labelling-promises.csv", ["labels", "risk", "picked", "even"], rows)


PARTS = {"intervals": intervals, "promises": promises, "fits": fits}


if __name__ == "__main__":
    warnings.simplefilter("ignore", AuxcalWarning)
    to = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/figures")
    for part in sys.argv[2:] or PARTS:
        PARTS[part](to)
