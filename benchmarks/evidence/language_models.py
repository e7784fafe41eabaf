"""How well language models' answers can be told right from wrong: MMLU with token probabilities, MMLU-Pro with signals.

    python -m benchmarks.evidence.language_models [DATA] [FOLDER]

DATA holds `mmlu/*.parquet` and `mmlu-pro/*.csv`, data/language-models by default. Writes language-models*.csv and
language-models-reliability.png into the folder, docs/figures by default. Takes a quarter of an hour on one core; to
measure again, delete language-models-cells.csv. All settings were chosen on other random states.
"""

import sys
import warnings
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
from benchmarks.results import Kept, write_table
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from scipy.special import logit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

import auxcal
from auxcal import CALIBRATORS, AuxcalWarning, InvalidInputError
from auxcal._core.text import percent
from auxcal.labelling import estimate
from auxcal.llm import Answers
from auxcal.metrics import brier, ece
from auxcal.metrics.intervals import wilson
from auxcal.plots.style import CORRECT, MUTED, REFERENCE, WRONG, apply_style, figure_legend, house_style, new_figure
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
KEY = ("part", "model", "method", "n", "random_state")
NETWORKS = ("ccac", "ccac-s")  # of the paper: they want thousands of labels, and take minutes where others take seconds
METHODS = [name for name in CALIBRATORS if name not in NETWORKS]
OURS, WITH_SIGNALS, SIGNALS = "ccac-x", "ccac-x, signals", "signals"
BINS = 12  # of equal numbers of answers, so that each point is as sure as the others
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


class Cells:
    """Measurements, each a metric of a method with so many labels in one random state."""

    def __init__(self, path: Path) -> None:
        self.kept = Kept(path, (*KEY, "metric", "value"))

    def lack(self, *key: object) -> bool:
        """Whether a measurement is still to be made."""
        return tuple(map(str, key)) not in self.kept.keys(*KEY)

    def add(self, *key: object, **values: float) -> None:
        """Keep the values of one measurement."""
        here = dict(zip(KEY, key, strict=True))
        self.kept.add(here | {"metric": metric, "value": float(value)} for metric, value in values.items())

    def values(self, *key: object) -> np.ndarray:
        """Return a metric for each random state: the part, the model, the method, the number of labels, the metric."""
        wanted = dict(zip((*KEY[:-1], "metric"), map(str, key), strict=True)).items()
        found = [row for row in self.kept.rows if wanted <= row.items()]
        return np.array([float(row["value"]) for row in sorted(found, key=lambda row: int(row["random_state"]))])


def measure_labels(cells: Cells, data: Path) -> None:
    """Measure every method with few and with many labels."""
    for (model, methods, read), n, state in product(_models(), N_LABELS, RANDOM_STATES):
        for method in methods:
            if cells.lack("labels", model, method, n, state):
                fit, test = drawn(read(data, model), state, n)
                (found,) = confidences(method, fit, test)
                scores = {"brier": brier, "ece": ece}
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


# Tables and the picture ----------------------------------------------------------------------------------------------


def tables(cells: Cells, folder: Path) -> None:
    """Write the tables of the page."""
    for name, metric, write in (("brier", "brier", "{:.4f}".format), ("ece", "ece", percent)):
        for n in N_LABELS if metric == "brier" else (N_FIT,):
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


def picture(data: Path) -> Figure:
    """Draw how often answers are right over the confidence in them, the model's own and the calibrator's."""
    with house_style():
        figure = new_figure(2.75 * len(MMLU), 2.9)
        axes = figure.subplots(1, len(MMLU))
        for ax, (model, title) in zip(axes, MMLU.items(), strict=True):
            apply_style(ax)
            ax.plot([0, 1], [0, 1], color=MUTED, **REFERENCE)
            fit, test = drawn(mmlu(data, model), 0, N_FIT)
            for method, name, colour in (
                ("uncalibrated", "the model says", WRONG),
                (WITH_SIGNALS, "CCAC-X says, with 1,000 labels", CORRECT),
            ):
                (confidence,) = confidences(method, fit, test)
                parts = np.array_split(np.argsort(confidence, kind="stable"), BINS)
                x, y = ([each[rows].mean() for rows in parts] for each in (confidence, test.correct))
                ax.plot(x, y, marker="o", markersize=3.5, color=colour, label=name)
            ax.set(title=title, xlim=(0.2, 1.02), ylim=(0.2, 1.02), xlabel="what is said")
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes[0].set_ylabel("how often the answer is right")
        figure_legend(figure, axes[0])
        return figure


def main() -> None:
    """Measure what is not on file, write the tables and draw the pictures."""
    data, folder = (
        Path(each) for each in (*sys.argv[1:], *("data/language-models", "docs/figures")[len(sys.argv) - 1 :])
    )
    cells = Cells(folder / "language-models-cells.csv")
    for measure in (measure_shift, measure_coverage, measure_judge, measure_labels):
        measure(cells, data)
    tables(cells, folder)
    picture(data).savefig(folder / "language-models-reliability.png")


if __name__ == "__main__":
    main()
