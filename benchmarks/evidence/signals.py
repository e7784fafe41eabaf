"""SignalCalibrator beside boosted trees, logistic and isotonic regression: the tables of "Answers with signals".

    python -m benchmarks.evidence.signals [CATBOOST_PYTHON] [FOLDER] [DATA] [STATE ...]

The sets are the answers of three language models to MMLU-Pro, from DATA/language-models/mmlu-pro, and the packaged
bundles read as signals: the largest probability, margin, entropy, energy, and the predicted class as text. CatBoost
needs an environment of its own, whose Python is the first argument ("-" leaves it out):

    python -m venv catboost && catboost/bin/pip install catboost

Writes signals.csv, a row for each fit, and tables into the folder, docs/figures by default. Measures what is not there
yet: to measure a method anew, delete its rows. Takes half an hour. The settings of
the calibrator were chosen on random states above 100.
"""

import csv
import subprocess
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from benchmarks.results import Kept, write_table
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from auxcal import Predictions, SignalCalibrator, compare, evaluate
from auxcal._core.logits import softmax

SIZES = (100, 300, 1000, 5000)
FEWEST_TEST = 1000
OURS, CATBOOST, LOGISTIC = "SignalCalibrator", "CatBoost", "logistic regression"
LIBRARY = Path("src")
KEY = ("set", "labels", "state", "method")
COLUMNS = (*KEY, "brier", "ece", "floor", "seconds")


def sets(data: Path) -> dict[str, tuple[pd.DataFrame, np.ndarray]]:
    """Return signals and correctness of all sets."""
    found = {}
    for path in sorted((data / "language-models" / "mmlu-pro").glob("*.csv")):
        table = pd.read_csv(path)
        signals = table[[name for name in table if "confidence" in name or name in ("token_length", "category")]]
        found[path.stem] = signals, (table["correct_answer"] == table["extracted_answer"]).to_numpy()
    for path in sorted([*LIBRARY.glob("auxcal_paper/packaged/*.npz"), *LIBRARY.glob("auxcal/cli/demo_data/*.npz")]):
        part = Predictions.load(path)
        found[path.stem] = as_signals(part), part.correct
    return found


def as_signals(part: Predictions) -> pd.DataFrame:
    """Return what a user without logits could have."""
    logits = part.logits.astype(np.float64)
    proba, ordered = softmax(logits), np.sort(logits, axis=1)
    return pd.DataFrame(
        {
            "largest": proba.max(axis=1),
            "margin": ordered[:, -1] - ordered[:, -2],
            "entropy": -np.sum(proba * np.log(np.maximum(proba, np.finfo(float).tiny)), axis=1),
            "energy": ordered[:, -1] - np.log(proba.max(axis=1)),
            "predicted": [f"class {k}" for k in part.prediction],
        }
    )


