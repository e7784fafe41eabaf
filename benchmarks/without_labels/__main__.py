"""Without labels: how often a check is right, how far its estimates are off, and what adapting brings.

    python -m benchmarks.without_labels [FOLDER] [CACHE] [DRAWS] [SUITE ...]

Every draw fits CCAC-X on 3,000 rows of a bundle or half of them, with 30 % foreign samples where the bundle has such,
and checks rows that took no part: the same mix, other mixes (shares of foreign samples from 0 to 90 %; a class ten
times as frequent or a tenth; half of the classes a tenth) and every other shift of the suite. Fits with 100, 300 and
1,000 rows are checked for false alarms. Beside it stand, on the same rows: the mean confidence as it is (what NannyML's
CBPE takes), ATC, DoC and COT for the accuracy; KS tests of each logit with Bonferroni, and a detector that always
fires, for the verdict. Bundles come from the package or the cache; what is in neither is left out.

Writes without-labels.csv, a row for each check, and tables for the page into the folder, docs/figures by default. It
goes on where it was stopped; to measure anew, delete without-labels.csv. Several processes may write to it, each for
its own suites. A draw of all suites takes eight minutes of one core. The tables of the page have 5 draws, and 8 of the
suites of at most 18 classes.
"""

import sys
import warnings
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.results import Kept, write_table
from benchmarks.without_labels.mixes import FIT_SIZES, Baselines, Mix, as_it_is, other_mixes
from benchmarks.without_labels.tables import TABLES, Table

from auxcal import CCACX, AuxcalWarning, Predictions
from auxcal.metrics import brier, ece
from auxcal.monitoring import check
from auxcal_paper.bundles import bundle, bundle_path, is_packaged
from auxcal_paper.suites import SUITES, Suite

LEVEL = 0.05
*FEW, MOST_FIT = FIT_SIZES
SIZES = {"same": (200, 300, 1000, 4000, 10_000), "few": (200, 1000, 10_000), "mix": (300, 1000, 4000), "new": (1000,)}
TIMES = {"same": 6, "few": 6, "mix": 2, "new": 2}  # that rows are drawn for each fit
FIRST_STATE = 1000  # settings were chosen on random states below 200
LABELS = 500  # of a fit there, to compare the adapted calibrator with
COLUMNS = (
    *("suite", "fitted", "labels", "kind", "tried", "state", "rows", "verdict", "p_mix", "p_new"),
    *("right", "estimate", "low", "high", "none", "none_estimate", "cbpe", "atc", "doc", "cot", "ks"),
    *("ece", "ece_adapted", "ece_labels", "brier", "brier_adapted"),
)

Row = dict[str, Any]


