"""A hint in an error or a warning, followed to the letter, leads to a right result.

Each table has a mistake, and below it, indented, the hints in its message, each with what follows it after an arrow.
"""

# ruff: noqa: F401 (the tables use what is imported)

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
from auxcal import CCACX, NO_CLASS, CalibratedClassifier, Monitor, PlattScaling, Predictions, TemperatureScaling, cli
from auxcal.labelling import pick
from auxcal.metrics import brier, ece, evaluate
from auxcal.tables import read_predictions
from auxcal.thresholds import risk_at_coverage, threshold_at_risk, thresholds_at_risks
from auxcal_paper.shifts import Mixture, TextNoise

approx = pytest.approx
N, K = 600, 3
RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(N, K), scale=4)  # twice as sure as they should be
Y = (LOGITS / 2 + RNG.gumbel(size=LOGITS.shape)).argmax(axis=1)
FEATURES = RNG.normal(size=(N, 1, 2))
PROBA = softmax(LOGITS, axis=1)
TOP = np.where(np.median(PROBA, axis=1, keepdims=True) > PROBA, 0, PROBA)
FLAT = np.where(TOP == 0, 1e-15, TOP)
NAMES = np.array(["cat", "dog", "fox"])
SOME = np.arange(N) % 10 > 0
DAY = np.arange(N) // 300
NONE = np.where(SOME, Y, NO_CLASS)
OWL = np.where(SOME, NAMES[Y], "owl")
GAPS = np.where(SOME, Y, np.nan)
COPIES = np.repeat(np.arange(N), 5)
BINARY = LOGITS[:, 1] - LOGITS[:, 0], np.minimum(Y, 1)

FITTED = TemperatureScaling().fit(LOGITS, Y)
RIGHT = FITTED.predict_confidence(LOGITS)
CORRECT = LOGITS.argmax(axis=1) == Y


def cases(table, extra=None):
    """Return each mistake with a hint and what follows it; lines with a deeper indent continue the line before."""
    rows, mistake = [], ""
    for line in re.sub(r"\n {8,}", " ", table.strip("\n")).splitlines():
        if not line.startswith(" "):
            mistake = line
            continue
        hint, followed = line.strip().split(" -> ")
        marks = pytest.mark.needs(extra) if extra else ()
        rows.append(pytest.param(mistake, hint, followed, id=f"{mistake[:60]} -> {hint[:40]}", marks=marks))
    return rows


# Calls ----------------------------------------------------------------------------------------------------------------


def fit(logits=LOGITS, y=Y, method=TemperatureScaling, **options):
    """Return the confidence in the rows of the fit."""
    given = (options["features"],) if "features" in options else ()
    calibrator = method(**{"random_state": 0} if method is CCACX else {})
    return calibrator.fit(logits, y, **options).predict_confidence(logits, *given)


def platt(y, **options):
    return fit(y=y, method=PlattScaling, **options)


def labelled(y):
    known = np.isfinite(np.asarray(y, float))
    return fit(LOGITS[known], y[known].astype(int))


def fitted(y=Y):
    return FrozenEstimator(LogisticRegression().fit(LOGITS, y))


def accuracy(estimator, y=Y, **options):
    return np.mean(CalibratedClassifier(estimator, TemperatureScaling(), **options).fit(LOGITS, y).predict(LOGITS) == y)


def floored(proba):
    return auxcal.floor_logits(proba, probabilities=True)


def labels_late(keep):
    monitor = Monitor(FITTED, keep=keep)
    rows = [monitor.update(LOGITS), monitor.update(LOGITS)][0]
    monitor.label(rows, Y)
    return monitor.evidence.n_labels


def threshold(*arguments, **options):
    return threshold_at_risk(RIGHT, CORRECT, *arguments, **options)


def loss(confidence, correct=CORRECT):
    return approx(brier(confidence, correct), abs=0.01)


def saved(path, data=None, **options):
    (data or Predictions(LOGITS, Y)).save(path, **options)
    return Predictions.load(path).logits


def written(path, **arrays):
    np.savez(path, **arrays)
    return Predictions.load(path).logits


def tensor(values):
    import torch

    return torch.tensor(values)


def saved_by_torch(path, content):
    import torch

    torch.save(content, path)
    return read_predictions(path).logits


