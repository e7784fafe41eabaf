"""A hint in an error or a warning, followed to the letter, leads to a right result."""

import csv
import os
import re
import shlex
import shutil
import sys
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import softmax
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedKFold
from sklearn.svm import SVC
from typer.main import get_command

import auxcal
from auxcal import (
    CCACX,
    NO_CLASS,
    CalibratedClassifier,
    Monitor,
    PlattScaling,
    Predictions,
    TemperatureScaling,
    cli,
)
from auxcal.labelling import pick
from auxcal.metrics import brier, ece, evaluate
from auxcal.tables import read_predictions
from auxcal.thresholds import risk_at_coverage, threshold_at_risk, thresholds_at_risks
from auxcal_paper.shifts import Mixture, TextNoise

N, K = 600, 3
RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(N, K), scale=4)  # twice as sure as they should be
Y = (LOGITS / 2 + RNG.gumbel(size=LOGITS.shape)).argmax(axis=1)
FEATURES = RNG.normal(size=(N, 1, 2))
PROBA = softmax(LOGITS, axis=1)
TOP = np.where(np.median(PROBA, axis=1, keepdims=True) > PROBA, 0, PROBA)
NAMES = np.array(["cat", "dog", "fox"])
SOME = np.arange(N) % 10 > 0
DAY = np.arange(N) // 300
NONE = np.where(SOME, Y, NO_CLASS)
BINARY = LOGITS[:, 1] - LOGITS[:, 0], np.minimum(Y, 1)

FITTED = TemperatureScaling().fit(LOGITS, Y)
RIGHT = FITTED.predict_confidence(LOGITS)
CORRECT = LOGITS.argmax(axis=1) == Y


def fit(logits=LOGITS, y=Y, method=TemperatureScaling, **options):
    """Return the confidence in the rows of the fit."""
    given = (options["features"],) if "features" in options else ()
    return (
        method(**{"random_state": 0} if method is CCACX else {})
        .fit(logits, y, **options)
        .predict_confidence(logits, *given)
    )


