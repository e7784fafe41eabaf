"""Scores stand beside the columns of the file that they were made from, and memory does not grow with it."""

import csv
import sys
from io import BytesIO, TextIOWrapper

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from auxcal import CCACX, InputWarning, InvalidInputError, TemperatureScaling, Uncalibrated
from auxcal.tables import batches, read_scored, score_table

from .conftest import arrow_csv, pa, pq

N, K = 500, 3
RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(N, K), scale=2)
Y = (LOGITS + RNG.gumbel(size=LOGITS.shape)).argmax(axis=1)
Y[::50] = -1
IDS = [f"00{i}" for i in range(N)]
CALIBRATOR = TemperatureScaling().fit(LOGITS + 1, Y)  # other rows: its own would be marked
CONFIDENCE = CALIBRATOR.predict_confidence(LOGITS)
PARQUET = pytest.param(".parquet", marks=pytest.mark.needs("tables"))


def write_table(path):
    columns = {f"logit_{k}": LOGITS[:, k] for k in range(K)}
    pq.write_table(pa.table({"id": IDS} | columns | {"y": Y}), path)
    return path


def write_csv(path):
    rows = [f"{IDS[i]},{','.join(map(repr, LOGITS[i].tolist()))},{Y[i]}" for i in range(N)]
    path.write_text("\n".join(["id,logit_0,logit_1,logit_2,y", *rows]))
    return path


def write_npz(path):
    np.savez(path, id=IDS, logits=LOGITS, y=Y, classes=["a", "b", "c"], features=np.ones((N, 7)))
    return path


INPUTS = {"new.parquet": write_table, "new.csv": write_csv, "new.npz": write_npz}


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("ending", [PARQUET, ".csv", ".npz"])
def test_scores_stand_beside_all_but_the_logits(name, ending, tmp_path):
    out = tmp_path / f"scored{ending}"
    assert score_table(CALIBRATOR, INPUTS[name](tmp_path / name), out=out).rows == N
    scored = read_scored(out)
    assert np.array_equal(scored.confidence, CONFIDENCE)
    assert np.array_equal(scored.prediction, LOGITS.argmax(axis=1))
    assert np.array_equal(scored.y, Y)
    assert np.array_equal(scored.correct, LOGITS.argmax(axis=1) == Y)
    assert read_scored(out, label="prediction").correct.all()


@pytest.mark.needs("tables")
@pytest.mark.parametrize("name", INPUTS)
def test_the_columns_of_a_scored_table(name, tmp_path):
    score_table(CALIBRATOR, INPUTS[name](tmp_path / name), out=tmp_path / "scored.parquet")
    table = pq.read_table(tmp_path / "scored.parquet")
    assert table.schema.names == ["id", "y", "prediction", "confidence", "in_fit"]
    assert table["id"].to_pylist() == IDS  # 001 is not 1
    labels = table["y"].to_pylist()
    assert labels == (list(map(str, Y)) if name == "new.csv" else Y.tolist())  # text stays text


def test_a_scored_csv_is_plain(tmp_path):
    score_table(CALIBRATOR, write_csv(tmp_path / "new.csv"), out=tmp_path / "scored.csv")
    lines = (tmp_path / "scored.csv").read_text().splitlines()
    assert lines[0] == "id,y,prediction,confidence,in_fit"
    assert lines[1].startswith('"000","-1",')
    assert len(lines) == N + 1


def test_arrays_of_a_scored_npz_need_no_pickle(tmp_path):
    score_table(CALIBRATOR, write_csv(tmp_path / "new.csv"), out=tmp_path / "scored.npz")
    with np.load(tmp_path / "scored.npz") as arrays:
        assert arrays["id"].tolist() == IDS
        assert arrays["confidence"].tolist() == CONFIDENCE.tolist()


