"""How far the forecasts of a plan are off.

    python -m benchmarks.labelling.plan [FOLDER]

For every bundle that is packaged or in cache/bundles, pilots of 100 labels forecast how many it takes to know the
accuracy to ± 0.03, how many to promise an error of 10 % at a coverage where it is half of that, and which ECE the
default has from 1,000 labels. Then so many are drawn: a promise takes the number at which four of five samples give it.
The ECE is measured on all other rows, without what chance adds to it. Writes plan.csv, a table for docs/labelling.md,
into the folder, docs/figures by default. Takes about five minutes.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from benchmarks.labelling.picks import LEAST_ROWS
from benchmarks.promises import bundles, ours, populations
from benchmarks.results import write_table

from auxcal import AuxcalWarning, CrossFittedCCAC, Predictions
from auxcal.labelling import plan
from auxcal.metrics import ece, ece_noise_floor

WITHIN, RISK, PILOT, PILOTS, FIT = 0.03, 0.1, 100, 40, 1000
DRAWS, STATES, STEP, MOST = 100, 2, 1.1, 20_000
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


def ece_of_default(data: Predictions) -> float:
    """Return the ECE of the default from 1,000 labels, without what chance adds on the other rows."""
    found = []
    for state in range(STATES):
        fit, rest = data.split(FIT, len(data) - FIT, random_state=100 + state)
        confidence = CrossFittedCCAC().fit(fit.logits, fit.y).predict_confidence(rest.logits)
        chance = ece_noise_floor(confidence).mean
        found.append(np.sqrt(max(ece(confidence, rest.correct) ** 2 - chance**2, 0.0)))
    return float(np.mean(found))


def wished_coverage(wrong: np.ndarray) -> float | None:
    """Return the largest coverage at which the error is half of the risk; None if that is next to nothing."""
    half = np.flatnonzero(np.cumsum(wrong) / np.arange(1, len(wrong) + 1) <= RISK / 2)
    share = (half[-1] + 1) / len(wrong) if len(half) else 0.0
    return None if share < 0.1 else min(round(share, 2), 0.95)


def forecasts(confidence: np.ndarray, wrong: np.ndarray, coverage: float | None) -> np.ndarray:
    """Return the labels for the accuracy and for the promise, and the ECE from 1,000, that each pilot forecasts."""
    found = []
    for state in range(PILOTS):
        pilot = np.random.default_rng(state).choice(len(wrong), size=PILOT, replace=False)
        said = plan(
            confidence[pilot],
            ~wrong[pilot],
            confidence,
            accuracy_within=WITHIN,
            risk=RISK,
            coverage=coverage or 0.5,
            times=(FIT // PILOT,),
        )
        found.append([said.needed["accuracy_within"], said.needed["risk"] or np.inf, said.outlooks[0].ece])
    return np.array(found)


def main(folder: Path) -> None:
    """Measure, and write the table with a last row of how many bundles were forecast well."""
    rows, near = [], []
    data = dict(bundles())
    for name, confidence, wrong in populations():
        if len(wrong) <= LEAST_ROWS:
            continue
        coverage = wished_coverage(wrong)
        takes = [1.96**2 * wrong.mean() * (1 - wrong.mean()) / WITHIN**2]
        takes.append(np.nan if coverage is None else rows_taken(confidence, wrong, coverage))
        said = np.median(forecasts(confidence, wrong, coverage), axis=0)
        truth = np.array([*takes, ece_of_default(data[name])])
        near.append(np.where(np.isnan(truth), np.nan, np.abs(said / truth - 1) <= NEAR))
        promise = "–" if coverage is None else f"{said[1]:.0f} / {truth[1]:.0f}"
        rows.append(
            [name, f"{said[0]:.0f} / {truth[0]:.0f}", promise, f"{100 * said[2]:.1f} % / {100 * truth[2]:.1f} %"]
        )
        print(*rows[-1], flush=True)
    counts = [f"{int(np.nansum(each))} of {int((~np.isnan(each)).sum())}" for each in np.array(near).T]
    rows.append(["within 30 %", *counts])
    write_table(folder / "plan.csv", ["bundle", "accuracy to ± 0.03", "promise of 10 %", "ECE from 1,000"], rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore", AuxcalWarning)
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/figures"))
