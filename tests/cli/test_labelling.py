"""From unlabelled rows to picks, to a promise that goes with the calibrator, and to what both kinds of rows say."""

import json
from pathlib import Path

import numpy as np
import pytest

import auxcal
from auxcal.labelling import plan
from auxcal.tables import read_confidence, read_scored


@pytest.fixture
def folder(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, n in (("fit", 300), ("test", 500), ("rest", 900)):
        y = rng.integers(3, size=n)
        logits = rng.normal(size=(n, 3)) + 2.5 * np.eye(3)[y]
        np.savez(tmp_path / f"{name}.npz", logits=logits.astype(np.float32), y=y)
    call("fit", "fit.npz", "--method", "temperature", "-o", "t.safetensors")
    call("score", "t.safetensors", "test.npz", "-o", "test.csv")
    return tmp_path


def test_a_promise_is_saved_shown_and_written_into_the_scores(folder, call, capsys):
    assert call("threshold", "test.csv", "--risk", 0.05, "--save", "t.safetensors") == 0
    certificate = auxcal.load("t.safetensors").certificate_
    scored = read_scored("test.csv")
    assert certificate == auxcal.Certificate.of(
        auxcal.thresholds.threshold_at_risk(scored.confidence, scored.correct, 0.05), n_rows=500
    )
    capsys.readouterr()
    assert call("show", "t.safetensors") == 0
    assert "at most 5 % are wrong, with a probability of 95 %" in capsys.readouterr().out
    assert call("score", "t.safetensors", "rest.npz", "-o", "rest.npz.scored.npz") == 0
    with np.load("rest.npz.scored.npz") as rest:
        np.testing.assert_array_equal(rest["accepted"], rest["confidence"] >= np.float32(certificate.threshold))
        assert 0 < rest["accepted"].mean() < 1


def test_a_new_fit_drops_the_promise(folder, call):
    call("threshold", "test.csv", "--risk", 0.05, "--save", "t.safetensors")
    fitted = auxcal.load("t.safetensors")
    with np.load("fit.npz") as rows:
        assert fitted.fit(rows["logits"], rows["y"]).certificate_ is None


@pytest.mark.parametrize("ending", ["csv", pytest.param("parquet", marks=pytest.mark.needs("tables")), "npz"])
def test_rows_of_the_fit_promise_nothing(folder, call, capsys, ending):
    """Also where only some of them are: 120 of 300, and as many other rows as the fit had are no rows of it."""
    with np.load("fit.npz") as fit, np.load("test.npz") as test:
        some = {name: np.concatenate([fit[name][:120], test[name][:180]]) for name in ("logits", "y")}
        np.savez(folder / "some.npz", **some)
        np.savez(folder / "others.npz", **{name: test[name][:300] for name in ("logits", "y")})
    for name, share in (("fit", "100 %"), ("some", "40 %")):
        call("score", "t.safetensors", f"{name}.npz", "-o", f"{name}-scored.{ending}")
        capsys.readouterr()
        for options in (
            ["--risk", 0.2, "--save", "t.safetensors"],
            ["--risk", 0.2, "--risk", 0.1],
            ["--coverage", 0.5],
        ):
            assert call("threshold", f"{name}-scored.{ending}", *options) == 2
            assert f"{share} of these rows were in the fit of the calibrator: no promise." in capsys.readouterr().err
        assert call("threshold", f"{name}-scored.{ending}", "--risk", 0.2, "--empirical") == 0
        assert call("evaluate", f"{name}-scored.{ending}", "--resamples", 0) == 0
        assert "of these rows were in the fit of the calibrator, so it looks better" in capsys.readouterr().err
    assert auxcal.load("t.safetensors").certificate_ is None
    call("score", "t.safetensors", "others.npz", "-o", f"others-scored.{ending}")
    capsys.readouterr()
    assert call("threshold", f"others-scored.{ending}", "--risk", 0.2, "--save", "t.safetensors") == 0
    assert "in the fit of" not in capsys.readouterr().err


def test_a_table_that_does_not_mark_rows_of_the_fit_is_warned_of(folder, call, capsys):
    """Labels that are joined to scores later: rows of the fit are marked only where there were labels."""
    with np.load("test.npz") as test:
        np.savez(folder / "bare.npz", logits=test["logits"])
        call("score", "t.safetensors", "bare.npz", "-o", "bare.csv")
        head, *rows = Path("bare.csv").read_text().splitlines()
        labelled = [f"{row},{label}" for row, label in zip(rows, test["y"], strict=True)]
    Path("joined.csv").write_text("\n".join([f"{head},y", *labelled]))
    assert read_scored("joined.csv").share_in_fit is None
    for file, is_warned in {"joined.csv": True, "test.csv": False}.items():
        capsys.readouterr()
        assert call("threshold", file, "--risk", 0.05, "--save", "t.safetensors") == 0
        assert ("Score the rows with their labels." in capsys.readouterr().err) == is_warned


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_rows_of_a_fit_on_probabilities_are_known_again(folder, call, ending):
    """Through text and float32 too."""
    rng = np.random.default_rng(2)
    logits = rng.normal(scale=2, size=(400, 3))
    proba, y = np.exp(logits), (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    proba = (proba / proba.sum(axis=1, keepdims=True)).astype(np.float32)
    write = {"npz": write_npz, "csv": write_csv, "parquet": write_parquet}[ending]
    write(f"half.{ending}", proba[:200], y[:200])
    write(f"whole.{ending}", proba, y)
    names = ["--columns", "a,b,c", "--label", "y"] if ending != "npz" else []
    given = [*names, "--probabilities"]
    assert call("fit", f"half.{ending}", *given, "--method", "temperature", "-o", "p.safetensors") == 0
    assert call("score", "p.safetensors", f"whole.{ending}", *given, "-o", f"whole-scored.{ending}") == 0
    with pytest.warns(auxcal.AuxcalWarning, match=r"50.0 % of these rows were in the fit"):
        assert read_scored(f"whole-scored.{ending}", label="y").share_in_fit == 0.5


def write_npz(path, proba, y):
    np.savez(path, proba=proba, y=y)


def write_csv(path, proba, y):
    lines = [",".join([*map(str, row), str(label)]) for row, label in zip(proba.tolist(), y.tolist(), strict=True)]
    Path(path).write_text("\n".join(["a,b,c,y", *lines]))


def write_parquet(path, proba, y):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    write_table(pyarrow.table({**dict(zip("abc", proba.T, strict=True)), "y": y}), path)


def test_a_promise_holds_for_the_kind_of_rows_that_it_was_found_on(folder, call, capsys):
    """Not for that of the fit: fitted on one shift, found on another, which is scored then."""
    rng = np.random.default_rng(1)
    for name, n in (("found", 1000), ("more", 3000)):
        y = rng.integers(3, size=n)
        logits = 2 * rng.normal(size=(n, 3)) + 3 * np.eye(3)[y]
        np.savez(folder / f"{name}.npz", logits=logits.astype(np.float32), y=y)
    call("score", "t.safetensors", "found.npz", "-o", "found.csv")
    assert call("threshold", "found.csv", "--risk", 0.2, "--save", "t.safetensors") == 0
    capsys.readouterr()
    assert call("score", "t.safetensors", "more.npz", "-o", "more-scored.npz") == 0
    assert "was found on rows like these, and stands." in capsys.readouterr().err
    with np.load("more-scored.npz") as rows:
        accepted = rows["accepted"]
        np.testing.assert_array_equal(
            accepted, rows["confidence"] >= auxcal.load("t.safetensors").certificate_.threshold
        )
        assert 0 < accepted.mean() < 1
    assert call("check", "t.safetensors", "more.npz", "--json") == 4
    assert json.loads(capsys.readouterr().out)["promise_holds"] is True
    assert call("score", "t.safetensors", "rest.npz", "-o", "rest.csv") != 0  # rows like those of the fit
    assert "does not hold for these rows. Nothing is accepted." in capsys.readouterr().err


@pytest.mark.parametrize("named", [False, True])
def test_a_promise_keeps_the_predicted_classes_of_its_rows(folder, call, named):
    names = ["--class-names", "a,b,c"] if named else []
    call("fit", "fit.npz", "--method", "temperature", "-o", "n.safetensors", *names)
    call("score", "n.safetensors", "test.npz", "-o", "named.csv")
    assert call("threshold", "named.csv", "--risk", 0.05, "--save", "n.safetensors") == 0
    with np.load("test.npz") as rows:
        expected = np.bincount(rows["logits"].argmax(axis=1), minlength=3)
    np.testing.assert_allclose(auxcal.load("n.safetensors").certificate_.found_on.predicted, expected)


def test_a_promise_from_picks_knows_their_largest_weight(folder, call, capsys):
    assert call("pick", "t.safetensors", "rest.npz", "--n", 400, "-o", "to-label.csv") == 0
    assert call("score", "t.safetensors", "to-label.csv", "--label", "y", "-o", "picked.csv") == 0
    capsys.readouterr()
    assert call("threshold", "picked.csv", "--risk", 0.3, "--weight", "weight", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    scored = read_scored("picked.csv", weight="weight")
    picks = auxcal.labelling.pick(auxcal.load("t.safetensors").predict_confidence(np.load("rest.npz")["logits"]), 400)
    assert scored.max_weight == pytest.approx(picks.max_weight)
    known = {"sample_weight": scored.sample_weight, "max_weight": scored.max_weight}
    assert found["threshold"] == auxcal.thresholds.threshold_at_risk(*scored[:2], 0.3, **known).threshold
    assert call("threshold", "picked.csv", "--risk", 0.3, "--weight", "weight", "--max-weight", 0.1) == 2
    assert "max_weight must be the largest weight that a row could have had" in capsys.readouterr().err


@pytest.mark.parametrize("options", [["--empirical"], ["--per-class"], ["--risk", 0.2]])
def test_only_one_promise_can_be_saved(folder, call, options):
    assert call("threshold", "test.csv", "--risk", 0.3, "--save", "t.safetensors", *options) == 2
    assert auxcal.load("t.safetensors").certificate_ is None


@pytest.mark.parametrize("files", [["t.safetensors", "rest.npz"], ["rest.npz"]])
def test_picks_with_and_without_a_calibrator(folder, call, capsys, files):
    assert call("pick", *files, "--n", 50, "-o", "to-label.csv") == 0
    assert "50 of 900 rows picked" in capsys.readouterr().out
    assert call("score", "t.safetensors", "to-label.csv", "--label", "y", "-o", "labelled.csv") == 0
    assert "weight" in (folder / "labelled.csv").read_text().splitlines()[0]


def test_labelled_and_unlabelled_rows_together(folder, call, capsys):
    call("score", "t.safetensors", "rest.npz", "-o", "rest.csv")
    capsys.readouterr()
    assert call("evaluate", "test.csv", "--unlabelled", "rest.csv", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["rows"], said["unlabelled"]) == (500, 900)
    assert said["accuracy"]["low"] < said["accuracy"]["value"] < said["accuracy"]["high"]
    assert call("evaluate", "test.csv", "--unlabelled", "rest.csv") == 0
    assert "500 labelled and 900 unlabelled rows." in capsys.readouterr().out


def test_a_promise_does_not_hold_for_rows_of_a_new_kind(folder, call, capsys):
    call("threshold", "test.csv", "--risk", 0.05, "--save", "t.safetensors")
    with np.load("rest.npz") as rows:
        np.savez(folder / "new.npz", logits=3 * rows["logits"] + 5)
    capsys.readouterr()
    assert call("check", "t.safetensors", "new.npz", "--json") == 4
    assert json.loads(capsys.readouterr().out)["promise_holds"] is False
    assert call("check", "t.safetensors", "new.npz") == 4
    assert "The promise that is kept with the calibrator does not hold" in capsys.readouterr().out
    assert call("score", "t.safetensors", "new.npz", "-o", "new.csv") == 4
    assert "does not hold for these rows. Nothing is accepted." in capsys.readouterr().err
    assert not any(line.endswith("true") for line in (folder / "new.csv").read_text().splitlines())
    assert call("score", "t.safetensors", "new.npz") == 4
    assert "Do not use accepted." in capsys.readouterr().err
    assert call("check", "t.safetensors", "rest.npz", "--json") == 0
    assert json.loads(capsys.readouterr().out)["promise_holds"] is True


@pytest.fixture
def rest(folder, call):
    """Rows without labels."""
    with np.load("rest.npz") as rows:
        np.savez("rest.npz", logits=rows["logits"])
    call("score", "t.safetensors", "rest.npz", "-o", "rest.csv")


@pytest.mark.usefixtures("rest")
def test_a_plan_with_and_without_a_pilot(call, capsys):
    capsys.readouterr()
    assert call("plan", "rest.csv", "--accuracy-within", 0.02, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["needed"] == plan(read_confidence("rest.csv"), accuracy_within=0.02).needed
    assert call("plan", "rest.csv", "--pilot", "test.csv", "--risk", 0.001, "--coverage", 1 - 1e-9) == 0
    text = capsys.readouterr().out
    assert "500     ±" in text
    assert "a risk of 0.1 %, promised for 100 %: no number of labels grants it" in text
    assert call("plan", "rest.csv", "--risk", 0.05) == 2
    assert "a promise takes a pilot" in capsys.readouterr().err
    assert call("plan", "rest.csv", "--coverage", 0.5) == 2
    assert call("plan", "-", "--accuracy-within", 0.02) == 2  # which would be read twice
    assert "give --risk too" in capsys.readouterr().err


@pytest.mark.parametrize("label", ["y", "truth"])
def test_the_labels_that_are_there_are_the_pilot(folder, call, capsys, label):
    scored = read_scored("test.csv")
    everything = read_confidence("test.csv")
    lines = (folder / "test.csv").read_text().splitlines()
    place = lines[0].split(",").index("y")

    def without(row):
        cells = row.split(",")
        return ",".join([*cells[:place], "", *cells[place + 1 :]])

    head = lines[0].replace("y", label) if label != "y" else lines[0]
    (folder / "some.csv").write_text("\n".join([head, *lines[1:101], *map(without, lines[101:])]) + "\n")
    named = [] if label == "y" else ["--label", label]
    assert call("plan", "some.csv", "--accuracy-within", 0.02, "--json", *named) == 0
    found = json.loads(capsys.readouterr().out)
    expected = plan(scored.confidence[:100], scored.correct[:100], everything, accuracy_within=0.02)
    assert found["needed"] == expected.needed
    assert found["outlooks"][0]["n"] == 100
    assert call("plan", "some.csv", "--accuracy-within", 0.02, *named) == 0
    assert "100 of 500 rows have labels: they are the pilot." in capsys.readouterr().out


def test_labels_of_none_of_the_classes_count_as_wrong(folder, call, capsys):
    with np.load("rest.npz") as rows:
        y = rows["y"].astype(str).astype(object)
        y[:300] = "other"
        np.savez("odd.npz", logits=rows["logits"], y=y.astype(str))
    assert call("plan", "odd.npz", "--accuracy-within", 0.02, "--no-class", "other", "--json") == 0
    needed = json.loads(capsys.readouterr().out)["needed"]["accuracy_within"]
    right = 0.6  # of 900 rows 300 are none of the classes, and one in ten of the others is wrong
    assert needed == pytest.approx(1.96**2 * right * (1 - right) / 0.02**2, rel=0.05)


@pytest.mark.usefixtures("rest")
@pytest.mark.parametrize("option", [["--label", "truth"], ["--no-class", "other"], ["--unknown-is-no-class"]])
def test_options_about_labels_need_labels(call, capsys, option):
    assert call("plan", "rest.csv", "--accuracy-within", 0.02, *option) == 2
    assert "--label" in capsys.readouterr().err


@pytest.mark.usefixtures("rest")
def test_a_plan_from_logits_alone_takes_the_classifiers_own_confidence(call, capsys):
    assert call("plan", "rest.npz", "--accuracy-within", 0.02, "--json") == 0
    said = capsys.readouterr()
    assert "the classifier's own confidence is taken, which is often too high" in said.err
    with np.load("rest.npz") as rows:
        own = auxcal.Uncalibrated().fit(rows["logits"][:1], [0]).predict_confidence(rows["logits"])
    found = json.loads(said.out)
    assert found["needed"] == plan(own, accuracy_within=0.02).needed
    assert call("plan", "rest.npz", "--columns", "scores") == 2
    assert "'scores'" in capsys.readouterr().err


def test_picks_replace_neither_the_file_nor_a_column(folder, call, capsys):
    rows = "weight,logit_0,logit_1\n70,2.5,0.1\n80,0.3,0.9\n90,1.5,0.2\n"
    (folder / "people.csv").write_text(rows)
    assert call("pick", "people.csv", "--n", 2, "-o", "picked.csv") == 2
    assert "there is a column 'weight' already" in capsys.readouterr().err
    (folder / "people.csv").write_text(rows.replace("weight", "kg"))
    assert call("pick", "people.csv", "--n", 2, "-o", "people.csv") == 2
    assert "would replace a file that is read" in capsys.readouterr().err
    assert call("pick", "people.csv", "--n", 2, "-o", "picked.csv") == 0


@pytest.mark.parametrize("option", ["--by", "--group"])
def test_what_unlabelled_rows_can_not_tell_is_refused(folder, call, capsys, option):
    assert call("evaluate", "test.csv", "--unlabelled", "test.csv", option, "y") == 2
    assert "leave --by and --group out" in capsys.readouterr().err
