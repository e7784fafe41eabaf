"""What is in a table comes out of it, in whatever order, format and size its rows come."""

import json
import time

import numpy as np
import pytest

from auxcal import FileFormatError, InvalidInputError, Uncalibrated, evaluate_by
from auxcal.tables import batches, read_labelled, read_predictions, read_scored, score_table
from auxcal.tables.parts import find_parts
from auxcal.tables.readers import open_source

from .conftest import pa, pq

FITTED = Uncalibrated().fit(np.eye(2) * 3, [0, 1])


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read_lines(path):
    def refused(constant):
        raise ValueError(f"{constant} is no JSON")

    return [json.loads(line, parse_constant=refused) for line in path.read_text().splitlines()]


class TestJsonLines:
    def scored(self, folder, rows, ending=".jsonl", **options):
        score_table(FITTED, write_lines(folder / "in.jsonl", rows), out=folder / f"out{ending}", **options)
        return read_lines(folder / "out.jsonl") if ending == ".jsonl" else pq.read_table(folder / f"out{ending}")

    def test_a_null_or_short_list_is_a_bad_row(self, tmp_path):
        rows = [{"logits": [1.0, 2.0]}, {"logits": None}, {"logits": [1.0]}, {"logits": [1.0, None]}, {"id": 1}]
        with pytest.warns(match=r"of 5 rows, 4 bad rows \(3 null, 1 of another width\)"):
            out = self.scored(tmp_path, rows)
        assert [row["confidence"] is None for row in out] == [False, True, True, True, True]

    def test_values_pass_through_unchanged(self, tmp_path):
        values = [{"a": [1, {"b": None}]}, ["x", 2], True, 2**70, "2024-05-01", 1, "01", None, 0.1, "1", [1], [0.5]]
        rows = [{"logits": [1.0, 2.0], "id": value} for value in values]
        assert [row["id"] for row in self.scored(tmp_path, rows)] == values
        text = self.scored(tmp_path, rows, ".parquet")["id"].to_pylist()
        assert text[:7] == ['{"a": [1, {"b": null}]}', '["x", 2]', "true", str(2**70), "2024-05-01", "1", "01"]

    @pytest.mark.parametrize("late", [5, 5000])
    def test_a_key_may_appear_late_and_a_column_begin_with_null(self, late, tmp_path):
        rows = [{"logits": [1.0, 2.0], "n": None} for _ in range(late)] + [{"logits": [1.0, 2.0], "n": 2**60, "new": 1}]
        table = self.scored(tmp_path, rows, ".parquet")
        assert table["n"].to_pylist() == [None] * late + [2**60]  # and no float
        assert table["new"].to_pylist() == [None] * late + [1]

    def test_infinity_is_not_written_as_invalid_json(self, tmp_path):
        table = pa.table({"logits": [[1.0, 2.0]] * 3, "x": [float("inf"), float("nan"), -1.5]})
        pq.write_table(table, tmp_path / "in.parquet")
        score_table(FITTED, tmp_path / "in.parquet", out=tmp_path / "out.jsonl")
        assert [row["x"] for row in read_lines(tmp_path / "out.jsonl")] == ["inf", None, -1.5]


def test_every_type_of_parquet_has_a_form_in_lines(tmp_path):
    columns = {
        "date": pa.array([19844], pa.date32()),
        "zoned": pa.array([0], pa.timestamp("ms", "UTC")),
        "decimal": pa.array(["1.10"]).cast(pa.decimal128(5, 2)),
        "duration": pa.array([90], pa.duration("s")),
        "lists": pa.array([[1, None]], pa.list_(pa.int64())),
        "struct": pa.array([{"a": 0.5}]),
    }
    pq.write_table(pa.table({"logits": [[1.0, 2.0]], **columns}), tmp_path / "in.parquet")
    score_table(FITTED, tmp_path / "in.parquet", out=tmp_path / "out.jsonl")
    (row,) = read_lines(tmp_path / "out.jsonl")
    assert {name: row[name] for name in columns} == {
        "date": "2024-05-01",
        "zoned": "1970-01-01 00:00:00.000Z",
        "decimal": "1.10",
        "duration": "90 s",
        "lists": [1, None],
        "struct": {"a": 0.5},
    }


