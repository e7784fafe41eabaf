"""The tables of docs/evidence/without-labels.md, from the rows of without-labels.csv."""

from collections.abc import Callable, Collection
from itertools import pairwise, product
from typing import Any

import numpy as np
from benchmarks.without_labels.mixes import FIT_SIZES, MIXES

from auxcal._core.text import percent

LEVEL = 0.05
BASELINES = ("cbpe", "atc", "doc", "cot")
HARMLESS = 0.05  # an ECE up to which nobody has to act

Lines = tuple[list[str], list[list[str]]]


class Table:
    """Rows of the file, as columns of numbers."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows

    def where(self, **facts: object) -> "Table":
        """Return the rows for which all facts hold."""
        return Table([row for row in self.rows if all(row[key] == str(value) for key, value in facts.items())])

    def of(self, kinds: Collection[str]) -> "Table":
        """Return the rows of these kinds."""
        return Table([row for row in self.rows if row["kind"] in kinds])

    def by(self, *names: str) -> list["Table"]:
        """Return the rows by their values of these columns."""
        keys = sorted({tuple(row[name] for name in names) for row in self.rows})
        return [self.where(**dict(zip(names, key, strict=True))) for key in keys]

    def __getitem__(self, name: str) -> np.ndarray:
        return np.array([float(row[name] or "nan") for row in self.rows])

    def mean(self, name: str) -> float:
        """Return the mean of a column, as far as it has numbers."""
        return _mean(self[name])

    def share(self, verdict: str) -> float:
        """Return how often the verdict is this one."""
        return _mean(np.array([row["verdict"] == verdict for row in self.rows], dtype=float))

    def ks(self) -> float:
        """Return how often the tests of Kolmogorov and Smirnov fire."""
        return _mean(np.array([row["ks"] == "True" for row in self.rows if row["ks"]], dtype=float))

    def error(self, name: str, truth: str = "right") -> float:
        """Return the mean absolute error of an estimate, as far as there is one."""
        return _mean(np.abs(self[name] - self[truth]))

    def covered(self) -> float:
        """Return how often the interval has the accuracy, of those that were given."""
        given = np.isfinite(self["low"])
        inside = (self["low"] <= self["right"]) & (self["right"] <= self["high"])
        return _mean(inside[given].astype(float))

    def alarms(self) -> float:
        """Return how often the verdict is not that nothing changed."""
        return 1 - self.share("same")


def _mean(values: np.ndarray) -> float:
    values = values[np.isfinite(values)]
    return float(np.mean(values)) if len(values) else float("nan")


def points(*shares: float) -> list[str]:
    """Write shares in points, and nothing where there is none."""
    return ["" if np.isnan(share) else f"{100 * share:.1f}" for share in shares]


def shares(*values: float) -> list[str]:
    """Write shares in percent, and nothing where there is none."""
    return ["" if np.isnan(value) else percent(value) for value in values]


def same_table(table: Table) -> Lines:
    """Return the false alarms, and what adapting costs, where nothing changed."""
    lines = []
    for n in (200, 300, 1000, 4000, 10_000):
        here = table.where(kind="same", rows=n)
        if here.rows:
            by_fit = [fit.alarms() for fit in here.by("suite", "fitted", "state")]
            chance = 1.96 * np.std(by_fit) / np.sqrt(len(by_fit))
            cost = _mean(here["brier_adapted"] - here["brier"])
            alarms = f"{percent(here.alarms())} (± {100 * chance:.1f})"
            lines.append([f"{n:,}", f"{len(here.rows):,}", alarms, f"{cost:+.4f}", *shares(here.covered())])
    return ["rows", "checks", "false alarms", "Brier score, adapted less as it was", "intervals cover"], lines


def few_table(table: Table) -> Lines:
    """Return the false alarms after fits with few labels; half of a small bundle counts as the next size above."""
    lines = []
    for (least, labels), n in product(pairwise((0, *FIT_SIZES)), (200, 1000, 10_000)):
        here = table.of(("few", "same")).where(rows=n).rows
        cell = Table([row for row in here if least < int(row["labels"]) <= labels])
        if cell.rows:
            found = percent(cell.alarms()), percent(cell.share("new")), percent(cell.covered())
            lines.append([f"{labels:,}", f"{n:,}", f"{len(cell.rows):,}", *found])
    return ["labels of the fit", "rows", "checks", "false alarms", "of these new", "intervals cover"], lines


def mix_table(table: Table) -> Lines:
    """Return verdicts, errors and intervals after another mix."""
    lines = []
    for kind, n in product(MIXES, (300, 1000, 4000)):
        here = table.where(kind="mix", tried=kind, rows=n)
        if here.rows:
            verdicts = percent(here.share("mix")), percent(here.share("new"))
            best = np.nanmin([here.error(name) for name in BASELINES])
            errors = points(here.error("estimate"), best, here.error("none_estimate", "none"))
            eces = points(*(here.mean(name) for name in ("ece", "ece_adapted", "ece_labels")))
            lines.append([kind, f"{n:,}", str(len(here.rows)), *verdicts, *errors, *shares(here.covered()), *eces])
    head = ["mix", "rows", "checks", "says mix", "says new", "error of the accuracy", "best baseline", "error of none"]
    return [*head, "intervals cover", "ECE as it was", "ECE adapted", "ECE, 500 labels"], lines


def suites_table(table: Table) -> Lines:
    """Return the same by suite and shift of the fit, over all mixes, with 1,000 rows."""
    lines = []
    for here in table.where(kind="mix", rows=1000).by("suite", "fitted"):
        first = here.rows[0]
        errors = points(*(here.error(name) for name in ("estimate", *BASELINES)))
        found = *shares(here.share("mix"), here.share("new")), *errors, *shares(here.covered())
        lines.append([f"{first['suite']}, {first['fitted']}", str(len(here.rows)), *found])
    head = [
        "fitted on",
        "checks",
        "says mix",
        "says new",
        "error of the accuracy",
        "mean confidence",
        "ATC",
        "DoC",
        "COT",
    ]
    return [*head, "intervals cover"], lines


def new_table(table: Table) -> Lines:
    """Return how often something new is recognised, after a fit on each shift."""
    lines = []
    for here in table.where(kind="new").by("suite", "fitted", "tried"):
        first = here.rows[0]
        fires = shares(here.share("new"), here.share("mix"), here.ks())
        errors = points(*(here.error(name) for name in BASELINES))
        name = f"{first['suite']}, {first['fitted']} → {first['tried']}"
        eces = points(here.mean("ece"), here.mean("ece_adapted"))
        lines.append([name, str(len(here.rows)), *eces, *fires, *errors])
    head = ["fitted → tried", "checks", "ECE as it was", "adapted, if it says mix", "says new", "says mix", "KS fires"]
    return [*head, "error of the mean confidence", "of ATC", "of DoC", "of COT"], lines


def detector_table(table: Table) -> Lines:
    """Return how often detectors fire at 1,000 rows: after no change, another mix, and something new."""
    thousand = table.where(rows=1000)
    new = thousand.where(kind="new").by("suite", "fitted", "tried")
    harmful = Table([row for pair in new if pair.mean("ece") > HARMLESS for row in pair.rows])
    groups = thousand.where(kind="same"), thousand.where(kind="mix"), harmful
    lines = [
        ["auxcal: not the same", *(percent(group.alarms()) for group in groups)],
        ["auxcal: new, so label some", *(percent(group.share("new")) for group in groups)],
        ["KS of the logits, Bonferroni", *(percent(group.ks()) for group in groups)],
        ["a detector that always fires", *3 * [percent(1.0)]],
    ]
    return ["fires", "the same mix", "another mix", "something new, ECE above 5 %"], lines


TABLES: dict[str, Callable[[Table], Lines]] = {
    "same": same_table,
    "few": few_table,
    "mix": mix_table,
    "suites": suites_table,
    "new": new_table,
    "detectors": detector_table,
}
