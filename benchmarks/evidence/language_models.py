"""How well language models' answers can be told right from wrong: MMLU with token probabilities, MMLU-Pro with signals.

    python -m benchmarks.evidence.language_models [DATA] [FOLDER]

DATA holds `mmlu/*.parquet` and `mmlu-pro/*.csv`, data/language-models by default. Writes language-models*.csv and
language-models*.png into the folder, docs/figures by default. Takes a quarter of an hour on one core; to measure anew,
delete language-models-cells.csv. All settings were chosen on other random states.
"""

import csv
import sys
import warnings
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
from benchmarks.evidence.language_model_plots import draw_coverage, draw_labels, draw_reliability
from benchmarks.results import write_table
from scipy.special import logit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

import auxcal
from auxcal import CALIBRATORS, AuxcalWarning, InvalidInputError
from auxcal._core.text import percent
from auxcal.labelling import estimate
from auxcal.llm import Answers
from auxcal.metrics import auroc, brier, ece
from auxcal.metrics.intervals import wilson
from auxcal.thresholds import threshold_at_risk

MMLU = {
    "gpt4o-mini-Direct": "GPT-4o-mini, at once",
    "gpt4o-mini-afterThinking": "GPT-4o-mini, after thinking",
    "llama3.1-8B-Direct": "Llama-3.1-8B, at once",
}
MMLU_PRO = {
    "gpt-4.1-mini": "GPT-4.1-mini",
    "Qwen3-32B-think": "Qwen3-32B, thinking",
    "Meta-Llama-3.1-8B-Instruct-Turbo": "Llama-3.1-8B",
}
SAID = "verbal_numerical_confidence"
PRO_SIGNALS = (SAID, "logit_perplexity_confidence", "verbal_linguistic_confidence", "token_length", "category")
N_LABELS = (100, 300, 1_000, 5_000)
N_FIT, N_PROMISE = 1_000, 1_000
RISKS = (0.05, 0.1)
RANDOM_STATES = range(5)
NETWORKS = ("ccac", "ccac-s")  # of the paper: they want thousands of labels, and take minutes where others take seconds
METHODS = [name for name in CALIBRATORS if name not in NETWORKS]
OURS, WITH_SIGNALS, SIGNALS = "ccac-x", "ccac-x, signals", "signals"
DRAWN = ("platt", "isotonic", "temperature", OURS, WITH_SIGNALS)
SHIFT_METRICS = ("same", "other", "adapted", "same_ece", "other_ece", "adapted_ece")
SHIFT_METRICS += ("said", "accuracy", "low", "high", "verdict")
NAMES = {name: kind.abbreviation for name, kind in CALIBRATORS.items()}
NAMES |= {WITH_SIGNALS: "CCAC-X with signals", SIGNALS: "SignalCalibrator", "uncalibrated": "the model's own"}
NAMES |= {"isotonic": "isotonic", "platt": "Platt"}


# Data -----------------------------------------------------------------------------------------------------------------


@cache
def mmlu(data: Path, name: str) -> Answers:
    """Return the answers of a model to MMLU."""
    columns = ["p_a", "p_b", "p_c", "p_d"]
    path = data / "mmlu" / f"{name}.parquet"
    return auxcal.llm.read(path, list("ABCD"), "y", columns=columns, probabilities=True, group="subject")


@cache
def mmlu_pro(data: Path, name: str) -> Answers:
    """Return the answers of a model to MMLU-Pro, of which signals are known and no log-probabilities."""
    path = data / "mmlu-pro" / f"{name}.csv"
    return auxcal.llm.read(
        path, list("ABCDEFGHIJ"), "correct_answer", prediction="extracted_answer", signals=PRO_SIGNALS, group="category"
    )


def drawn(answers: Answers, random_state: int, *sizes: int) -> list[Answers]:
    """Return disjoint random parts of the given sizes, and the rest."""
    order = np.random.default_rng(random_state).permutation(len(answers))
    return [answers.take(rows) for rows in np.split(order, np.cumsum(sizes))]


# Confidence -----------------------------------------------------------------------------------------------------------


