"""Natural change: slices that differ by nature beside shifts that are made, and whether the confidence is off there.

    python -m benchmarks.without_labels.natural [DATA] [DRAWS] [FOLDER]

Every draw fits CCAC-X on 2,250 answers of half of the subjects of MMLU, and of half of the categories of MMLU-Pro, with
and without `groups`, and checks answers of each other one, further answers of those of the fit, and all others
together. It trains a classifier of topics on the first days of Reuters-21578, fits on the days after that, with and
without the day as group, and checks each later day. It fits the newsgroups and R8 and checks each class alone, and
every packaged bundle and checks every other shift of its suite. DATA is a folder with language-models/mmlu/*.parquet
(columns subject, y and p_a to p_d: the repository aMa2210/LLM_MCQ_LogProbs), language-models/mmlu-pro/*.csv (category,
answers and confidences: Linwei94/LLM-Calibration-Study) and reuters21578/*.sgm; what is not there is left out. The gap
is the mean confidence less the accuracy of the rows. Beside the check stand the mean confidence with the interval of
its standard error, ATC, DoC, KS tests of the logits with Bonferroni, a detector that always fires, and labels of half
of the rows, which say how much of the gap of the other half can be known at all.

Writes tables for the page into the folder, docs/figures by default. A draw takes a minute of one core.
"""

import csv
import re
import sys
import warnings
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.results import write_table
from benchmarks.without_labels.mixes import Baselines
from sklearn.metrics import roc_auc_score

from auxcal import CCACX, AuxcalWarning, Predictions
from auxcal.monitoring import check
from auxcal.reference import confidence_of_strata
from auxcal_paper.bundles import bundle, is_packaged
from auxcal_paper.suites import SUITES

FIRST_STATE = 1000  # settings were chosen on random states below 8
N_FIT, N_MADE, MOST, FEWEST = 2250, 1000, 300, 60
LEVEL, LARGE, SMALL = 0.05, 0.05, 0.02
FARTHEST = -40.0  # the logarithm of a probability that was not returned
Z_90 = 1.645
LETTERS = "ABCDEFGHIJ"
TOPICS = ("acq", "crude", "earn", "grain", "interest", "money-fx", "ship", "trade")
N_TRAIN = 1800  # articles of the first days, for the classifier
NATURAL = ("subjects", "categories", "days")
GROUPED = tuple(f"{each}, groups in the fit" for each in NATURAL)
CLASSES, MADE, SAME = "classes", "made shifts", "no change"

Row = dict[str, Any]


class Data(NamedTuple):
    """Rows of slices: logits, true classes, the slice of each, and features."""

    logits: np.ndarray
    y: np.ndarray
    name: np.ndarray
    features: np.ndarray | None = None


def subjects(path: Path) -> Data:
    """Read answers to MMLU with the probabilities of four letters."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    p = np.stack([table[f"p_{letter}"].to_numpy() for letter in "abcd"], axis=1).astype(float)
    logits = np.log(np.maximum(p, max(p[p > 0].min() / 2, np.exp(FARTHEST))))
    return Data(logits.astype(np.float32), table["y"].to_numpy(), np.array(table["subject"].to_pylist()))


def categories(path: Path) -> Data:
    """Read answers to MMLU-Pro with a confidence in words: logits whose softmax gives the answer that confidence."""
    with path.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["verbal_numerical_confidence"]]
    rows = [row for row in rows if len(row["extracted_answer"]) == 1 and row["extracted_answer"] in LETTERS]
    stated = np.clip([float(row["verbal_numerical_confidence"]) for row in rows], 0.12, 0.99)  # still the likeliest
    logits = np.log((1 - stated) / (len(LETTERS) - 1))[:, None].repeat(len(LETTERS), axis=1)
    logits[np.arange(len(rows)), [LETTERS.index(row["extracted_answer"]) for row in rows]] = np.log(stated)
    signals = [np.log(np.maximum([float(row["token_length"]) for row in rows], 1))]
    if all(row.get("logit_perplexity_confidence") for row in rows):
        signals.append(np.log(np.clip([float(row["logit_perplexity_confidence"]) for row in rows], 1e-3, 1)))
    y = np.array([LETTERS.index(row["correct_answer"]) for row in rows])
    names = np.array([row["category"] for row in rows])
    return Data(logits.astype(np.float32), y, names, np.stack(signals, axis=1).astype(np.float32))


def days(folder: Path) -> Data:
    """Train a classifier on the first single-topic articles of Reuters, and return the others by their day."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    articles = []
    for path in sorted(folder.glob("*.sgm")):
        for text in re.findall(r"<REUTERS.*?</REUTERS>", path.read_text(encoding="latin-1"), re.DOTALL):
            topics = re.findall(r"<D>(.*?)</D>", re.findall(r"<TOPICS>(.*?)</TOPICS>", text)[0])
            if len(topics) == 1:
                day = datetime.strptime(re.findall(r"<DATE>\s*(\d+-\w+-\d+)", text)[0], "%d-%b-%Y").date().isoformat()
                body = re.sub(r"<[^>]*>", " ", text[text.find("<TEXT") :])
                articles.append((day, body, TOPICS.index(topics[0]) if topics[0] in TOPICS else -1))
    articles.sort(key=lambda article: article[0])
    name, text, y = (list(each) for each in zip(*articles, strict=True))
    y, own = np.array(y), np.flatnonzero(np.array(y[:N_TRAIN]) >= 0)
    vectors = TfidfVectorizer(min_df=3, sublinear_tf=True)
    of_train = vectors.fit_transform([text[each] for each in own])
    classifier = LogisticRegression(C=30, max_iter=300).fit(of_train, y[own])
    logits = classifier.decision_function(vectors.transform(text[N_TRAIN:])).astype(np.float32)
    return Data(logits, y[N_TRAIN:], np.array(name[N_TRAIN:]))


