"""Whatever is wrong with the input, the answer is one sentence that names it, exit code 2, and no file."""

import io
import json
import struct
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import auxcal
from auxcal._core.extras import is_installed

HEADER = "logit_0,logit_1,logit_2,y\n"
FEATURED = "age,size,logit_0,logit_1,logit_2,y\n"


@pytest.fixture(scope="module")
def good(rows, featured, featured_platt, tmp_path_factory):
    """Give a folder with files that nothing is wrong with."""
    logits, y = rows
    folder = tmp_path_factory.mktemp("good")
    np.savez(folder / "good.npz", logits=logits, y=y)
    np.save(folder / "logits.npy", logits)
    np.save(folder / "y.npy", y)
    np.save(folder / "also-y.npy", y)
    np.savez(folder / "four.npz", logits=np.eye(4)[y], y=y)
    (folder / "good.csv").write_text(f"{HEADER}1,2,3,0\n3,2,1,0\n2,3,1,1\n1,1,4,-1\n")
    if is_installed("tables"):
        import pyarrow as pa
        from pyarrow import parquet

        columns = {f"logit_{k}": logits[:, k] for k in range(3)} | {"y": y}
        parquet.write_table(pa.table(columns), folder / "good.parquet")
    auxcal.TemperatureScaling().fit(logits, y).save(folder / "ts.safetensors")
    (folder / "featured.csv").write_text(f"{FEATURED}20,1,1,2,3,0\n30,,3,2,1,0\n40,2,2,3,1,1\n")
    with_features = featured_platt().fit(featured.logits, featured.y, features=featured.features)
    with_features.save(folder / "fp.safetensors")
    (folder / "scored.csv").write_text("prediction,confidence,y\n" + "0,0.9,0\n1,0.8,1\n2,0.7,0\n" * 10)
    return folder


@pytest.fixture
def folder(good, tmp_path, monkeypatch):
    for path in good.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def text(contents):
    return lambda path: path.write_text(contents)


def cut(name, share=0.6):
    """Write the first part of a good file."""

    def write(path):
        contents = (path.parent / name).read_bytes()
        path.write_bytes(contents[: int(len(contents) * share)])

    return write


def arrays(**named):
    return lambda path: np.savez(path, **named)


def huge_npy(path):
    """Declare a matrix of 8 TB, of which there are a few bytes."""
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (10**10, 100)})
        file.write(b"\0" * 80)


def huge_npz(path):
    member = path.parent / "huge.npy"
    huge_npy(member)
    with zipfile.ZipFile(path, "w") as file:
        file.write(member, "logits.npy")
        file.writestr("y.npy", npy_bytes(np.zeros(3, dtype=int)))


