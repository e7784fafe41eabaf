"""auxcal compare and auxcal demo: the answer first, the files whole, one sentence for what can't be done."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import auxcal
from auxcal.cli.demo import BUNDLES, CLASSES, SHIFTS

METHODS = ("--methods", "temperature,platt")


def drawn(n=800, k=3, seed=0):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, k))
    return auxcal.Predictions(3 * logits, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = drawn()
    data.save("logits.npz")
    drawn(seed=1).save("other.npz")
    np.save("z.npy", data.logits)
    np.save("y.npy", data.y)
    return tmp_path


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.needs("report")
def test_the_answer_and_the_table_are_printed_and_the_folder_is_written(folder, call, capsys):
    assert call("compare", "logits.npz", *METHODS) == 0
    lines = capsys.readouterr().out.splitlines()
    answer = auxcal.compare(drawn(), methods=["temperature", "platt"], bootstrap=0).answer
    assert lines[:2] == ["logits", answer.found]
    assert " ".join(line.strip() for line in lines[2:4]) == answer.then
    assert "TS  best" in lines[6]
    assert max(map(len, lines)) <= 80
    assert not any("\x1b" in line for line in lines)
    assert names(folder / "report") == ["logits-temperature.safetensors", "report.html", "results.csv", "results.json"]
    assert "auxcal score logits-temperature.safetensors" in (folder / "report" / "report.html").read_text()


def test_slices_are_printed_and_written(folder, call, capsys):
    data = drawn()
    times = np.where(np.arange(len(data)) % 3, "day", "night")
    rows = [",".join(map(str, [*z, y, time])) for z, y, time in zip(data.logits, data.y, times, strict=True)]
    Path("sliced.csv").write_text("\n".join(["logit_0,logit_1,logit_2,y,time", *rows]))
    assert call("compare", "sliced.csv", *METHODS, "--by", "time") == 0
    assert "TS by time" in capsys.readouterr().out
    (found,) = json.loads(Path("report/results.json").read_text())
    assert {each["value"]: each["rows"] for each in found["slices"]["time"]}.keys() == {"day", "night"}
    assert sum(each["rows"] for each in found["slices"]["time"]) == found["n_test"]
    assert call("compare", "sliced.csv", *METHODS, "--by", "tme") == 2
    assert "time" in capsys.readouterr().err


def test_the_saved_calibrator_is_the_one_that_was_measured(folder, call):
    call("compare", "logits.npz", *METHODS, "--out", "here", "--random-state", 3)
    comparison = auxcal.compare(auxcal.Predictions.load("logits.npz"), methods=["temperature", "platt"], random_state=3)
    saved = auxcal.load(f"here/logits-{comparison.best.method}.safetensors")
    expected = comparison.best.calibrator.predict_confidence(comparison.test.logits)
    np.testing.assert_array_equal(saved.predict_confidence(comparison.test.logits), expected)
    with Path("here/results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == [entry.method for entry in comparison.ranked]
    assert float(rows[0]["brier"]) == comparison.best.scores["brier"]


def test_json_is_all_that_is_printed(folder, call, capsys):
    assert call("compare", "logits.npz", "other.npz", *METHODS, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [entry["data"] for entry in found] == ["logits", "other"]
    assert found[0]["best"] == "temperature"
    assert (folder / "report" / found[1]["calibrator"]).is_file()
    assert json.loads((folder / "report" / "results.json").read_text()) == found


def test_two_npy_files_are_one_data_set(folder, call, capsys):
    assert call("compare", "z.npy", "y.npy", *METHODS, "--json") == 0
    pair = json.loads(capsys.readouterr().out)
    call("compare", "logits.npz", *METHODS, "--json")
    one = json.loads(capsys.readouterr().out)
    assert pair[0]["data"] == "z"
    assert [row["brier"] for row in pair[0]["methods"]] == [row["brier"] for row in one[0]["methods"]]


@pytest.mark.needs("report")
def test_a_test_file_and_class_names_are_taken(folder, call, capsys):
    (folder / "names.txt").write_text("cat\ndog\n<bird>\n")
    arguments = ("--test", "other.npz", "--class-names", "names.txt", "--json")
    assert call("compare", "logits.npz", *METHODS, *arguments) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["n_fit"], found["n_test"]) == (800, 800)
    assert "\\u003cbird\\u003e" in (folder / "report" / "report.html").read_text()


@pytest.mark.needs("report")
def test_columns_that_are_listed_name_the_classes(folder, call):
    data = drawn()
    lines = [",".join(map(str, (*logits, y))) for logits, y in zip(data.logits, data.y, strict=True)]
    (folder / "sheet.csv").write_text("\n".join(["cat,dog,bird,y", *lines]))
    assert call("compare", "sheet.csv", "--columns", "cat,dog,bird", *METHODS) == 0
    assert '"classes":["cat","dog","bird"]' in (folder / "report" / "report.html").read_text()


def test_files_of_one_name_are_told_apart(folder, call, capsys):
    (folder / "a").mkdir()
    drawn(seed=2).save("a/logits.npz")
    assert call("compare", "logits.npz", "a/logits.npz", *METHODS, "--json") == 0
    assert [entry["data"] for entry in json.loads(capsys.readouterr().out)] == ["logits.npz", "a/logits.npz"]
    assert len(list((folder / "report").glob("*.safetensors"))) == 2


@pytest.mark.needs("report")
def test_the_page_is_opened_on_request(folder, call, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    call("compare", "logits.npz", *METHODS, "--open")
    assert opened == [(folder / "report" / "report.html").as_uri()]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere.npz"], "nowhere.npz"),
        (["z.npy"], "come in pairs"),
        (["logits.npz", "logits.npz"], "named twice"),
        (["logits.npz", "--methods", "magic"], "the method must be one of"),
        (["logits.npz", "--share", "2"], "share must be a number"),
        (["logits.npz", "other.npz", "--test", "other.npz"], "--test belongs to one data set"),
        (["logits.npz", "--class-names", "cat,dog"], "class_names must be 3 names"),
        (["logits.npz", "--label", "truth"], "truth"),
        (["logits.npz", "--out", "y.npy"], "can't be made"),
        (["logits.npz", "--random-state", "-1"], "--random-state"),
        ([], "FILE"),
    ],
)
def test_what_can_not_be_done_is_one_sentence_and_nothing_is_written(arguments, sentence, folder, call, capsys):
    before = names(folder)
    assert call("compare", *arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert sentence in captured.err
    assert len(captured.err.strip().splitlines()) == 1
    assert [name for name in names(folder) if name not in before and list((folder / name).iterdir())] == []


@pytest.mark.needs("report")
def test_the_demo_shows_both_packaged_shifts(folder, call, monkeypatch, capsys, quick_training):
    found = [auxcal.Predictions.load(path) for path in sorted(BUNDLES.iterdir())]
    assert [each.n_classes for each in found] == [len(CLASSES)] * len(SHIFTS)
    monkeypatch.setattr(auxcal.Predictions, "load", lambda path: drawn(n=600, k=10, seed=len(path.stem)))
    assert call("demo", "--out", "here") == 0
    text = capsys.readouterr().out
    assert text.startswith("CIFAR-10 with out-of-distribution images\nYour classifier says ")
    assert text.count("best") == 2
    assert max(map(len, text.splitlines())) <= 80
    page = (folder / "here" / "report.html").read_text()
    assert all(name in page and about in page for name, about in SHIFTS.values())
    assert "airplane" in page