def test_tensors_hold_numbers_only(tmp_path):
    save_file({"logits": LOGITS, "y": Y}, tmp_path / "new.safetensors")
    score_table(CALIBRATOR, tmp_path / "new.safetensors", out=tmp_path / "scored.safetensors")
    assert np.array_equal(load_file(tmp_path / "scored.safetensors")["confidence"], CONFIDENCE)
    with pytest.raises(InvalidInputError, match="'id' is none"):
        score_table(CALIBRATOR, write_csv(tmp_path / "new.csv"), out=tmp_path / "text.safetensors")
    assert not (tmp_path / "text.safetensors").exists()


@pytest.mark.needs("tables")
def test_logits_need_no_labels(tmp_path):
    np.save(tmp_path / "logits.npy", LOGITS)
    assert score_table(CALIBRATOR, tmp_path / "logits.npy", out=tmp_path / "scored.parquet").rows == N
    assert pq.read_schema(tmp_path / "scored.parquet").names == ["prediction", "confidence"]


def test_probabilities_give_the_same_scores_as_their_logits(tmp_path):
    proba = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
    np.savez(tmp_path / "new.npz", proba=proba)
    score_table(CALIBRATOR, tmp_path / "new.npz", out=tmp_path / "scored.npz", probabilities=True)
    with np.load(tmp_path / "scored.npz") as arrays:
        assert np.allclose(arrays["confidence"], CONFIDENCE, atol=1e-6)


def test_standard_input_and_output_are_csv(tmp_path, monkeypatch):
    contents, out = write_csv(tmp_path / "new.csv").read_bytes(), BytesIO()
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(contents)))
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(out))
    score_table(CALIBRATOR, "-", out="-")
    (tmp_path / "scored.csv").write_bytes(out.getvalue())
    assert np.array_equal(read_scored(tmp_path / "scored.csv").confidence, CONFIDENCE)


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("ending", [PARQUET, ".csv"])
def test_no_more_than_one_batch_is_held(name, ending, tmp_path, monkeypatch):
    """What is read is scored and written before more is read."""
    monkeypatch.setattr(batches, "BATCH_BYTES", 2000)
    events, sizes = [], []

    class Watched(Uncalibrated):
        def _confidence(self, logits):
            events.append("scored")
            sizes.append(len(logits))
            return CALIBRATOR.predict_confidence(logits)

    shares = []
    path = INPUTS[name](tmp_path / name)
    read = batches.Batch.__init__
    monkeypatch.setattr(batches.Batch, "__init__", lambda *a: (events.append("read"), read(*a))[1])
    fitted = Watched().fit(LOGITS + 1, Y)
    events.clear(), sizes.clear()  # a fit scores its own rows
    score_table(fitted, path, out=tmp_path / f"scored{ending}", report=lambda done, rows: shares.append(done))
    assert max(sizes) < 100
    assert sum(sizes) == N
    assert events == ["read", "scored"] * len(sizes)
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert np.array_equal(read_scored(tmp_path / f"scored{ending}").confidence, CONFIDENCE)


def test_what_is_wrong_far_down_is_said_with_its_row_and_nothing_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr(batches, "BATCH_BYTES", 2000)
    logits = LOGITS.copy()
    logits[-1, 1] = np.nan
    np.savez(tmp_path / "new.npz", logits=logits)
    with pytest.raises(
        InvalidInputError, match=rf"new.npz: logits must be finite; got nan \(NaN or inf\) at \[{len(LOGITS) - 1}, 1\]"
    ):
        score_table(CALIBRATOR, tmp_path / "new.npz", out=tmp_path / "scored.csv", on_bad_rows="fail")
    assert [path.name for path in tmp_path.iterdir()] == ["new.npz"]


@pytest.mark.needs("tables")
def test_labels_that_are_no_numbers_stay_what_they_are(tmp_path):
    (tmp_path / "new.csv").write_text("logit_0,logit_1,logit_2,y\n1,2,3,cat\n1,2,3,\n")
    score_table(CALIBRATOR, tmp_path / "new.csv", out=tmp_path / "scored.parquet")
    assert pq.read_table(tmp_path / "scored.parquet")["y"].to_pylist() == ["cat", ""]