LARGE = Predictions(1e5 * LOGITS, Y)

# `done` evaluates the hint itself, with the names that it has.
CALLS = """
fit(y=Y[:, None])
    np.ravel(y) -> fit(y=done(y=Y[:, None])) == RIGHT
platt(np.eye(K)[Y] * SOME[:, None])
    np.where(y.any(axis=1), y.argmax(axis=1), -1) -> platt(done(y=np.eye(K)[Y] * SOME[:, None])) == platt(NONE)
fit(y=Y.astype(float))
    np.asarray(y).astype(int) -> fit(y=done(y=Y.astype(float))) == RIGHT
fit(y=Y.astype(object))
    y.astype(int) -> fit(y=done(y=Y.astype(object))) == RIGHT
fit(LOGITS[:, :2], Y > 0)
    y.astype(int) -> fit(LOGITS[:, :2], done(y=Y > 0)) == fit(LOGITS[:, :2], BINARY[1])
fit(LOGITS.astype(str))
    logits.astype(float) -> fit(done(logits=LOGITS.astype(str))) == RIGHT
fit(csr_array(LOGITS))
    logits.toarray() -> fit(done(logits=csr_array(LOGITS))) == RIGHT
fit(features=FEATURES, method=CCACX)
    features.reshape(len(features), -1) -> fit(features=done(features=FEATURES), method=CCACX)
        == fit(features=FEATURES[:, 0], method=CCACX)
FITTED.predict_confidence(LOGITS[0])
    logits.reshape(1, -1) if these are the numbers of a single sample ->
        FITTED.predict_confidence(LOGITS[0].reshape(1, -1)) == RIGHT[:1]
fit(y=GAPS)
    known = np.isfinite(np.asarray(y, float)), then logits[known], np.asarray(y)[known].astype(int) ->
        labelled(GAPS) == fit(LOGITS[SOME], Y[SOME])
fit(y=[int(y) if known else None for y, known in zip(Y, SOME)])
    Leave out the rows without a label, and give the labels of the others as integers ->
        fit(LOGITS[SOME], [int(y) for y, known in zip(Y, SOME) if known]) == fit(LOGITS[SOME], Y[SOME])
fit(y=NAMES[Y])
    Name the classes in order with class_names -> fit(y=NAMES[Y], class_names=["cat", "dog", "fox"]) == RIGHT
platt(OWL, class_names=NAMES)
    say so with no_class=['owl'] -> platt(OWL, class_names=NAMES, no_class=["owl"]) == platt(NONE)
fit(y=Y + 1)
    Count classes from 0 -> fit(y=Y + 1 - 1) == RIGHT
platt(np.where(SOME, Y, 99))
    Use NO_CLASS for samples of no class -> platt(np.where(SOME, Y, auxcal.NO_CLASS)) == platt(NONE)
fit(y=NAMES[Y], class_names=["cat", "cat", "fox"])
    Tell them apart, for instance by their indices -> fit(class_names=["0", "1", "2"]) == RIGHT
fit(PROBA)
    give probabilities=True -> fit(PROBA, probabilities=True) == approx(RIGHT, abs=1e-3)
fit(probabilities=True)
    If these are logits, leave out probabilities=True -> fit() == RIGHT
fit(TOP, probabilities=True)
    auxcal.floor_logits(proba, probabilities=True) gives logits -> brier(fit(floored(TOP)), CORRECT) == loss(RIGHT)
fit(FLAT / FLAT.sum(axis=1, keepdims=True), probabilities=True)
    give the logits auxcal.floor_logits(proba, probabilities=True) instead ->
        brier(fit(floored(FLAT / FLAT.sum(axis=1, keepdims=True))), CORRECT) == loss(RIGHT)
fit(LOGITS * 1e20)
    or scale them -> fit(LOGITS * 1e20 / 1e20) == approx(RIGHT)
fit(LOGITS + 1e9)
    take the mean of each row off ->
        fit(LOGITS + 1e9 - (LOGITS + 1e9).mean(axis=1, keepdims=True)) == approx(RIGHT, abs=1e-5)
fit(LOGITS + 0j)
    take the real part -> fit((LOGITS + 0j).real) == RIGHT
fit(np.ma.masked_array(LOGITS, mask=~SOME[:, None] & [True] * K))
    Drop the rows with masked entries -> len(fit(LOGITS[SOME], Y[SOME])) == SOME.sum()
fit(LOGITS[:60], Y[:60], CCACX)
    use temperature scaling ->
        brier(TemperatureScaling().fit(LOGITS[:60], Y[:60]).predict_confidence(LOGITS), CORRECT) == loss(RIGHT)
fit(LOGITS[:60], NONE[:60], CCACX)
    or Platt scaling if some samples have no class ->
        brier(PlattScaling().fit(LOGITS[:60], NONE[:60]).predict_confidence(LOGITS), CORRECT & SOME)
        == loss(platt(NONE), CORRECT & SOME)
fit(y=np.full(N, NO_CLASS))
    Give rows that have a class -> fit(y=Y) == RIGHT
fit(select=LOGITS)
    Give select=(select_logits, select_y) -> fit(select=(LOGITS, Y)) == RIGHT
fit(features=FEATURES[:, 0])
    Leave features out, or use a method that uses them: CCACX -> fit() == RIGHT
fit(sample_weight=np.full(N, 1 / N))
    Multiply shares by the number of rows -> fit(sample_weight=np.full(N, 1 / N) * N) == approx(RIGHT, abs=1e-6)
fit(sample_weight=np.where(SOME, 1, -1))
    one of 0 leaves it out ->
        fit(sample_weight=np.where(SOME, 1, 0))[SOME] == approx(fit(LOGITS[SOME], Y[SOME]), abs=1e-6)
fit(groups=[row if row % 9 else None for row in range(N)])
    give each a value of its own -> fit(groups=[row if row % 9 else -row for row in range(N)]) == RIGHT
CCACX(random_state="x").fit(LOGITS, Y)
    Use random_state=0 ->
        CCACX(random_state=0).fit(LOGITS, Y).score(LOGITS, Y) == -brier(fit(method=CCACX), CORRECT)
TemperatureScaling().predict_confidence(LOGITS)
    Call fit(logits, y) -> TemperatureScaling().fit(LOGITS, Y).predict_confidence(LOGITS) == RIGHT
evaluate(LOGITS.max(axis=1), CORRECT)
    turn logits into a confidence with a calibrator, for instance auxcal.Uncalibrated ->
        fit(method=auxcal.Uncalibrated) == approx(PROBA.max(axis=1))
ece(100 * RIGHT, CORRECT)
    Divide percentages by 100 -> ece(100 * RIGHT / 100, CORRECT) == approx(ece(RIGHT, CORRECT))
ece(PROBA, CORRECT)
    Use calibrator.predict_confidence(logits) ->
        ece(FITTED.predict_confidence(LOGITS), CORRECT) == ece(RIGHT, CORRECT)
ece(RIGHT, Y)
    Compute it as logits.argmax(axis=1) == y -> ece(RIGHT, LOGITS.argmax(axis=1) == Y) == ece(RIGHT, CORRECT)
threshold(20)
    For 20 % give 0.2 -> threshold(0.2).risk_upper <= 0.2
risk_at_coverage(RIGHT, CORRECT, 80)
    For 80 % give 0.8 -> risk_at_coverage(RIGHT, CORRECT, 0.8).coverage >= 0.8
thresholds_at_risks(RIGHT, CORRECT, 0.3)
    Give [0.05], or use threshold_at_risk ->
        thresholds_at_risks(RIGHT, CORRECT, [0.3])[0.3].threshold == threshold(0.3).threshold
threshold(0.001)
    allow more risk, or use promise=False ->
        threshold(0.2) is not None and threshold(0.001, promise=False).risk <= 0.001
threshold(0.3, sample_weight=1 + SOME)
    Give it as max_weight -> threshold(0.3, sample_weight=1 + SOME, max_weight=2).risk_upper <= 0.3
threshold(0.3, sample_weight=5 * (1 + SOME), max_weight=2)
    If you scaled the weights, scale it with them ->
        threshold(0.3, sample_weight=5 * (1 + SOME), max_weight=5 * 2).risk_upper <= 0.3
threshold_at_risk(RIGHT[COPIES], CORRECT[COPIES], 0.3)
    Say which rows belong together with groups ->
        threshold_at_risk(RIGHT[COPIES], CORRECT[COPIES], 0.3, groups=COPIES).risk_upper <= 0.3
threshold(0.3, sample_weight=1 + SOME, max_weight=2, groups=np.arange(N))
    Leave one of them out -> threshold(0.3, sample_weight=1 + SOME, max_weight=2).threshold < 1
pick(RIGHT, N)
    With fewer rows than labels, label all of them -> fit(LOGITS, Y) == RIGHT
auxcal.compare(Predictions(LOGITS, Y), methods=[TemperatureScaling()], bootstrap=0)
    Give a calibrator of your own as {name: calibrator} ->
        auxcal.compare(LOGITS, Y, methods={"mine": TemperatureScaling()}, bootstrap=0).entries[-1].label == "mine"
labels_late(keep=N)
    Keep more of them with Monitor(calibrator, keep=...) -> labels_late(keep=2 * N) == N
accuracy(LogisticRegression(), cv=RepeatedKFold(n_splits=5, n_repeats=2))
    Use folds without repetition, such as cv=5 -> accuracy(LogisticRegression(), cv=5) > 0.7
accuracy(FrozenEstimator(LogisticRegression()))
    Fit it first, or let CalibratedClassifier fit it with cv=5 ->
        min(accuracy(fitted()), accuracy(LogisticRegression(), cv=5)) > 0.7
accuracy(SVC(decision_function_shape="ovo"), np.arange(N) % 4)
    decision_function_shape='ovr' -> accuracy(SVC(decision_function_shape="ovr")) > 0.7
accuracy(fitted(NAMES[Y]), OWL)
    give all of them one label, and that label as no_class -> accuracy(fitted(NAMES[Y]), OWL, no_class="owl") > 0.6
TextNoise()("a text", 0)
    Pass [text] -> TextNoise()(["a text"], 0) == TextNoise()(("a text",), 0)
Mixture([1, 1], [{"b": 1}, {"a": 0}])([["b"]], 0)
    Pass one sequence of labels for each source -> Mixture([1, 1], [{"b": 1}, {"a": 0}])([["b"], ["a"]], 0).y == [1, 0]
saved(folder / "x.txt")
    Save it as x.npz -> saved(folder / "x.npz") == LOGITS
saved(folder / "x.npz", LARGE, half=True)
    half=False -> saved(folder / "x.npz", LARGE, half=False) == LARGE.logits
written(folder / "x.npz", scores=LOGITS)
    Write one with numpy.savez(path, logits=logits, y=y) -> written(folder / "x.npz", logits=LOGITS, y=Y) == LOGITS
"""