class Fit:
    """CCAC-X fitted on some rows, and what it says of others."""

    def __init__(self, data: Data, state: int, *, grouped: bool) -> None:
        logits, y, groups, features = data
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AuxcalWarning)
            method = CCACX(random_state=state)
            self.calibrator = method.fit(logits, y, features=features, groups=groups if grouped else None)
        kept = self.calibrator.reference_
        said = confidence_of_strata(kept.strata.astype(np.float64), kept.prediction, logits.shape[1])
        self.baselines = Baselines(said, Predictions(logits, y))

    def row(self, kind: str, name: str, data: Data) -> Row:
        """Check rows, and measure the answer against their labels."""
        logits, y, _, features = data
        found = check(self.calibrator, logits, features, level=LEVEL)
        confidence = self.calibrator.predict_confidence(logits, features).astype(np.float64)
        correct = logits.argmax(axis=1) == y
        right, gaps = float(np.mean(correct)), np.random.default_rng(0).permutation(confidence - correct)
        by_chance = float(np.mean(confidence * (1 - confidence))) / len(y)
        estimates = self.baselines.of(confidence)
        return {
            "kind": kind,
            "name": name,
            "rows": len(y),
            "verdict": found.verdict,
            "gap": float(confidence.mean()) - right,
            "labels": abs(gaps[::2].mean()),
            "gap of the others": gaps[1::2].mean(),
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


def _of(data: Data, rows: np.ndarray) -> Data:
    return Data(*(None if each is None else each[rows] for each in data))


def of_slices(data: Data, kind: str, source: str, state: int) -> Iterator[Row]:
    """Fit on half of the slices, the first ones if they are days, and check the others one by one, and together."""
    rng = np.random.default_rng([state, 1])
    names, sizes = np.unique(data.name, return_counts=True)
    names = names[sizes >= FEWEST]
    if kind != "days":
        names = rng.permutation(names)
    known, others = names[: len(names) // 2], names[len(names) // 2 :]
    here = np.flatnonzero(np.isin(data.name, known))
    chosen = rng.choice(here, min(N_FIT, len(here) - N_MADE), replace=False)
    most = N_MADE if kind == "categories" else MOST
    slices = [(kind, name, rng.permutation(np.flatnonzero(data.name == name))[:most]) for name in others]
    left = np.setdiff1d(here, chosen)
    slices += [(SAME, f"{n}", rng.choice(left, n, replace=False)) for n in (MOST, MOST, N_MADE)]
    slices.append((f"all other {kind} together", "all", np.flatnonzero(np.isin(data.name, others))))
    for grouped in (True, False):
        fit = Fit(_of(data, chosen), state, grouped=grouped)
        for what, name, rows in slices:
            what = f"{what}, groups in the fit" if grouped else what
            yield fit.row(what, name, _of(data, rows)) | {"fit": source, "state": state}


def natural(folder: Path, state: int) -> Iterator[Row]:
    """Fit and check all slices that there are data of."""
    for path in sorted((folder / "language-models/mmlu").glob("*.parquet")):
        yield from of_slices(subjects(path), "subjects", path.stem, state)
    for path in sorted((folder / "language-models/mmlu-pro").glob("*.csv")):
        yield from of_slices(categories(path), "categories", path.stem, state)
    if (folder / "reuters21578").is_dir():
        yield from of_slices(days(folder / "reuters21578"), "days", "reuters", state)


def of_bundles(state: int) -> Iterator[Row]:
    """Fit on each packaged bundle, and check the other shifts of its suite, and each class of the texts alone."""
    for suite in SUITES:
        data = {
            shift: bundle(suite, shift, Path("data"), Path("cache/bundles"))
            for shift in suite.shifts
            if is_packaged(suite, shift)
        }
        for shift, bundled in data.items():
            here, facts = _all(bundled), {"fit": f"{suite.name} {shift}", "state": state}
            rng = np.random.default_rng([state, 2])
            order = rng.permutation(len(here.y))
            chosen, rest = order[: min(3000, len(order) // 2)], order[min(3000, len(order) // 2) :]
            fit = Fit(_of(here, chosen), state, grouped=False)
            for name, there in ((each, _all(data[each])) for each in data if each != shift):
                rows = rng.choice(len(there.y), min(N_MADE, len(there.y)), replace=False)
                yield fit.row(MADE, name, _of(there, rows)) | facts
            yield fit.row(SAME, shift, _of(here, rest[:N_MADE])) | facts
            for label in range(bundled.n_classes) if suite.name.endswith("dan") else ():
                rows = rest[here.y[rest] == label][:MOST]
                if len(rows) >= FEWEST:
                    yield fit.row(CLASSES, str(label), _of(here, rows)) | facts


def _all(data: Predictions) -> Data:
    return Data(data.logits, data.y, np.zeros(len(data)))


def auroc(rows: list[Row], score: str) -> float:
    """Return how well a score tells a gap above 5 points from one below 2."""
    gap = "gap of the others" if score == "labels" else "gap"
    large = [row[score] for row in rows if abs(row[gap]) > LARGE]
    small = [row[score] for row in rows if abs(row[gap]) < SMALL]
    if not large or not small:
        return float("nan")
    return float(roc_auc_score([1] * len(large) + [0] * len(small), [*large, *small]))


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
        oracle = f"{100 * oracle_width(here):.1f}" if kind in GROUPED else ""
        verdicts = (_percent([row["verdict"] == verdict for row in here]) for verdict in ("new", "mix"))
        gap = f"{100 * np.mean([abs(row['gap']) for row in here]):.1f}"
        covers = _percent([row["covers"] for row in given]), _percent([row["naive"] for row in here])
        lines.append([kind, f"{len(here):,}", gap, *verdicts, *covers, width, oracle])
    head = ["slices", "checks", "gap", "says new", "says mix", "intervals cover", "those of the mean confidence"]
    return [*head, "width", "width if the spread were known"], lines


def harm_table(rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    """Return how well scores tell large gaps from small ones, over natural slices, classes and made shifts."""
    parts = {name: (kind,) for name, kind in zip((*NATURAL, CLASSES, MADE), (*GROUPED, CLASSES, MADE), strict=True)}
    parts |= {"all together": (*GROUPED, CLASSES, MADE), "all, no groups in the fit": (*NATURAL, CLASSES, MADE)}
    names = {"harm": "harm", "p_new": "1 less p_new", "atc": "ATC's gap", "doc": "DoC's gap", "ks": "KS fires"}
    names["labels"] = "labels of half of the rows, for the other half"
    lines = [
        [name, *(_score(auroc([row for row in rows if row["kind"] in kinds], score)) for kinds in parts.values())]
        for score, name in names.items()
    ]
    lines.append(["a detector that always fires", *["0.500"] * len(parts)])
    return ["score", *parts], lines


TABLES = {"slices": slices_table, "harm": harm_table}


def main(folder: str = "data", n_draws: str = "3", out: str = "docs/figures") -> None:
    """Measure, and write the tables."""
    rows: list[Row] = []
    for state in range(FIRST_STATE, FIRST_STATE + int(n_draws)):
        rows += [*natural(Path(folder), state), *of_bundles(state)]
    for name, made in TABLES.items():
        write_table(Path(out) / f"without-labels-natural-{name}.csv", *made(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
