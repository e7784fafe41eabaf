"""NannyML's estimate of the accuracy beside ours, after another share of foreign samples: a table of "Without labels".

    python -m benchmarks.without_labels.nannyml_peer NANNYML_PYTHON [FOLDER] [STATE ...]

NannyML pins older packages than ours, so it needs an environment of its own, whose Python is the first argument:

    python3.11 -m venv nannyml && nannyml/bin/pip install nannyml statsmodels

Its CBPE gets what we have: the distribution of CCAC-X over the classes and none as probabilities, and that of held-out
rows with their labels as the reference. Writes without-labels-nannyml.csv into the folder, docs/figures by default.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from benchmarks.results import write_table
from benchmarks.without_labels.mixes import FOREIGN, as_it_is, other_mixes

from auxcal import CCACX, Predictions, check
from auxcal_paper.bundles import bundle
from auxcal_paper.suites import suite

SUITES = ("cifar10-resnet20", "ng18-dan", "r8-dan")
FIT, ROWS = 3000, 1000


def rows_of(state: int, folder: Path) -> list[tuple[str, str, float, float, float]]:
    """Check rows of each mix once, and leave what NannyML needs in the folder, a file for each."""
    found = []
    for name in SUITES:
        data = bundle(suite(name), "OOD", Path("data"), Path("cache") / "bundles")
        rng = np.random.default_rng(state)
        mix = as_it_is(data)
        chosen = mix.chosen(data.y, min(FIT, len(data) // 2), rng)
        fit, rest = data.take(chosen), data.take(np.setdiff1d(np.arange(len(data)), chosen))
        calibrator = CCACX(random_state=state).fit(fit.logits, fit.y)
        for other in (mix, *other_mixes(data)):
            rows = other.draw(rest, ROWS, rng) if other.name == "same" or "foreign" in other.name else None
            if rows is not None:
                save(folder / f"{len(found):04d}-{state}.npz", calibrator, rows)
                estimate = check(calibrator, rows.logits).accuracy
                confidence = float(calibrator.predict_confidence(rows.logits).mean())
                value = float("nan") if estimate is None else estimate.value
                found.append((name, other.name, float(rows.correct.mean()), value, confidence))
    return found


def save(path: Path, calibrator: CCACX, rows: Predictions) -> None:
    """Write a reference and rows as NannyML is to see them."""
    kept = calibrator.reference_
    np.savez(
        path,
        reference=kept.strata.astype(np.float64),
        y=np.where(kept.y < 0, kept.n_classes, kept.y),
        reference_prediction=kept.prediction,
        proba=calibrator.predict_proba(rows.logits),
        prediction=rows.prediction,
    )


def main(python: str, folder: str = "docs/figures", *states: str) -> None:
    """Measure, and write the table."""
    found, peers = [], []
    for state in map(int, states or ("1000", "1001", "1002", "1003")):
        with tempfile.TemporaryDirectory() as work:
            found += rows_of(state, Path(work))
            worker = Path(__file__).with_name("nannyml_worker.py")
            quiet = os.environ | {"NML_DISABLE_USAGE_LOGGING": "1"}  # it would report its use over the network
            ran = subprocess.run([python, "-P", worker, work], check=True, stdout=subprocess.PIPE, text=True, env=quiet)
            peers += [float(line) for line in ran.stdout.split()]
    said = zip(found, peers, strict=True)
    errors = np.array([[abs(each - row[2]) for each in (row[3], peer, row[4])] for row, peer in said])
    lines = []
    for name in ("same", *(f"{share:.0%} foreign" for share in FOREIGN)):
        here = errors[[row[1] == name for row in found]]
        if len(here):
            lines.append([name, str(len(here)), *(f"{100 * error:.1f}" for error in np.nanmean(here, axis=0))])
    head = ["mix", "checks", "auxcal", "NannyML's CBPE", "mean confidence"]
    write_table(Path(folder) / "without-labels-nannyml.csv", head, lines)


if __name__ == "__main__":
    main(*sys.argv[1:])