def split(n: int, size: int, random_state: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to fit on, and all others; the peer's worker draws the same."""
    order = np.random.default_rng(random_state).permutation(n)
    return order[:size], order[size:]


def peers(signals: pd.DataFrame, correct: np.ndarray, fit: np.ndarray, test: np.ndarray) -> dict[str, np.ndarray]:
    """Return the confidence of scikit-learn's methods in the test rows."""
    text = [name for name in signals if not pd.api.types.is_numeric_dtype(signals[name])]
    given = [name for name in signals if name not in text]
    as_category = signals.astype(dict.fromkeys(text, "category"))
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    columns = make_column_transformer((numbers, given), (OneHotEncoder(handle_unknown="ignore"), text))
    logistic = make_pipeline(columns, LogisticRegression(max_iter=1000))
    trees = HistGradientBoostingClassifier(random_state=0, categorical_features="from_dtype")
    found = {
        LOGISTIC: logistic.fit(signals.iloc[fit], correct[fit]).predict_proba(signals.iloc[test])[:, 1],
        "histogram boosting": trees.fit(as_category.iloc[fit], correct[fit]).predict_proba(as_category.iloc[test])[
            :, 1
        ],
    }
    for name in given:
        found[f"isotonic: {name}"] = isotonic(signals[name].to_numpy(float), correct, fit, test)
    return found


def isotonic(x: np.ndarray, correct: np.ndarray, fit: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Return isotonic regression of one signal, up or down; gaps get their own share."""
    known, confidence = ~np.isnan(x), np.full(len(x), correct[fit].mean())
    learn, gaps = fit[known[fit]], fit[~known[fit]]
    if len(learn):
        found = IsotonicRegression(out_of_bounds="clip", increasing="auto").fit(x[learn], correct[learn])
        confidence[known] = found.predict(x[known])
    if len(gaps):
        confidence[~known] = correct[gaps].mean()
    return confidence[test]


def measure(found: dict[str, tuple[pd.DataFrame, np.ndarray]], states: list[int], kept: Kept) -> None:
    """Measure all but CatBoost, as far as it is not in the file, and add the rows to it."""
    known = kept.keys(*KEY)
    for state, (name, (signals, correct)), size in product(states, found.items(), SIZES):
        if size + FEWEST_TEST > len(correct):
            continue
        key, (fit, test) = (name, str(size), str(state)), split(len(correct), size, state)
        said, seconds = {}, 0.0
        if (*key, OURS) not in known:
            start = time.process_time()
            ours = SignalCalibrator(random_state=state).fit(signals.iloc[fit], correct[fit])
            seconds = time.process_time() - start
            said = {OURS: ours.predict_confidence(signals.iloc[test])}
        if (*key, LOGISTIC) not in known:
            said |= peers(signals, correct, fit, test)
        for method, confidence in said.items():
            scores = evaluate(confidence, correct[test])
            numbers = [scores[metric] for metric in ("brier", "ece", "ece_floor_p95")]
            row = [*key, method, *numbers, seconds if method == OURS else None]
            kept.add([dict(zip(COLUMNS, row, strict=True))])


def measure_catboost(
    python: str, found: dict[str, tuple[pd.DataFrame, np.ndarray]], states: list[int], kept: Kept
) -> None:
    """Let CatBoost's own environment measure it on the same rows, in sets that the file does not have yet."""
    done = {name for name, method in kept.keys("set", "method") if method == CATBOOST}
    with tempfile.TemporaryDirectory() as work:
        for name, (signals, correct) in found.items():
            if name not in done:
                signals.assign(correct=correct).to_csv(Path(work) / f"{name}.csv", index=False)
        worker = Path(__file__).with_name("catboost_worker.py")
        arguments = [python, "-P", str(worker), work, ",".join(map(str, SIZES)), str(FEWEST_TEST), *map(str, states)]
        ran = subprocess.run(arguments, check=True, stdout=subprocess.PIPE, text=True)
    kept.add(csv.DictReader(ran.stdout.splitlines(), COLUMNS))


def best_of_isotonic(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with one isotonic regression for each set and size: of the signal that is best on average."""
    single = table[table["method"].str.startswith("isotonic: ")]
    means = single.groupby(["set", "labels", "method"])["brier"].mean().reset_index()
    best = means.loc[means.groupby(["set", "labels"])["brier"].idxmin(), ["set", "labels", "method"]]
    kept = single.merge(best).assign(method="isotonic, best signal")
    return pd.concat([table[~table["method"].str.startswith("isotonic: ")], kept])


def tables(path: Path, folder: Path) -> None:
    """Write the Brier scores, the differences from the best other method, and the calibration errors."""
    table = best_of_isotonic(pd.read_csv(path))
    others = [LOGISTIC, "isotonic, best signal", "histogram boosting", CATBOOST]
    others = [method for method in others if (table["method"] == method).any()]
    scores, calibration, behind = [], [], defaultdict(list)
    for (name, size), rows in table.groupby(["set", "labels"], sort=True):
        by = rows.pivot(index="state", columns="method", values="brier").dropna()
        here = [method for method in others if method in by]
        best = by[here].mean().idxmin()
        gap = by[OURS] - by[best]
        error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else float("nan")
        numbers = [f"{by[method].mean():.4f}" if method in by else "–" for method in (OURS, *others)]
        scores.append([name, f"{size:,}", *numbers, f"{1000 * gap.mean():+.1f} ± {1000 * error:.1f}"])
        behind[size].append((gap.mean(), error))
        ours = rows[rows["method"] == OURS]
        calibration.append([name, f"{size:,}", f"{100 * ours['ece'].mean():.1f}", f"{100 * ours['floor'].mean():.1f}"])
    write_table(folder / "signals-brier.csv", ["set", "labels", OURS, *others, "behind the best, ‰"], scores)
    write_table(folder / "signals-ece.csv", ["set", "labels", "ECE, %", "its noise floor, %"], calibration)
    summary = [
        [
            f"{size:,}",
            str(len(gaps)),
            str(sum(gap <= 0 for gap, _ in gaps)),
            f"{1000 * max(gap for gap, _ in gaps):.1f}",
            str(sum(gap > 0.001 and gap > 2 * error for gap, error in gaps)),
        ]
        for size, gaps in sorted(behind.items())
    ]
    head = ["labels", "sets", "ours is best", "most behind, ‰", "behind by more than 1 ‰ and two standard errors"]
    write_table(folder / "signals-summary.csv", head, summary)


def one_comparison(signals: pd.DataFrame, correct: np.ndarray, folder: Path) -> None:
    """Write what auxcal.compare shows of 1,500 answers to fit and 3,500 to test."""
    rows = np.random.default_rng(0).permutation(len(correct))[:5000]
    short = {"verbal_numerical_confidence": "verbal", "logit_perplexity_confidence": "perplexity"}
    table = signals.rename(columns=short)[[*short.values(), "token_length", "category"]]
    found = compare(table.iloc[rows], correct=correct[rows], test=0.7, bootstrap=0)
    methods = [[entry.label, *found.cells(entry)] for entry in found.ranked]
    write_table(folder / "signals-comparison.csv", ["method", *found.heads], methods)
    counts = [[each.name, f"{1000 * each.counts:.1f} ± {1000 * each.error:.1f}"] for each in found.signals]
    write_table(folder / "signals-counts.csv", ["signal", "rise of the Brier score, ‰"], counts)


def reachable(path: Path, draws: int = 20) -> None:
    """Write what calibration error labels allow: that of the truth, and of a model that is right but for its estimates.

    Five signals, whose log-odds add up, and 10,000 test answers, of which three in four are right.
    """
    weights, offset, rng = np.array([1.0, 0.8, -0.6, 0.4, 0.2]), 1.5, np.random.default_rng(0)
    found = defaultdict(list)
    for size in SIZES:
        for state in range(draws):
            x = rng.normal(size=(size + 10_000, 5))
            chance = 1 / (1 + np.exp(-(x @ weights + offset)))
            correct = rng.random(len(x)) < chance
            right = LogisticRegression(C=np.inf).fit(x[:size], correct[:size]).predict_proba(x[size:])[:, 1]
            ours = SignalCalibrator(random_state=state).fit(x[:size], correct[:size]).predict_confidence(x[size:])
            for method, said in (("truth", chance[size:]), ("right", right), ("ours", ours)):
                scores = evaluate(said, correct[size:], metrics=["ece"])
                found[size, method].append((scores["ece"], scores["ece_floor_p95"]))
    rows = []
    for size in SIZES:
        cells = [f"{size:,}"]
        for method in ("truth", "right", "ours"):
            errors, floors = np.array(found[size, method]).T
            cells.append(f"{100 * errors.mean():.1f} ({100 * np.mean(errors <= floors):.0f} %)")
        rows.append(cells)
    head = ["labels", "the true probabilities", "logistic regression, which is the right model here", OURS]
    write_table(path, head, rows)


def main(python: str = "-", folder: str = "docs/figures", data: str = "data", *states: str) -> None:
    """Measure what is not measured yet, and write the tables."""
    warnings.simplefilter("ignore")
    path, chosen = Path(folder) / "signals.csv", [int(state) for state in states or ("0", "1", "2", "3", "4")]
    found = sets(Path(data))
    kept = Kept(path, COLUMNS)
    measure(found, chosen, kept)
    if python != "-":
        measure_catboost(python, found, chosen, kept)
    tables(path, Path(folder))
    one_comparison(*found["gpt-4.1-mini"], Path(folder))
    reachable(Path(folder) / "signals-reachable.csv")


if __name__ == "__main__":
    main(*sys.argv[1:])
