"""Which columns stand beside rows that are scored: decided by the calibrator and by names, before any row is read."""

import csv
import json

import numpy as np
import pytest

import auxcal
from auxcal import Certificate, InputWarning, InvalidInputError
from auxcal.tables import read_scored

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

N = 300
NAMES = "cat", "dog"


def drawn(random_state, n=N):
    rng = np.random.default_rng(random_state)
    y = rng.integers(2, size=n)
    return (rng.normal(size=(n, 2)) + 2 * np.eye(2)[y]).astype(np.float32), y


FIT, NEW = drawn(0), drawn(1)


def table(rows, **others):
    logits, y = rows
    return pa.table({"cat": logits[:, 0], "dog": logits[:, 1], "y": np.array(NAMES)[y], **others})


def write(path, columns):
    """Write a table in the format of the extension."""
    if path.suffix == ".parquet":
        pq.write_table(columns, path)
    elif path.suffix == ".csv":
        rows = [",".join(map(str, row.values())) for row in columns.to_pylist()]
        path.write_text("\n".join([",".join(columns.column_names), *rows]))
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in columns.to_pylist()))
    else:
        np.savez(path, **{name: np.array(columns[name].to_pylist()) for name in columns.column_names})
    return path


def names_in(path):
    if path.suffix == ".parquet":
        return pq.read_schema(path).names
    if path.suffix == ".csv":
        return path.read_text().splitlines()[0].split(",")
    if path.suffix == ".jsonl":
        return list(json.loads(path.read_text().splitlines()[0]))
    with np.load(path) as arrays:
        return arrays.files


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Give calibrators for the columns cat and dog: one with a promise, and one without."""
    folder = tmp_path_factory.mktemp("fitted")
    plain = fitted(FIT)
    plain.save(folder / "plain.safetensors")
    plain.certificate_ = Certificate(0.5, 0.3, 0.95, n_rows=N, coverage=0.8)
    plain.save(folder / "promise.safetensors")
    return folder


def fitted(rows):
    calibrator = auxcal.TemperatureScaling().fit(*rows, class_names=NAMES)
    calibrator.inputs_ = auxcal.inputs.LogitInputs("logits", NAMES, NAMES, label_name="y")
    return calibrator


OLD = {"accepted": [True] * N, "in_fit": [True] * N, "proba_cat": [0.5] * N, "proba_1": [0.5] * N}
OLD |= {"proba_no_class": [0.5] * N, "confidence": [0.1] * N, "prediction": ["dog"] * N}
OWN = {"probability": [0.5] * N, "accepted_by": ["me"] * N}
ENDINGS = ".csv", ".parquet", ".jsonl", ".npz"


@pytest.mark.parametrize("ending", ENDINGS)
def test_columns_of_an_earlier_scoring_are_left_out_and_it_is_said(ending, folder, call, capsys, tmp_path):
    given, out = write(tmp_path / f"old{ending}", table(NEW, **OLD, **OWN)), tmp_path / f"out{ending}"
    assert call("score", folder / "plain.safetensors", given, "-o", out) == 0
    assert set(names_in(out)) == {"y", *OWN, "prediction", "confidence", "in_fit"}
    scored = read_scored(out, class_names=NAMES)
    np.testing.assert_allclose(scored.confidence, fitted(FIT).predict_confidence(NEW[0]), atol=1e-6)
    assert scored.share_in_fit == 0
    words = " ".join(capsys.readouterr().err.split())
    assert "columns of an earlier scoring are left out: accepted, proba_cat, proba_1, proba_no_class." in words


def test_what_is_written_again_is_not_said_to_be_left_out(folder, call, capsys, tmp_path):
    given = write(tmp_path / "old.parquet", table(NEW, accepted=OLD["accepted"], proba_cat=OLD["proba_cat"]))
    out = tmp_path / "out.csv"
    assert call("score", folder / "promise.safetensors", given, "--proba", "-o", out) in (0, 3, 4)
    assert names_in(out) == ["y", "prediction", "confidence", "accepted", "in_fit", "proba_cat", "proba_dog"]
    assert "left out" not in capsys.readouterr().err


def test_folders_picks_and_arrow_tables_leave_them_out_too(folder, call, tmp_path):
    calibrator = folder / "plain.safetensors"
    given = table(NEW, **OLD, **OWN)
    (tmp_path / "parts").mkdir()
    write(tmp_path / "parts/a.parquet", given)
    assert call("score", calibrator, tmp_path / "parts", "-o", tmp_path / "scored") == 0
    assert not {*OLD} - {"prediction", "confidence", "in_fit"} & {*names_in(tmp_path / "scored/a.parquet")}
    assert call("pick", calibrator, tmp_path / "parts/a.parquet", "--n", 50, "-o", tmp_path / "picks.csv") == 0
    assert {*OWN, "prediction", "confidence"} <= {*names_in(tmp_path / "picks.csv")}
    assert not {*OLD} - {"prediction", "confidence"} & {*names_in(tmp_path / "picks.csv")}
    beside = auxcal.arrow.score(given, auxcal.load(calibrator)).beside(given)
    assert beside.column_names == ["cat", "dog", "y", *OWN, "prediction", "confidence"]


def test_a_calibrator_of_named_columns_knows_the_columns_of_its_probabilities(call, capsys, tmp_path):
    pandas = pytest.importorskip("pandas")
    by_index = auxcal.PlattScaling().fit(pandas.DataFrame(FIT[0], columns=list(NAMES)), FIT[1])
    given = table(NEW, proba_cat=OLD["proba_cat"])
    assert by_index.inputs_.class_names is None
    assert "proba_cat" not in auxcal.arrow.score(given, by_index).beside(given).column_names


@pytest.mark.parametrize("ending", ENDINGS)
def test_columns_of_a_scoring_with_other_names_are_left_out(ending, folder, call, capsys, tmp_path):
    """Classes have names for one calibrator, and numbers or other names for the next."""
    by_index = auxcal.TemperatureScaling().fit(*FIT)
    by_index.save(tmp_path / "index.safetensors")
    scored, given = tmp_path / f"scored{ending}", {"logit_0": NEW[0][:, 0], "logit_1": NEW[0][:, 1]}
    new = write(tmp_path / f"new{ending}", table(NEW, **given, proba_of_rain=[0.5] * N))
    assert call("score", folder / "plain.safetensors", new, "--proba", "-o", scored) == 0
    assert "proba_of_rain" in names_in(scored)
    relabelled = tmp_path / "by-index.parquet"
    old = {name: OLD[name] for name in ("proba_cat", "prediction", "confidence")}
    columns = pa.table({"y": NEW[1], **given, **old})
    write(relabelled, columns)
    capsys.readouterr()
    assert call("score", tmp_path / "index.safetensors", relabelled, "-o", tmp_path / f"again{ending}") == 0
    assert names_in(tmp_path / f"again{ending}") == ["y", "prediction", "confidence", "in_fit"]
    assert "are left out: proba_cat." in " ".join(capsys.readouterr().err.split())
    assert "proba_cat" not in auxcal.arrow.score(columns, by_index).beside(columns).column_names


def test_columns_of_one_name_are_refused(folder):
    twice = pa.table([*NEW[0].T, NEW[0][:, 0]], names=["cat", "dog", "dog"])
    with pytest.raises(InvalidInputError, match=r"a name of its own; got 'dog' more than once"):
        auxcal.arrow.score(twice, auxcal.load(folder / "plain.safetensors"))


def test_labels_that_scores_would_replace_are_refused(folder, call, capsys, tmp_path):
    given = write(tmp_path / "new.parquet", table(NEW, accepted=NEW[1]))
    assert call("score", folder / "promise.safetensors", given, "--label", "accepted", "-o", tmp_path / "out.csv") == 2
    assert "the true classes are in the column 'accepted'" in " ".join(capsys.readouterr().err.split())
    assert call("score", folder / "plain.safetensors", given, "--label", "accepted", "-o", tmp_path / "out.csv") == 0
    assert "accepted" in names_in(tmp_path / "out.csv")


# Rows of the fit ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [FIT, NEW], ids=["fit-first", "new-first"])
@pytest.mark.parametrize("parts", [False, True], ids=["file", "folder"])
def test_rows_of_the_fit_are_marked_wherever_they_come(first, parts, folder, call, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("auxcal.tables.batches.BATCH_BYTES", 1000)
    other = NEW if first is FIT else FIT
    both = tmp_path / "rows"
    both.mkdir()
    write(both / "a.csv", table(first))
    write(both / "b.csv", table(other))
    out = tmp_path / ("scored" if parts else "scored.csv")
    assert call("score", folder / "plain.safetensors", both, "-o", out) == 0
    with pytest.warns(InputWarning, match=r"50.0 % of these rows were in the fit"):
        assert read_scored(out).share_in_fit == 0.5
    assert call("threshold", out, "--risk", 0.3) == 2
    assert "no promise" in capsys.readouterr().err


def test_a_folder_that_goes_on_can_be_read(folder, call, capsys, tmp_path):
    (tmp_path / "rows").mkdir()
    write(tmp_path / "rows/b.csv", table(NEW))
    assert call("score", folder / "plain.safetensors", tmp_path / "rows", "-o", tmp_path / "scored") == 0
    write(tmp_path / "rows/a.csv", table(FIT))
    assert call("score", folder / "plain.safetensors", tmp_path / "rows", "-o", tmp_path / "scored") == 0
    assert call("threshold", tmp_path / "scored", "--risk", 0.3) == 2
    assert "no promise" in capsys.readouterr().err


def test_what_the_first_part_decides_holds_for_a_part_before_it(call, capsys, tmp_path):
    auxcal.PlattScaling().fit(*FIT).save(tmp_path / "plain.safetensors")
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows/b.csv").write_text("logit_0,logit_1,y\n1,2,1\n2,1,0\n")
    arguments = "score", tmp_path / "plain.safetensors", tmp_path / "rows", "-o", tmp_path / "scored"
    assert call(*arguments) == 0
    (tmp_path / "rows/a.csv").write_text("logit_0,logit_1,y\n1,2,cat\n2,1,dog\n")
    assert call(*arguments) == 0
    with (tmp_path / "scored/a.csv").open(newline="") as file:
        assert [row["y"] for row in csv.DictReader(file)] == ["cat", "dog"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_share_in_a_large_fit_is_that_of_rows_that_can_be_told(ending, call, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("auxcal.calibrators.fitting.MOST_HASHES", 100)
    few = fitted(FIT)
    few.save(tmp_path / "few.safetensors")
    assert few.share_in_fit(FIT[0]) == 1
    assert few.share_in_fit(NEW[0]) == 0
    both = tuple(np.concatenate(pair) for pair in zip(NEW, FIT, strict=True))
    given, out = write(tmp_path / f"rows{ending}", table(both)), tmp_path / f"out{ending}"
    assert call("score", tmp_path / "few.safetensors", given, "-o", out) == 0
    with pytest.warns(InputWarning, match="of these rows were in the fit"):
        assert read_scored(out).share_in_fit == pytest.approx(few.share_in_fit(both[0]))
    assert 0.3 < few.share_in_fit(both[0]) < 0.7
    assert call("threshold", out, "--risk", 0.3) == 2
    assert "no promise" in capsys.readouterr().err


def test_it_is_said_that_rows_of_the_fit_cannot_be_told(call, capsys, tmp_path):
    logits, y = FIT
    fitted((np.repeat(logits, 2, axis=0), np.repeat(y, 2))).save(tmp_path / "repeated.safetensors")
    assert call("score", tmp_path / "repeated.safetensors", write(tmp_path / "new.csv", table(NEW)), "-o", "-") == 0
    words = " ".join(capsys.readouterr().err.split())
    assert "in_fit is not written, because many rows of the fit are equal" in words
    unlabelled = write(tmp_path / "rest.csv", table(NEW).drop_columns("y"))
    assert call("score", tmp_path / "repeated.safetensors", unlabelled, "-o", "-") == 0
    assert "in_fit" not in capsys.readouterr().err


# The columns that are read --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["score", "check", "pick", "monitor"])
def test_columns_that_the_fit_named_come_before_an_array(command, folder, call, capsys, tmp_path):
    given = write(tmp_path / "new.parquet", table(NEW, logits=(-NEW[0]).tolist(), day=["monday"] * N))
    plain = write(tmp_path / "plain.parquet", table(NEW, day=["monday"] * N))
    found = []
    for path in (given, plain):
        out = tmp_path / f"{path.stem}-out.parquet"
        calls = {
            "score": ("score", folder / "plain.safetensors", path, "-o", out),
            "check": ("check", folder / "plain.safetensors", path, "--json"),
            "pick": ("pick", folder / "plain.safetensors", path, "--n", 50, "-o", out, "--json"),
            "monitor": ("monitor", folder / "plain.safetensors", path, "--by", "day", "--json"),
        }
        assert call(*calls[command]) == 0
        printed = capsys.readouterr().out
        if command in ("check", "monitor"):
            found.append(json.loads(printed))
        else:
            found.append(pq.read_table(out)["confidence"].to_pylist())
    assert found[0] == found[1]


def test_an_array_serves_where_no_column_of_the_fit_is(folder, call, tmp_path):
    np.savez(tmp_path / "new.npz", logits=NEW[0], y=NEW[1])
    assert call("score", folder / "plain.safetensors", tmp_path / "new.npz", "-o", tmp_path / "out.csv") == 0


@pytest.mark.parametrize("ending", [".npz", ".parquet"])
def test_an_array_that_the_fit_named_comes_before_the_usual_one(ending, call, tmp_path):
    for name, (logits, y), others in (("fit", FIT, {}), ("new", NEW, {"logits": (-NEW[0]).tolist()})):
        columns = pa.table({"scores": logits.tolist(), **others, "y": y})
        write(tmp_path / f"{name}{ending}", columns)
    calibrator, out = tmp_path / "c.safetensors", tmp_path / "out.parquet"
    assert call("fit", tmp_path / f"fit{ending}", "--columns", "scores", "--method", "platt", "-o", calibrator) == 0
    assert call("score", calibrator, tmp_path / f"new{ending}", "-o", out) == 0
    assert np.array_equal(read_scored(out).prediction, NEW[0].argmax(axis=1))


def test_features_that_the_fit_named_come_before_an_array(featured, featured_platt):
    """As for the columns of the logits."""
    from auxcal.tables.columns import find_layout
    from auxcal.tables.spec import TableSpec

    calibrator = featured_platt().fit(featured.logits, featured.y, features=featured.features)
    spec = TableSpec(inputs=auxcal.inputs.LogitInputs("logits", feature_names=("age", "size")))
    names = "logits", "age", "size", "features"
    assert find_layout(names, ("logits", "features"), spec, calibrator).features == ("age", "size")
    assert find_layout(("logits", "features"), ("logits", "features"), spec, calibrator).features == ("features",)


# Classes that are called like missing values --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["NA", "null", "nan", "N/A"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_class_may_be_called_like_a_missing_value(name, ending, call, capsys, tmp_path):
    def rows(path, drawn):
        logits, y = drawn
        columns = {"EU": logits[:, 0], name: logits[:, 1], "y": np.array(["EU", name])[y]}
        return write(path, pa.table(columns))

    fit, new = rows(tmp_path / "fit.parquet", FIT), rows(tmp_path / f"new{ending}", NEW)
    calibrator, out = tmp_path / "c.safetensors", tmp_path / f"out{ending}"
    assert call("fit", fit, "--columns", f"EU,{name}", "--method", "platt", "-o", calibrator) == 0
    assert call("score", calibrator, new, "-o", out) == 0
    for option in ([], ["--on-bad-rows", "skip"], ["--calibrator", calibrator]):
        capsys.readouterr()
        assert call("evaluate", out, "--json", "--resamples", 0, *option) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["rows"] == N
        assert found["accuracy"] == pytest.approx(np.mean(NEW[0].argmax(axis=1) == NEW[1]))


def test_a_missing_prediction_is_still_no_class(tmp_path):
    (tmp_path / "r.csv").write_text("prediction,confidence,y\na,0.5,a\nb,0.5,NA\nNA,NA,b\n")
    with pytest.warns(InputWarning) as caught:
        assert len(read_scored(tmp_path / "r.csv").y) == 1
    assert {str(each.message).partition(" are")[0] for each in caught} == {
        "1 of 3 rows have no score and",
        "1 of 2 rows have no label in 'y' and",
    }


def test_a_class_may_come_after_labels_like_it(call, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("auxcal.tables.batches.BATCH_BYTES", 100)
    rows = ["EU,0.5,NA"] * 20 + ["NA,0.5,NA"] * 20
    (tmp_path / "scored.csv").write_text("\n".join(["prediction,confidence,y", *rows]))
    for option in ([], ["--class-names", "EU,NA"]):
        assert call("evaluate", tmp_path / "scored.csv", *option, "--json", "--resamples", 0) == 0
        assert json.loads(capsys.readouterr().out)["accuracy"] == 0.5


# Samples, lines and counts --------------------------------------------------------------------------------------------


def test_a_sample_is_drawn_of_rows_with_a_label(call, capsys, tmp_path):
    logits, y = drawn(2, 20_000)
    labels = np.where(np.arange(20_000) % 40 == 0, np.array(NAMES)[y], None)
    path = tmp_path / "few.parquet"
    pq.write_table(pa.table({"cat": logits[:, 0], "dog": logits[:, 1], "y": labels}), path)
    arguments = ["--columns", "cat,dog", "--method", "platt", "-o", tmp_path / "c.safetensors", "--json"]
    for sample, used in ((2000, 500), (200, 200)):
        assert call("fit", path, *arguments, "--sample", sample) == 0
        said = capsys.readouterr()
        assert json.loads(said.out)["rows"] == pytest.approx(used, abs=2)
        assert "19,500 of 20,000 rows have no label" in " ".join(said.err.split())


def test_a_promise_may_be_withdrawn_in_lines(folder, call, tmp_path):
    logits, y = NEW
    given = write(tmp_path / "new.jsonl", table((logits * 9 - 40, y), note=[{"a": [1, 2]}] * N))
    out = tmp_path / "out.jsonl"
    assert call("score", folder / "promise.safetensors", given, "-o", out) in (3, 4)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(lines) == N
    assert not any(line["accepted"] for line in lines)
    assert all(0 < line["confidence"] <= 1 for line in lines)


@pytest.mark.parametrize("ending", ENDINGS)
def test_half_a_character_and_ids_of_two_types_are_passed_on(ending, folder, call, tmp_path):
    rows = table(NEW).to_pylist()
    own = {"text": "cut \ud83d", "key \ud83d": 1}
    lines = [{"id": place if place % 2 else f"a{place}", **own, **row} for place, row in enumerate(rows)]
    (tmp_path / "new.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    out = tmp_path / f"out{ending}"
    assert call("score", folder / "plain.safetensors", tmp_path / "new.jsonl", "-o", out) == 0
    if ending == ".jsonl":
        written = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
        assert [(line["id"], line["text"], line["key \ufffd"]) for line in written] == [
            (line["id"], line["text"], 1) for line in lines
        ]
    elif ending == ".parquet":
        assert pq.read_table(out).slice(0, 2).select(["id", "text", "key \ufffd"]).to_pylist() == [
            {"id": "a0", "text": "cut \ufffd", "key \ufffd": 1},
            {"id": "1", "text": "cut \ufffd", "key \ufffd": 1},
        ]


@pytest.mark.parametrize("by", ["text", "day"])
def test_half_a_character_is_shown_in_pages_as_damaged(by, folder, call, tmp_path):
    pytest.importorskip("jinja2")
    lines = [
        {"id": place, "text": "cut \ud83d", "day": f"day {2 * place // N} \ud83d", **row}
        for place, row in enumerate(table(NEW).to_pylist())
    ]
    given = tmp_path / "new.jsonl"
    given.write_text("".join(json.dumps(line) + "\n" for line in lines))
    compare = "compare", given, "--columns", "cat,dog", "--methods", "platt", "--id", "text", "--by", by
    assert call(*compare, "--out", tmp_path / "report") == 0
    assert call("monitor", folder / "plain.safetensors", given, "--by", by, "-o", tmp_path / "page.html") == 0
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) == 2
    for page in pages:
        assert "\ufffd" in page.read_text(encoding="utf-8")


def test_a_group_that_pandas_does_not_know_is_an_error_of_ours():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(InvalidInputError, match="groups must be known for every row; got <NA> in row 1"):
        auxcal.Predictions(np.eye(3), [0, 1, 2], groups=pandas.array(["a", pandas.NA, "b"], dtype="string"))


def rows_of(path):
    return next(float(line.split()[-1]) for line in path.read_text().splitlines() if line.startswith("auxcal_rows"))


def test_metrics_of_a_run_without_new_rows_say_that_there_were_none(folder, call, tmp_path):
    (tmp_path / "rows").mkdir()
    write(tmp_path / "rows/a.csv", table(NEW))
    metrics = tmp_path / "auxcal.prom"
    watch = "monitor", folder / "plain.safetensors", tmp_path / "rows", "--state", tmp_path / "m.state"
    score = "score", folder / "plain.safetensors", tmp_path / "rows", "-o", tmp_path / "scored"
    for command in (watch, score):
        for expected in (N, 0):
            assert call(*command, "--metrics", metrics) == 0
            assert rows_of(metrics) == expected
