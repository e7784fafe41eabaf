"""An analyst's table from start to end: probabilities, text labels, some missing, one class that is unknown."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import auxcal
from auxcal.tables import read_predictions

CLASSES = ["cat", "dog", "bird"]
COLUMNS = ["p_cat", "p_dog", "p_bird"]
OPTIONS = ["--probabilities", "--columns", ",".join(COLUMNS), "--class-names", ",".join(CLASSES), "--label", "truth"]
N = 600


def table(seed):
    """Give probabilities that are too sure, the true names, 20 of them missing, and 30 rows that show a fox."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(N, 3), scale=4)
    truth = np.array(CLASSES, dtype=object)[(logits / 2 + rng.gumbel(size=logits.shape)).argmax(axis=1)]
    truth[:20], truth[20:50] = "", "fox"
    logits[20:50] /= 4
    proba = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return [
        {"case": f"c-{seed}-{i}", **dict(zip(COLUMNS, map(float, row), strict=True)), "truth": name}
        for i, (row, name) in enumerate(zip(proba, truth, strict=True))
    ]


def write(path, rows, names=None):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names or list(rows[0]), extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def commands_of_the_quickstart():
    page = Path(__file__).parents[2] / "docs/how-to/tables.md"
    section = page.read_text().split("## On the command line\n")[1].split("\n## ")[0].replace("\\\n", "")
    return re.findall(r"^auxcal (.*)$", section, re.MULTILINE)


def test_the_commands_of_the_quickstart_run_one_after_the_other(tmp_path, monkeypatch, call, capsys):
    monkeypatch.chdir(tmp_path)
    short = {f"p_{name}": name for name in CLASSES}
    for seed, name in enumerate(["labelled.csv", "new.csv"]):
        rows = [{short.get(key, key): value for key, value in row.items()} for row in table(seed)]
        risk = [{"score": (place % 10 + 0.5) / 10, "fraud": int(place % 7 < 2)} for place in range(len(rows))]
        write(tmp_path / name, [row | beside for row, beside in zip(rows, risk, strict=True)])
    commands = commands_of_the_quickstart()
    names = [command.split()[0] for command in commands]
    assert names == ["fit", "show", "score", "evaluate", "threshold", "compare"]
    for command in commands:
        assert call(*command.split()) == 0, capsys.readouterr().err


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("journey")
    write(folder / "labelled.csv", table(0))
    write(folder / "new.csv", table(1))
    return folder


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def fitted(here, call, capsys):
    if not (here / "fitted.safetensors").exists():
        assert call("fit", "labelled.csv", *OPTIONS, "--no-class", "fox", "-o", "fitted.safetensors") == 0
    capsys.readouterr()
    return here / "fitted.safetensors"


@pytest.fixture
def scored(fitted, here, call, capsys):
    if not (here / "scored.csv").exists():
        assert call("score", fitted, "new.csv", "-o", "scored.csv") == 0
    capsys.readouterr()
    return here / "scored.csv"


def test_fit_leaves_rows_without_a_label_out_and_says_how_many(here, call, capsys):
    assert call("fit", "labelled.csv", *OPTIONS, "--no-class", "fox", "-o", "ccac-x.safetensors") == 0
    captured = capsys.readouterr()
    assert captured.err == "auxcal: warning: 20 of 600 rows have no label in 'truth' and are left out.\n"
    assert "CCAC-X fitted on 580 rows of 3 classes" in captured.out


@pytest.mark.parametrize("command", ["fit", "compare"])
def test_a_label_that_is_no_class_is_one_sentence(command, here, call, capsys):
    assert call(command, "labelled.csv", *OPTIONS, *(["-o", "x.safetensors"] if command == "fit" else [])) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert (
        "labelled.csv: truth must hold one of the classes cat, dog, bird; got 'fox' in row 20 (30 such rows)" in error
    )
    assert "--no-class fox" in error
    assert "--unknown-is-no-class" in error


