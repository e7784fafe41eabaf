"""From labelled logits to a threshold, as a user would go, and as a machine would read it."""

import json
import re
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

import auxcal
from auxcal import CALIBRATORS, METRICS
from auxcal.tables import read_scored
from auxcal.thresholds import threshold_at_risk


@pytest.fixture
def folder(rows, tmp_path, monkeypatch):
    logits, y = rows
    monkeypatch.chdir(tmp_path)
    np.savez("logits.npz", logits=logits[:800], y=y[:800])
    np.savez("new.npz", logits=logits[800:], y=y[800:])
    np.save("logits.npy", logits[:800])
    np.save("y.npy", y[:800])
    lines = [
        ",".join(map(repr, [*row, label])) for row, label in zip(logits[800:].tolist(), y[800:].tolist(), strict=True)
    ]
    (tmp_path / "new.csv").write_text("\n".join(["logit_0,logit_1,logit_2,y", *lines]))
    return tmp_path


@pytest.fixture
def scored(folder, call, capsys):
    assert call("fit", "logits.npz", "--method", "temperature", "-o", "ts.safetensors") == 0
    assert call("score", "ts.safetensors", "new.csv", "-o", "scored.csv") == 0
    capsys.readouterr()
    return folder / "scored.csv"


def answer(capsys):
    return json.loads(capsys.readouterr().out)


def test_fit_saves_what_the_library_would_fit(folder, call, capsys, rows):
    assert call("fit", "logits.npz", "--method", "temperature", "-o", "ts.safetensors") == 0
    text = capsys.readouterr().out
    expected = auxcal.TemperatureScaling().fit(rows[0][:800], rows[1][:800])
    assert auxcal.load("ts.safetensors").temperature_ == expected.temperature_
    assert "TS fitted on 800 rows of 3 classes" in text
    assert f"temperature = {expected.temperature_:.4g}" in text
    assert "Saved: ts.safetensors" in text


def test_fit_takes_a_pair_of_arrays_and_a_select_part(folder, call, capsys, quick_training):
    arguments = ["--method", "ccac-s", "--select", "new.csv", "--random-state", 3, "-o", "s.safetensors", "--json"]
    assert call("fit", "logits.npy", "y.npy", *arguments) == 0
    said = answer(capsys)
    fitted = auxcal.load("s.safetensors")
    assert fitted.random_state == 3
    assert said["rows"] == 800  # none of them was set aside
    assert said["method"] == "CCAC-S"
    assert said["learned"]["lambda2"] == fitted.lambda2_


def test_transfer_moves_the_last_layer(folder, call, capsys, quick_training):
    assert call("fit", "logits.npz", "--method", "ccac-s", "-o", "s.safetensors") == 0
    assert call("transfer", "s.safetensors", "new.csv", "-o", "here.safetensors") == 0
    assert "CCAC-S fitted on 400 rows" in capsys.readouterr().out
    there, here = auxcal.load("s.safetensors"), auxcal.load("here.safetensors")
    assert np.array_equal(there.weights_[0], here.weights_[0])
    assert not np.array_equal(there.weights_[-1], here.weights_[-1])


def test_the_default_is_ccac_x(folder, call, capsys, rows):
    assert call("fit", "logits.npz", "-o", "x.safetensors") == 0
    assert "CCAC-X fitted on 800 rows of 3 classes" in capsys.readouterr().out
    expected = auxcal.CCACX(random_state=0).fit(rows[0][:800], rows[1][:800])
    found = auxcal.load("x.safetensors").predict_confidence(rows[0])
    assert np.array_equal(found, expected.predict_confidence(rows[0]))


def test_score_goes_through_pipes(folder, command, scored):
    program = command("score", "ts.safetensors", "-", input=(folder / "new.csv").read_bytes(), text=False)
    assert program.returncode == 0
    assert program.stderr == b""
    (folder / "piped.csv").write_bytes(program.stdout)
    assert np.array_equal(read_scored("piped.csv").confidence, read_scored(scored).confidence)


def test_evaluate_shows_every_metric_and_reads_the_ece(scored, call, capsys):
    assert call("evaluate", scored, "--all", "--resamples", 20) == 0
    text = capsys.readouterr().out
    for metric in METRICS.values():
        assert metric.label in text
    assert "400 rows: accuracy " in text
    assert "within the noise of" in text
    assert "perfect calibration is possible, not proven" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80


