"""Labels as indices and as names, none of the classes, and missing ones."""

import io

import numpy as np
import pytest
from safetensors.numpy import load_file

from auxcal import InvalidInputError, Predictions, Uncalibrated
from auxcal._core.labels import Labels
from auxcal.tables import pick_file, read_predictions, read_scored, score_table

CLASSES = ("cat", "dog", "bird")


def codes(values, *, names=CLASSES, k=3, **more):
    return Labels("y", names, **more).known(np.asarray(values, dtype=object), k)[0].tolist()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["dog", " cat ", "-1"], [1, 0, -1]),
        (["0", "2.0", "-1"], [0, 2, -1]),
        ([0, 2, -1], [0, 2, -1]),
    ],
    ids=["names", "indices in text", "indices"],
)
def test_names_or_indices(values, expected):
    assert codes(values) == expected


def test_numbers_are_names_where_the_classes_are_numbered_otherwise():
    assert codes(["2", "1", "0", "-1"], names=("2", "1", "0")) == [0, 1, 2, -1]
    assert Labels("y", ("2", "1", "0")).known(np.array([2, 1, 0]), 3)[0].tolist() == [0, 1, 2]
    assert Labels("y", ("2", "1", "0")).known(np.array([2.0, 1.0]), 3)[0].tolist() == [0, 1]
    with pytest.raises(InvalidInputError, match="one of the classes 1, 2; got '0' in row 1"):
        codes(["1", "0"], names=("1", "2"))


def test_names_and_indices_do_not_mix():
    with pytest.raises(InvalidInputError, match="got '1' in row 1"):
        codes(["cat", "1"])


def test_no_class_by_name():
    assert codes(["fox", "cat", "bus"], no_class=["fox", "bus"]) == [-1, 0, -1]
    assert codes(["99", "1"], names=None, no_class=["99"]) == [-1, 1]
    with pytest.raises(InvalidInputError, match="'cat' is one of them"):
        codes(["cat"], no_class=["cat"])


def test_all_that_is_unknown_as_no_class():
    assert codes(["fox", "cat", "bus"], unknown_is_no_class=True) == [-1, 0, -1]
    assert codes(["0", "7", "-5"], names=None, unknown_is_no_class=True) == [0, -1, -1]


@pytest.mark.parametrize("missing", ["", "NA", None, float("nan"), " "])
def test_missing_labels_are_left_out(missing):
    y, kept = Labels("y", CLASSES).known(np.array(["cat", missing, "dog"], dtype=object), 3)
    assert y[kept].tolist() == [0, 1]


def test_a_class_may_be_called_na():
    assert codes(["NA", "cat"], names=("NA", "cat")) == [0, 1]


def test_columns_named_by_numbers_are_taken_by_name(tmp_path):
    """Columns 2, 1, 0 hold the logits of the classes of these names, wherever they stand."""
    path = tmp_path / "new.csv"
    path.write_text("0,1,2,y\n9,0,0,0\n0,9,0,1\n0,0,9,2\n0,0,9,2\n")
    data = read_predictions(path, columns=["2", "1", "0"])
    assert data.correct.all()
    assert data.inputs.class_names == ("2", "1", "0")


def test_predictions_follow_the_labels_into_the_scored_file(tmp_path):
    path, out = tmp_path / "new.csv", tmp_path / "scored.csv"
    path.write_text("cat,dog,y\n3,0,0\n0,3,1\n4,0,1\n")
    data = read_predictions(path, columns=["cat", "dog"])
    fitted = Uncalibrated()._fit_on(data)
    path.write_text("cat,dog,y\n2,0,0\n0,2,1\n2,0,1\n")
    score_table(fitted, path, out=out)
    assert read_scored(out).class_names is None
    assert read_scored(out).correct.tolist() == [True, True, False]
    path.write_text("cat,dog,y\n2,0,cat\n0,2,dog\n2,0,dog\n")
    score_table(fitted, path, out=out)
    assert read_scored(out).class_names == ("cat", "dog")
    assert read_scored(out).correct.tolist() == [True, True, False]


def test_names_beside_indices_need_the_classes_in_order(tmp_path):
    path = tmp_path / "scored.csv"
    path.write_text("prediction,confidence,y\ncat,0.9,0\ndog,0.8,0\n")
    with pytest.raises(InvalidInputError, match="y holds class indices and prediction holds names, such as 'cat'"):
        read_scored(path)
    assert read_scored(path, class_names=["cat", "dog"]).correct.tolist() == [True, False]
    path.write_text("prediction,confidence,y\n0,0.9,cat\n1,0.8,cat\n")
    with pytest.raises(InvalidInputError, match="prediction holds class indices and y holds names, such as 'cat'"):
        read_scored(path)
    assert read_scored(path, class_names=["cat", "dog"]).correct.tolist() == [True, False]