@pytest.mark.parametrize("command", ["fit", "compare"])
def test_probabilities_that_nobody_called_so_are_refused(command, here, call, capsys):
    arguments = [*OPTIONS[1:], "--no-class", "fox", *(["-o", "x.safetensors"] if command == "fit" else [])]
    assert call(command, "labelled.csv", *arguments) == 2
    assert capsys.readouterr().err.endswith("as probabilities are. Give --probabilities.\n")


def test_a_label_that_is_nearly_a_class_is_asked_about(here, tmp_path, call, capsys):
    write(tmp_path / "typo.csv", [row | {"truth": row["truth"].replace("bird", "brid")} for row in table(0)])
    assert call("fit", tmp_path / "typo.csv", *OPTIONS, "--no-class", "fox", "-o", tmp_path / "x.safetensors") == 2
    assert "(did you mean 'bird'?)" in capsys.readouterr().err


def test_all_unknown_labels_can_be_no_class(fitted, here, call, capsys):
    assert call("fit", "labelled.csv", *OPTIONS, "--unknown-is-no-class", "-o", "unknown.safetensors") == 0
    one, other = auxcal.load(fitted), auxcal.load("unknown.safetensors")
    assert (one.inputs_.no_class, other.inputs_.no_class) == (("fox",), None)
    assert replace(one.inputs_, no_class=None) == other.inputs_
    assert one.fitted_on_ == other.fitted_on_
    assert one.fitted_on_.n_no_class == 30


def test_show_says_what_the_file_knows(fitted, call, capsys):
    assert call("show", fitted) == 0
    lines = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["method"].startswith("CCAC-X")
    assert lines["takes"] == "probabilities of 3 classes"
    assert lines["classes"] == "cat, dog, bird"
    assert lines["columns"] == "p_cat, p_dog, p_bird"
    assert lines["features"] == "none"
    assert lines["label"] == "truth; no class: fox"
    assert re.fullmatch(r"580 rows, 5\.2 % of them of no class, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", lines["fitted on"])
    assert call("show", fitted, "--json") == 0
    known = json.loads(capsys.readouterr().out)
    assert known["kind"] == "probabilities"
    assert known["class_names"] == CLASSES
    assert known["no_class_labels"] == ["fox"]
    assert (known["rows"], known["no_class"]) == (580, 30)


def test_score_needs_no_options_and_writes_names(scored):
    rows, new = read(scored), table(1)
    assert list(rows[0]) == ["case", "truth", "prediction", "confidence", "in_fit"]
    assert [row["case"] for row in rows] == [row["case"] for row in new]
    assert [row["prediction"] for row in rows] == [max(CLASSES, key=lambda name: row[f"p_{name}"]) for row in new]


def test_the_order_of_the_columns_does_not_matter(scored, here, call):
    write(here / "reversed.csv", table(1), names=["truth", *COLUMNS[::-1], "case"])
    assert call("score", "fitted.safetensors", "reversed.csv", "-o", "again.csv") == 0
    order = ("case", "prediction", "confidence")
    assert [[row[name] for name in order] for row in read(here / "again.csv")] == [
        [row[name] for name in order] for row in read(scored)
    ]


def test_python_gives_the_same_confidence_for_the_probabilities(scored, fitted):
    proba = np.array([[row[name] for name in COLUMNS] for row in table(1)])
    confidence = auxcal.load(fitted).predict_confidence(proba)
    assert [float(row["confidence"]) for row in read(scored)] == pytest.approx(confidence.tolist(), abs=1e-6)


def test_a_missing_column_is_asked_about(fitted, here, call, capsys):
    write(here / "renamed.csv", [{"P_dog" if name == "p_dog" else name: row[name] for name in row} for row in table(1)])
    assert call("score", "fitted.safetensors", "renamed.csv", "-o", "x.csv") == 2
    error = capsys.readouterr().err
    assert "renamed.csv: there is no column 'p_dog' (did you mean 'P_dog'?)" in error
    assert "fitted on the probabilities in p_cat, p_dog, p_bird" in error
    assert error.count("\n") == 1


