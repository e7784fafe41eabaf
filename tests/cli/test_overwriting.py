"""No command replaces what a person may have written, unless it is asked to."""

import csv

import numpy as np
import pytest

from auxcal import Predictions, TemperatureScaling, load

N = 300


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with logits, with and without labels, and a calibrator."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(N, 3)).astype(np.float32)
    y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    Predictions(3 * logits, y).save(tmp_path / "data.npz")
    with (tmp_path / "new.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [["id", "logit_0", "logit_1", "logit_2"], *([f"a{i}", *z] for i, z in enumerate(logits))]
        )
    TemperatureScaling().fit(3 * logits, y).save(tmp_path / "c.safetensors")
    return tmp_path


COMMANDS = {
    "fit": ("mine.safetensors", ["fit", "data.npz", "--method", "temperature", "-o", "mine.safetensors"]),
    "score": ("mine.csv", ["score", "c.safetensors", "new.csv", "-o", "mine.csv"]),
    "pick": ("to-label.csv", ["pick", "new.csv", "--n", "20"]),
    "compare": ("report.html", ["compare", "data.npz", "--methods", "temperature", "--out", "."]),
    "results": ("results.csv", ["compare", "data.npz", "--methods", "temperature", "--out", "."]),
    "best": ("data-temperature.safetensors", ["compare", "data.npz", "--methods", "temperature", "--out", "."]),
    "demo": ("report.html", ["demo"]),
    "export": ("mine.onnx", ["export", "c.safetensors", "-o", "mine.onnx"]),
    "monitor": ("mine.html", ["monitor", "c.safetensors", "new.csv", "--by", "id", "--out", "mine.html"]),
}


def with_extras(*commands):
    """Return commands to try, each where the extra is installed that writes its file."""
    extras = {"compare": "report", "demo": "report", "export": "onnx", "monitor": "report"}
    return [pytest.param(each, marks=pytest.mark.needs(extras[each]) if each in extras else ()) for each in commands]


@pytest.mark.parametrize("which", with_extras(*COMMANDS))
def test_a_file_of_the_user_is_refused(which, folder, call, capsys):
    name, arguments = COMMANDS[which]
    (folder / name).write_text("mine")
    assert call(*arguments) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert (folder / name).read_text() == "mine"


@pytest.mark.parametrize("which", with_extras("fit", "score", "pick", "compare"))
def test_it_is_replaced_if_asked(which, folder, call):
    name, arguments = COMMANDS[which]
    (folder / name).write_text("mine")
    assert call(*arguments, "--overwrite") == 0
    assert not (folder / name).read_bytes().startswith(b"mine")


@pytest.mark.parametrize("which", ["fit", "compare"])
def test_what_auxcal_wrote_is_replaced_without_asking(which, folder, call):
    for _ in range(2):
        assert call(*COMMANDS[which][1]) == 0


def test_picks_are_filled_in_and_read_again(folder, call, capsys):
    assert call("pick", "c.safetensors", "new.csv", "--n", "200", "-o", "picks.csv") == 0
    with (folder / "picks.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [f"a{row['row']}" for row in rows]
    assert {row["y"] for row in rows} == {""}
    for row in rows[:150]:
        row["y"] = row["prediction"]
    with (folder / "picks.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert call("pick", "c.safetensors", "new.csv", "--n", "200", "-o", "picks.csv") == 2
    assert call("fit", "picks.csv", "--weight", "weight", "--method", "platt", "-o", "fitted.safetensors") == 0
    assert "50 of 200 rows have no label" in capsys.readouterr().err
    assert load("fitted.safetensors").fitted_on_.n_rows == 150
    assert call("threshold", "picks.csv", "--risk", "0.2", "--weight", "weight", "--empirical") == 0


@pytest.mark.needs("tables")
def test_picks_in_parquet_have_an_empty_label_too(folder, call):
    import pyarrow.parquet as pq

    assert call("pick", "c.safetensors", "new.csv", "--n", "20", "-o", "picks.parquet") == 0
    assert pq.read_table("picks.parquet")["y"].null_count == 20
