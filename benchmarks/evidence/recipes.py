"""Whether CCAC and CCAC-S are as good by our recipe as by the paper's, which takes many more steps.

    python -m benchmarks.evidence.recipes [SUITE-SHIFT ...]

Both recipes search the whole grid of λ, on the packaged bundles, at the sizes of the suites and with three random
states. Writes recipes.csv, a row for each fit, and recipes-table.csv into docs/figures. Takes some hours of CPU time,
most of it for the 30,000 rows of CIFAR-10: name bundles to measure only those. It goes on where it was stopped; to
measure anew, delete recipes.csv.
"""

import sys
from functools import partial
from itertools import product
from pathlib import Path

from benchmarks.results import ResultsFile, write_table
from benchmarks.speed.data import packaged

from auxcal import Predictions
from auxcal._core.text import write_score, write_seconds
from auxcal.calibrators import CALIBRATORS, Calibrator
from auxcal_paper import METHODS, Results
from auxcal_paper.suites import suite

FIGURES = Path(__file__).parents[2] / "docs" / "figures"
BUNDLES = {
    "r8-dan-D1": ("r8-dan", "D1"),
    "r8-dan-OOD": ("r8-dan", "OOD"),
    "ng18-dan-D1": ("ng18-dan", "D1"),
    "ng18-dan-OOD": ("ng18-dan", "OOD"),
    "cifar10-resnet20-AD": ("cifar10-resnet20", "AD"),
    "cifar10-resnet20-D1": ("cifar10-resnet20", "D1"),
    "cifar10-resnet20-OOD": ("cifar10-resnet20", "OOD"),
    "cifar10-resnet20-D2": ("cifar10-resnet20", "D2"),
}
"""In the order of what their fits cost."""
RECIPES, TRAINED, RANDOM_STATES = ("fast", "paper"), ("ccac", "ccac-s"), (0, 1, 2)
SHOWN = ("auroc", "ece", "brier")


def main(names: list[str]) -> None:
    """Measure what is named and not there yet; write both tables."""
    file = ResultsFile(FIGURES / "recipes.csv")
    for name, random_state, method, recipe in product(names, RANDOM_STATES, TRAINED, RECIPES):
        where = BUNDLES[name]
        whole = packaged(*where)
        fit, select, test = whole.split(*suite(where[0]).parts(len(whole)), random_state=random_state)
        what = f"{method} {recipe}"
        if file.lacks(where, what, random_state, len(fit)):
            train = partial(trained, CALIBRATORS[method](recipe=recipe, random_state=random_state), fit, select)
            file.measure(where, what, random_state, len(fit), train, test)
            print(name, random_state, what, flush=True)
    write_table(FIGURES / "recipes-table.csv", *table(file.results))


def trained(calibrator: Calibrator, fit: Predictions, select: Predictions) -> Calibrator:
    """Fit a calibrator, and select its settings."""
    return calibrator.fit(fit.logits, fit.y, select=(select.logits, select.y))


def table(results: Results) -> tuple[list[str], list[list[str]]]:
    """Return both recipes side by side, for every bundle that all random states were measured on."""
    heads = {"auroc": "AUROC", "ece": "ECE", "brier": "Brier"}
    head = ["", *(f"{heads[metric]}, {recipe}" for metric in SHOWN for recipe in RECIPES)]
    rows = []
    for (name, shift), method in product(BUNDLES.values(), TRAINED):
        here = [results.where(suite=name, shift=shift, method=f"{method} {recipe}") for recipe in RECIPES]
        if any(len(found) < len(RANDOM_STATES) for found in here):
            continue
        cells = [write_score(metric, found.spread(metric).mean) for metric in SHOWN for found in here]
        seconds = [sum(row.fit_seconds for row in found) / len(found) for found in here]
        rows.append([f"{name} {shift}, {METHODS[method].label}", *cells, *map(write_seconds, seconds)])
    return [*head, *(f"CPU time, {recipe}" for recipe in RECIPES)], rows


if __name__ == "__main__":
    main(sys.argv[1:] or list(BUNDLES))
