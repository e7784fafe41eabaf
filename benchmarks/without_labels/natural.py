"""Natural change: slices that differ by nature beside shifts that are made, and whether the confidence is off there.

    python -m benchmarks.without_labels.natural [ANSWERS] [DRAWS] [FOLDER]

Every draw fits CCAC-X on 2,250 answers of half of the subjects of MMLU, with and without `groups`, and checks up to 300
answers of each other subject, 300 and 1,000 further answers of the subjects of the fit, and all others together; it
fits the newsgroups and R8 and checks each class alone, and every packaged bundle and checks every other shift of its
suite. ANSWERS is a folder of tables such as gpt4o-mini-Direct.parquet, with the columns subject, y and p_a to p_d (the
repository aMa2210/LLM_MCQ_LogProbs has them); what is not there is left out. The gap is the mean confidence less the
accuracy of the rows. Beside the check stand the mean confidence with the interval of its standard error, ATC, DoC, KS
tests of the logits with Bonferroni, and a detector that always fires.

Writes tables for the page into the folder, docs/figures by default. A draw takes half a minute of one core.
"""

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.results import write_table
from benchmarks.without_labels.mixes import Baselines
from scipy.stats import rankdata

from auxcal import AuxcalWarning, CrossFittedCCAC, Predictions
from auxcal.monitoring import check
from auxcal.reference import confidence_of_strata
from auxcal_paper.bundles import bundle, is_packaged
from auxcal_paper.suites import SUITES

FIRST_STATE = 1000  # settings were chosen on random states below 8
N_FIT, N_MADE, MOST, FEWEST = 2250, 1000, 300, 60
LEVEL, LARGE, SMALL = 0.05, 0.05, 0.02
FARTHEST = -40.0  # the logarithm of a probability that was not returned
Z_90 = 1.645
SUBJECTS, GROUPED, CLASSES, MADE, SAME = (
    "subjects",
    "subjects, groups in the fit",
    "classes",
    "made shifts",
    "no change",
)

Row = dict[str, Any]