def confidences(method: str, fit: Answers, *others: Answers, groups: bool = False) -> list[np.ndarray]:
    """Fit a method on some answers and return its confidence in others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AuxcalWarning)
        together = {"groups": fit.groups} if groups else {}
        if fit.logits is None:
            return _of_signals(method, fit, *others)
        with_signals = method == WITH_SIGNALS
        calibrator = auxcal.calibrators.seeded(CALIBRATORS[OURS if with_signals else method], 0)
        calibrator.fit(fit.logits, fit.y, **_features(fit, with_signals), **together)
        return [calibrator.predict_confidence(each.logits, **_features(each, with_signals)) for each in others]


def _features(answers: Answers, with_signals: bool) -> dict[str, object]:
    return {"features": answers.signals} if with_signals else {}


def _of_signals(method: str, fit: Answers, *others: Answers) -> list[np.ndarray]:
    """Return the confidence of `SignalCalibrator`, or that of a method on what the model says alone, as is usual."""
    if method == SIGNALS:
        calibrator = auxcal.SignalCalibrator(probabilities=[SAID], random_state=0).fit(fit.signals, fit.correct)
        return [calibrator.predict_confidence(each.signals) for each in others]
    usual = float(np.nanmean(fit.signals[SAID]))
    first, *rest = (np.nan_to_num(each.signals[SAID], nan=usual).clip(0.001, 0.999) for each in (fit, *others))
    if method == "uncalibrated":
        return rest
    if method == "isotonic":
        curve = IsotonicRegression(out_of_bounds="clip").fit(first, fit.correct)
        return [curve.predict(each).clip(0, 1) for each in rest]
    line = LogisticRegression(C=np.inf).fit(logit(first)[:, None], fit.correct)
    return [line.predict_proba(logit(each)[:, None])[:, 1] for each in rest]


# Cells ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """One measurement."""

    part: str
    model: str
    method: str
    n: int
    random_state: int
    metric: str
    value: float


class Cells:
    """Measurements, kept in a file as they are made, so that a run that was stopped goes on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.all: list[Cell] = []
        if path.exists():
            with path.open() as file:
                rows = list(csv.reader(file))[1:]
            self.all = [Cell(*row[:3], int(row[3]), int(row[4]), row[5], float(row[6])) for row in rows]

    def lack(self, *what: object) -> bool:
        """Whether a measurement is still to be made."""
        return not any((each.part, each.model, each.method, each.n, each.random_state) == what for each in self.all)

    def add(self, *what: object, **values: float) -> None:
        """Keep the values of one measurement."""
        self.all += [Cell(*what, metric, float(value)) for metric, value in values.items()]
        with self._path.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(Cell.__dataclass_fields__)
            writer.writerows([*astuple(each)[:-1], f"{each.value:.6g}"] for each in self.all)

    def values(self, part: str, model: str, method: str, n: int, metric: str) -> np.ndarray:
        """Return a metric for each random state."""
        wanted = (part, model, method, n, metric)
        found = [each for each in self.all if (each.part, each.model, each.method, each.n, each.metric) == wanted]
        return np.array([each.value for each in sorted(found, key=lambda each: each.random_state)])


def measure_labels(cells: Cells, data: Path) -> None:
    """Measure every method with few and with many labels."""
    for (model, methods, read), n, state in product(_models(), N_LABELS, RANDOM_STATES):
        for method in methods:
            if cells.lack("labels", model, method, n, state):
                fit, test = drawn(read(data, model), state, n)
                (found,) = confidences(method, fit, test)
                scores = {"brier": brier, "ece": ece, "auroc": auroc}
                values = {name: score(found, test.correct) for name, score in scores.items()}
                cells.add("labels", model, method, n, state, **values)


def _models() -> Iterator[tuple[str, list[str], object]]:
    yield from ((model, [*METHODS, WITH_SIGNALS], mmlu) for model in MMLU)
    yield from ((model, ["uncalibrated", "platt", "isotonic", SIGNALS], mmlu_pro) for model in MMLU_PRO)