@pytest.mark.needs("tables")
def test_rows_without_a_label_can_be_scored(tmp_path):
    (tmp_path / "new.csv").write_text("logit_0,logit_1,logit_2,y\n1,2,3,1\n1,2,3,\n")
    score_table(CALIBRATOR, tmp_path / "new.csv", out=tmp_path / "scored.parquet")
    assert pq.read_table(tmp_path / "scored.parquet")["y"].to_pylist() == ["1", ""]
    with pytest.warns(InputWarning, match="1 of 2 rows have no label in 'y' and are left out"):
        assert read_scored(tmp_path / "scored.parquet").y.tolist() == [1]


def test_categories_and_lists(tmp_path):
    columns = {f"logit_{k}": [1.0, 2.0] for k in range(K)}
    categories = pa.array(["a", "b"]).dictionary_encode()
    pq.write_table(pa.table(columns | {"kind": categories, "tags": [["x"], []]}), tmp_path / "new.parquet")
    score_table(CALIBRATOR, tmp_path / "new.parquet", out=tmp_path / "scored.parquet")
    assert pq.read_table(tmp_path / "scored.parquet")["kind"].to_pylist() == ["a", "b"]
    score_table(CALIBRATOR, tmp_path / "new.parquet", out=tmp_path / "scored.csv")
    with (tmp_path / "scored.csv").open(newline="") as file:
        assert [(row["kind"], row["tags"]) for row in csv.DictReader(file)] == [("a", '["x"]'), ("b", "[]")]


def score_parquet(folder, out, **others):
    columns = {f"logit_{k}": [1.0, 2.0, 3.0] for k in range(K)}
    pq.write_table(pa.table(columns | others), folder / "new.parquet")
    score_table(CALIBRATOR, folder / "new.parquet", out=folder / out)
    return folder / out


@pytest.mark.parametrize(
    ("kind", "coded"),
    [("string", True), ("large_string", False), ("large_string", True), ("string_view", False), ("binary", False)],
)
def test_text_of_every_type_keeps_its_commas(kind, coded, tmp_path):
    notes = ['a,b\n"c"', "d", None]
    column = pa.array(notes if kind != "binary" else [note and note.encode() for note in notes], getattr(pa, kind)())
    out = score_parquet(tmp_path, "scored.csv", note=column.dictionary_encode() if coded else column)
    with out.open(newline="") as file:
        assert [row["note"] for row in csv.DictReader(file)] == ['a,b\n"c"', "d", ""]
    with np.load(score_parquet(tmp_path, "scored.npz", note=column)) as arrays:
        assert arrays["note"].tolist() == ['a,b\n"c"', "d", ""]


@pytest.mark.parametrize("out", ["scored.npz", "scored.safetensors"])
def test_no_whole_number_becomes_another_one(out, tmp_path):
    with pytest.raises(InvalidInputError, match="'id' has missing values, and whole numbers that are too large"):
        score_parquet(tmp_path, out, id=pa.array([2**60 + 1, None, 3]))
    score_parquet(tmp_path, out, id=pa.array([2**53, None, 3]))


def test_lists_are_not_arrays(tmp_path):
    with pytest.raises(InvalidInputError, match="such as those of 'tags'"):
        score_parquet(tmp_path, "scored.npz", tags=pa.array([[1.0], [2.0, 3.0], []]))


@pytest.mark.needs("tables")
def test_too_little_memory_is_not_said_of_the_columns():
    from auxcal.tables.written import writing

    with pytest.raises(MemoryError), writing():
        raise pa.ArrowMemoryError("malloc of size 320 failed")