def told(mistake):
    """Return the error, or else the warnings."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            mistake()
        except Exception as error:
            return str(error)
    return " ".join(str(each.message) for each in said)


# An argument of fit, what it was, the expression in the hint, and the confidence that is right.
EXPRESSIONS = {
    "a column of labels": ("y", {"y": Y[:, None]}, "y.ravel()", lambda: RIGHT),
    "one-hot labels": (
        "y",
        {"y": np.eye(K)[Y] * SOME[:, None], "method": PlattScaling},
        "np.where(y.any(axis=1), y.argmax(axis=1), -1)",
        lambda: fit(y=NONE, method=PlattScaling),
    ),
    "labels as floats": ("y", {"y": Y.astype(float)}, "y.astype(int)", lambda: RIGHT),
    "labels as objects": ("y", {"y": Y.astype(object)}, "y.astype(int)", lambda: RIGHT),
    "two classes as booleans": (
        "y",
        {"logits": LOGITS[:, :2], "y": Y > 0},
        "y.astype(int)",
        lambda: fit(LOGITS[:, :2], BINARY[1]),
    ),
    "logits as text": ("logits", {"logits": LOGITS.astype(str)}, "logits.astype(float)", lambda: RIGHT),
    "sparse logits": ("logits", {"logits": csr_array(LOGITS)}, "logits.toarray()", lambda: RIGHT),
    "features in a cube": (
        "features",
        {"features": FEATURES, "method": CCACX},
        "features.reshape(len(features), -1)",
        lambda: fit(features=FEATURES[:, 0], method=CCACX),
    ),
}


@pytest.mark.parametrize(("name", "given", "hint", "right"), EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_an_expression_makes_what_the_argument_should_have_been(name, given, hint, right):
    assert hint in told(lambda: fit(**given))
    followed = eval(hint, {"np": np, name: given[name]})
    np.testing.assert_array_equal(fit(**given | {name: followed}), right())


def labelled(y):
    known = np.isfinite(y.astype(float))
    return fit(LOGITS[known], y[known].astype(int))


def classifier(estimator, y=Y, **options):
    found = CalibratedClassifier(estimator, TemperatureScaling(), **options).fit(LOGITS, y)
    return np.mean(found.predict(LOGITS) == y)


def floored(proba):
    return auxcal.floor_logits(proba, probabilities=True)


def labels_late(keep):
    monitor = Monitor(FITTED, keep=keep)
    rows = [monitor.update(LOGITS), monitor.update(LOGITS)][0]
    monitor.label(rows, Y)
    return monitor.evidence.n_labels


def threshold(*arguments, **options):
    return threshold_at_risk(RIGHT, CORRECT, *arguments, **options)


def nearly(value):
    return pytest.approx(value, abs=0.01)


COPIES = np.repeat(np.arange(N), 5)
FLAT = np.where(TOP == 0, 1e-15, TOP)
GAPS = np.where(SOME, Y, np.nan)

# A mistake, a part of what is said, that done, and what is right.
CALLS = {
    "a single sample": (
        lambda: FITTED.predict_confidence(LOGITS[0]),
        "logits.reshape(1, -1) if these are the numbers of a single sample",
        lambda: FITTED.predict_confidence(LOGITS[0].reshape(1, -1)),
        lambda: RIGHT[:1],
    ),
    "labels with gaps": (
        lambda: fit(y=GAPS),
        "known = np.isfinite(y.astype(float)), then logits[known], y[known].astype(int)",
        lambda: labelled(GAPS),
        lambda: fit(LOGITS[SOME], Y[SOME]),
    ),
    "labels with None": (
        lambda: fit(y=[int(each) if known else None for each, known in zip(Y, SOME, strict=True)]),
        "Leave out the rows without a label, and give the labels of the others as integers",
        lambda: fit(LOGITS[SOME], [int(each) for each, known in zip(Y, SOME, strict=True) if known]),
        lambda: fit(LOGITS[SOME], Y[SOME]),
    ),
    "labels as names": (
        lambda: fit(y=NAMES[Y]),
        "Name the classes in order with class_names",
        lambda: fit(y=NAMES[Y], class_names=["cat", "dog", "fox"]),
        lambda: RIGHT,
    ),
    "a name that is no class": (
        lambda: fit(y=np.where(SOME, NAMES[Y], "owl"), class_names=NAMES, method=PlattScaling),
        "say so with no_class=['owl']",
        lambda: fit(y=np.where(SOME, NAMES[Y], "owl"), class_names=NAMES, no_class=["owl"], method=PlattScaling),
        lambda: fit(y=NONE, method=PlattScaling),
    ),
    "labels from 1 up": (lambda: fit(y=Y + 1), "Count classes from 0", lambda: fit(y=Y + 1 - 1), lambda: RIGHT),
    "labels of no class": (
        lambda: fit(y=np.where(SOME, Y, 99), method=PlattScaling),
        "Use NO_CLASS for samples of no class",
        lambda: fit(y=np.where(SOME, Y, auxcal.NO_CLASS), method=PlattScaling),
        lambda: fit(y=NONE, method=PlattScaling),
    ),
    "class names that are equal": (
        lambda: fit(y=NAMES[Y], class_names=["cat", "cat", "fox"]),
        "Tell them apart, for instance by their indices",
        lambda: fit(class_names=["0", "1", "2"]),
        lambda: RIGHT,
    ),
    "probabilities as logits": (
        lambda: fit(PROBA),
        "give probabilities=True",
        lambda: fit(PROBA, probabilities=True),
        lambda: pytest.approx(RIGHT, abs=1e-3),
    ),
    "logits as probabilities": (
        lambda: fit(probabilities=True),
        "If these are logits, leave out probabilities=True",
        fit,
        lambda: RIGHT,
    ),
    "the likeliest probabilities alone": (
        lambda: fit(TOP, probabilities=True),
        "auxcal.floor_logits(proba, probabilities=True) gives logits",
        lambda: brier(fit(floored(TOP)), CORRECT),
        lambda: nearly(brier(RIGHT, CORRECT)),
    ),
    "probabilities that were rounded away": (
        lambda: fit(FLAT / FLAT.sum(axis=1, keepdims=True), probabilities=True),
        "give the logits auxcal.floor_logits(proba, probabilities=True) instead",
        lambda: brier(fit(floored(FLAT / FLAT.sum(axis=1, keepdims=True))), CORRECT),
        lambda: nearly(brier(RIGHT, CORRECT)),
    ),
    "scores on a huge scale": (
        lambda: fit(LOGITS * 1e20),
        "or scale them",
        lambda: fit(LOGITS * 1e20 / 1e20),
        lambda: pytest.approx(RIGHT),
    ),
    "scores with a huge offset": (
        lambda: fit(LOGITS + 1e9),
        "take the mean of each row off",
        lambda: fit(LOGITS + 1e9 - (LOGITS + 1e9).mean(axis=1, keepdims=True)),
        lambda: pytest.approx(RIGHT, abs=1e-5),
    ),
    "complex logits": (lambda: fit(LOGITS + 0j), "take the real part", lambda: fit((LOGITS + 0j).real), lambda: RIGHT),
    "masked logits": (
        lambda: fit(np.ma.masked_array(LOGITS, mask=~SOME[:, None] & [True] * K)),
        "Drop the rows with masked entries",
        lambda: fit(LOGITS[SOME], Y[SOME]),
        lambda: fit(LOGITS[SOME], Y[SOME]),
    ),
    "few rows": (
        lambda: fit(LOGITS[:60], Y[:60], CCACX),
        "use temperature scaling",
        lambda: brier(TemperatureScaling().fit(LOGITS[:60], Y[:60]).predict_confidence(LOGITS), CORRECT),
        lambda: nearly(brier(RIGHT, CORRECT)),
    ),
    "few rows, some of no class": (
        lambda: fit(LOGITS[:60], NONE[:60], CCACX),
        "or Platt scaling if some samples have no class",
        lambda: brier(PlattScaling().fit(LOGITS[:60], NONE[:60]).predict_confidence(LOGITS), CORRECT & SOME),
        lambda: nearly(brier(fit(y=NONE, method=PlattScaling), CORRECT & SOME)),
    ),
    "no row with a class": (
        lambda: fit(y=np.full(N, NO_CLASS)),
        "Give rows that have a class",
        lambda: fit(y=Y),
        lambda: RIGHT,
    ),
    "a matrix as select part": (
        lambda: fit(select=LOGITS),
        "Give select=(select_logits, select_y)",
        lambda: fit(select=(LOGITS, Y)),
        lambda: RIGHT,
    ),
    "features that a method does not use": (
        lambda: fit(features=FEATURES[:, 0]),
        "Leave features out, or use a method that uses them: CCACX",
        fit,
        lambda: RIGHT,
    ),
    "weights that are shares": (
        lambda: fit(sample_weight=np.full(N, 1 / N)),
        "Multiply shares by the number of rows",
        lambda: fit(sample_weight=np.full(N, 1 / N) * N),
        lambda: pytest.approx(RIGHT, abs=1e-6),
    ),
    "a negative weight": (
        lambda: fit(sample_weight=np.where(SOME, 1, -1)),
        "one of 0 leaves it out",
        lambda: fit(sample_weight=np.where(SOME, 1, 0)),
        lambda: pytest.approx(TemperatureScaling().fit(LOGITS[SOME], Y[SOME]).predict_confidence(LOGITS), abs=1e-6),
    ),
    "groups with gaps": (
        lambda: fit(groups=[row if row % 9 else None for row in range(N)]),
        "give each a value of its own",
        lambda: fit(groups=[row if row % 9 else -row for row in range(N)]),
        lambda: RIGHT,
    ),
    "a random state that is none": (
        lambda: CCACX(random_state="x").fit(LOGITS, Y),
        "Use random_state=0",
        lambda: CCACX(random_state=0).fit(LOGITS, Y).score(LOGITS, Y),
        lambda: -brier(fit(method=CCACX), CORRECT),
    ),
    "not fitted": (
        lambda: TemperatureScaling().predict_confidence(LOGITS),
        "Call fit(logits, y)",
        lambda: TemperatureScaling().fit(LOGITS, Y).predict_confidence(LOGITS),
        lambda: RIGHT,
    ),
    "logits as confidence": (
        lambda: evaluate(LOGITS.max(axis=1), CORRECT),
        "turn logits into a confidence with a calibrator, for instance auxcal.Uncalibrated",
        lambda: auxcal.Uncalibrated().fit(LOGITS, Y).predict_confidence(LOGITS),
        lambda: pytest.approx(PROBA.max(axis=1)),
    ),
    "percentages as confidence": (
        lambda: ece(100 * RIGHT, CORRECT),
        "Divide percentages by 100",
        lambda: ece(100 * RIGHT / 100, CORRECT),
        lambda: pytest.approx(ece(RIGHT, CORRECT)),
    ),
    "a distribution as confidence": (
        lambda: ece(PROBA, CORRECT),
        "Use calibrator.predict_confidence(logits)",
        lambda: ece(FITTED.predict_confidence(LOGITS), CORRECT),
        lambda: ece(RIGHT, CORRECT),
    ),
    "true classes as correct": (
        lambda: ece(RIGHT, Y),
        "Compute it as logits.argmax(axis=1) == y",
        lambda: ece(RIGHT, LOGITS.argmax(axis=1) == Y),
        lambda: ece(RIGHT, CORRECT),
    ),
    "a risk in percent": (
        lambda: threshold(20),
        "For 20 % give 0.2",
        lambda: threshold(0.2).risk_upper <= 0.2,
        lambda: True,
    ),
    "a coverage in percent": (
        lambda: risk_at_coverage(RIGHT, CORRECT, 80),
        "For 80 % give 0.8",
        lambda: risk_at_coverage(RIGHT, CORRECT, 0.8).coverage >= 0.8,
        lambda: True,
    ),
    "one risk for several": (
        lambda: thresholds_at_risks(RIGHT, CORRECT, 0.3),
        "Give [0.05], or use threshold_at_risk",
        lambda: thresholds_at_risks(RIGHT, CORRECT, [0.3])[0.3].threshold,
        lambda: threshold(0.3).threshold,
    ),
    "a risk that is too small": (
        lambda: threshold(0.001),
        "allow more risk, or use promise=False",
        lambda: [threshold(0.2) is not None, threshold(0.001, promise=False).risk <= 0.001],
        lambda: [True, True],
    ),
    "weights without the largest": (
        lambda: threshold(0.3, sample_weight=1 + SOME),
        "Give it as max_weight",
        lambda: threshold(0.3, sample_weight=1 + SOME, max_weight=2).risk_upper <= 0.3,
        lambda: True,
    ),
    "a largest weight that is too small": (
        lambda: threshold(0.3, sample_weight=5 * (1 + SOME), max_weight=2),
        "If you scaled the weights, scale it with them",
        lambda: threshold(0.3, sample_weight=5 * (1 + SOME), max_weight=5 * 2).risk_upper <= 0.3,
        lambda: True,
    ),
    "copies": (
        lambda: threshold_at_risk(RIGHT[COPIES], CORRECT[COPIES], 0.3),
        "Say which rows belong together with groups",
        lambda: threshold_at_risk(RIGHT[COPIES], CORRECT[COPIES], 0.3, groups=COPIES).risk_upper <= 0.3,
        lambda: True,
    ),
    "weights and groups": (
        lambda: threshold(0.3, sample_weight=1 + SOME, max_weight=2, groups=np.arange(N)),
        "Leave one of them out",
        lambda: threshold(0.3, sample_weight=1 + SOME, max_weight=2).threshold < 1,
        lambda: True,
    ),
    "as many picks as rows": (
        lambda: pick(RIGHT, N),
        "With fewer rows than labels, label all of them",
        lambda: fit(LOGITS, Y),
        lambda: RIGHT,
    ),
    "a calibrator as a method": (
        lambda: auxcal.compare(Predictions(LOGITS, Y), methods=[TemperatureScaling()], bootstrap=0),
        "Give a calibrator of your own as {name: calibrator}",
        lambda: auxcal.compare(LOGITS, Y, methods={"mine": TemperatureScaling()}, bootstrap=0).entries[-1].label,
        lambda: "mine",
    ),
    "labels that come too late": (
        lambda: labels_late(keep=N),
        "Keep more of them with Monitor(calibrator, keep=...)",
        lambda: labels_late(keep=2 * N),
        lambda: N,
    ),
    "folds that repeat": (
        lambda: classifier(LogisticRegression(), cv=RepeatedKFold(n_splits=5, n_repeats=2)),
        "Use folds without repetition, such as cv=5",
        lambda: classifier(LogisticRegression(), cv=5) > 0.7,
        lambda: True,
    ),
    "a frozen estimator that is not fitted": (
        lambda: classifier(FrozenEstimator(LogisticRegression())),
        "Fit it first, or let CalibratedClassifier fit it with cv=5",
        lambda: [
            classifier(FrozenEstimator(LogisticRegression().fit(LOGITS, Y))) > 0.7,
            classifier(LogisticRegression(), cv=5) > 0.7,
        ],
        lambda: [True, True],
    ),
    "a support vector machine of pairs": (
        lambda: classifier(SVC(decision_function_shape="ovo"), np.arange(N) % 4),
        "decision_function_shape='ovr'",
        lambda: classifier(SVC(decision_function_shape="ovr")) > 0.7,
        lambda: True,
    ),
    "labels that the estimator does not know": (
        lambda: classifier(
            FrozenEstimator(LogisticRegression().fit(LOGITS, NAMES[Y])), np.where(SOME, NAMES[Y], "owl")
        ),
        "give all of them one label, and that label as no_class",
        lambda: (
            classifier(
                FrozenEstimator(LogisticRegression().fit(LOGITS, NAMES[Y])),
                np.where(SOME, NAMES[Y], "owl"),
                no_class="owl",
            )
            > 0.6
        ),
        lambda: True,
    ),
    "one text": (
        lambda: TextNoise()("a text", 0),
        "Pass [text]",
        lambda: TextNoise()(["a text"], 0),
        lambda: TextNoise()(("a text",), 0),
    ),
    "one source of two": (
        lambda: Mixture([1, 1], [{"b": 1}, {"a": 0}])([["b"]], 0),
        "Pass one sequence of labels for each source",
        lambda: Mixture([1, 1], [{"b": 1}, {"a": 0}])([["b"], ["a"]], 0).y,
        lambda: [1, 0],
    ),
}


@pytest.mark.parametrize(("mistake", "hint", "followed", "right"), CALLS.values(), ids=CALLS)
def test_a_call_that_follows_the_hint_is_right(mistake, hint, followed, right):
    assert hint in told(mistake)
    found, expected = followed(), right()
    assert np.all(found == expected), (found, expected)


DATA = Predictions(LOGITS, Y)
LARGE = Predictions(1e5 * LOGITS, Y)


def saved_with_torch(path, **changes):
    import torch

    torch.save({"logits": torch.tensor(LOGITS), "y": torch.tensor(Y)} | changes, path)
    return read_predictions(path).logits


def expanded(path, contiguous):
    import torch

    first = torch.tensor(LOGITS[:1]).expand(N, K)
    return saved_with_torch(path, logits=first.contiguous() if contiguous else first)


def saved_alone(path):
    import torch

    torch.save(torch.tensor(LOGITS), path)
    return read_predictions(path)


def saved(path, data=DATA, **options):
    data.save(path, **options)
    return Predictions.load(path).logits


def written(path, **arrays):
    np.savez(path, **arrays)
    return Predictions.load(path).logits


NEEDS_TORCH = pytest.mark.needs("torch")

# A file, what is wrong with it, a part of what is said, the file that follows the hint, and the logits in it.
FILES = [
    ("x.txt", saved, "Save it as x.npz", "x.npz", saved, LOGITS),
    (
        "x.npz",
        lambda path: saved(path, LARGE, half=True),
        "half=False",
        "x.npz",
        lambda path: saved(path, LARGE, half=False),
        LARGE.logits,
    ),
    (
        "x.npz",
        lambda path: written(path, scores=LOGITS),
        "Write one with numpy.savez(path, logits=logits, y=y)",
        "x.npz",
        lambda path: written(path, logits=LOGITS, y=Y),
        LOGITS,
    ),
    pytest.param(
        "x.pt",
        saved_alone,
        'torch.save({"logits": logits, "y": y}, path)',
        "x.pt",
        saved_with_torch,
        LOGITS,
        marks=NEEDS_TORCH,
    ),
    pytest.param(
        "x.pt",
        lambda path: expanded(path, contiguous=False),
        "Save logits.contiguous()",
        "x.pt",
        lambda path: expanded(path, contiguous=True),
        np.repeat(LOGITS[:1], N, axis=0),
        marks=NEEDS_TORCH,
    ),
]


@pytest.mark.parametrize(("name", "mistake", "hint", "other", "followed", "right"), FILES)
def test_a_file_that_follows_the_hint_is_right(name, mistake, hint, other, followed, right, tmp_path):
    assert hint in told(lambda: mistake(tmp_path / name))
    np.testing.assert_array_equal(followed(tmp_path / other), right)


@pytest.mark.needs("torch")
def test_batches_that_follow_the_hint_are_right():
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    from auxcal.torch import collect

    rows, y = torch.tensor(LOGITS, dtype=torch.float32), torch.tensor(Y)
    dataset = TensorDataset(rows, y)
    assert "Give batches, with DataLoader(dataset, batch_size=256)" in told(lambda: collect(lambda x: x, dataset))
    found = collect(lambda x: x, DataLoader(dataset, batch_size=256))
    np.testing.assert_array_equal(found.logits, rows.numpy())


def write(path, **columns):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def columns_of(names, values=LOGITS):
    return dict(zip(names, values.T, strict=True))


def without(columns, rows=SOME):
    return {name: np.asarray(values)[rows] for name, values in columns.items()}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder of tables that differ in what a mistake can be about."""
    folder = tmp_path_factory.mktemp("files")
    logits, abc, named = (columns_of(names) for names in (["logit_0", "logit_1", "logit_2"], "abc", NAMES))
    foreign = np.where(SOME, NAMES[Y], "owl")
    scores = {"prediction": LOGITS.argmax(axis=1), "confidence": RIGHT}
    tables = {
        "data": logits | {"y": Y, "day": DAY},
        "half": without(logits | {"y": Y}, slice(300)),
        "rest": without(logits | {"y": Y}, slice(300, None)),
        "none": logits | {"y": NONE, "day": DAY},
        "text": logits | {"y": NAMES[Y], "day": DAY},
        "abc": abc | {"y": Y},
        "one": {"logit_0": BINARY[0], "y": BINARY[1]},
        "two": columns_of(["logit_0", "logit_1"], LOGITS[:, :2]) | {"y": BINARY[1]},
        "from1": columns_of(["logit_1", "logit_2", "logit_3"]) | {"y": Y},
        "named": named | {"truth": NAMES[Y], "day": DAY},
        "owl": named | {"truth": foreign, "day": DAY},
        "minus": named | {"truth": np.where(SOME, NAMES[Y], "-1"), "day": DAY},
        "prob": columns_of(["prob_0", "prob_1", "prob_2"], PROBA) | {"y": Y},
        "other": logits | {"y": [""] * N, "truth": Y, "number": RIGHT},
        "bad": {name: np.where(SOME, values, np.nan) for name, values in logits.items()} | {"y": Y},
        "good": without(logits | {"y": Y}),
        "scored": scores | {"y": Y, "w": 1 + SOME, "hospital": np.arange(N) % 2},
        "scored-names": scores | {"y": NAMES[Y]},
        "scored-owl": {"prediction": NAMES[scores["prediction"]], "confidence": RIGHT, "y": foreign},
        "scored-minus": scores | {"y": NONE},
        "scored-bad": scores | {"confidence": np.where(SOME, RIGHT, 1.5), "y": Y},
        "scored-good": without(scores | {"y": Y}),
        "scored-copies": without(scores | {"y": Y, "patient": np.arange(N)}, COPIES),
        "scored-in-fit": scores | {"y": Y, "in_fit": SOME},
    }
    for name, columns in tables.items():
        write(folder / f"{name}.csv", **columns)
    np.save(folder / "logits.npy", LOGITS)
    np.save(folder / "y.npy", Y)
    other = np.random.default_rng(1).permutation(N)[:300]
    rows = LOGITS[other] + 0.01, Y[other]  # none of them is in the tables
    TemperatureScaling().fit(*rows).save(folder / "c.safetensors")
    CCACX(random_state=0).fit(*rows).save(folder / "x.safetensors")
    fit_named = "fit named.csv --label truth --columns cat,dog,fox --method temperature -o n.safetensors"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run(fit_named, patch) == 0
    return folder