def measure_coverage(cells: Cells, data: Path) -> None:
    """Measure how many answers can be accepted with a promise, and how many of these are wrong."""
    for (model, methods, read), state in product(_models(), RANDOM_STATES):
        for method in (
            each for each in methods if each in ("uncalibrated", "platt", "isotonic", OURS, WITH_SIGNALS, SIGNALS)
        ):
            if cells.lack("coverage", model, method, N_FIT, state):
                fit, promise, test = drawn(read(data, model), state, N_FIT, N_PROMISE)
                held, found = confidences(method, fit, promise, test)
                values = {"sure": float((found >= 0.95).mean()), "sure_wrong": _wrong(found, test, 0.95)}
                for risk in RISKS:
                    threshold = _threshold(held, promise, risk)
                    values |= {f"coverage_{risk}": float((found >= threshold).mean())}
                    values |= {f"wrong_{risk}": _wrong(found, test, threshold)}
                cells.add("coverage", model, method, N_FIT, state, **values)


def _threshold(confidence: np.ndarray, labelled: Answers, risk: float) -> float:
    try:
        return threshold_at_risk(confidence, labelled.correct, risk).threshold
    except InvalidInputError:  # none can be promised
        return 2.0


def _wrong(confidence: np.ndarray, test: Answers, threshold: float) -> float:
    accepted = confidence >= threshold
    return float(1 - test.correct[accepted].mean()) if accepted.any() else 0.0