@pytest.mark.parametrize(
    ("text", "label", "sentence"),
    [
        ("prediction,y\n1,0\n", "y", "there is no column 'confidence'.*Score the file with auxcal score first"),
        ("confidence,y\n1,0\n", "y", "there is no column 'prediction'"),
        ("prediction,confidence\n1,0\n", "y", r"there is no column 'y'; .*\(--label\)"),
        ("prediction,confidence,y\n1,0.5,-2\n", "y", "got -2"),
        ("prediction,confidence,y\n1,1.5,0\n", "y", "confidence must be a probability"),
        ("prediction,confidence,y\n1,,0\n", "y", "confidence must be finite"),
    ],
)
def test_what_is_wrong_with_a_scored_file_is_said(text, label, sentence, tmp_path):
    (tmp_path / "scored.csv").write_text(text)
    with pytest.raises(InvalidInputError, match=f"scored.csv: .*{sentence}"):
        read_scored(tmp_path / "scored.csv", label=label)


# Features -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def featured_file(featured, tmp_path):
    """Write the samples as a table and as arrays, and give the function that names one of the files."""
    columns = {f"logit_{k}": featured.logits[:, k] for k in range(3)}
    columns |= {"age": featured.features[:, 0], "size": featured.features[:, 1], "y": featured.y}
    pq.write_table(pa.table(columns), tmp_path / "new.parquet")
    arrow_csv.write_csv(pa.table(columns), tmp_path / "new.csv")
    featured.save(tmp_path / "new.npz")
    return lambda ending: tmp_path / f"new{ending}"


@pytest.fixture
def with_features(featured_platt, featured):
    return featured_platt().fit(featured.logits + 1, featured.y, features=featured.features)


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".npz"])
@pytest.mark.parametrize("batch", [2**12, 2**22])
def test_features_are_read_with_their_rows(
    ending, batch, featured, featured_file, with_features, tmp_path, monkeypatch
):
    monkeypatch.setattr(batches, "BATCH_BYTES", batch)
    out, names = tmp_path / "scored.parquet", None if ending == ".npz" else ["age", "size"]
    score_table(with_features, featured_file(ending), out=out, features=names)
    expected = with_features.predict_confidence(featured.logits, featured.features)
    np.testing.assert_allclose(read_scored(out).confidence, expected, rtol=1e-5)
    assert pq.read_schema(out).names == ["y", "prediction", "confidence", "in_fit"]


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".npz"])
def test_features_are_passed_over_where_none_are_used(ending, featured, featured_file, tmp_path):
    plain = TemperatureScaling().fit(featured.logits + 1, featured.y)
    score_table(plain, featured_file(ending), out=tmp_path / "scored.parquet")
    passed = [] if ending == ".npz" else ["age", "size"]
    assert pq.read_schema(tmp_path / "scored.parquet").names == [*passed, "y", "prediction", "confidence", "in_fit"]


def test_features_that_are_not_found_are_asked_for(featured_file, with_features, tmp_path):
    with pytest.raises(InvalidInputError, match=r"FP was fitted with 2 features of each sample.*\(--features\)"):
        score_table(with_features, featured_file(".csv"), out=tmp_path / "scored.csv")


def test_a_row_with_bad_features_is_counted_from_the_first(with_features, featured, tmp_path, monkeypatch):
    monkeypatch.setattr(batches, "BATCH_BYTES", 2**10)
    features = featured.features.copy()
    features[-1, 1] = np.nan
    np.savez(tmp_path / "new.npz", logits=featured.logits, features=features)
    with pytest.raises(InvalidInputError, match=rf"features must be finite; got nan .* at \[{len(features) - 1}, 1\]"):
        score_table(with_features, tmp_path / "new.npz", out=tmp_path / "scored.csv", on_bad_rows="fail")


@pytest.mark.needs("tables")
def test_features_in_lists_are_found_again_without_being_named(tmp_path):
    features = RNG.normal(size=(N, 2))
    lists = {"logits": LOGITS.tolist(), "features": features.tolist(), "y": Y}
    pq.write_table(pa.table(lists), tmp_path / "rows.parquet")
    fitted = CCACX(random_state=0).fit(LOGITS, Y, features=features)
    score_table(fitted, tmp_path / "rows.parquet", out=tmp_path / "scored.parquet")
    scored = pq.read_table(tmp_path / "scored.parquet")["confidence"].to_numpy()
    np.testing.assert_allclose(scored, fitted.predict_confidence(LOGITS, features), atol=1e-6)