def npy_bytes(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def huge_safetensors(path):
    header = json.dumps({"logits": {"dtype": "F64", "shape": [10**10, 100], "data_offsets": [0, 8 * 10**12]}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header)


def bare_tensor(path):
    torch = pytest.importorskip("torch")
    torch.save(torch.ones(3, 3), path)


def fit(*arguments):
    return ["fit", *arguments, "--method", "temperature", "-o", "out.safetensors"]


def score(*arguments, out="out.csv"):
    return ["score", "ts.safetensors", *arguments, "-o", out]


def score_featured(*arguments):
    return ["score", "fp.safetensors", *arguments, "-o", "out.csv"]


# What it is: the file that is written first and how, the command, words of the sentence.
BAD = {
    # files that are not there, or not what they are called
    "missing file": (None, fit("nowhere.npz"), "nowhere.npz: there is no such file"),
    "missing calibrator": (None, ["score", "no.safetensors", "good.npz", "-o", "out.csv"], "no.safetensors"),
    "missing select file": (None, fit("good.npz", "--select", "no.csv"), "no.csv: there is no such file"),
    "a folder": (("bad.csv", lambda path: path.mkdir()), fit("bad.csv"), "bad.csv: there are no files in this folder"),
    "one file twice": (None, fit("good.csv", "good.csv"), "good.csv: one file is named more than once"),
    "a pattern without a match": (None, fit("part-*.csv"), "part-*.csv: nothing matches this pattern"),
    "an unknown store": pytest.param(
        None,
        fit("nowhere://bucket/x.csv"),
        "nowhere://bucket/x.csv: this address can't be opened",
        marks=pytest.mark.needs("tables"),
    ),
    "unknown extension": (("bad.xlsx", text("x")), fit("bad.xlsx"), "bad.xlsx: the extension must be one of .npz"),
    "no extension": (("bad", text("x")), fit("bad"), "bad: the extension must be one of"),
    "empty csv": (("bad.csv", text("")), fit("bad.csv"), "bad.csv: expected a line with the names"),
    "empty npz": (("bad.npz", text("")), fit("bad.npz"), "bad.npz: expected a complete .npz file"),
    "empty parquet": (
        ("bad.parquet", text("")),
        score("bad.parquet"),
        "bad.parquet: expected a complete .parquet file",
    ),
    "damaged npz": (("bad.npz", cut("good.npz")), fit("bad.npz"), "bad.npz: expected a complete .npz file"),
    "damaged parquet": (("bad.parquet", cut("good.parquet")), score("bad.parquet"), "bad.parquet: expected a complete"),
    "damaged calibrator": (
        ("bad.safetensors", cut("ts.safetensors", 0.99)),
        ["score", "bad.safetensors", "good.npz", "-o", "out.csv"],
        "bad.safetensors: expected a calibrator that auxcal saved",
    ),
    "damaged npy": (
        ("bad.npy", cut("logits.npy")),
        fit("bad.npy", "y.npy"),
        "bad.npy and y.npy: expected a complete .npy",
    ),
    "text as npz": (("bad.npz", text("hello")), fit("bad.npz"), "bad.npz: expected a complete .npz file"),
    "text as torch": (("bad.pt", text("hello")), fit("bad.pt"), "bad.pt: expected a complete .pt file"),
    "a bare tensor": (
        ("bad.pt", bare_tensor),
        fit("bad.pt"),
        "bad.pt: expected a dict with logits and y; got Tensor",
    ),
    "huge npy": (("bad.npy", huge_npy), fit("bad.npy", "y.npy"), "bad.npy and y.npy: expected a complete .npy file"),
    "huge npz": (("bad.npz", huge_npz), fit("bad.npz"), "bad.npz: expected a complete .npz file"),
    "huge safetensors": (("bad.safetensors", huge_safetensors), fit("bad.safetensors"), "bad.safetensors: expected a"),
    "calibrator as data": (None, fit("ts.safetensors"), "ts.safetensors: expected logits; this is a calibrator"),
    "data as calibrator": (
        ("bad.safetensors", lambda path: save_file({"logits": np.eye(3)}, path)),
        ["score", "bad.safetensors", "good.npz", "-o", "out.csv"],
        "bad.safetensors: expected a calibrator that auxcal saved",
    ),
    "npz as calibrator": (None, ["score", "good.npz", "good.npz", "-o", "out.csv"], "good.npz: expected a calibrator"),
    # columns
    "wrong column": (
        None,
        fit("good.csv", "--columns", "a,b,c"),
        "good.csv: there is no column 'a'; found 'logit_0'",
    ),
    "wrong prefix": (None, fit("good.csv", "--columns", "z_"), "good.csv: expected an array 'z_', or columns z_0"),
    "wrong label": (None, fit("good.csv", "--label", "truth"), "good.csv: there is no column 'truth'"),
    "no label": (("bad.npz", arrays(logits=np.eye(3))), fit("bad.npz"), "bad.npz: there is no column 'y'"),
    "no header": (("bad.csv", text("1,2,3,0\n4,5,6,1\n")), fit("bad.csv"), "bad.csv: expected an array 'logits'"),
    "gap in the columns": (
        ("bad.csv", text("logit_0,logit_2,y\n1,2,0\n")),
        fit("bad.csv"),
        "bad.csv: the columns logit_0 to logit_2 must all be there; logit_1 is not",
    ),
    "column twice": (
        ("bad.csv", text("logit_0,logit_1,logit_1,y\n1,2,3,0\n")),
        fit("bad.csv"),
        "bad.csv: the column 'logit_1' is there more than once",
    ),
    "one class": (
        ("bad.csv", text("logit_0,y\n1,0\n")),
        fit("bad.csv"),
        "bad.csv: the columns logit_0, logit_1, … must be one for each class; got logit_0 alone",
    ),
    "ragged csv": (("bad.csv", text(f"{HEADER}1,2,3,0\n1,2\n")), fit("bad.csv"), "Row #3: Expected 4 columns, got 2"),
    "no rows": (("bad.csv", text(HEADER)), fit("bad.csv"), "bad.csv: there are no rows"),
    "no rows to score": (("bad.csv", text(HEADER)), score("bad.csv"), "bad.csv: there are no rows to score"),
    # numbers
    "NaN": (("bad.npz", arrays(logits=[[1, np.nan, 0]], y=[0])), fit("bad.npz"), "bad.npz: logits must be finite"),
    "NaN to score": (("bad.csv", text(f"{HEADER}1,,3,0\n")), score("bad.csv"), "bad.csv: logits must be finite"),
    "infinity": (("bad.npz", arrays(logits=[[1, np.inf, 0]], y=[0])), fit("bad.npz"), "bad.npz: logits must be finite"),
    "text for numbers": (
        ("bad.csv", text(f"{HEADER}1,x,3,0\n")),
        fit("bad.csv"),
        "bad.csv: expected the 4 columns of the first line in every row, and numbers for logits, features, weights and "
        "confidence; got Row #2: column 'logit_1'",
    ),
    "other encoding": (
        ("bad.csv", lambda path: path.write_bytes(f"id,{HEADER}é,1,2,3,0\n".encode("latin-1"))),
        score("bad.csv"),
        "if it is not UTF-8, save the file as 'CSV UTF-8'",
    ),
    "logits in a cube": (
        ("bad.npz", arrays(logits=[[[1.0], [2.0]]], y=[0])),
        fit("bad.npz"),
        "bad.npz: logits must have",
    ),
    "two vectors": (None, fit("y.npy", "also-y.npy"), "y.npy and also-y.npy: expected logits of shape (n, K)"),
    "labels as text": (
        ("bad.csv", text(f"{HEADER}1,2,3,cat\n")),
        fit("bad.csv"),
        "got 'cat' in row 0 (1 such rows). Name the classes in order with class_names (--class-names)",
    ),
    "label missing": (("bad.csv", text(f"{HEADER}1,2,3,\n")), fit("bad.csv"), "bad.csv: no row has a label in 'y'"),
    "label of a half": (("bad.csv", text(f"{HEADER}1,2,3,1.5\n")), fit("bad.csv"), "got 1.5 in row 0"),
    "label too large": (("bad.csv", text(f"{HEADER}1,2,3,3\n")), fit("bad.csv"), "y must be a class index 0..2"),
    "label too small": (("bad.csv", text(f"{HEADER}1,2,3,-2\n")), fit("bad.csv"), "got -2 in row 0"),
    "one-hot labels": (("bad.npz", arrays(logits=np.eye(3), y=np.eye(3))), fit("bad.npz"), "y must have shape (n,)"),
    "rows without labels": (("bad.npz", arrays(logits=np.eye(3), y=[0])), fit("bad.npz"), "'logits' 3, 'y' 1"),
    "one row to choose on": (
        ("bad.csv", text(f"{HEADER}1,2,3,0\n")),
        ["fit", "bad.csv", "--method", "ccac", "-o", "out.safetensors"],
        "bad.csv: CCAC chooses its hyper-parameters on rows that are set aside",
    ),
    "one row to hold out": (
        ("bad.csv", text(f"{HEADER}1,2,3,0\n")),
        ["fit", "bad.csv", "-o", "out.safetensors"],
        "bad.csv: CCACX holds rows out in turn, and so needs at least 2 rows; got 1",
    ),
    # probabilities
    "probabilities unasked": (
        ("bad.csv", text("prob_0,prob_1,y\n0.5,0.5,0\n")),
        fit("bad.csv"),
        "got probabilities. Give probabilities=True (--probabilities)",
    ),
    "logits as probabilities": (None, fit("good.csv", "--probabilities"), "good.csv: expected probabilities"),
    "sum is not one": (
        ("bad.csv", text("prob_0,prob_1,y\n0.5,0.5,0\n0.5,0.6,0\n")),
        fit("bad.csv", "--probabilities"),
        "row 1 has 0.5 to 0.6 with the sum 1.1",
    ),
    # features
    "features of a method that uses none": (
        None,
        fit("featured.csv", "--features", "age"),
        "featured.csv: TemperatureScaling reads logits alone; got features too. Leave features out",
    ),
    "features of a calibrator that uses none": (
        None,
        score("featured.csv", "--features", "age"),
        "featured.csv: TemperatureScaling reads logits alone",
    ),
    "no features to score": (None, score_featured("featured.csv"), "featured.csv: FP was fitted with 2 features"),
    "fewer features to score": (
        None,
        score_featured("featured.csv", "--features", "age"),
        "featured.csv: features must have the 2 columns that the calibrator was fitted with; got 1",
    ),
    "wrong feature column": (
        None,
        score_featured("featured.csv", "--features", "age,hue"),
        "featured.csv: there is no column 'hue'; found 'age'",
    ),
    "true classes as features": (
        None,
        score_featured("featured.csv", "--features", "age,y"),
        "featured.csv: the columns of the features must each be named once, and hold neither logits nor true classes",
    ),
    "missing feature": (
        None,
        score_featured("featured.csv", "--features", "age,size", "--on-bad-rows", "fail"),
        "featured.csv: features must be finite; got nan (NaN or inf) at [1, 1]",
    ),
    "text for features": (
        ("bad.csv", text(f"{FEATURED}old,1,1,2,3,0\n")),
        score_featured("bad.csv", "--features", "age,size"),
        "got Row #2: column 'age'",
    ),
    "other features to compare": (
        None,
        ["compare", "featured.csv", "--features", "age", "--test", "good.npz"],
        "good.npz: there is no column 'age'",
    ),
    # what does not belong together
    "other number of classes": (None, score("four.npz"), "four.npz: logits must have the 3 columns"),
    "other classes to select": (None, ["fit", "good.npz", "--select", "four.npz", "-o", "out.safetensors"], "four.npz"),
    "two data files": (None, fit("good.npz", "good.csv"), "expected files of one format; got 1 .npz, 1 .csv"),
    "transfer of another": (
        None,
        ["transfer", "ts.safetensors", "good.csv", "-o", "out.safetensors"],
        "ts.safetensors: only a CCAC-S can be transferred; this is TS",
    ),
    "unknown method": (
        None,
        ["fit", "good.npz", "--method", "magic", "-o", "out.safetensors"],
        "the method must be one of uncalibrated, temperature",
    ),
    "negative random state": (None, fit("good.npz", "--random-state", "-1"), "--random-state"),
    "no output named": (None, ["fit", "good.npz"], "Missing option '--out'"),
    "no data named": (None, ["fit", "-o", "out.safetensors"], "Missing argument 'FILE'"),
    "json beside scores": (None, ["score", "ts.safetensors", "good.npz", "--json"], "give --out"),
    # outputs
    "output of unknown extension": (None, score("good.npz", out="out.doc"), "out.doc: the extension must be one of"),
    "output that is only read": (None, score("good.npz", out="out.pt"), "out.pt: such files are only read"),
    "calibrator of another ending": (None, ["fit", "good.npz", "-o", "out.npz"], "Save it as out.safetensors"),
    "output in no folder": (None, score("good.npz", out="no/out.csv"), "the folder 'no' does not exist"),
    "output below a file": (None, score("good.npz", out="good.csv/out.csv"), "the folder 'good.csv' does not exist"),
    "output is a folder": (("out.csv", lambda path: path.mkdir()), score("good.npz", out="out.csv"), "is a folder"),
    "output where none can be": (
        None,
        score("good.npz", out="/proc/out.csv"),
        "can't be written (",
    ),
    # scored files
    "logits to evaluate": (None, ["evaluate", "good.csv"], "good.csv: there is no column 'prediction'"),
    "no label to evaluate": (
        ("bad.csv", text("prediction,confidence\n0,0.5\n")),
        ["evaluate", "bad.csv"],
        "bad.csv: there is no column 'y'",
    ),
    "confidence above one": (
        ("bad.csv", text("prediction,confidence,y\n0,1.5,0\n")),
        ["evaluate", "bad.csv"],
        "bad.csv: confidence must be a probability in [0, 1]; got 1.5",
    ),
    "missing scored file": (None, ["threshold", "nowhere.csv", "--risk", "0.1"], "nowhere.csv: there is no such file"),
    "negative resamples": (None, ["evaluate", "scored.csv", "--resamples", "-1"], "--resamples"),
    "risk of nothing": (None, ["threshold", "scored.csv", "--risk", "0"], "risk must be a share in (0, 1); got 0"),
    "risk in percent": (None, ["threshold", "scored.csv", "--risk", "5"], "For 5 % give 0.05"),
    "risk as text": (None, ["threshold", "scored.csv", "--risk", "low"], "--risk"),
    "risk out of reach": (
        ("bad.csv", text("prediction,confidence,y\n0,0.9,1\n0,0.8,1\n")),
        ["threshold", "bad.csv", "--risk", "0.05", "--empirical"],
        "bad.csv: no threshold keeps the error at 0.05; the least is 1",
    ),
}


EXTRA_OF = {".parquet": "tables", ".pt": "torch"}


def skip_without_its_extra(file):
    extra = EXTRA_OF.get(Path(file[0]).suffix) if file else None
    if extra and not is_installed(extra):
        pytest.skip(f"needs the extra {extra}")


@pytest.mark.parametrize(("file", "arguments", "words"), BAD.values(), ids=BAD)
def test_bad_input_is_one_sentence_and_exit_code_2(file, arguments, words, folder, call, capsys):
    skip_without_its_extra(file)
    if file is not None:
        name, write = file
        write(folder / name)
    before = sorted(folder.rglob("*"))
    assert call(*arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("auxcal: ")
    assert captured.err.count("\n") == 1
    assert words in captured.err
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("name", ["labels as text", "no output named"])
def test_as_a_program_of_its_own_too(name, folder, command):
    file, arguments, words = BAD[name]
    skip_without_its_extra(file)
    if file is not None:
        file[1](folder / file[0])
    program = command(*arguments)
    assert program.returncode == 2
    assert program.stdout == ""
    assert words in program.stderr
    assert program.stderr.count("\n") == 1


def test_an_old_output_stays_when_its_successor_fails(folder, call):
    (folder / "out.csv").write_text("old")
    (folder / "bad.csv").write_text(f"{HEADER}1,2,3,0\n1,,3,0\n")
    assert call(*score("bad.csv", "--on-bad-rows", "fail", out="out.csv")) == 2
    assert (folder / "out.csv").read_text() == "old"


@pytest.mark.parametrize("number", [13, 28, 30], ids=["no right", "disk full", "read-only"])
def test_a_disk_that_can_not_be_written_is_one_sentence(number, folder, call, capsys, monkeypatch):
    """Rights do not stop root, who may run the tests, so the system's answer is made here."""

    def refuse(*_, **__):
        raise OSError(number, "it can't be written", "here")

    with monkeypatch.context() as patch:
        patch.setattr("auxcal._core.files.os.open", refuse)
        assert call(*score("good.npz")) == 2
    error = capsys.readouterr().err
    assert "can't be written (" in error
    assert error.count("\n") == 1
    assert not (folder / "out.csv").exists()


def test_empty_standard_input_is_one_sentence(folder, call, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert call(*score("-", out="out.csv")) == 2
    assert "the file is empty" in capsys.readouterr().err
    assert not Path("out.csv").exists()


# Mistakes that no single file shows -----------------------------------------------------------------------------------


@pytest.fixture
def animals(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(200, 2)).astype(np.float32)
    y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    names = [("cat", "dog", "fox")[2 if row % 9 == 0 else each] for row, each in enumerate(y)]
    lines = [
        f"{a},{b},{name},t{row},{'cat' if a > b else 'dog'}"
        for row, ((a, b), name) in enumerate(zip(logits, names, strict=True))
    ]
    (tmp_path / "data.csv").write_text("\n".join(["cat,dog,truth,ticket,predicted", *lines]))
    return tmp_path


FIT = ["fit", "data.csv", "--columns", "cat,dog", "--method", "platt", "-o", "c.safetensors"]


def test_a_column_that_holds_no_class_is_refused(animals, call, capsys):
    assert call(*FIT, "--label", "ticket", "--unknown-is-no-class") == 2
    assert "0 of 200 labels are among them" in capsys.readouterr().err
    assert not (animals / "c.safetensors").exists()
    assert call(*FIT, "--label", "truth", "--unknown-is-no-class") == 0


def test_rows_that_are_all_right_are_asked_about(animals, call, capsys):
    assert call(*FIT, "--label", "predicted") == 0
    assert "are these rows that the classifier was trained on?" in capsys.readouterr().err
    logits = np.random.default_rng(0).normal(size=(200, 3))
    with pytest.warns(auxcal.ConvergenceWarning, match="TemperatureScaling: are these rows that"):
        auxcal.TemperatureScaling().fit(logits, logits.argmax(axis=1))


@pytest.mark.parametrize("command", ["score", "check", "adapt", "monitor"])
def test_swapped_arguments_are_named(command, animals, call, capsys):
    assert call(*FIT, "--label", "truth", "--no-class", "fox") == 0
    more = {"adapt": ["-o", "new.safetensors"], "monitor": ["--by", "ticket"]}.get(command, [])
    assert call(command, "data.csv", "c.safetensors", *more) == 2
    assert "the calibrator comes first, then the data: c.safetensors data.csv." in capsys.readouterr().err


def test_evaluate_and_threshold_know_what_the_calibrator_knows(animals, call, capsys):
    assert call(*FIT, "--label", "truth", "--no-class", "fox") == 0
    assert call("score", "c.safetensors", "data.csv", "-o", "scored.csv") == 0
    assert call("evaluate", "scored.csv") == 2
    capsys.readouterr()
    said = []
    for how in (["--calibrator", "c.safetensors"], ["--label", "truth", "--no-class", "fox"]):
        assert call("evaluate", "scored.csv", "--resamples", "0", *how) == 0
        assert call("threshold", "scored.csv", "--risk", "0.3", "--empirical", *how) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