def measure_shift(cells: Cells, data: Path) -> None:
    """Fit on half of the subjects and test on the others; then check, and adapt."""
    for model, state in product(MMLU, RANDOM_STATES):
        if not cells.lack("shift", model, OURS, N_FIT, state):
            continue
        answers = mmlu(data, model)
        subjects = np.random.default_rng(state).permutation(np.unique(answers.groups))
        here = np.isin(answers.groups, subjects[: len(subjects) // 2])
        (fit, same), test = drawn(answers.take(here), state, N_FIT), answers.take(~here)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AuxcalWarning)
            calibrator = auxcal.CCACX(random_state=0).fit(fit.logits, fit.y, groups=fit.groups)
            check = auxcal.check(calibrator, test.logits)
            adapted = calibrator.adapt(test.logits, if_new="warn")
        values = {"same": _brier(calibrator, same), "other": _brier(calibrator, test), "adapted": _brier(adapted, test)}
        values |= {f"{name}_ece": ece(each.predict_confidence(part.logits), part.correct) for name, each, part in (
            ("same", calibrator, same), ("other", calibrator, test), ("adapted", adapted, test)
        )}  # fmt: skip
        values |= {"verdict": ("same", "mix", "new").index(check.verdict), "said": check.accuracy.value}
        values |= {"low": check.accuracy.low, "high": check.accuracy.high, "accuracy": test.correct.mean()}
        cells.add("shift", model, OURS, N_FIT, state, **values)


def _brier(calibrator: auxcal.Calibrator, part: Answers) -> float:
    return brier(calibrator.predict_confidence(part.logits), part.correct)


def measure_judge(cells: Cells, data: Path) -> None:
    """Let GPT-4o-mini judge the answers of Llama: the pass rate that it says, and the one after correction."""
    judge, judged = mmlu(data, "gpt4o-mini-Direct"), mmlu(data, "llama3.1-8B-Direct")
    place = {name: row for row, name in enumerate(judged.ids)}
    both = np.array([name in place for name in judge.ids])
    judge = judge.take(both)
    judged = judged.take(np.array([place[name] for name in judge.ids]))
    shares = np.exp(judge.logits - judge.logits.max(axis=1, keepdims=True))
    passing = shares[np.arange(len(judged)), judged.logits.argmax(axis=1)] / shares.sum(axis=1)
    logits = np.column_stack([np.log(passing), np.log(np.maximum(1 - passing, 1e-12))])
    for n, state in product((100, 300), RANDOM_STATES):
        if cells.lack("judge", "judge", OURS, n, state):
            order = np.random.default_rng(state).permutation(len(judged))
            rows, others = order[:n], order[n:]
            said = logits.argmax(axis=1)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", AuxcalWarning)
                halves = np.array_split(rows, 2)  # each half is told by the calibrator of the other
                fits = [auxcal.CCACX(random_state=0) for _ in halves]
                for calibrator, half in zip(fits, halves[::-1], strict=True):
                    calibrator.fit(logits[half], np.where(judged.correct[half], 0, 1))
                right = [each.predict_confidence(logits) for each in fits]
            chance = [np.where(said == 0, each, 1 - each) for each in right]
            labelled = np.concatenate([each[half] for each, half in zip(chance, halves, strict=True)])
            found = estimate(labelled, judged.correct[np.concatenate(halves)], np.mean(chance, axis=0)[others])
            alone = wilson(judged.correct[rows].mean(), n, z=1.96)
            cells.add(
                "judge", "judge", OURS, n, state,
                said=(said == 0).mean(), true=judged.correct.mean(), value=found["accuracy"].value,
                low=found["accuracy"].low, high=found["accuracy"].high, alone_low=alone[0], alone_high=alone[1],
            )  # fmt: skip


# Tables and pictures --------------------------------------------------------------------------------------------------


def tables(cells: Cells, folder: Path) -> None:
    """Write the tables of the page."""
    for name, metric, write in (("brier", "brier", "{:.4f}".format), ("ece", "ece", percent)):
        for n in N_LABELS:
            rows = [
                [NAMES[method], *(write(cells.values("labels", model, method, n, metric).mean()) for model in MMLU)]
                for method in (*METHODS, WITH_SIGNALS)
            ]
            write_table(folder / f"language-models-{name}-{n}.csv", ["", *MMLU.values()], rows)
    rows = []
    for model, n in product(MMLU, N_LABELS):
        bare, full = (cells.values("labels", model, method, n, "brier") for method in (OURS, WITH_SIGNALS))
        more = full - bare
        error = more.std(ddof=1) / np.sqrt(len(more))
        cells_of = [f"{bare.mean():.4f}", f"{full.mean():.4f}", f"{more.mean():+.4f} ± {error:.4f}"]
        rows.append([MMLU[model], f"{n:,}", *cells_of])
    write_table(folder / "language-models-signals.csv", ["", "labels", "logits", "and signals", "difference"], rows)
    methods = ("uncalibrated", "platt", "isotonic", SIGNALS)
    rows = [
        [MMLU_PRO[model], f"{n:,}", *(_both(cells, model, method, n) for method in methods)]
        for model, n in product(MMLU_PRO, N_LABELS)
    ]
    head = ["", "labels", "what the model says", "Platt", "isotonic", "SignalCalibrator"]
    write_table(folder / "language-models-pro.csv", head, rows)
    write_table(folder / "language-models-coverage.csv", *_coverage_table(cells))
    write_table(folder / "language-models-shift.csv", *_shift_table(cells))
    write_table(folder / "language-models-judge.csv", *_judge_table(cells))


def _both(cells: Cells, model: str, method: str, n: int) -> str:
    score, error = (cells.values("labels", model, method, n, metric).mean() for metric in ("brier", "ece"))
    return f"{score:.4f} / {percent(error)}"


def _accepting() -> dict[str, tuple[str, list[str]]]:
    """Return the name of each model, and the methods that accept its answers."""
    on_logits = ["uncalibrated", "platt", "isotonic", OURS, WITH_SIGNALS]
    found = {model: (f"MMLU: {name}", on_logits) for model, name in MMLU.items()}
    on_signals = ["uncalibrated", "platt", "isotonic", SIGNALS]
    return found | {model: (f"MMLU-Pro: {name}", on_signals) for model, name in MMLU_PRO.items()}


def _coverage_table(cells: Cells) -> tuple[list[str], list[list[str]]]:
    head = ["", "", "sure (95 %)", "of these wrong", *(f"accepted at {risk:.0%}" for risk in RISKS)]
    head += [f"wrong at {risk:.0%}" for risk in RISKS]
    names = ["sure", "sure_wrong", *(f"coverage_{risk}" for risk in RISKS), *(f"wrong_{risk}" for risk in RISKS)]
    rows = []
    for model, (name, methods) in _accepting().items():
        for method in methods:
            values = [cells.values("coverage", model, method, N_FIT, each) for each in names]
            rows.append([name, NAMES[method], *(percent(each.mean()) for each in values)])
    return head, rows


def _shift_table(cells: Cells) -> tuple[list[str], list[list[str]]]:
    head = ["", "same subjects", "other subjects", "adapted", "`check`: accuracy", "measured", "inside", "verdict"]
    rows = []
    for model, name in MMLU.items():
        value = {
            key: cells.values("shift", model, OURS, N_FIT, key)
            for key in SHIFT_METRICS
        }  # fmt: skip
        scores = [
            f"{value[key].mean():.4f} / {percent(value[f'{key}_ece'].mean())}" for key in ("same", "other", "adapted")
        ]
        inside = ((value["low"] <= value["accuracy"]) & (value["accuracy"] <= value["high"])).sum()
        verdicts = [("same", "mix", "new")[int(each)] for each in value["verdict"]]
        said = [percent(value[key].mean()) for key in ("said", "accuracy")]
        told = ", ".join(f"{verdicts.count(each)} {each}" for each in dict.fromkeys(verdicts))
        rows.append([name, *scores, *said, f"{inside} of {len(verdicts)}", told])
    return head, rows


def _judge_table(cells: Cells) -> tuple[list[str], list[list[str]]]:
    head = ["labels", "the judge passes", "true", "corrected", "its interval", "interval of the labels alone"]
    rows = []
    for n in (100, 300):
        value = {
            key: cells.values("judge", "judge", OURS, n, key).mean()
            for key in ("said", "true", "value", "low", "high", "alone_low", "alone_high")
        }
        wide = [f"{percent(value[f'{key}low'])} to {percent(value[f'{key}high'])}" for key in ("", "alone_")]
        rows.append([str(n), *(percent(value[key]) for key in ("said", "true", "value")), *wide])
    return head, rows


def pictures(cells: Cells, data: Path, folder: Path) -> None:
    """Draw the pictures of the page."""
    said = {}
    for model, name in MMLU.items():
        fit, test = drawn(mmlu(data, model), 0, N_FIT)
        own, ours = (confidences(method, fit, test)[0] for method in ("uncalibrated", WITH_SIGNALS))
        said[name] = {"the model says": (own, test.correct), "CCAC-X says, with 1,000 labels": (ours, test.correct)}
    draw_reliability(said).savefig(folder / "language-models-reliability.png")
    for models, ending in ((MMLU, ""), (MMLU_PRO, "-pro")):
        accepted = {}
        for model, name in models.items():
            keys = [f"coverage_{risk}" for risk in RISKS]
            accepted[name] = {
                NAMES[method]: tuple(cells.values("coverage", model, method, N_FIT, key).mean() for key in keys)
                for method in _accepting()[model][1]
            }
        draw_coverage(accepted).savefig(folder / f"language-models-coverage{ending}.png")
    curves = {
        name: {NAMES[method]: (N_LABELS, _curve(cells, model, method)) for method in DRAWN}
        for model, name in MMLU.items()
    }  # fmt: skip
    draw_labels(curves, "Brier score").savefig(folder / "language-models-labels.png")


def _curve(cells: Cells, model: str, method: str) -> np.ndarray:
    return np.array([cells.values("labels", model, method, n, "brier") for n in N_LABELS])


def main() -> None:
    """Measure what is not on file, write the tables and draw the pictures."""
    data, folder = (
        Path(each) for each in (*sys.argv[1:], *("data/language-models", "docs/figures")[len(sys.argv) - 1 :])
    )
    cells = Cells(folder / "language-models-cells.csv")
    for measure in (measure_shift, measure_coverage, measure_judge, measure_labels):
        measure(cells, data)
    tables(cells, folder)
    pictures(cells, data, folder)


if __name__ == "__main__":
    main()