def test_evaluate_takes_names(scored, call, capsys):
    assert call("evaluate", "scored.csv", "--label", "truth", "--no-class", "fox", "--json") == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    rows = [row for row in read(scored) if row["truth"]]
    assert found["rows"] == len(rows) == 580
    assert found["accuracy"] == np.mean([row["truth"] == row["prediction"] for row in rows])
    assert captured.err == "auxcal: warning: 20 of 600 rows have no label in 'truth' and are left out.\n"


def test_evaluate_says_which_labels_are_never_predicted(scored, call, capsys):
    assert call("evaluate", "scored.csv", "--label", "truth", "--json") == 0
    assert "never predicted, which count as wrong: 'fox'" in capsys.readouterr().err
    assert call("evaluate", "scored.csv", "--label", "truth", "--class-names", "cat,dog,bird") == 2
    assert "got 'fox' in row 20 (30 such rows)" in capsys.readouterr().err


def test_evaluate_takes_what_another_tool_scored(scored, here, call, capsys):
    rows = [{"answer": row["prediction"], "sure": row["confidence"], "y": row["truth"]} for row in read(scored)]
    write(here / "other.csv", rows)
    options = ["--prediction", "answer", "--confidence", "sure", "--unknown-is-no-class", "--json"]
    assert call("evaluate", "other.csv", *options) == 0
    theirs = json.loads(capsys.readouterr().out)
    assert call("evaluate", "scored.csv", "--label", "truth", "--unknown-is-no-class", "--json") == 0
    assert json.loads(capsys.readouterr().out) == theirs
    assert call("threshold", "other.csv", "--risk", "0.2", *options) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 580


@pytest.mark.needs("report")
def test_compare_reports_names_and_ids_and_what_to_do_next(here, call, capsys):
    options = ["--no-class", "fox", "--id", "case", "--methods", "TS,CCAC-X,platt", "--out", "report"]
    assert call("compare", "labelled.csv", *OPTIONS, *options) == 0
    page = (here / "report/report.html").read_text()
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])["sets"][0]
    assert data["classes"] == CLASSES
    assert data["ids"]
    assert set(data["ids"].values()) <= {row["case"] for row in table(0)[20:]}
    assert "20 of 600 rows" in capsys.readouterr().err
    (saved,) = (here / "report").glob("*.safetensors")
    assert f"auxcal score {saved.name} new.csv -o scored.csv" in page
    assert "predict_confidence(probabilities)" in page
    # Doing as the page says works.
    assert call("score", saved, "new.csv", "-o", "next.csv") == 0
    assert {row["prediction"] for row in read(here / "next.csv")} == set(CLASSES)


def test_without_ids_the_report_counts_rows_as_the_file_does(here, call):
    assert call("compare", "labelled.csv", *OPTIONS, "--no-class", "fox", "--methods", "platt", "--out", "rows") == 0
    page = here / "rows/report.html"
    if page.exists():  # an extra makes it
        data = json.loads(re.search(r'id="data">(.*?)</script>', page.read_text())[1])["sets"][0]
        assert data["ids"] == {}


def test_transfer_knows_its_columns_too(here, call, capsys):
    pytest.importorskip("torch")
    options = ["--method", "CCAC-S", "--no-class", "fox", "-o", "there.safetensors"]
    assert call("fit", "labelled.csv", *OPTIONS, *options) == 0
    assert call("transfer", "there.safetensors", "new.csv", "--no-class", "fox", "-o", "here.safetensors") == 0
    assert auxcal.load("here.safetensors").inputs_.class_names == tuple(CLASSES)


def test_python_reads_a_table_as_a_calibrator_knows_it(fitted, here):
    known = auxcal.load(fitted).inputs_
    with pytest.warns(auxcal.InputWarning, match="20 of 600"):
        data = read_predictions(here / "new.csv", inputs=known, no_class=["fox"])
    assert len(data) == 580
    assert data.inputs == known
