"""How far the forecasts of a plan are off.

    python benchmarks/plan.py [FOLDER]

For every bundle that is packaged or in cache/bundles, pilots of 100 labels forecast how many it takes to know the
accuracy to ± 0.03, how many to promise an error of 10 % at a coverage where it is half of that, and which ECE the
default has from 1,000 labels. Then so many are drawn: a promise takes the number at which four of five samples give it.
The ECE is measured on all other rows, without what chance adds to it, for four fits. Writes plan.csv, a table for
docs/labelling.md, into the folder, docs/figures by default: for each bundle the median forecast and the truth, then how
many bundles and how many single pilots are within 30 %, and how often the range of a pilot holds the truth. Takes about
ten minutes.
"""

import sys
import warnings
from pathlib import Path

import numpy as np

from _evidence import write_table
from auxcal import AuxcalWarning, CrossFittedCCAC, Predictions
from auxcal.labelling import plan
from auxcal.metrics import ece, ece_noise_floor
from labelling import LEAST_ROWS
from promises import bundles, ours, populations

WITHIN, RISK, PILOT, PILOTS, FIT = 0.03, 0.1, 100, 40, 1000
DRAWS, STATES, STEP, MOST = 100, 4, 1.1, 20_000
NEAR = 0.3


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


def eces_of_default(data: Predictions) -> np.ndarray:
    """Return the ECE of the default from each of some samples of 1,000, without what chance adds on the other rows."""
    found = []
    for state in range(STATES):
        fit, rest = data.split(FIT, len(data) - FIT, random_state=100 + state)
        confidence = CrossFittedCCAC().fit(fit.logits, fit.y).predict_confidence(rest.logits)
        chance = ece_noise_floor(confidence).mean
        found.append(np.sqrt(max(ece(confidence, rest.correct) ** 2 - chance**2, 0.0)))
    return np.array(found)


def wished_coverage(wrong: np.ndarray) -> float | None:
    """Return the largest coverage at which the error is half of the risk; None if that is next to nothing."""
    half = np.flatnonzero(np.cumsum(wrong) / np.arange(1, len(wrong) + 1) <= RISK / 2)
    share = (half[-1] + 1) / len(wrong) if len(half) else 0.0
    return None if share < 0.1 else min(round(share, 2), 0.95)


def forecasts(confidence: np.ndarray, wrong: np.ndarray, coverage: float | None) -> np.ndarray:
    """Return what each pilot forecasts, with its range: for the accuracy, the promise, and the ECE from 1,000."""
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
        labels = [[said.needed.get(wish), *said.between.get(wish, (0, 0))] for wish in ("accuracy_within", "risk")]
        outlook = said.outlooks[0]
        found.append([*labels, [outlook.ece, outlook.ece_low, outlook.ece_high]])
    return np.array([[[np.inf if n is None else n for n in each] for each in row] for row in found])


def main(folder: Path) -> None:
    """Measure, and write the table with last rows of how often a forecast was good."""
    rows, near, single, held = [], [], [], []
    data = dict(bundles())
    for name, confidence, wrong in populations():
        if len(wrong) <= LEAST_ROWS:
            continue
        coverage = wished_coverage(wrong)
        promise = np.nan if coverage is None else rows_taken(confidence, wrong, coverage)
        errors = eces_of_default(data[name])
        truth = np.array([1.96**2 * wrong.mean() * (1 - wrong.mean()) / WITHIN**2, promise, errors.mean()])
        said = forecasts(confidence, wrong, coverage)
        middle, known = np.median(said[..., 0], axis=0), ~np.isnan(truth)
        near.append(np.where(known, np.abs(middle / truth - 1) <= NEAR, np.nan))
        single.append(np.where(known, np.mean(np.abs(said[..., 0] / truth - 1) <= NEAR, axis=0), np.nan))
        inside = [
            np.mean((low[:, None] <= values) & (values <= high[:, None]))
            for low, high, values in zip(said[..., 1].T, said[..., 2].T, ([truth[0]], [promise], errors), strict=True)
        ]
        held.append(np.where(known, inside, np.nan))
        numbers = [f"{middle[0]:.0f} / {truth[0]:.0f}", f"{middle[1]:.0f} / {truth[1]:.0f}" if coverage else "–"]
        rows.append([name, *numbers, f"{100 * middle[2]:.1f} % / {100 * truth[2]:.1f} %"])
        print(*rows[-1], *single[-1].round(2), *held[-1].round(2), flush=True)
    counts = [f"{int(np.nansum(each))} of {int((~np.isnan(each)).sum())}" for each in np.array(near).T]
    rows.append(["within 30 %", *counts])
    for what, shares in (("single pilots within 30 %", single), ("in the range of a single pilot", held)):
        rows.append([what, *(f"{100 * share:.0f} %" for share in np.nanmean(shares, axis=0))])
    write_table(folder / "plan.csv", ["bundle", "accuracy to ± 0.03", "promise of 10 %", "ECE from 1,000"], rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore", AuxcalWarning)
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/figures"))
