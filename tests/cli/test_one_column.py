"""A binary classifier may have one column: the logit, or the probability, of its second class."""

import csv

import numpy as np
import pytest

import auxcal
from auxcal import CALIBRATORS, InputWarning, InvalidInputError, PlattScaling, Predictions
from auxcal.tables import read_predictions, score_table

N = 400


@pytest.fixture(scope="module")
def drawn():
    """Return scores that are too sure, and the truth."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=N)
    return (3 * scores).astype(np.float32), (rng.random(N) < 1 / (1 + np.exp(-scores))).astype(int)


@pytest.fixture
def table(drawn, tmp_path):
    scores, y = drawn
    path = tmp_path / "b.csv"
    rows = "".join(f"{p},{label}\n" for p, label in zip(1 / (1 + np.exp(-scores)), y, strict=True))
    path.write_text("score,fraud\n" + rows)
    return path


def both(column, probabilities):
    return np.column_stack([1 - column if probabilities else np.zeros_like(column), column])


@pytest.mark.parametrize("probabilities", [False, True])
def test_one_column_is_the_second_class(drawn, probabilities):
    scores, y = drawn
    column = 1 / (1 + np.exp(-scores)) if probabilities else scores
    one = PlattScaling().fit(column[:, None], y, probabilities=probabilities)
    two = PlattScaling().fit(both(column, probabilities), y, probabilities=probabilities)
    expected = two.predict_confidence(both(column, probabilities))
    np.testing.assert_array_equal(one.predict_confidence(column[:, None]), expected)
    assert one.n_features_in_ == 2
    assert Predictions(column[:, None], y, probabilities=probabilities).accuracy > 0.6


def test_a_vector_could_be_one_sample_so_it_is_refused_with_advice_that_works(drawn):
    scores, y = drawn
    with pytest.raises(InvalidInputError, match=r"logits.reshape\(-1, 1\)"):
        PlattScaling().fit(scores, y)
    PlattScaling().fit(scores.reshape(-1, 1), y)


def test_a_probability_outside_0_to_1_is_refused(drawn):
    with pytest.raises(InvalidInputError, match="from 0 to 1"):
        PlattScaling().fit(drawn[0][:, None], drawn[1], probabilities=True)


def test_probabilities_given_as_logits_are_warned_of(drawn):
    scores, y = drawn
    with pytest.warns(InputWarning, match="look like probabilities"):
        PlattScaling().fit(1 / (1 + np.exp(-scores[:, None])), y)


def test_a_table_with_one_column_is_fitted_scored_and_checked(table, call, capsys):
    fitted, scored = table.with_name("c.safetensors"), table.with_name("scored.csv")
    columns = "--columns", "score", "--label", "fraud"
    assert call("fit", table, *columns, "-o", fitted) == 2
    assert "Give --probabilities" in capsys.readouterr().err
    assert call("fit", table, *columns, "--probabilities", "-o", fitted) == 0
    assert call("score", fitted, table, "-o", scored) == 0
    assert call("check", fitted, table) == 0
    assert call("evaluate", scored, "--label", "fraud") == 0
    with scored.open() as file:
        written = [float(row["confidence"]) for row in csv.DictReader(file)]
    data = read_predictions(table, columns="score", label="fraud", probabilities=True)
    expected = auxcal.load(fitted).score_validated(data.logits, None)
    np.testing.assert_allclose(written, expected, atol=1e-6)


@pytest.mark.needs("tables")
def test_arrow_and_parquet_take_one_column(drawn, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    from auxcal.arrow import score

    scores, y = drawn
    table = pa.table({"score": scores, "fraud": y.astype(bool)})
    pq.write_table(table, tmp_path / "b.parquet")
    with pytest.raises(InvalidInputError, match="--class-names false,true"):
        read_predictions(tmp_path / "b.parquet", columns="score", label="fraud")
    data = read_predictions(tmp_path / "b.parquet", columns="score", label="fraud", class_names=["false", "true"])
    np.testing.assert_array_equal(data.y, y)
    fitted = PlattScaling()._fit_on(data)
    expected = fitted.predict_confidence(scores[:, None])
    np.testing.assert_array_equal(score(table, fitted).confidence.to_numpy(), expected)
    assert set(score(table, fitted).prediction.to_pylist()) == {"false", "true"}


class TestProba:
    def test_the_calibrated_probability_of_each_class_is_written(self, drawn, table):
        data = read_predictions(table, columns="score", label="fraud", probabilities=True, class_names=["no", "yes"])
        fitted = CALIBRATORS["ccac-x"](random_state=0)._fit_on(data)
        score_table(fitted, table, out=table.with_name("out.csv"), proba=True)
        with table.with_name("out.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert list(rows[0])[-3:] == ["proba_no", "proba_yes", "proba_no_class"]
        written = np.array([[float(value) for value in list(row.values())[-3:]] for row in rows])
        np.testing.assert_allclose(written, fitted.proba_validated(data.logits, None), atol=1e-6)

    @pytest.mark.parametrize("on_bad_rows", ["null", "skip"])
    def test_bad_rows_have_none_in_a_folder_too(self, table, on_bad_rows):
        data = read_predictions(table, columns="score", label="fraud", probabilities=True)
        fitted = auxcal.TemperatureScaling()._fit_on(data)
        parts = table.with_name("parts")
        parts.mkdir()
        (parts / "a.csv").write_text("score,fraud\n0.25,0\n,1\n0.75,1\n")
        with pytest.warns(InputWarning, match="1 bad row"):
            score_table(fitted, parts, out=table.with_name("out"), proba=True, on_bad_rows=on_bad_rows)
        with (table.with_name("out") / "a.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == (3 if on_bad_rows == "null" else 2)
        assert float(rows[0]["proba_0"]) == pytest.approx(float(rows[-1]["proba_1"]))
        assert [row["proba_1"] == "" for row in rows] == [row["confidence"] == "" for row in rows]

    def test_a_method_without_a_distribution_says_so(self, table):
        data = read_predictions(table, columns="score", label="fraud", probabilities=True)
        with pytest.raises(InvalidInputError, match=r"Platt gives a confidence.*temperature"):
            score_table(PlattScaling()._fit_on(data), table, out=table.with_name("out.csv"), proba=True)


class TestFloor:
    def test_missing_entries_are_put_below_the_others(self):
        floored = auxcal.floor_logits([[0.0, -3.0, -np.inf], [1.0, 2.0, 3.0], [-np.inf, -np.inf, 4.0]])
        np.testing.assert_array_equal(floored, [[0, -3, -5], [1, 2, 3], [-6, -6, 4]])
        assert auxcal.floor_logits(np.float32([[0, -np.inf]])).dtype == np.float32

    def test_a_row_without_any_number_is_an_error(self):
        with pytest.raises(InvalidInputError, match="got none in row 1"):
            auxcal.floor_logits([[0.0, 1.0], [-np.inf, -np.inf]])

    def test_following_the_hint_gives_nearly_what_full_logits_give(self):
        rng = np.random.default_rng(0)
        full = 2 * rng.normal(size=(3000, 30))
        y = (full / 1.8 + rng.gumbel(size=full.shape)).argmax(axis=1)
        known = np.where(full >= np.sort(full, axis=1)[:, [-5]], full, -np.inf)
        with pytest.raises(InvalidInputError, match=r"auxcal\.floor_logits\(logits\)"):
            auxcal.TemperatureScaling().fit(known, y)
        scores = [
            auxcal.TemperatureScaling().fit(each[:1000], y[:1000]).score(each[1000:], y[1000:])
            for each in (full, auxcal.floor_logits(known), np.maximum(known, -1e4))
        ]
        assert scores[1] == pytest.approx(scores[0], abs=0.003)
        assert scores[2] < scores[0] - 0.01