def test_evaluate_tells_overconfidence(folder, call, capsys):
    call("fit", "logits.npz", "--method", "uncalibrated", "-o", "mp.safetensors")
    call("score", "mp.safetensors", "new.npz", "-o", "mp.csv")
    assert call("evaluate", "mp.csv", "--resamples", 0) == 0
    assert "is above the noise of" in (text := capsys.readouterr().out)
    assert "on average too high" in " ".join(text.split())


def test_evaluate_is_the_library_for_machines(scored, call, capsys):
    assert call("evaluate", scored, "--resamples", 20, "--random-state", 1, "--json") == 0
    said, rows = answer(capsys), read_scored(scored)
    expected = auxcal.evaluate(rows.confidence, rows.correct, bootstrap=20, random_state=1)
    assert {name: said[name] for name in expected} == expected
    assert (said["rows"], said["accuracy"]) == (400, rows.correct.mean())


def test_a_metric_without_a_value_is_a_warning_and_null(folder, call, capsys):
    (folder / "right.csv").write_text("prediction,confidence,y\n0,0.9,0\n1,0.8,1\n")
    assert call("evaluate", "right.csv", "--resamples", 0, "--json") == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["auroc"] is None
    assert all(line.startswith("auxcal: warning: ") for line in captured.err.splitlines())
    assert "auroc is undefined" in captured.err


def test_threshold_is_the_library_and_says_what_it_promises(scored, call, capsys):
    assert call("threshold", scored, "--risk", 0.3) == 0
    text, rows = capsys.readouterr().out, read_scored(scored)
    found = threshold_at_risk(rows.confidence, rows.correct, 0.3)
    assert f"at least {found.threshold!r}." in text
    assert f"{100 * found.coverage:.1f} % of the predictions ({found.accepted} of 400)" in text
    assert "at most 30.0 % will be wrong, with a probability of 95 %" in " ".join(text.split())
    assert call("threshold", scored, "--risk", 0.3, "--json") == 0
    said = answer(capsys)
    assert said == asdict(found) | {"rows": 400}


def test_a_threshold_that_only_looks_good_says_so(scored, call, capsys):
    assert call("threshold", scored, "--risk", 0.1, "--empirical") == 0
    assert "is no promise" in capsys.readouterr().out


def test_thresholds_for_several_risks_for_each_class_and_for_a_coverage(scored, call, capsys):
    assert call("threshold", scored, "--risk", 0.001, "--risk", 0.3) == 0
    assert re.search(r"risk 0.001  none: it would take .*\nrisk 0.3    from", capsys.readouterr().out)
    assert call("threshold", scored, "--risk", 0.4, "--per-class", "--json") == 0
    assert "class 0" in answer(capsys)["thresholds"]
    assert call("threshold", scored, "--risk", 0.001, "--per-class") == 0
    assert "promised on its own" not in capsys.readouterr().out  # where nothing is
    assert call("threshold", scored, "--coverage", 0.5, "--json") == 0
    assert answer(capsys)["coverage"] >= 0.5
    assert call("threshold", scored) == 2
    assert "give --risk, or --coverage instead" in capsys.readouterr().err


def test_methods_are_one_line_each(call, capsys):
    assert call("methods") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(CALIBRATORS)
    for line, (name, kind) in zip(lines, CALIBRATORS.items(), strict=True):
        assert line.startswith(f"{name} ")
        assert kind.abbreviation in line
        assert line.endswith(f"({kind.reference}; uses features)" if kind.uses_features else f"({kind.reference})")
    assert call("methods", "--json") == 0
    said = answer(capsys)
    assert [method["method"] for method in said] == list(CALIBRATORS)
    assert [method["method"] for method in said if method["uses_features"]] == ["ccac-x"]