class TestCsv:
    def test_tabs_in_a_tsv_and_text_that_looks_like_numbers(self, tmp_path):
        (tmp_path / "a.tsv").write_text("id\tlogit_0\tlogit_1\ty\n01\t1\t2\t1\n1e3\t2\t1\t0\n")
        assert read_labelled(tmp_path / "a.tsv", id_column="id").ids.tolist() == ["01", "1e3"]

    def test_latin_1_is_named(self, tmp_path):
        (tmp_path / "a.csv").write_bytes("größe,logit_0,logit_1,y\n1,1,2,0\n".encode("latin-1"))
        with pytest.raises(FileFormatError, match=r"line 1 has the byte 0xf6, as Latin-1 .* 'CSV UTF-8'"):
            read_predictions(tmp_path / "a.csv")

    def test_percentages(self, tmp_path):
        (tmp_path / "a.csv").write_text("prob_0,prob_1,y\n80,20,0\n30,70,1\n")
        data = read_predictions(tmp_path / "a.csv", percent=True)
        np.testing.assert_allclose(np.exp(data.logits), [[0.8, 0.2], [0.3, 0.7]])
        assert data.inputs.kind == "probabilities"

    def test_a_repeated_header_names_its_line(self, tmp_path):
        (tmp_path / "a.csv").write_text("logit_0,logit_1,y\n1,2,0\nlogit_0,logit_1,y\n2,1,1\n")
        with pytest.raises(FileFormatError, match=r"Row #3: column 'logit_0': invalid value 'logit_0'"):
            read_predictions(tmp_path / "a.csv")

    def test_many_columns_are_no_trouble(self, tmp_path):
        names = [f"c{k}" for k in range(100_000)]
        (tmp_path / "a.csv").write_text(f"{','.join(names)},logit_0,logit_1\n{'1,' * 100_000}1,2\n")
        began = time.process_time()
        score_table(FITTED, tmp_path / "a.csv", out=tmp_path / "b.csv")
        assert time.process_time() - began < 60
        assert (tmp_path / "b.csv").read_text().count(",") == 2 * 100_001


class TestClasses:
    """Evaluation does not depend on the order of the rows."""

    @pytest.mark.parametrize("names", [["1", "2", "other"], ["-1", "cat", "dog"], ["01", "1", "x"]])
    def test_sorted_labels_give_the_same_as_shuffled_ones(self, names, tmp_path, monkeypatch):
        monkeypatch.setattr(batches, "BATCH_BYTES", 200)
        rng = np.random.default_rng(0)
        y = np.sort(rng.choice(names, 300))
        predicted = np.where(rng.random(300) < 0.7, y, rng.choice(names, 300))
        predicted[predicted == "-1"] = "cat"
        accuracy = set()
        for order in (np.arange(300), rng.permutation(300)):
            lines = [f"{predicted[k]},0.5,{y[k]}" for k in order]
            (tmp_path / "s.csv").write_text("\n".join(["prediction,confidence,y", *lines]))
            accuracy.add(float(read_scored(tmp_path / "s.csv").correct.mean()))
        assert accuracy == {float(np.mean(predicted == y))}

    def test_labels_that_begin_with_none_of_the_classes(self, tmp_path, monkeypatch):
        monkeypatch.setattr(batches, "BATCH_BYTES", 200)
        named = Uncalibrated().fit(np.eye(2) * 3, [0, 1], class_names=["cat", "dog"])
        lines = ["3,1,-1"] * 50 + ["3,1,cat", "1,3,dog"]
        (tmp_path / "in.csv").write_text("\n".join(["logit_0,logit_1,y", *lines]))
        score_table(named, tmp_path / "in.csv", columns=["logit_0", "logit_1"], out=tmp_path / "out.csv")
        assert read_scored(tmp_path / "out.csv").correct.sum() == 2


def test_keys_of_folders_do_not_depend_on_how_a_path_is_spelled(tmp_path, monkeypatch):
    (tmp_path / "day=1").mkdir()
    (tmp_path / "day=1/a.csv").write_text("logit_0,logit_1\n1,2\n")
    (tmp_path / "latest").symlink_to(tmp_path / "day=1")
    monkeypatch.chdir(tmp_path / "day=1")
    for path in (tmp_path / "day=1/a.csv", "a.csv", "../day=1/../day=1/a.csv", tmp_path / "latest/a.csv"):
        assert find_parts(path)[0].keys == {"day": "1"}


def test_a_file_that_is_rewritten_while_it_is_read_is_noticed(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("logit_0,logit_1\n" + "1,2\n" * 10)

    def read():
        with open_source(path) as source:
            next(source.batches(["logit_0"], []))
            path.write_text("logit_0,logit_1\n" + "1,2\n" * 20)

    with pytest.raises(FileFormatError, match=r"a\.csv: this file was written to while it was read"):
        read()


def test_many_slices_take_time_in_proportion(tmp_path):
    by = np.arange(4000) // 2
    confidence, correct = np.tile([0.2, 0.8], 2000), np.tile([False, True], 2000)
    began = time.process_time()
    slices = evaluate_by(confidence, correct, by, metrics=["brier"])
    assert len(slices) == 2000
    assert time.process_time() - began < 60


def test_five_thousand_classes(tmp_path):
    names = np.array([f"class {k}" for k in range(5000)])
    rows = pa.table(
        {"prediction": np.repeat(names, 20), "confidence": np.full(100_000, 0.5), "y": np.repeat(names, 20)}
    )
    pq.write_table(rows, tmp_path / "s.parquet")
    scored = read_scored(tmp_path / "s.parquet")
    assert scored.correct.all()
    assert scored.prediction.itemsize == 2


def test_rows_without_a_class_are_an_error_with_its_remedy(tmp_path):
    pq.write_table(pa.table({"logits": [[1.0, 2.0]], "y": [[0]]}), tmp_path / "a.parquet")
    with pytest.raises(InvalidInputError):
        read_predictions(tmp_path / "a.parquet")