def draws(data: dict[str, Predictions], shift: str, state: int) -> Iterator[Row]:
    """Fit with few rows and with many, and check every kind of rows."""
    mix, here = as_it_is(data[shift]), data[shift]
    for n_fit in (*FEW, MOST_FIT):
        rng = np.random.default_rng([state, n_fit])
        n_fit = min(n_fit, len(here) // 2)
        trial = Trial(here, mix, n_fit, state, rng)
        if n_fit in FEW:
            yield from trial.checks("few", mix)
            continue
        yield from trial.checks("same", mix)
        for other in other_mixes(here):
            yield from trial.checks("mix", other)
        for name in (each for each in data if each != shift):
            whole = as_it_is(data[name])._replace(name=name)
            yield from trial.checks("new", _plain(whole, data[name]), data[name])


def _plain(mix: Mix, data: Predictions) -> Mix:
    """Return the mix that the bundle has."""
    none = float(np.mean(data.y < 0))
    return mix._replace(shares=np.array([none, 1 - none, 0.0]))


class Trial:
    """A fit of CCAC-X, and what took no part in it."""

    def __init__(self, data: Predictions, mix: Mix, n_fit: int, state: int, rng: np.random.Generator) -> None:
        self.state, self.rng = state, rng
        chosen = mix.chosen(data.y, n_fit, rng)
        if chosen is None:
            raise ValueError(f"{n_fit} rows are too many for a fit on {len(data)}")
        self.fit, self.rest = data.take(chosen), data.take(np.setdiff1d(np.arange(len(data)), chosen))
        self.calibrator = self.fitted(self.fit)
        kept = self.calibrator.reference_
        said = kept.strata.astype(np.float64)
        # What was said of held-out rows: ATC and DoC need rows that the calibrator has not seen.
        at = kept.prediction if said.shape[1] > 3 or data.n_classes < 3 else np.zeros(len(said), dtype=np.intp)
        self.baselines = Baselines(said[np.arange(len(said)), at], self.fit)

    def fitted(self, rows: Predictions) -> CCACX:
        """Fit CCAC-X; a mix can have next to no errors."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AuxcalWarning)
            return CCACX(random_state=self.state).fit(rows.logits, rows.y)

    def checks(self, kind: str, mix: Mix, data: Predictions | None = None) -> Iterator[Row]:
        """Check rows of a mix, of each size, several times."""
        draw = partial(mix.draw, self.rest if data is None else data, rng=self.rng)
        for n in SIZES[kind]:
            for time in range(TIMES[kind]):
                rows = draw(n)
                if rows is not None:
                    row = {"labels": len(self.fit), "kind": kind, "tried": mix.name, "state": self.state, "rows": n}
                    row |= self.checked(rows)
                    if time == 0 and n == 1000 and kind != "few":
                        row["ks"] = self.baselines.ks(rows.logits, LEVEL)
                        row["cot"] = self.baselines.cot(self.calibrator.predict_proba(rows.logits))
                    if kind in ("same", "mix") or (kind == "new" and row["verdict"] == "mix"):
                        row |= self.adapted(rows, draw(min(4000, 2 * n)))
                    if kind == "mix" and n == 4000 and time == 0:
                        row |= self.labelled(draw(LABELS), draw(n))
                    yield row

    def checked(self, rows: Predictions) -> Row:
        """Check rows, and measure the estimates against their labels."""
        found = check(self.calibrator, rows.logits, level=LEVEL)
        confidence = self.calibrator.predict_confidence(rows.logits)
        row = {
            "verdict": found.verdict,
            "p_mix": found.p_mix,
            "p_new": found.p_new,
            "right": rows.correct.mean(),
            "none": np.mean(rows.y < 0),
            "ece": ece(confidence, rows.correct),
        }
        if found.accuracy is not None and found.verdict != "new":  # whose range is measured in natural.py
            row |= {"estimate": found.accuracy.value, "low": found.accuracy.low, "high": found.accuracy.high}
            row["none_estimate"] = None if found.no_class is None else found.no_class.value
        return row | self.baselines.of(confidence)

    def adapted(self, rows: Predictions, test: Predictions | None) -> Row:
        """Adapt to the rows, and measure on others of the same mix."""
        if test is None:
            return {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AuxcalWarning)
            new = self.calibrator.adapt(rows.logits, if_new="warn")
        confidence, before = new.predict_confidence(test.logits), self.calibrator.predict_confidence(test.logits)
        return {
            "ece": ece(before, test.correct),
            "ece_adapted": ece(confidence, test.correct),
            "brier": brier(before, test.correct),
            "brier_adapted": brier(confidence, test.correct),
        }

    def labelled(self, there: Predictions | None, test: Predictions | None) -> Row:
        """Measure a fit with labels of the new mix."""
        if there is None or test is None:
            return {}
        return {"ece_labels": ece(self.fitted(there).predict_confidence(test.logits), test.correct)}


@cache
def available(cache_dir: Path, suites: tuple[str, ...]) -> list[tuple[Suite, dict[str, Predictions]]]:
    """Return the bundles that are packaged or built already, by suite; of all suites where none is named."""
    found = []
    for suite in (each for each in SUITES if not suites or each.name in suites):
        ready = [
            shift
            for shift in suite.shifts
            if is_packaged(suite, shift) or bundle_path(suite, shift, cache_dir).exists()
        ]
        if ready:
            found.append((suite, {shift: bundle(suite, shift, Path("data"), cache_dir) for shift in ready}))
    return found


def measure(path: Path, cache_dir: Path, n_draws: int, suites: tuple[str, ...]) -> list[Row]:
    """Add what is missing to the file, and return its rows."""
    kept = Kept(path, COLUMNS)
    done = kept.keys("suite", "fitted", "state")
    for state in range(FIRST_STATE, FIRST_STATE + n_draws):
        for suite, data in available(cache_dir, suites):
            for shift in data:
                if (suite.name, shift, str(state)) not in done:
                    kept.add({"suite": suite.name, "fitted": shift} | row for row in draws(data, shift, state))
    return kept.rows


def main(folder: str = "docs/figures", cache_dir: str = "cache/bundles", n_draws: str = "5", *suites: str) -> None:
    """Measure, and write the tables."""
    table = Table(measure(Path(folder) / "without-labels.csv", Path(cache_dir), int(n_draws), suites))
    for name, made in TABLES.items():
        write_table(Path(folder) / f"without-labels-{name}.csv", *made(table))


if __name__ == "__main__":
    main(*sys.argv[1:])
