"""Rows that can't be used: an error that says how many, which is the first and what to do; or left out and counted."""

import numpy as np
import pytest

from auxcal import InputWarning, InvalidInputError, TemperatureScaling
from auxcal.tables import (
    TimedTable,
    batches,
    pick_file,
    read_confidence,
    read_labelled,
    read_predictions,
    read_rows,
    read_scored,
)

from .conftest import pa, pq

N, K = 200, 3
RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(N, K), scale=2).round(3)
Y = (LOGITS + RNG.gumbel(size=LOGITS.shape)).argmax(axis=1)
FITTED = TemperatureScaling().fit(LOGITS, Y)
RAGGED = {3: None, 5: [1.0, 2.0], 8: [], 90: [1.0, float("nan"), 2.0], 91: [1.0, None, 2.0], 150: [1.0, 2.0, 3.0, 4.0]}
HOLES = {3: [1.0, np.nan, 0.0], 90: [np.inf, 0.0, 1.0]}


def lists(path):
    values = LOGITS.tolist()
    for row, value in RAGGED.items():
        values[row] = value
    table = {"day": np.arange(N) // 50, "logits": pa.array(values, pa.list_(pa.float64())), "y": Y}
    pq.write_table(pa.table(table), path.with_suffix(".parquet"))
    return path.with_suffix(".parquet"), sorted(RAGGED)


def columns(path):
    logits = LOGITS.copy()
    for row, value in HOLES.items():
        logits[row] = value
    lines = [",".join(map(str, [row // 50, *values, Y[row]])) for row, values in enumerate(logits.tolist())]
    path.with_suffix(".csv").write_text("\n".join(["day,logit_0,logit_1,logit_2,y", *lines]))
    return path.with_suffix(".csv"), sorted(HOLES)


def arrays(path):
    logits = LOGITS.copy()
    for row, value in HOLES.items():
        logits[row] = value
    np.savez(path.with_suffix(".npz"), logits=logits, y=Y, day=np.arange(N) // 50)
    return path.with_suffix(".npz"), sorted(HOLES)


@pytest.fixture(params=[pytest.param(lists, marks=pytest.mark.needs("tables")), columns, arrays])
def table(request, tmp_path, monkeypatch):
    """Give a file that is read in several batches, and the places of its bad rows."""
    monkeypatch.setattr(batches, "BATCH_BYTES", 2**11)
    return request.param(tmp_path / "table")


READERS = {
    "fit": lambda path, **options: read_predictions(path, **options).logits,
    "sample": lambda path, **options: read_predictions(path, sample=N, **options).logits,
    "check": lambda path, **options: np.concatenate([logits for logits, _ in read_rows(FITTED, path, **options)]),
    "monitor": lambda path, **options: np.concatenate(
        [rows.logits for rows in TimedTable(FITTED, path, by="day", **options).batches()]
    ),
}


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_leaves_them_out_and_counts_them(reader, table):
    path, bad = table
    with pytest.warns(InputWarning, match=rf"of {N} rows, {len(bad)} bad rows \(.*\) are left out"):
        found = READERS[reader](path, on_bad_rows="skip")
    np.testing.assert_allclose(found, np.delete(LOGITS, bad, axis=0))


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_says_which_is_the_first_and_what_to_do(reader, table):
    path, _ = table
    sentence = rf"^{path}: .*(row 3 has null|at \[3, 1\]); in the first \d+ rows: \d bad row.*--on-bad-rows skip\)"
    with pytest.raises(InvalidInputError, match=sentence):
        READERS[reader](path)
    with pytest.raises(InvalidInputError, match="on_bad_rows must be one of skip, fail; got 'null'"):
        READERS[reader](path, on_bad_rows="null")


def test_the_other_rows_keep_their_places(table):
    path, bad = table
    with pytest.warns(InputWarning):
        read = read_labelled(path, on_bad_rows="skip", id_column="day")
    assert np.array_equal(read.rows, np.delete(np.arange(N), bad))
    assert np.array_equal(read.data.y, np.delete(Y, bad))
    assert np.array_equal(read.ids.astype(int), np.delete(np.arange(N) // 50, bad))
    with pytest.warns(InputWarning):
        drawn = read_labelled(path, on_bad_rows="skip", sample=50)
    np.testing.assert_allclose(drawn.data.logits, LOGITS[drawn.rows])


def test_only_good_rows_are_picked(table, tmp_path):
    path, bad = table
    with pytest.warns(InputWarning):
        picks = pick_file(FITTED, path, out=tmp_path / "to-label.csv", n=20, on_bad_rows="skip")
    assert len(picks.probability) == N - len(bad)
    with pytest.raises(InvalidInputError, match="--on-bad-rows skip"):
        pick_file(FITTED, path, out=tmp_path / "to-label.csv", n=20)


def test_the_part_is_named_and_rows_are_counted_in_it(tmp_path):
    for part in "ab":
        (tmp_path / f"{part}.csv").write_text("logit_0,logit_1,y\n1,2,0\n3,4,1\n" + ("1,,0\n" if part == "b" else ""))
    with pytest.raises(InvalidInputError, match=rf"^{tmp_path / 'b.csv'}: .* at \[2, 1\]; in the first 3 rows: 1 bad "):
        read_predictions(tmp_path)


def test_what_is_bad_in_all_rows_is_not_a_bad_row(tmp_path):
    (tmp_path / "a.csv").write_text("prob_0,prob_1,y\n1,2,0\n3,4,1\n")
    with pytest.raises(InvalidInputError, match="If these are logits, leave out probabilities=True"):
        read_predictions(tmp_path / "a.csv", probabilities=True, on_bad_rows="skip")


def test_probabilities_and_minus_infinity(tmp_path):
    (tmp_path / "a.csv").write_text("prob_0,prob_1,y\n0.5,0.5,0\n0.5,0.7,1\n")
    with pytest.raises(
        InvalidInputError, match=r"row 1 has 0\.5 to 0\.7 with the sum 1\.2; in the first 2 rows: 1 bad"
    ):
        read_predictions(tmp_path / "a.csv", probabilities=True)
    with pytest.warns(InputWarning, match=r"1 bad row \(1 no probabilities\)"):
        assert len(read_predictions(tmp_path / "a.csv", probabilities=True, on_bad_rows="skip")) == 1
    np.savez(tmp_path / "a.npz", logits=[[0.0, -np.inf], [0.0, 1.0]], y=[0, 1])
    with pytest.raises(InvalidInputError, match=r"got -inf .* at \[0, 1\].*auxcal.floor_logits"):
        read_predictions(tmp_path / "a.npz")


@pytest.mark.needs("tables")
def test_features_and_columns_of_all_kinds(tmp_path):
    features = {"sick": [True, False, True, None], "layer": [[1.0, 2.0], [3.0, 4.0], [5.0], [7.0, 8.0]]}
    pq.write_table(pa.table(features | {"logits": LOGITS[:4].tolist(), "y": Y[:4]}), tmp_path / "a.parquet")
    with pytest.warns(InputWarning, match=r"2 bad rows \(1 null, 1 of another width\)"):
        data = read_predictions(tmp_path / "a.parquet", features=["sick", "layer"], on_bad_rows="skip")
    assert data.features.tolist() == [[1, 1, 2], [0, 3, 4]]


# Scores ---------------------------------------------------------------------------------------------------------------

SCORES = "prediction,confidence,y\n0,0.9,0\n1,{bad},1\n,,1\n1,0.6,0\n"


@pytest.mark.parametrize("bad", ["", "1.5", "-0.1"])
def test_damaged_scores(bad, tmp_path):
    path = tmp_path / "scored.csv"
    path.write_text(SCORES.format(bad=bad))
    with pytest.raises(InvalidInputError, match=r"in row 1 \(1 such rows in the first 4\).*--on-bad-rows skip"):
        read_scored(path)
    with pytest.warns(InputWarning) as said:
        assert read_scored(path, on_bad_rows="skip").confidence.tolist() == [0.9, 0.6]
    assert {str(each.message) for each in said} == {
        "1 of 4 rows have no score and are left out.",
        "1 of 4 rows have a damaged score and are left out.",
    }


def test_confidences_that_are_all_something_else(tmp_path):
    (tmp_path / "scored.csv").write_text("prediction,confidence,y\n0,90,0\n1,60,1\n")
    with pytest.raises(InvalidInputError, match="turn logits into a confidence with a calibrator"):
        read_scored(tmp_path / "scored.csv")


def test_the_confidence_of_rows_that_have_one(tmp_path):
    (tmp_path / "scored.csv").write_text(SCORES.format(bad=0.7))
    with pytest.warns(InputWarning, match="1 of 4 rows have no score"):
        assert read_confidence(tmp_path / "scored.csv").tolist() == [0.9, 0.7, 0.6]
