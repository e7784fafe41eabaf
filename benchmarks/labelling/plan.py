"""How far the forecasts of a plan are off.

    python -m benchmarks.labelling.plan [FOLDER]

For every bundle that is packaged or in cache/bundles the default learns from samples of 1,000. With each of four such
calibrators pilots of 100 labels forecast how many it takes to know the accuracy to ± 0.03, how many to promise an error
of 10 %, and which ECE and Brier score the default has from 1,000 labels. Then so many are drawn. A promise is wished at
the coverage at which the confidence says that the error is 5 %, as a user would, and at the one at which it truly is,
which nobody knows; it takes the number at which four of five samples give it. ECE, without what chance adds to it, and
Brier score are means over twelve calibrators, each on all other rows. Writes plan.csv and plan-scores.csv, tables for
docs/evidence/labelling.md, and plan-cells.csv, what each pilot said and what is true, into the folder, docs/figures by
default. Bundles whose cells are there are not measured again: for a new start remove the file. Takes about half an
hour.
"""

import csv
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from benchmarks.labelling.picks import LEAST_ROWS
from benchmarks.promises import bundles, ours
from benchmarks.results import write_table

from auxcal import CCACX, AuxcalWarning, Predictions
from auxcal.labelling import plan
from auxcal.metrics import brier, ece, ece_noise_floor
from auxcal.thresholds import rows_to_promise

WITHIN, RISK, PILOT, PILOTS, FIT = 0.03, 0.1, 100, 12, 1000
STATES, MORE_STATES = 4, 12
DRAWS, STEP, MOST, LEAST_COVERAGE = 400, 1.05, 20_000, 0.1
NEAR = 0.3
TRUE = "true"
LABELS, SCORES = ("accuracy", "promise", "promise_truly"), ("ece", "brier")
RANGED = (*LABELS, "ece")
ENDS = "", "_low", "_high"
COLUMNS = ["bundle", "state", "pilot", *(f"{kind}{end}" for kind in (*LABELS, *SCORES) for end in ENDS)]

Cell = list[float]


