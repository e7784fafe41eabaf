"""How far the forecasts of a plan are off.

    python -m benchmarks.labelling.plan [FOLDER]

For every bundle that is packaged or in cache/bundles the default learns from four samples of 1,000. With each of these
calibrators pilots of 100 labels forecast how many it takes to know the accuracy to ± 0.03, how many to promise an error
of 10 % at a coverage where it is half of that, and which ECE the default has from 1,000 labels. Then so many are drawn.
A promise takes the number at which four of five samples give it. The ECE is measured on all other rows, without what
chance adds to it. Writes plan.csv, a table for docs/labelling.md, into the folder, docs/figures by default: the median
forecast and the truth, then how many calibrators and how many single pilots are within 30 %, and how often the range of
a pilot holds the truth. Takes about ten minutes.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from benchmarks.labelling.picks import LEAST_ROWS
from benchmarks.promises import bundles, ours
from benchmarks.results import write_table

from auxcal import AuxcalWarning, CrossFittedCCAC, Predictions
from auxcal.labelling import Plan, plan
from auxcal.metrics import ece, ece_noise_floor

WITHIN, RISK, PILOT, PILOTS, FIT = 0.03, 0.1, 100, 12, 1000
DRAWS, STATES, STEP, MOST = 100, 4, 1.1, 20_000
NEAR = 0.3
WISHES = "accuracy to ± 0.03", "promise of 10 %", "ECE from 1,000"


def population(data: Predictions, state: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the confidence that the default has in new rows, the highest first, and which of them are wrong."""
    fit, rest = data.split(FIT, len(data) - FIT, random_state=state)
    confidence = CrossFittedCCAC().fit(fit.logits, fit.y).predict_confidence(rest.logits)
    order = np.lexsort((rest.correct, -confidence))
    return confidence[order], ~rest.correct[order]


def rows_taken(confidence: np.ndarray, wrong: np.ndarray, coverage: float) -> float:
    """Return from how many labels on four of five samples promise the risk at this coverage."""
    n, rng = 40.0, np.random.default_rng(1)
    while n < MOST:
        drawn = np.sort(rng.integers(len(wrong), size=(DRAWS, int(n))), axis=1)
        accepted = [ours(confidence[rows], np.cumsum(wrong[rows]), RISK) for rows in drawn]
        last = [rows[k - 1] if k < len(rows) else len(wrong) for rows, k in zip(drawn, accepted, strict=True)]
        granted = (np.array(accepted) > 0) & (np.array(last) >= coverage * len(wrong) - 1)
        if granted.mean() >= 0.8:
            return int(n)
        n *= STEP
    return np.inf


def ece_of(confidence: np.ndarray, wrong: np.ndarray) -> float:
    """Return the ECE without what chance adds."""
    return float(np.sqrt(max(ece(confidence, ~wrong) ** 2 - ece_noise_floor(confidence).mean ** 2, 0.0)))


def wished_coverage(wrong: np.ndarray) -> float | None:
    """Return the largest coverage at which the error is half of the risk; None if that is next to nothing."""
    half = np.flatnonzero(np.cumsum(wrong) / np.arange(1, len(wrong) + 1) <= RISK / 2)
    share = (half[-1] + 1) / len(wrong) if len(half) else 0.0
    return None if share < 0.1 else min(round(share, 2), 0.95)


def truth(confidence: np.ndarray, wrong: np.ndarray, coverage: float | None) -> np.ndarray:
    """Return the labels that the accuracy and the promise take, and the ECE."""
    accuracy = 1.96**2 * wrong.mean() * (1 - wrong.mean()) / WITHIN**2
    promise = np.nan if coverage is None else rows_taken(confidence, wrong, coverage)
    return np.array([accuracy, promise, ece_of(confidence, wrong)])


def forecasts(confidence: np.ndarray, wrong: np.ndarray, coverage: float | None) -> np.ndarray:
    """Return what each pilot forecasts of the same, with the lower and the upper end of its range."""
    found = []
    for state in range(PILOTS):
        pilot = np.random.default_rng(state).choice(len(wrong), size=PILOT, replace=False)
        said = plan(
            confidence[pilot],
            ~wrong[pilot],
            confidence,
            accuracy_within=WITHIN,
            risk=RISK if coverage else None,
            coverage=coverage or 0.5,
            times=(FIT // PILOT,),
        )
        found.append(numbers(said))
    return np.array(found)


def numbers(said: Plan) -> list[list[float]]:
    """Return the forecasts of a plan with their ranges, in a table; infinity where no number would do."""
    wishes = [(said.needed.get(wish), *said.between.get(wish, (0, 0))) for wish in ("accuracy_within", "risk")]
    outlook = said.outlooks[0]
    labels = [[np.inf if n is None else float(n) for n in wish] for wish in wishes]
    return [*labels, [outlook.ece, outlook.ece_low, outlook.ece_high]]


def written(middle: np.ndarray, true: np.ndarray) -> list[str]:
    """Return forecasts beside the truth."""
    labels = ["–" if np.isnan(true[i]) else f"{middle[i]:.0f} / {true[i]:.0f}" for i in (0, 1)]
    return [*labels, f"{100 * middle[2]:.1f} % / {100 * true[2]:.1f} %"]


def main(folder: Path) -> None:
    """Measure, and write the table with last rows of how often a forecast was good."""
    rows, near, single, held = [], [], [], []
    for name, data in bundles():
        if len(data) - FIT <= LEAST_ROWS:
            continue
        of_bundle = []
        for state in range(STATES):
            confidence, wrong = population(data, state)
            coverage = wished_coverage(wrong)
            true, said = truth(confidence, wrong, coverage), forecasts(confidence, wrong, coverage)
            unknown, middle = np.where(np.isnan(true), np.nan, 1.0), np.median(said[..., 0], axis=0)
            near.append(unknown * (np.abs(middle / true - 1) <= NEAR))
            single.append(unknown * np.mean(np.abs(said[..., 0] / true - 1) <= NEAR, axis=0))
            held.append(unknown * np.mean((said[..., 1] <= true) & (true <= said[..., 2]), axis=0))
            of_bundle.append((middle, true))
            print(name, state, *written(middle, true), single[-1].round(2), held[-1].round(2), flush=True)
        rows.append([name, *written(*np.median(of_bundle, axis=0))])
    counts = [f"{int(np.nansum(each))} of {int((~np.isnan(each)).sum())}" for each in np.array(near).T]
    rows.append(["calibrators within 30 %", *counts])
    for what, shares in (("single pilots within 30 %", single), ("in the range of a single pilot", held)):
        rows.append([what, *(f"{100 * share:.0f} %" for share in np.nanmean(shares, axis=0))])
    write_table(folder / "plan.csv", ["bundle", *WISHES], rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore", AuxcalWarning)
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/figures"))