CALLS_OF_TORCH = """
saved_by_torch(folder / "x.pt", tensor(LOGITS))
    torch.save({"logits": logits, "y": y}, path) ->
        saved_by_torch(folder / "x.pt", {"logits": tensor(LOGITS), "y": tensor(Y)}) == LOGITS
saved_by_torch(folder / "x.pt", {"logits": tensor(LOGITS[:1]).expand(N, K), "y": tensor(Y)})
    Save logits.contiguous() ->
        saved_by_torch(folder / "x.pt", {"logits": tensor(LOGITS[:1]).expand(N, K).contiguous(), "y": tensor(Y)})
        == np.repeat(LOGITS[:1], N, axis=0)
"""


def message_of(mistake, names):
    """Return the error, or else the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            eval(mistake, names)
        except Exception as error:
            return str(error)
    return " ".join(str(warning.message) for warning in caught)


@pytest.mark.parametrize(("mistake", "hint", "claim"), [*cases(CALLS), *cases(CALLS_OF_TORCH, "torch")])
def test_a_call_that_follows_the_hint_is_right(mistake, hint, claim, tmp_path):
    names = {**globals(), "folder": tmp_path, "done": lambda **arrays: eval(hint, {"np": np} | arrays)}
    assert hint in message_of(mistake, names)
    assert np.all(eval(claim, names)), claim


# Commands -------------------------------------------------------------------------------------------------------------


def columns_of(names, values=LOGITS):
    return dict(zip(names, values.T, strict=True))


def without(columns, rows=SOME):
    return {name: np.asarray(values)[rows] for name, values in columns.items()}


def tables():
    """Return tables that differ in what a mistake can be about, by name."""
    logits, abc, named = (columns_of(names) for names in (["logit_0", "logit_1", "logit_2"], "abc", NAMES))
    scores = {"prediction": LOGITS.argmax(axis=1), "confidence": RIGHT}
    return {
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
        "owl": named | {"truth": OWL, "day": DAY},
        "minus": named | {"truth": np.where(SOME, NAMES[Y], "-1"), "day": DAY},
        "prob": columns_of(["prob_0", "prob_1", "prob_2"], PROBA) | {"y": Y},
        "other": logits | {"y": [""] * N, "truth": Y, "number": RIGHT},
        "bad": {name: np.where(SOME, values, np.nan) for name, values in logits.items()} | {"y": Y},
        "good": without(logits | {"y": Y}),
        "scored": scores | {"y": Y, "w": 1 + SOME, "hospital": np.arange(N) % 2},
        "scored-names": scores | {"y": NAMES[Y]},
        "scored-owl": {"prediction": NAMES[scores["prediction"]], "confidence": RIGHT, "y": OWL},
        "scored-minus": scores | {"y": NONE},
        "scored-bad": scores | {"confidence": np.where(SOME, RIGHT, 1.5), "y": Y},
        "scored-good": without(scores | {"y": Y}),
        "scored-copies": without(scores | {"y": Y, "patient": np.arange(N)}, COPIES),
        "scored-in-fit": scores | {"y": Y, "in_fit": SOME},
    }


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with the tables and with calibrators."""
    folder = tmp_path_factory.mktemp("files")
    for name, columns in tables().items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
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
    for command in line.split(";"):
        patch.setattr(sys, "argv", ["auxcal", *shlex.split(command)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
    return ended.value.code or 0


TEMPERATURE, PLATT = "--method temperature -o out.safetensors", "--method platt -o out.safetensors"

# "..." stands for the mistaken command; after "=" is another one with the same result. Words in capitals are options.
COMMANDS = """
fit abc.csv TEMPERATURE
    in order with columns (--columns) -> ... --columns a,b,c = fit data.csv TEMPERATURE
fit from1.csv TEMPERATURE
    name the columns of the classes in order with columns (--columns) -> ... --columns logit_1,logit_2,logit_3
        = fit data.csv TEMPERATURE
fit abc.csv TEMPERATURE --columns a,b,d
    Give the columns -> fit abc.csv TEMPERATURE --columns a,b,c = fit data.csv TEMPERATURE
fit abc.csv TEMPERATURE --columns a,b,b
    Name each column once -> fit abc.csv TEMPERATURE --columns a,b,c = fit data.csv TEMPERATURE
fit one.csv TEMPERATURE
    (--columns logit_0) -> ... --columns logit_0 = fit two.csv TEMPERATURE
fit text.csv TEMPERATURE
    (--class-names) -> ... --class-names cat,dog,fox = fit data.csv TEMPERATURE
    let the columns of logits bear their names, and list them with columns (--columns) ->
        fit named.csv TEMPERATURE --label truth --columns cat,dog,fox = fit data.csv TEMPERATURE
fit owl.csv PLATT --label truth --columns cat,dog,fox
    (--no-class owl) -> ... --no-class owl = fit none.csv PLATT
    (--unknown-is-no-class) -> ... --unknown-is-no-class = fit none.csv PLATT
fit named.csv TEMPERATURE --label truth --columns cat,dog,fox --no-class cat
    Leave it out -> fit named.csv TEMPERATURE --label truth --columns cat,dog,fox = fit data.csv TEMPERATURE
fit other.csv TEMPERATURE
    (--label) -> ... --label truth = fit data.csv TEMPERATURE
fit other.csv TEMPERATURE --label number
    holds the true classes -> fit other.csv TEMPERATURE --label truth = fit data.csv TEMPERATURE
fit data.csv TEMPERATURE --label logit_0
    holds the true classes -> fit data.csv TEMPERATURE --label y = fit data.csv TEMPERATURE
fit prob.csv TEMPERATURE
    (--probabilities) -> ... --probabilities = fit data.csv TEMPERATURE
fit data.csv TEMPERATURE --probabilities
    Leave out probabilities=True (--probabilities) -> fit data.csv TEMPERATURE
fit bad.csv TEMPERATURE
    (--on-bad-rows skip) -> ... --on-bad-rows skip = fit good.csv TEMPERATURE
fit data.csv --method temperature -o out.csv
    Save it as out.safetensors -> fit data.csv TEMPERATURE
fit half.csv prob.csv TEMPERATURE
    Name the parts that belong together -> fit half.csv rest.csv TEMPERATURE = fit data.csv TEMPERATURE
fit logits.npy TEMPERATURE
    name two files, logits.npy and y.npy -> fit logits.npy y.npy TEMPERATURE = fit data.csv TEMPERATURE
fit data.csv --features day,logit_0 -o out.safetensors
    Leave it out of features (--features) -> fit data.csv --features day -o out.safetensors
score c.safetensors abc.csv -o out.csv
    (--columns) -> ... --columns a,b,c = score c.safetensors data.csv -o out.csv
score n.safetensors abc.csv -o out.csv
    give the columns of the classes in that order with columns (--columns) -> ... --columns a,b,c
        = score n.safetensors named.csv -o out.csv
score c.safetensors prob.csv --columns prob_ -o out.csv
    if it was fitted on log-probabilities, give probabilities=True (--probabilities) -> ... --probabilities
        = score c.safetensors data.csv -o out.csv
score c.safetensors data.csv --json
    give --out -> ... -o out.csv = score c.safetensors data.csv -o out.csv
score c.safetensors data.csv -o out.pt
    Write one of .npz, .csv -> score c.safetensors data.csv -o out.csv
score c.safetensors data.csv -o data.csv
    Write to another one -> score c.safetensors data.csv -o out.csv
evaluate text.csv
    Score the file with auxcal score first -> score c.safetensors data.csv -o out.csv; evaluate out.csv --resamples 0
        = score c.safetensors abc.csv --columns a,b,c -o out.csv; evaluate out.csv --resamples 0
evaluate scored.csv --resamples 0 --label truth
    (--label) -> evaluate scored.csv --resamples 0 --label y = evaluate scored.csv --resamples 0
evaluate scored-names.csv --resamples 0
    (--class-names) -> ... --class-names cat,dog,fox = evaluate scored.csv --resamples 0
evaluate scored-owl.csv --resamples 0
    (--no-class) -> ... --no-class owl = evaluate scored-minus.csv --resamples 0
evaluate scored-bad.csv --resamples 0
    (--on-bad-rows skip) -> ... --on-bad-rows skip = evaluate scored-good.csv --resamples 0
evaluate scored.csv --unlabelled scored-bad.csv
    (--on-bad-rows skip) -> ... --on-bad-rows skip = evaluate scored.csv --unlabelled scored-good.csv
evaluate scored.csv --unlabelled scored.csv --by hospital
    leave --by and --group out -> evaluate scored.csv --unlabelled scored.csv
evaluate scored.csv --resamples 0 --weight h
    (--weight) -> evaluate scored.csv --resamples 0 --weight w
threshold scored.csv
    give --risk -> ... --risk 0.3
    or --coverage instead -> ... --coverage 0.8
threshold scored.csv --risk 0.3 --empirical --save c.safetensors
    give one --risk, or --coverage, alone -> threshold scored.csv --risk 0.3 --save c.safetensors; show c.safetensors
threshold scored.csv --risk 0.001
    (--empirical) -> ... --empirical = threshold scored.csv --risk 0.001 --empirical --label y
threshold scored.csv --risk 0.3 --weight w
    (--max-weight) -> ... --max-weight 2
threshold scored.csv --risk 0.3 --max-weight 2
    (--weight) -> ... --weight w
threshold scored-copies.csv --risk 0.3
    (--group) -> ... --group patient
threshold scored-in-fit.csv --risk 0.3
    Find the threshold on other labelled rows -> threshold scored.csv --risk 0.3
plan text.csv --accuracy-within 0.02
    (--class-names) -> ... --class-names cat,dog,fox = plan data.csv --accuracy-within 0.02
plan abc.csv --accuracy-within 0.02
    (--columns) -> ... --columns a,b,c = plan data.csv --accuracy-within 0.02
plan data.csv --accuracy-within 0.02 --coverage 0.5
    give --risk too -> ... --risk 0.2 = plan data.csv --accuracy-within 0.02 --risk 0.2
plan other.csv --label y
    Name the column with --label -> plan other.csv --accuracy-within 0.02 --label truth
        = plan data.csv --accuracy-within 0.02
    give labelled rows with --pilot -> plan scored.csv --pilot scored.csv = plan scored.csv --pilot scored.csv --label y
monitor c.safetensors text.csv --by day
    (--class-names) -> ... --class-names cat,dog,fox = monitor c.safetensors data.csv --by day
    list them with columns (--columns) -> monitor c.safetensors named.csv --by day --label truth --columns cat,dog,fox
        = monitor c.safetensors data.csv --by day
monitor n.safetensors owl.csv --by day
    (--no-class owl) -> ... --no-class owl = monitor n.safetensors minus.csv --by day
monitor c.safetensors data.csv --by week
    Name the column that puts the rows in order with --by -> monitor c.safetensors data.csv --by day
adapt x.safetensors data.csv -o out.safetensors --labelled text.csv
    (--class-names) -> ... --class-names cat,dog,fox
        = adapt x.safetensors data.csv -o out.safetensors --labelled data.csv
adapt n.safetensors named.csv -o out.safetensors --labelled owl.csv
    (--no-class owl) -> ... --no-class owl = adapt n.safetensors named.csv -o out.safetensors --labelled minus.csv
check x.safetensors bad.csv
    (--on-bad-rows skip) -> ... --on-bad-rows skip = check x.safetensors good.csv
check x.safetensors data.csv --level 5
    0.05 -> check x.safetensors data.csv --level 0.05 = check x.safetensors data.csv
compare text.csv --methods temperature
    (--class-names) -> ... --class-names cat,dog,fox = compare data.csv --methods temperature
compare data.csv --methods temperature --by week
    Name the column of the slices with --by -> compare data.csv --methods temperature --by day
pick abc.csv --n 50 -o out.csv
    (--columns) -> ... --columns a,b,c = pick data.csv --n 50 -o out.csv
pick prob.csv --n 50 -o out.csv
    (--probabilities) -> ... --probabilities = pick data.csv --n 50 -o out.csv
pick data.csv --n 50 -o out.pt
    Write one of -> pick data.csv --n 50 -o out.csv
"""
EXPORTS = """
export c.safetensors -o out.txt
    Save it as out.onnx -> export c.safetensors -o out.onnx
"""
OPTIONS = {
    name: {option for parameter in command.params for option in parameter.opts}
    for name, command in get_command(cli.app).commands.items()
}


@pytest.fixture
def outcome(files, tmp_path, monkeypatch, capsys):
    """Run commands in a fresh folder; return their exit code, what they wrote, their output and their messages."""

    def of(line):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        shutil.copytree(files, folder, copy_function=os.link)  # what is written replaces a file as a whole
        monkeypatch.chdir(folder)
        code = run(line.replace("TEMPERATURE", TEMPERATURE).replace("PLATT", PLATT), monkeypatch)
        printed = capsys.readouterr()
        return code, _written(folder), printed.out.replace("text", "data"), printed.err

    return of


def _written(folder):
    """Return the confidence of the calibrator or in the table that was written, or the rows that were picked."""
    if (calibrator := folder / "out.safetensors").exists():
        written = auxcal.load(calibrator)
        rows = PROBA if written.inputs_.kind == "probabilities" else LOGITS[:, : written.n_features_in_]
        return written.predict_confidence(rows, DAY[:, None] if written.n_further_features_ else None)
    if not (table := folder / "out.csv").exists():
        return None
    with table.open() as file:
        return [float(row.get("confidence") or row["row"]) for row in csv.DictReader(file)]


@pytest.mark.parametrize(("mistake", "hint", "followed"), [*cases(COMMANDS), *cases(EXPORTS, "onnx")])
def test_a_command_that_follows_the_hint_is_right(mistake, hint, followed, outcome):
    followed, _, same = followed.replace("...", mistake).partition(" = ")
    code, _, _, message = outcome(mistake)
    assert hint in message
    assert set(re.findall(r"--[a-z][a-z-]+", message)) <= OPTIONS[mistake.split()[0]]
    assert "warning" in message or code == 2
    code, written, printed, _ = outcome(followed)
    assert code != 2
    if same:
        expected_code, expected, expected_print, _ = outcome(same)
        assert code == expected_code
        assert printed == expected_print if expected is None else written == approx(expected, abs=1e-3)