def run(line, patch):
    """Run a command, or several after each other, and return the exit code of the last one."""
    for each in line.split(";"):
        patch.setattr(sys, "argv", ["auxcal", *shlex.split(each)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
    return ended.value.code or 0


FIT, PLATT = "--method temperature -o out.safetensors", "--method platt -o out.safetensors"
SAME_FIT = f"fit data.csv {FIT}"
SAME_SCORES = "score c.safetensors data.csv -o out.csv"
EVALUATED = "evaluate scored.csv --resamples 0"
PLANNED = "plan data.csv --accuracy-within 0.02"
WATCHED = "monitor c.safetensors data.csv --by day"
ADAPTED = "adapt x.safetensors data.csv -o out.safetensors"

# A command, a part of what it says, the command that follows the hint, and another one that is right.
COMMANDS = [
    (f"fit abc.csv {FIT}", "in order with columns (--columns)", f"fit abc.csv {FIT} --columns a,b,c", SAME_FIT),
    (
        f"fit from1.csv {FIT}",
        "name the columns of the classes in order with columns (--columns)",
        f"fit from1.csv {FIT} --columns logit_1,logit_2,logit_3",
        SAME_FIT,
    ),
    (f"fit abc.csv {FIT} --columns a,b,d", "Give the columns", f"fit abc.csv {FIT} --columns a,b,c", SAME_FIT),
    (f"fit abc.csv {FIT} --columns a,b,b", "Name each column once", f"fit abc.csv {FIT} --columns a,b,c", SAME_FIT),
    (f"fit one.csv {FIT}", "(--columns logit_0)", f"fit one.csv {FIT} --columns logit_0", f"fit two.csv {FIT}"),
    (f"fit text.csv {FIT}", "(--class-names)", f"fit text.csv {FIT} --class-names cat,dog,fox", SAME_FIT),
    (
        f"fit text.csv {FIT}",
        "let the columns of logits bear their names, and list them with columns (--columns)",
        f"fit named.csv {FIT} --label truth --columns cat,dog,fox",
        SAME_FIT,
    ),
    (
        f"fit owl.csv {PLATT} --label truth --columns cat,dog,fox",
        "(--no-class owl)",
        f"fit owl.csv {PLATT} --label truth --columns cat,dog,fox --no-class owl",
        f"fit none.csv {PLATT}",
    ),
    (
        f"fit owl.csv {PLATT} --label truth --columns cat,dog,fox",
        "(--unknown-is-no-class)",
        f"fit owl.csv {PLATT} --label truth --columns cat,dog,fox --unknown-is-no-class",
        f"fit none.csv {PLATT}",
    ),
    (
        f"fit named.csv {FIT} --label truth --columns cat,dog,fox --no-class cat",
        "Leave it out",
        f"fit named.csv {FIT} --label truth --columns cat,dog,fox",
        SAME_FIT,
    ),
    (f"fit other.csv {FIT}", "(--label)", f"fit other.csv {FIT} --label truth", SAME_FIT),
    (f"fit other.csv {FIT} --label number", "holds the true classes", f"fit other.csv {FIT} --label truth", SAME_FIT),
    (f"fit data.csv {FIT} --label logit_0", "holds the true classes", f"fit data.csv {FIT} --label y", SAME_FIT),
    (f"fit prob.csv {FIT}", "(--probabilities)", f"fit prob.csv {FIT} --probabilities", SAME_FIT),
    (f"fit data.csv {FIT} --probabilities", "Leave out probabilities=True (--probabilities)", SAME_FIT, None),
    (f"fit bad.csv {FIT}", "(--on-bad-rows skip)", f"fit bad.csv {FIT} --on-bad-rows skip", f"fit good.csv {FIT}"),
    ("fit data.csv --method temperature -o out.csv", "Save it as out.safetensors", SAME_FIT, None),
    (f"fit half.csv prob.csv {FIT}", "Name the parts that belong together", f"fit half.csv rest.csv {FIT}", SAME_FIT),
    (f"fit logits.npy {FIT}", "name two files, logits.npy and y.npy", f"fit logits.npy y.npy {FIT}", SAME_FIT),
    (
        "fit data.csv --features day,logit_0 -o out.safetensors",
        "Leave it out of features (--features)",
        "fit data.csv --features day -o out.safetensors",
        None,
    ),
    (
        "score c.safetensors abc.csv -o out.csv",
        "(--columns)",
        "score c.safetensors abc.csv -o out.csv --columns a,b,c",
        SAME_SCORES,
    ),
    (
        "score n.safetensors abc.csv -o out.csv",
        "give the columns of the classes in that order with columns (--columns)",
        "score n.safetensors abc.csv -o out.csv --columns a,b,c",
        "score n.safetensors named.csv -o out.csv",
    ),
    (
        "score c.safetensors prob.csv --columns prob_ -o out.csv",
        "if it was fitted on log-probabilities, give probabilities=True (--probabilities)",
        "score c.safetensors prob.csv --columns prob_ -o out.csv --probabilities",
        SAME_SCORES,
    ),
    ("score c.safetensors data.csv --json", "give --out", f"{SAME_SCORES} --json", SAME_SCORES),
    ("score c.safetensors data.csv -o out.pt", "Write one of .npz, .csv", SAME_SCORES, None),
    ("score c.safetensors data.csv -o data.csv", "Write to another one", SAME_SCORES, None),
    (
        "evaluate text.csv",
        "Score the file with auxcal score first",
        "score c.safetensors data.csv -o out.csv; evaluate out.csv --resamples 0",
        "score c.safetensors abc.csv --columns a,b,c -o out.csv; evaluate out.csv --resamples 0",
    ),
    (f"{EVALUATED} --label truth", "(--label)", f"{EVALUATED} --label y", EVALUATED),
    (
        "evaluate scored-names.csv --resamples 0",
        "(--class-names)",
        "evaluate scored-names.csv --resamples 0 --class-names cat,dog,fox",
        EVALUATED,
    ),
    (
        "evaluate scored-owl.csv --resamples 0",
        "(--no-class)",
        "evaluate scored-owl.csv --resamples 0 --no-class owl",
        "evaluate scored-minus.csv --resamples 0",
    ),
    (
        "evaluate scored-bad.csv --resamples 0",
        "(--on-bad-rows skip)",
        "evaluate scored-bad.csv --resamples 0 --on-bad-rows skip",
        "evaluate scored-good.csv --resamples 0",
    ),
    (
        "evaluate scored.csv --unlabelled scored-bad.csv",
        "(--on-bad-rows skip)",
        "evaluate scored.csv --unlabelled scored-bad.csv --on-bad-rows skip",
        "evaluate scored.csv --unlabelled scored-good.csv",
    ),
    (
        "evaluate scored.csv --unlabelled scored.csv --by hospital",
        "leave --by and --group out",
        "evaluate scored.csv --unlabelled scored.csv",
        None,
    ),
    (f"{EVALUATED} --weight h", "(--weight)", f"{EVALUATED} --weight w", None),
    ("threshold scored.csv", "give --risk", "threshold scored.csv --risk 0.3", None),
    (
        "threshold scored.csv",
        "or --coverage instead",
        "threshold scored.csv --coverage 0.8",
        None,
    ),
    (
        "threshold scored.csv --risk 0.3 --empirical --save c.safetensors",
        "give one --risk, or --coverage, alone",
        "threshold scored.csv --risk 0.3 --save c.safetensors; show c.safetensors",
        None,
    ),
    (
        "threshold scored.csv --risk 0.001",
        "(--empirical)",
        "threshold scored.csv --risk 0.001 --empirical",
        "threshold scored.csv --risk 0.001 --empirical --label y",
    ),
    (
        "threshold scored.csv --risk 0.3 --weight w",
        "(--max-weight)",
        "threshold scored.csv --risk 0.3 --weight w --max-weight 2",
        None,
    ),
    (
        "threshold scored.csv --risk 0.3 --max-weight 2",
        "(--weight)",
        "threshold scored.csv --risk 0.3 --weight w --max-weight 2",
        None,
    ),
    (
        "threshold scored-copies.csv --risk 0.3",
        "(--group)",
        "threshold scored-copies.csv --risk 0.3 --group patient",
        None,
    ),
    (
        "threshold scored-in-fit.csv --risk 0.3",
        "Find the threshold on other labelled rows",
        "threshold scored.csv --risk 0.3",
        None,
    ),
    (
        PLANNED.replace("data", "text"),
        "(--class-names)",
        f"{PLANNED.replace('data', 'text')} --class-names cat,dog,fox",
        PLANNED,
    ),
    (PLANNED.replace("data", "abc"), "(--columns)", f"{PLANNED.replace('data', 'abc')} --columns a,b,c", PLANNED),
    (f"{PLANNED} --coverage 0.5", "give --risk too", f"{PLANNED} --coverage 0.5 --risk 0.2", f"{PLANNED} --risk 0.2"),
    (
        "plan other.csv --label y",
        "Name the column with --label",
        f"{PLANNED.replace('data', 'other')} --label truth",
        PLANNED,
    ),
    (
        "plan other.csv --label y",
        "give labelled rows with --pilot",
        "plan scored.csv --pilot scored.csv",
        "plan scored.csv --pilot scored.csv --label y",
    ),
    (
        WATCHED.replace("data", "text"),
        "(--class-names)",
        f"{WATCHED.replace('data', 'text')} --class-names cat,dog,fox",
        WATCHED,
    ),
    (
        WATCHED.replace("data", "text"),
        "list them with columns (--columns)",
        f"{WATCHED.replace('data', 'named')} --label truth --columns cat,dog,fox",
        WATCHED,
    ),
    (
        "monitor n.safetensors owl.csv --by day",
        "(--no-class owl)",
        "monitor n.safetensors owl.csv --by day --no-class owl",
        "monitor n.safetensors minus.csv --by day",
    ),
    (
        "monitor c.safetensors data.csv --by week",
        "Name the column that puts the rows in order with --by",
        WATCHED,
        None,
    ),
    (
        f"{ADAPTED} --labelled text.csv",
        "(--class-names)",
        f"{ADAPTED} --labelled text.csv --class-names cat,dog,fox",
        f"{ADAPTED} --labelled data.csv",
    ),
    (
        "adapt n.safetensors named.csv -o out.safetensors --labelled owl.csv",
        "(--no-class owl)",
        "adapt n.safetensors named.csv -o out.safetensors --labelled owl.csv --no-class owl",
        "adapt n.safetensors named.csv -o out.safetensors --labelled minus.csv",
    ),
    (
        "check x.safetensors bad.csv",
        "(--on-bad-rows skip)",
        "check x.safetensors bad.csv --on-bad-rows skip",
        "check x.safetensors good.csv",
    ),
    (
        "check x.safetensors data.csv --level 5",
        "0.05",
        "check x.safetensors data.csv --level 0.05",
        "check x.safetensors data.csv",
    ),
    (
        "compare text.csv --methods temperature",
        "(--class-names)",
        "compare text.csv --methods temperature --class-names cat,dog,fox",
        "compare data.csv --methods temperature",
    ),
    (
        "compare data.csv --methods temperature --by week",
        "Name the column of the slices with --by",
        "compare data.csv --methods temperature --by day",
        None,
    ),
    (
        "pick abc.csv --n 50 -o out.csv",
        "(--columns)",
        "pick abc.csv --n 50 -o out.csv --columns a,b,c",
        "pick data.csv --n 50 -o out.csv",
    ),
    (
        "pick prob.csv --n 50 -o out.csv",
        "(--probabilities)",
        "pick prob.csv --n 50 -o out.csv --probabilities",
        "pick data.csv --n 50 -o out.csv",
    ),
    (
        "pick data.csv --n 50 -o out.pt",
        "Write a .csv",
        "pick data.csv --n 50 -o out.csv",
        None,
    ),
    pytest.param(
        "export c.safetensors -o out.txt",
        "Save it as out.onnx",
        "export c.safetensors -o out.onnx",
        None,
        marks=pytest.mark.needs("onnx"),
    ),
]
OPTIONS = {
    name: {each for one in command.params for each in one.opts}
    for name, command in get_command(cli.app).commands.items()
}


@pytest.fixture
def outcome(files, tmp_path, monkeypatch, capsys):
    """Run commands in a fresh folder, and return their exit code, what they wrote and what they said."""

    def of(line):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        shutil.copytree(files, folder, copy_function=os.link)  # what is written replaces a file as a whole
        monkeypatch.chdir(folder)
        code = run(line, monkeypatch)
        said = capsys.readouterr()
        return code, _written(folder), said.out.replace("text", "data"), said.err

    return of


def _written(folder):
    """Return the confidence that the calibrator or the table gives which was written, or the rows that were picked."""
    if (calibrator := folder / "out.safetensors").exists():
        found = auxcal.load(calibrator)
        rows = PROBA if found.inputs_.kind == "probabilities" else LOGITS[:, : found.n_features_in_]
        return found.predict_confidence(rows, DAY[:, None] if found.n_further_features_ else None)
    if not (table := folder / "out.csv").exists():
        return None
    with table.open() as file:
        return [float(row.get("confidence") or row["row"]) for row in csv.DictReader(file)]


@pytest.mark.parametrize(("mistake", "hint", "followed", "right"), COMMANDS)
def test_a_command_that_follows_the_hint_is_right(mistake, hint, followed, right, outcome):
    code, _, _, said = outcome(mistake)
    assert hint in said
    assert set(re.findall(r"--[a-z][a-z-]+", said)) <= OPTIONS[mistake.split()[0]]
    assert "warning" in said or code == 2
    code, found, printed, _ = outcome(followed)
    assert code != 2
    if right is not None:
        expected_code, expected, expected_print, _ = outcome(right)
        assert code == expected_code
        assert printed == expected_print if expected is None else found == pytest.approx(expected, abs=1e-3)