def answers(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return logits, true options and subjects of a table of answers."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    p = np.stack([table[f"p_{letter}"].to_numpy() for letter in "abcd"], axis=1).astype(float)
    least = max(p[p > 0].min() / 2, np.exp(FARTHEST))
    return (
        np.log(np.maximum(p, least)).astype(np.float32),
        table["y"].to_numpy(),
        np.array(table["subject"].to_pylist()),
    )


class Fit:
    """CCAC-X fitted on some rows, and what it says of others."""

    def __init__(self, logits: np.ndarray, y: np.ndarray, groups: np.ndarray | None, state: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AuxcalWarning)
            self.calibrator = CrossFittedCCAC(random_state=state).fit(logits, y, groups=groups)
        kept = self.calibrator.reference_
        said = confidence_of_strata(kept.strata.astype(np.float64), kept.prediction, logits.shape[1])
        self.baselines = Baselines(said, Predictions(logits, y))

    def row(self, kind: str, name: str, logits: np.ndarray, y: np.ndarray) -> Row:
        """Check rows, and measure the answer against their labels."""
        found = check(self.calibrator, logits, level=LEVEL)
        confidence = self.calibrator.predict_confidence(logits).astype(np.float64)
        right = float(np.mean(logits.argmax(axis=1) == y))
        by_chance = float(np.mean(confidence * (1 - confidence))) / len(y)
        estimates = self.baselines.of(confidence)
        return {
            "kind": kind,
            "name": name,
            "rows": len(y),
            "verdict": found.verdict,
            "gap": float(confidence.mean()) - right,
            "covers": None if found.accuracy is None else found.accuracy.low <= right <= found.accuracy.high,
            "width": None if found.accuracy is None else found.accuracy.high - found.accuracy.low,
            "naive": abs(confidence.mean() - right) <= Z_90 * np.sqrt(by_chance),
            "by_chance": by_chance,
            "harm": found.harm.value,
            "p_new": -found.p_new,
            "atc": abs(estimates["atc"] - confidence.mean()),
            "doc": abs(estimates["doc"] - confidence.mean()),
            "ks": self.baselines.ks(logits, LEVEL),
        }


def of_subjects(folder: Path, state: int) -> Iterator[Row]:
    """Fit on half of the subjects, and check the others one by one, and together."""
    for path in sorted(folder.glob("*.parquet")):
        logits, y, subject = answers(path)
        rng = np.random.default_rng([state, 1])
        names = rng.permutation(np.unique(subject))
        known, others = names[: len(names) // 2], names[len(names) // 2 :]
        here = np.flatnonzero(np.isin(subject, known))
        chosen = rng.choice(here, N_FIT, replace=False)
        slices = [(GROUPED, name, rng.permutation(np.flatnonzero(subject == name))[:MOST]) for name in others]
        left = np.setdiff1d(here, chosen)
        slices += [(SAME, f"{n}", rng.choice(left, min(n, len(left)), replace=False)) for n in (MOST, N_MADE)]
        slices.append(("all other subjects together", "all", np.flatnonzero(np.isin(subject, others))))
        for groups in (subject[chosen], None):
            fit = Fit(logits[chosen], y[chosen], groups, state)
            for kind, name, rows in slices:
                if groups is None:
                    kind = SUBJECTS if kind == GROUPED else f"{kind}, no groups"
                yield fit.row(kind, name, logits[rows], y[rows]) | {"fit": path.stem, "state": state}


def of_bundles(state: int) -> Iterator[Row]:
    """Fit on each packaged bundle, and check the other shifts of its suite, and each class of the texts alone."""
    for suite in SUITES:
        data = {
            shift: bundle(suite, shift, Path("data"), Path("cache/bundles"))
            for shift in suite.shifts
            if is_packaged(suite, shift)
        }
        for shift, here in data.items():
            rng = np.random.default_rng([state, 2])
            order = rng.permutation(len(here))
            chosen, rest = order[: min(3000, len(here) // 2)], order[min(3000, len(here) // 2) :]
            fit, facts = (
                Fit(here.logits[chosen], here.y[chosen], None, state),
                {"fit": f"{suite.name} {shift}", "state": state},
            )
            for name, there in ((each, data[each]) for each in data if each != shift):
                rows = rng.choice(len(there), min(N_MADE, len(there)), replace=False)
                yield fit.row(MADE, name, there.logits[rows], there.y[rows]) | facts
            rows = rest[:N_MADE]
            yield fit.row(f"{SAME}, no groups", shift, here.logits[rows], here.y[rows]) | facts
            for label in range(here.n_classes) if suite.name.endswith("dan") else ():
                rows = rest[here.y[rest] == label][:MOST]
                if len(rows) >= FEWEST:
                    yield fit.row(CLASSES, str(label), here.logits[rows], here.y[rows]) | facts


def auroc(rows: list[Row], score: str) -> float:
    """Return how well a score tells a gap above 5 points from one below 2."""
    large = [row[score] for row in rows if abs(row["gap"]) > LARGE]
    small = [row[score] for row in rows if abs(row["gap"]) < SMALL]
    if not large or not small:
        return float("nan")
    ranks = rankdata([*large, *small])[: len(large)]
    return float((ranks.sum() - len(large) * (len(large) + 1) / 2) / (len(large) * len(small)))


def oracle_width(rows: list[Row]) -> float:
    """Return the mean width of the intervals of one who knows how the gaps of the slices of each fit vary."""
    widths = []
    for name in {row["fit"] for row in rows}:
        here = [row for row in rows if row["fit"] == name]
        gap, by_chance = (np.array([row[key] for row in here]) for key in ("gap", "by_chance"))
        spread = max(gap.var() - by_chance.mean(), 0.0)
        widths.extend(2 * Z_90 * np.sqrt(spread + by_chance))
    return float(np.mean(widths))


def _percent(values: list[Any]) -> str:
    return f"{100 * np.mean([float(value) for value in values]):.1f} %" if values else ""


def _score(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3f}"


def slices_table(rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    """Return verdicts, gaps and intervals by kind of slice."""
    lines = []
    for kind in dict.fromkeys(row["kind"] for row in rows):
        here = [row for row in rows if row["kind"] == kind]
        given = [row for row in here if row["covers"] is not None]
        width = f"{100 * np.mean([row['width'] for row in given]):.1f}" if given else ""
        oracle = f"{100 * oracle_width(here):.1f}" if kind == GROUPED else ""
        verdicts = (_percent([row["verdict"] == verdict for row in here]) for verdict in ("new", "mix"))
        gap = f"{100 * np.mean([abs(row['gap']) for row in here]):.1f}"
        covers = _percent([row["covers"] for row in given]), _percent([row["naive"] for row in here])
        lines.append([kind, f"{len(here):,}", gap, *verdicts, *covers, width, oracle])
    head = ["slices", "checks", "gap", "says new", "says mix", "intervals cover", "those of the mean confidence"]
    return [*head, "width", "width if the spread were known"], lines


def harm_table(rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    """Return how well scores tell large gaps from small ones, over slices with groups, classes and made shifts."""
    parts = {
        "subjects": (GROUPED,),
        "classes": (CLASSES,),
        "made shifts": (MADE,),
        "all together": (GROUPED, CLASSES, MADE),
    }
    names = {"harm": "harm", "p_new": "1 less p_new", "atc": "ATC's gap", "doc": "DoC's gap", "ks": "KS fires"}
    lines = [
        [name, *(_score(auroc([row for row in rows if row["kind"] in kinds], score)) for kinds in parts.values())]
        for score, name in names.items()
    ]
    lines.append(["a detector that always fires", *["0.500"] * len(parts)])
    return ["score", *parts], lines


def said_table(rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    """Return how often each warns where the gap is above 5 points, and where it is below 2."""
    says = {
        "auxcal: new, or harm above 5 points": lambda row: row["verdict"] == "new" or row["harm"] > LARGE,
        "auxcal: new": lambda row: row["verdict"] == "new",
        "KS of the logits, Bonferroni": lambda row: row["ks"],
        "ATC: a gap above 5 points": lambda row: row["atc"] > LARGE,
        "DoC: a gap above 5 points": lambda row: row["doc"] > LARGE,
        "a detector that always fires": lambda row: True,
    }
    cells = [
        [row for row in rows if row["kind"] == kind and low <= abs(row["gap"]) < high]
        for kind in (MADE, GROUPED, CLASSES)
        for low, high in ((LARGE, 1.0), (0.0, SMALL))
    ]
    lines = [[name, *(_percent([fires(row) for row in cell]) for cell in cells)] for name, fires in says.items()]
    head = [f"{kind}, gap {gap}" for kind in ("made shifts", "subjects", "classes") for gap in ("above 5", "below 2")]
    return ["fires", *head], lines


TABLES = {"slices": slices_table, "harm": harm_table, "said": said_table}


def main(folder: str = "data/answers", n_draws: str = "2", out: str = "docs/figures") -> None:
    """Measure, and write the tables."""
    rows: list[Row] = []
    for state in range(FIRST_STATE, FIRST_STATE + int(n_draws)):
        rows += [*of_subjects(Path(folder), state), *of_bundles(state)]
    for name, made in TABLES.items():
        write_table(Path(out) / f"without-labels-natural-{name}.csv", *made(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