def test_labels_of_which_none_is_ever_predicted_are_refused(tmp_path):
    path = tmp_path / "scored.csv"
    path.write_text("prediction,confidence,y,other\ncat,0.9,cat,x\ndog,0.8,cat,z\n")
    with pytest.raises(InvalidInputError, match="must hold the names that are predicted, cat, dog; got x, z"):
        read_scored(path, label="other")
    path.write_text("prediction,confidence,y\ncat,0.9,cat\n,0.8,cat\n")
    with pytest.raises(InvalidInputError, match="prediction must have a class in every row; got nothing in row 1"):
        read_scored(path)


def test_a_class_may_be_called_minus_one_as_no_prediction_means_none(tmp_path):
    (tmp_path / "scored.csv").write_text("prediction,confidence,y\n-1,0.9,-1\n1,0.8,-1\n")
    assert read_scored(tmp_path / "scored.csv").correct.tolist() == [True, False]


def test_a_tensor_file_of_scores_has_indices(tmp_path):
    path, out = tmp_path / "new.csv", tmp_path / "scored.safetensors"
    path.write_text("cat,dog\n2,0\n0,2\n")
    fitted = Uncalibrated().fit([[2.0, 0.0], [0.0, 3.0]], [0, 1], class_names=["cat", "dog"])
    score_table(fitted, path, out=out, columns=["cat", "dog"])
    assert load_file(out)["prediction"].tolist() == [0, 1]


def test_a_class_that_is_called_by_a_number_is_told_by_its_name_in_any_order_of_rows(tmp_path, monkeypatch):
    fitted = Uncalibrated().fit(np.eye(3) * 2, ["1", "2", "other"], class_names=["1", "2", "other"])
    new, out = tmp_path / "new.csv", tmp_path / "scored.csv"
    new.write_text("logit_0,logit_1,logit_2,y\n" + "3,0,0,1\n" * 5 + "0,3,0,2\n" * 5)
    score_table(fitted, new, out=out)
    assert read_scored(out).correct.all()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(new.read_bytes())))
    score_table(fitted, "-", out=out)
    assert read_scored(out).correct.all()
    pick_file(fitted, new, out=tmp_path / "picked.csv", n=5)
    rows = [line.split(",") for line in (tmp_path / "picked.csv").read_text().replace('"', "").splitlines()]
    place = rows[0].index("y"), rows[0].index("prediction")
    assert all(row[place[0]] == row[place[1]] for row in rows[1:])


@pytest.mark.parametrize(
    ("probabilities", "other"), [(False, "prob_0,prob_1\n1,0\n"), (True, "logit_0,logit_1\n1,0\n")]
)
def test_the_other_kind_of_column_is_refused(probabilities, other, tmp_path):
    (tmp_path / "new.csv").write_text(other)
    rows = [[0.9, 0.1], [0.2, 0.8]] if probabilities else [[3.0, 1.0], [0.0, 2.0]]
    fitted = Uncalibrated().fit(rows, [0, 1], probabilities=probabilities)
    kind = "probabilities" if probabilities else "logits"
    with pytest.raises(InvalidInputError, match=f"expected {kind}.*The calibrator was fitted on {kind}: give these"):
        score_table(fitted, tmp_path / "new.csv", out=tmp_path / "scored.csv")


def test_probabilities_are_refused_where_logits_were_fitted(tmp_path):
    path, out = tmp_path / "new.csv", tmp_path / "scored.csv"
    path.write_text("logit_0,logit_1\n0.9,0.1\n0.2,0.8\n")
    fitted = Uncalibrated().fit([[2.0, 0.0], [0.0, 3.0]], [0, 1])
    with pytest.raises(InvalidInputError, match="fitted on logits, and these look like probabilities"):
        score_table(fitted, path, out=out)
    assert not out.exists()
    assert score_table(fitted, path, out=out, columns="logit_", probabilities=True).rows == 2


def test_a_name_of_two_classes_is_refused():
    with pytest.raises(InvalidInputError, match="class_names must differ; got 'crane' more than once"):
        Predictions([[1.0, 2.0, 3.0]], ["crane"], class_names=["crane", "cat", "crane"])


def test_a_column_of_two_classes_is_refused(tmp_path):
    (tmp_path / "data.csv").write_text("a,b,y\n1,2,0\n")
    with pytest.raises(InvalidInputError, match="every class needs a column of its own; got a, a, b"):
        read_predictions(tmp_path / "data.csv", columns=["a", "a", "b"])