def test_the_reader_of_a_pipe_may_leave(scored, folder, command):
    """What `| head` does to a program is no reason for a traceback."""
    import subprocess

    many = "\n".join(["logit_0,logit_1,logit_2", *["1.5,2.5,0.5"] * 200_000])
    (folder / "many.csv").write_text(many)
    writer = [sys.executable, "-m", "auxcal", "score", "ts.safetensors", "many.csv"]
    with subprocess.Popen(writer, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout.readline() == "prediction,confidence\n"
        program.stdout.close()
        assert program.stderr.read() == ""


def test_an_interrupted_command_leaves_nothing(scored, folder, call, capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("auxcal.tables.scorer.Scorer.score", interrupted)
    before = sorted(folder.iterdir())
    assert call("score", "ts.safetensors", "new.csv", "-o", "again.csv") == 130
    assert capsys.readouterr().err == ""
    assert sorted(folder.iterdir()) == before


# Features -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def featured_folder(featured, featured_platt, tmp_path, monkeypatch):
    """Go to a folder with samples that have features, where a method that uses them is on the list."""
    monkeypatch.setitem(CALIBRATORS, "featured", featured_platt)
    monkeypatch.chdir(tmp_path)
    fit, select = featured.split(400, 200, random_state=0)
    for name, part in (("fit", fit), ("select", select)):
        part.save(f"{name}.npz")
        columns = np.column_stack([part.logits, part.features, part.y]).tolist()
        rows = [",".join([*map(repr, row[:-1]), str(int(row[-1]))]) for row in columns]
        (tmp_path / f"{name}.csv").write_text("\n".join(["logit_0,logit_1,logit_2,age,size,y", *rows]))
    return fit, select


@pytest.mark.parametrize(("ending", "options"), [("npz", []), ("csv", ["--features", "age,size"])])
def test_features_are_fitted_and_scored(ending, options, featured_folder, featured_platt, call, capsys):
    fit, new = featured_folder
    chosen = ["--method", "featured", "--select", f"select.{ending}"]
    assert call("fit", f"fit.{ending}", *chosen, "-o", "fp.safetensors", *options) == 0
    assert "FP fitted on 400 rows of 3 classes and 2 features" in capsys.readouterr().out
    assert call("score", "fp.safetensors", f"select.{ending}", "-o", "scored.npz", *options) == 0
    expected = featured_platt().fit(fit.logits, fit.y, features=fit.features)
    np.testing.assert_allclose(
        read_scored("scored.npz").confidence, expected.predict_confidence(new.logits, new.features), rtol=1e-5
    )


def test_features_in_a_file_are_left_to_the_methods_that_use_them(featured_folder, call, capsys, quick_training):
    assert call("fit", "fit.npz", "--method", "ccac-s", "-o", "s.safetensors", "--json") == 0
    assert answer(capsys)["features"] == 0
    assert call("transfer", "s.safetensors", "select.npz", "-o", "here.safetensors") == 0
    assert call("score", "here.safetensors", "select.npz", "-o", "scored.csv") == 0


def test_a_table_without_named_features_is_fitted_on_logits(featured_folder, call, capsys):
    assert call("fit", "fit.csv", "--method", "featured", "-o", "fp.safetensors", "--json") == 0
    assert answer(capsys)["features"] == 0


@pytest.mark.needs("report")
@pytest.mark.parametrize(("ending", "options"), [("npz", []), ("csv", ["--features", "age,size"])])
def test_a_comparison_gives_features_to_those_that_use_them(ending, options, featured_folder, call, capsys):
    methods = ["--methods", "temperature,featured", "--test", f"select.{ending}"]
    assert call("compare", f"fit.{ending}", *methods, "--json", *options) == 0
    assert answer(capsys)[0]["best"] == "featured"
    assert auxcal.load(next(Path("report").glob("*.safetensors"))).n_further_features_ == 2
    assert "predict_confidence(logits, features)" in Path("report/report.html").read_text()


def test_evaluate_shows_four_metrics_by_name_or_all_of_them(call, capsys, tmp_path):
    rng = np.random.default_rng(0)
    confidence = rng.random(300).round(3)
    lines = [f"{each},{int(rng.random() < each)}" for each in confidence]
    (tmp_path / "scored.csv").write_text("\n".join(["confidence,right", *lines]))
    files = "evaluate", tmp_path / "scored.csv", "--correct", "right"
    assert call(*files) == 0
    four = capsys.readouterr().out
    assert four.count(" is better") == 4
    for name in ("Area under the ROC curve, AUROC", "Expected calibration error, ECE", "Brier score"):
        assert f"\n{name} " in four
    assert call(*files, "--all") == 0
    everything = capsys.readouterr().out
    assert everything.count(" is better") == len(METRICS)
    assert max(map(len, (four + everything).splitlines())) <= 80
