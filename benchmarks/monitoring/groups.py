"""Days as groups of the fit: false alarms of a monitor over days like them, and how soon it notices another kind.

    python -m benchmarks.monitoring.groups [STREAMS] [FOLDER]

Made-up days have other shares of three classes, harder or easier samples, and labels that logits over- or underrate.
Platt scaling is fitted on 10, 20 or 60 days of 80 rows, with the day as group; a monitor then watches 60 more days of
150 rows, with labels. Beside it stand the monitor of a fit without groups, over 20 days, and the day on which logits
that are doubled from the first day on are noticed. Writes monitoring-groups.csv into the folder, docs/figures by
default. 60 streams take two minutes of one core.
"""

import sys
from pathlib import Path

import numpy as np
from benchmarks.results import write_table

from auxcal import Calibrator, Monitor, PlattScaling

FIRST_STATE = 1000
FITTED, N_DAYS, N_DAYS_ALONE = (10, 20, 60), 60, 20
N_FIT, N_NEW, SPREAD = 80, 150, 0.6


def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return logits and labels of n rows of a day."""
    shares, scale, shift = rng.dirichlet([20, 20, 20]), rng.uniform(0.8, 1.2), SPREAD * rng.normal()
    prediction, margin = rng.choice(3, size=n, p=shares), np.abs(2 * rng.normal(size=n)) * scale
    right = rng.random(n) < 1 / (1 + np.exp(-margin - shift))
    logits = rng.normal(scale=0.1, size=(n, 3))
    logits[np.arange(n), prediction] += margin + 0.5
    return logits.astype(np.float32), np.where(right, prediction, (prediction + rng.integers(1, 3, size=n)) % 3)


def fitted(rng: np.random.Generator, n_days: int) -> tuple[Calibrator, Calibrator]:
    """Return a calibrator that was fitted on days, with and without the day as group."""
    logits, y = (np.concatenate(each) for each in zip(*(draw(rng, N_FIT) for _ in range(n_days)), strict=True))
    return PlattScaling().fit(logits, y, groups=np.repeat(np.arange(n_days), N_FIT)), PlattScaling().fit(logits, y)


def stream(state: int, n_days: int) -> tuple[bool, bool, bool, int]:
    """Return whether rows and labels raised a false alarm, and rows without groups; and when doubled logits did."""
    rng = np.random.default_rng([state, n_days])
    grouped, alone = fitted(rng, n_days)
    usual, without, doubled = Monitor(grouped), Monitor(alone), Monitor(grouped)
    for _ in range(N_DAYS):
        usual.update(*draw(rng, N_NEW))
    for _ in range(N_DAYS_ALONE):
        without.update(draw(rng, N_NEW)[0])
    after = 0
    while not doubled.alarms and after < N_DAYS:
        doubled.update(2 * draw(rng, N_NEW)[0])
        after += 1
    kinds = {alarm.kind for alarm in usual.alarms}
    return "data" in kinds, "labels" in kinds, bool(without.alarms), after


def main(n_streams: str = "60", folder: str = "docs/figures") -> None:
    """Measure, and write the table."""
    lines = []
    for n_days in FITTED:
        found = np.array([stream(FIRST_STATE + each, n_days) for each in range(int(n_streams))])
        shares = [f"{100 * share:.1f} %" for share in found[:, :3].mean(axis=0)]
        lines.append([str(n_days), *shares, *(f"{day:.0f}" for day in np.quantile(found[:, 3], (0.5, 0.9)))])
    head = ["days in the fit", f"alarms of rows, {N_DAYS} days", f"alarms of labels, {N_DAYS} days"]
    head += [f"without groups, {N_DAYS_ALONE} days", "doubled logits noticed on day, median", "in nine of ten"]
    write_table(Path(folder) / "monitoring-groups.csv", head, lines)


if __name__ == "__main__":
    main(*sys.argv[1:])
