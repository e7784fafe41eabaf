"""Fitted on this shift, tried on that one, with no labels from there; and what a mixture of shifts helps.

    python -m benchmarks.evidence.unseen_shifts [FOLDER] [CACHE]

A mixture has about as many rows as the largest part of a single shift, the same number of each shift as far as it goes.
Calibrators of single shifts are taken from the cache of `auxcal reproduce`, else fitted and put there. Writes
unseen.csv and tables for the page into the folder, docs/figures by default. Takes up to ten minutes, and
goes on where it was stopped; to measure anew, delete unseen.csv.

A row of unseen.csv has "D1+OOD>AD" as its shift, and counts all labels, those for selection too, in n_fit. A calibrator
is fitted once and tried everywhere, so its seconds are not told.
"""

import sys
from functools import reduce
from itertools import permutations, product
from pathlib import Path
from statistics import fmean

from benchmarks.results import ResultsFile, write_table

from auxcal import METRICS, Predictions
from auxcal._core.text import write_score
from auxcal_paper import METHODS, Results
from auxcal_paper.bundles import bundle
from auxcal_paper.runner import fitted
from auxcal_paper.suites import Suite, suite

SUITES = {
    "cifar10-resnet20": ("D1+OOD", "D2+OOD+AD", "D1+OOD+AD", "D1+D2+AD", "D1+D2+OOD"),
    "r8-dan": ("D1+OOD",),
    "ng18-dan": ("D1+OOD",),
}
"""The suites, and the mixtures that are fitted there."""

SINGLE = [name for name, method in METHODS.items() if method.source is None and not method.variant_of]
MIXED = ("ccac-x", "ccac", "temperature", "isotonic", "matrix")
RANDOM_STATES = (0, 1, 2)

Split = dict[str, tuple[Predictions, ...]]
"""The fit, select and test part of each shift."""


def measure(file: ResultsFile, entry: Suite, random_state: int, cache: Path) -> None:
    """Try every calibrator of a suite on every shift."""
    data = {shift: bundle(entry, shift, Path("data"), cache / "bundles") for shift in shifts_of(entry.name)}
    split = {shift: whole.split(*entry.parts(len(whole)), random_state=random_state) for shift, whole in data.items()}
    singles, mixtures = dict.fromkeys(shifts_of(entry.name), SINGLE), dict.fromkeys(SUITES[entry.name], MIXED)
    for fitted_on, methods in (singles | mixtures).items():
        fit, select = (mixed(split, fitted_on.split("+"), part) for part in (0, 1))
        n_labels = len(fit) + len(select)
        targets = {(entry.name, f"{fitted_on}>{shift}"): test for shift, (_, _, test) in split.items()}
        lacking = [
            name for name in methods if any(file.lacks(where, name, random_state, n_labels) for where in targets)
        ]
        calibrators = {}
        if fitted_on in mixtures:
            for name in lacking:
                calibrator = METHODS[name].make(random_state)
                calibrators[name] = calibrator.fit(fit.logits, fit.y, select=(select.logits, select.y))
        elif lacking:
            calibrators, _ = fitted(entry, fitted_on, lacking, random_state=random_state, cache_dir=cache)
        for (name, calibrator), where in product(calibrators.items(), targets):
            if file.lacks(where, name, random_state, n_labels):
                file.measure(where, name, random_state, n_labels, lambda found=calibrator: found, targets[where])


def shifts_of(name: str) -> list[str]:
    """Return the shifts of a suite; its clean data are none."""
    return [shift for shift in suite(name).shifts if shift != "D0"]


def mixed(split: Split, shifts: list[str], part: int) -> Predictions:
    """Return the same number of rows of the parts of some shifts, or all that one has."""
    share = max(len(parts[part]) for parts in split.values()) // len(shifts)
    return reduce(Predictions.joined, [split[shift][part].take(slice(share)) for shift in shifts])


def table(results: Results, suites: tuple[str, ...], metric: str) -> tuple[list[str], list[list[str]]]:
    """Return a metric of every method for each pair of different shifts, and of CCAC-X where it was fitted there."""
    pairs = [(name, a, b) for name in suites for a, b in permutations(shifts_of(name), 2)]
    short = len(suites) > 1
    head = ["", *(f"{name.split('-')[0].upper()} {a} → {b}" if short else f"{a} → {b}" for name, a, b in pairs)]

    def cell(method: str, name: str, where: str) -> str:
        return write_score(metric, results.where(suite=name, shift=where, method=method).spread(metric).mean)

    rows = [[METHODS[method].label, *(cell(method, name, f"{a}>{b}") for name, a, b in pairs)] for method in SINGLE]
    rows.append(["CCAC-X, fitted there", *(cell("ccac-x", name, f"{b}>{b}") for name, _, b in pairs)])
    return head, rows


def mixture_table(results: Results, metric: str) -> tuple[list[str], list[list[str]]]:
    """Return for each method and shift of CIFAR-10 what a fit on the others, on all of them and on itself gives."""
    name = "cifar10-resnet20"
    shifts = shifts_of(name)
    best = max if METRICS[metric].higher_is_better else min
    rows = []
    for method in MIXED:
        here = results.where(suite=name, method=method)
        found = []
        for tried in shifts:
            others = [shift for shift in shifts if shift != tried]
            single = [here.where(shift=f"{shift}>{tried}").spread(metric).mean for shift in others]
            mixture, itself = (here.where(shift=f"{shift}>{tried}") for shift in ("+".join(others), tried))
            found.append((fmean(single), best(single), mixture.spread(metric).mean, itself.spread(metric).mean))
        found.append(tuple(map(fmean, zip(*found, strict=True))))
        for tried, values in zip((*shifts, "mean"), found, strict=True):
            rows.append([f"{METHODS[method].label}, {tried}", *(write_score(metric, value) for value in values)])
    return ["", "one other shift, mean", "one other shift, best", "all others mixed", "the shift itself"], rows


def price_table(results: Results) -> tuple[list[str], list[list[str]]]:
    """Return the Brier score of CCAC-X on D1 and OOD after a fit on the other, on both and on the shift itself."""
    rows = []
    for name, (tried, other) in product(SUITES, permutations(("D1", "OOD"))):
        here = results.where(suite=name, method="ccac-x")
        values = [here.where(shift=f"{each}>{tried}").spread("brier").mean for each in (other, "D1+OOD", tried)]
        rows.append([f"{name}, {tried}", *(write_score("brier", value) for value in values)])
    return ["", "fitted on the other", "on both, half of the labels each", "on the shift itself"], rows


def main(folder: str = "docs/figures", cache: str = "auxcal-cache") -> None:
    """Measure, and write the tables."""
    file = ResultsFile(Path(folder) / "unseen.csv")
    for name, random_state in product(SUITES, RANDOM_STATES):
        measure(file, suite(name), random_state, Path(cache))
    for metric in ("brier", "auroc", "ece"):
        for which, suites in (("cifar10", ("cifar10-resnet20",)), ("text", ("r8-dan", "ng18-dan"))):
            write_table(Path(folder) / f"unseen-{which}-{metric}.csv", *table(file.results, suites, metric))
        write_table(Path(folder) / f"unseen-mixtures-{metric}.csv", *mixture_table(file.results, metric))
    write_table(Path(folder) / "unseen-price.csv", *price_table(file.results))


if __name__ == "__main__":
    main(*sys.argv[1:])
