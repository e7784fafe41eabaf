"""Weights, groups and slices from the columns of files."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from auxcal import InputWarning, InvalidInputError, Predictions, compare, evaluate, load
from auxcal.tables import read_predictions, read_scored
from auxcal.thresholds import threshold_at_risk

RNG = np.random.default_rng(0)
N = 300
Y = RNG.integers(3, size=N)
LOGITS = (2 * np.eye(3)[Y] + RNG.normal(size=(N, 3))).round(4)
WEIGHT = RNG.integers(1, 4, size=N)
PATIENT = np.array([f"p{row // 3}" for row in range(N)])
SITE = np.where(RNG.random(N) < 0.1, "rare", "usual")


@pytest.fixture(autouse=True)
def labelled(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{z[0]},{z[1]},{z[2]},{y},{w},{p},{s}\n"
        for z, y, w, p, s in zip(LOGITS, Y, WEIGHT, PATIENT, SITE, strict=True)
    ]
    (tmp_path / "rows.csv").write_text("logit_0,logit_1,logit_2,y,w,patient,site\n" + "".join(rows))
    Predictions(LOGITS, Y, sample_weight=WEIGHT, groups=PATIENT).save(tmp_path / "rows.npz")
    confidence = np.exp(LOGITS).max(axis=1) / np.exp(LOGITS).sum(axis=1)
    scored = [
        f"{top},{c:.6f},{y},{w},{p},{s}\n"
        for top, c, y, w, p, s in zip(LOGITS.argmax(axis=1), confidence, Y, WEIGHT, PATIENT, SITE, strict=True)
    ]
    (tmp_path / "scored.csv").write_text("prediction,confidence,y,w,patient,site\n" + "".join(scored))


def test_the_columns_of_a_table_are_named_and_those_of_a_bundle_are_known():
    table, bundle = read_predictions("rows.csv", weight="w", group="patient"), read_predictions("rows.npz")
    for data in (table, bundle):
        assert data.sample_weight.tolist() == WEIGHT.tolist()
        assert data.groups.tolist() == PATIENT.tolist()
    assert read_predictions("rows.csv").sample_weight is None


def test_rows_without_a_label_lose_their_weights_too(tmp_path):
    lines = (tmp_path / "rows.csv").read_text().splitlines()
    lines[2] = lines[2].replace(f",{Y[1]},{WEIGHT[1]},", f",,{WEIGHT[1]},")
    (tmp_path / "some.csv").write_text("\n".join(lines))
    with pytest.warns(UserWarning, match="without a label|no label"):
        data = read_predictions("some.csv", weight="w", group="patient")
    assert data.sample_weight.tolist() == np.delete(WEIGHT, 1).tolist()


def test_fit_counts_weights(call, capsys):
    call("fit", "rows.csv", "--method", "temperature", "--weight", "w", "-o", "c.safetensors", "--json")
    said = json.loads(capsys.readouterr().out)
    right = LOGITS.argmax(axis=1) == Y
    assert said["accuracy"] == pytest.approx(np.average(right, weights=WEIGHT))
    call("fit", "rows.npz", "--method", "temperature", "-o", "same.safetensors")
    assert load("c.safetensors").temperature_ == pytest.approx(load("same.safetensors").temperature_)


def test_evaluate_counts_weights_and_slices(call, capsys):
    options = ("--weight", "w", "--group", "patient", "--by", "site", "--resamples", "20")
    call("evaluate", "scored.csv", *options, "--json")
    said = json.loads(capsys.readouterr().out)
    scored = read_scored("scored.csv", weight="w", group="patient", by="site")
    expected = evaluate(
        scored.confidence, scored.correct, bootstrap=20, sample_weight=scored.sample_weight, groups=scored.groups
    )
    assert {name: said[name] for name in expected} == expected
    assert [(each["value"], each["rows"]) for each in said["by"]] == [
        ("usual", int(np.sum(SITE == "usual"))),
        ("rare", int(np.sum(SITE == "rare"))),
    ]
    assert said["by"][1]["noise"]
    assert {"brier_low", "auroc_high", "ece_floor_p95"} <= set(said["by"][0])
    call("evaluate", "scored.csv", *options)
    shown = capsys.readouterr().out
    assert "site = rare" in shown
    assert "fewer than 50 rows" in shown


def test_a_column_that_is_not_there_is_named():
    for option in ("weight", "group"):
        with pytest.raises(InvalidInputError, match=f"no column 'nope'.*--{option}"):
            read_predictions("rows.csv", **{option: "nope"})
    with pytest.raises(InvalidInputError, match=r"no column 'nope'.*--by"):
        read_scored("scored.csv", by="nope")


def test_a_comparison_keeps_groups_together_and_counts_weights():
    whole = read_predictions("rows.npz")
    found = compare(whole, methods=["temperature"], bootstrap=5)
    assert set(found.test.groups).isdisjoint(np.delete(PATIENT, found.rows))
    scores = evaluate(
        found.best.confidence,
        found.test.correct,
        metrics=["brier"],
        bootstrap=5,
        sample_weight=found.test.sample_weight,
        groups=found.test.groups,
    )
    assert found.best.scores["brier_low"] == scores["brier_low"]
    assert found.answer.right == pytest.approx(whole.accuracy, abs=1e-12)


def test_a_threshold_counts_weights(call, capsys):
    scored = read_scored("scored.csv", weight="w")
    for arguments, expected in (
        (("--empirical",), threshold_at_risk(*scored[:2], 0.2, promise=False, sample_weight=WEIGHT)),
        (
            ("--max-weight", WEIGHT.max()),
            threshold_at_risk(*scored[:2], 0.2, sample_weight=WEIGHT, max_weight=int(WEIGHT.max())),
        ),
    ):
        assert call("threshold", "scored.csv", "--risk", 0.2, "--weight", "w", "--json", *arguments) == 0
        assert json.loads(capsys.readouterr().out) == asdict(expected) | {"rows": WEIGHT.sum()}
    call("threshold", "scored.csv", "--risk", 0.2, "--weight", "w", "--max-weight", WEIGHT.max())
    assert f"of {WEIGHT.sum():,})" in capsys.readouterr().out


def test_a_threshold_needs_the_largest_weight_or_takes_groups(call, capsys):
    assert call("threshold", "scored.csv", "--risk", 0.2, "--weight", "w") == 2
    assert "Give it as max_weight (--max-weight)" in capsys.readouterr().err
    assert call("threshold", "scored.csv", "--risk", 0.3, "--group", "patient", "--json") == 0
    scored = read_scored("scored.csv", group="patient")
    found = json.loads(capsys.readouterr().out)
    assert found["threshold"] == threshold_at_risk(*scored[:2], 0.3, groups=scored.groups).threshold


def rewritten(change, name="scored.csv"):
    """Write a file again, with other values in the rows that `change` knows."""
    head, *lines = Path(name).read_text().splitlines()
    rows = [dict(zip(head.split(","), line.split(","), strict=True)) for line in lines]
    for row, values in change.items():
        rows[row] |= values
    Path(name).write_text("\n".join([head, *(",".join(row.values()) for row in rows)]) + "\n")


def test_rows_that_are_left_out_need_no_weight_and_no_group():
    rewritten({4: {"y": "", "w": "", "patient": ""}})
    rewritten({4: {"y": "", "w": "", "patient": ""}}, "rows.csv")
    for read in (read_scored, read_predictions):
        with pytest.warns(InputWarning, match="label"):
            data = read(f"{'scored' if read is read_scored else 'rows'}.csv", weight="w", group="patient")
        assert data.sample_weight.tolist() == np.delete(WEIGHT, 4).tolist()
        assert data.groups.tolist() == np.delete(PATIENT, 4).tolist()


def test_a_row_without_its_weight_or_group_is_named(call, capsys):
    rewritten({2: {"y": ""}, 7: {"w": "", "patient": ""}})
    for options, message in (("w", "got nan in row 7 (1 such rows)"), ("patient", "got None in row 7 (1 such rows)")):
        assert call("evaluate", "scored.csv", "--weight" if options == "w" else "--group", options) == 2
        assert message in capsys.readouterr().err


def test_rows_without_a_slice_are_one(call, capsys):
    rewritten({7: {"site": ""}, 9: {"site": ""}})
    assert call("evaluate", "scored.csv", "--by", "site", "--resamples", 0, "--json") == 0
    assert json.loads(capsys.readouterr().out)["by"][-1]["value"] == "(empty)"


def test_weights_of_text_and_shares_are_explained(call, capsys):
    table = pytest.importorskip("pyarrow.csv").read_csv("scored.csv")
    text = table.set_column(table.column_names.index("w"), "w", [["two"] * N])
    pytest.importorskip("pyarrow.parquet").write_table(text, "text.parquet")
    assert call("evaluate", "text.parquet", "--weight", "w") == 2
    assert "sample_weight must be numbers; got strings" in capsys.readouterr().err
    rewritten({row: {"w": str(1 / N)} for row in range(N)})
    assert call("threshold", "scored.csv", "--risk", 0.2, "--weight", "w") == 2
    assert "Multiply shares by the number of rows" in capsys.readouterr().err