def population(data: Predictions, state: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the confidence that the default has in new rows, the highest first, and which of them are wrong."""
    fit, rest = data.split(FIT, len(data) - FIT, random_state=state)
    confidence = CCACX().fit(fit.logits, fit.y).predict_confidence(rest.logits)
    order = np.lexsort((rest.correct, -confidence))
    return confidence[order], ~rest.correct[order]


def coverages(confidence: np.ndarray, wrong: np.ndarray) -> list[float | None]:
    """Return the coverages at which the error is said to be, and is, half of the risk; None if next to nothing."""
    found: list[float | None] = []
    for error in (1 - confidence.astype(np.float64), wrong):
        half = np.flatnonzero(np.cumsum(error) / np.arange(1, len(error) + 1) <= RISK / 2)
        share = (half[-1] + 1) / len(error) if len(half) else 0.0
        found.append(None if share < LEAST_COVERAGE else min(round(share, 2), 0.95))
    return found


def rows_taken(confidence: np.ndarray, wrong: np.ndarray, coverage: float) -> float:
    """Return from how many labels on four of five samples promise the risk at this coverage."""
    rng, likely = np.random.default_rng(1), wrong[: round(coverage * len(wrong))].mean()
    n = (rows_to_promise(likely, RISK, coverage=coverage) or MOST) / 2
    while n < MOST:
        drawn = np.sort(rng.integers(len(wrong), size=(DRAWS, int(n))), axis=1)
        accepted = [ours(confidence[rows], np.cumsum(wrong[rows]), RISK) for rows in drawn]
        above = [rows[k] if k < len(rows) else len(wrong) for rows, k in zip(drawn, accepted, strict=True)]
        granted = (np.array(accepted) > 0) & (np.array(above) >= coverage * len(wrong))
        if granted.mean() >= 0.8:
            return int(n)
        n *= STEP
    return np.inf


def truth(confidence: np.ndarray, wrong: np.ndarray, wished: list[float | None]) -> Cell:
    """Return the labels that the accuracy and the promises take, the ECE without what chance adds, and the Brier score.

    The columns of the ranges stay empty.
    """
    accuracy = 1.96**2 * wrong.mean() * (1 - wrong.mean()) / WITHIN**2
    promises = [np.nan if coverage is None else rows_taken(confidence, wrong, coverage) for coverage in wished]
    error = np.sqrt(max(ece(confidence, ~wrong) ** 2 - ece_noise_floor(confidence).mean ** 2, 0.0))
    numbers = accuracy, *promises, error, brier(confidence, ~wrong)
    return [cell for number in numbers for cell in (number, np.nan, np.nan)]


def forecast(confidence: np.ndarray, wrong: np.ndarray, wished: list[float | None], pilot: int) -> Cell:
    """Return what a pilot forecasts of the same, with the lower and the upper end of its range."""
    rows = np.random.default_rng(pilot).choice(len(wrong), size=PILOT, replace=False)
    planned = partial(plan, confidence[rows], ~wrong[rows], confidence, times=(FIT // PILOT,))
    said = planned(accuracy_within=WITHIN)
    labels = [said.needed["accuracy_within"], *said.between["accuracy_within"]]
    for coverage in wished:
        promise = None if coverage is None else planned(risk=RISK, coverage=coverage)
        labels += [np.nan] * 3 if promise is None else [promise.needed["risk"], *promise.between["risk"]]
    outlook = said.outlooks[0]
    scores = [outlook.ece, outlook.ece_low, outlook.ece_high, outlook.brier, np.nan, np.nan]
    return [*(np.inf if n is None else n for n in labels), *scores]


def measure(data: Predictions) -> Iterator[tuple[int, str, Cell]]:
    """Yield the state of each calibrator, with what is true and what each pilot says."""
    for state in range(MORE_STATES):
        confidence, wrong = population(data, state)
        wished = coverages(confidence, wrong) if state < STATES else [None, None]
        yield state, TRUE, truth(confidence, wrong, wished)
        for pilot in range(PILOTS) if state < STATES else ():
            yield state, str(pilot), forecast(confidence, wrong, wished, pilot)


def main(folder: Path) -> None:
    """Measure every bundle that the cells do not have yet."""
    path = folder / "plan-cells.csv"
    known = {cell["bundle"] for cell in _cells(path)} if path.exists() else set()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not known:
            writer.writerow(COLUMNS)
        for name, data in bundles(known):
            if len(data) - FIT > LEAST_ROWS:
                cells = list(measure(data))
                writer.writerows(
                    [name, state, who, *(f"{number:.5g}" for number in cell)] for state, who, cell in cells
                )
                file.flush()
                print(name, flush=True)


def _cells(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class Bundle:
    """What is true of a bundle, and what its pilots say, in arrays of (calibrators, pilots, said and range)."""

    def __init__(self, cells: list[dict[str, str]]) -> None:
        pilots = [cell for cell in cells if cell["pilot"] != TRUE]
        true = [cell for cell in cells if cell["pilot"] == TRUE]
        self.said = {kind: _numbers(kind, pilots) for kind in (*LABELS, *SCORES)}
        self.true = {kind: np.array([float(cell[kind]) for cell in true[:STATES]]) for kind in LABELS}
        self.fits = np.array([float(cell["ece"]) for cell in true])
        for kind in SCORES:  # of a fit that is still to be made only the mean can be forecast
            self.true[kind] = np.full(STATES, np.mean([float(cell[kind]) for cell in true]))
        # How many labels such an ECE is said to take, where it takes so many as were fitted on: it falls with sqrt(n).
        self.said["ece_labels"] = FIT * (self.said["ece"] / self.true["ece"][0]) ** 2
        self.true["ece_labels"] = np.full(STATES, float(FIT))

    def said_and_true(self, kind: str) -> tuple[float, float]:
        """Return the median forecast of the pilots and calibrators, and the median truth."""
        return float(np.median(np.median(self.said[kind][..., 0], axis=1))), float(np.median(self.true[kind]))

    def near(self, kind: str) -> np.ndarray:
        """Return whether each forecast is near the truth."""
        return np.abs(self.said[kind][..., 0] / self.true[kind][:, None] - 1) <= NEAR

    def held(self, kind: str) -> np.ndarray:
        """Return whether each range holds the truth; that of the ECE is about each fit."""
        true = self.fits[:, None, None] if kind == "ece" else self.true[kind][:, None]
        return (self.said[kind][..., 1] <= true) & (true <= self.said[kind][..., 2])


def _numbers(kind: str, cells: list[dict[str, str]]) -> np.ndarray:
    numbers = [[float(cell[f"{kind}{end}"]) for end in ENDS] for cell in cells]
    return np.array(numbers).reshape(STATES, PILOTS, 3)


TABLES: dict[str, dict[str, tuple[str, Callable[[float], str]]]] = {
    "plan.csv": {
        "accuracy": ("accuracy to ± 0.03", "{:,.0f}".format),
        "promise": ("promise of 10 %", "{:,.0f}".format),
        "promise_truly": ("where truly 5 %", "{:,.0f}".format),
    },
    "plan-scores.csv": {
        "ece": ("ECE", lambda number: f"{100 * number:.1f} %"),
        "ece_labels": ("labels for this ECE", "{:,.0f}".format),
        "brier": ("Brier score", "{:.3f}".format),
    },
}


def tabulate(folder: Path) -> None:
    """Write plan.csv and plan-scores.csv: forecast and truth of each bundle, and how often a forecast was good."""
    cells = _cells(folder / "plan-cells.csv")
    names = list(dict.fromkeys(cell["bundle"] for cell in cells))
    found = {name: Bundle([cell for cell in cells if cell["bundle"] == name]) for name in names}
    for file, columns in TABLES.items():
        rows = [
            [name, *(_pair(*each.said_and_true(kind), write) for kind, (_, write) in columns.items())]
            for name, each in found.items()
        ]
        able = {k: [each for each in found.values() if not np.isnan(each.said_and_true(k)[1])] for k in columns}
        rows.append(["bundles within 30 %", *(_bundles_near(kind, of) for kind, of in able.items())])
        rows.append(["single calibrators", *(_calibrators_near(kind, list(found.values())) for kind in columns)])
        near = [_percent([each.near(kind) for each in of]) for kind, of in able.items()]
        held = [_percent([each.held(kind) for each in of]) if kind in RANGED else "–" for kind, of in able.items()]
        rows += [["single pilots", *near], ["in the range of a single pilot", *held]]
        write_table(folder / file, ["bundle", *(head for head, _ in columns.values())], rows)


def _pair(said: float, true: float, write: Callable[[float], str]) -> str:
    return "–" if np.isnan(true) else f"{write(said)} / {write(true)}"


def _bundles_near(kind: str, of: list[Bundle]) -> str:
    ratios = np.array([np.divide(*each.said_and_true(kind)) for each in of])
    return f"{int((np.abs(ratios - 1) <= NEAR).sum())} of {len(of)}"


def _calibrators_near(kind: str, of: list[Bundle]) -> str:
    """Return how many calibrators have a median pilot near the truth."""
    said = np.concatenate([np.median(each.said[kind][..., 0], axis=1) for each in of])
    true = np.concatenate([each.true[kind] for each in of])
    able = ~np.isnan(true)
    return f"{int((np.abs(said[able] / true[able] - 1) <= NEAR).sum())} of {int(able.sum())}"


def _percent(shares: list[np.ndarray]) -> str:
    return f"{100 * np.mean(shares):.0f} %"


if __name__ == "__main__":
    warnings.simplefilter("ignore", AuxcalWarning)
    to = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/figures")
    main(to)
    tabulate(to)
