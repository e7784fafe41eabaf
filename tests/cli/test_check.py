"""auxcal check, auxcal adapt, and the line of auxcal score, on files."""

import json

import numpy as np
import pytest

import auxcal


def drawn(n, *, foreign=0.3, scale=1.0, random_state=0):
    rng = np.random.default_rng(random_state)
    y = np.where(rng.random(n) < foreign, -1, rng.integers(3, size=n))
    peak = 3 * np.vstack([np.eye(3), np.zeros((1, 3))])[y]
    return (scale * (peak + rng.normal(size=(n, 3)))).astype(np.float32), y


ROWS = {"same": {}, "mix": {"foreign": 0.8}, "new": {"scale": 1.5}}
CODES = {"same": 0, "mix": 3, "new": 4}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("check")
    auxcal.CCACX(random_state=0).fit(*drawn(2000, random_state=9)).save(folder / "fitted.safetensors")
    for name, change in ROWS.items():
        logits, y = drawn(1000, random_state=1, **change)
        np.savez(folder / f"{name}.npz", logits=logits, y=y)
    old = auxcal.PlattScaling().fit(*drawn(100))
    old.reference_ = None
    old.save(folder / "old.safetensors")
    return folder


@pytest.mark.parametrize("name", ROWS)
def test_check_answers_in_words_and_by_its_exit_code(name, folder, call, capsys):
    assert call("check", folder / "fitted.safetensors", folder / f"{name}.npz") == CODES[name]
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    said = " ".join(map(str.strip, lines))
    assert {"same": "No difference", "mix": "another mix", "new": "no other mix explains"}[name] in said
    assert call("check", folder / "fitted.safetensors", folder / f"{name}.npz", "--json") == CODES[name]
    assert json.loads(capsys.readouterr().out)["verdict"] == name


def test_check_says_what_to_do_with_an_old_file_and_a_bad_level(folder, call, capsys):
    assert call("check", folder / "old.safetensors", folder / "same.npz") == 2
    assert "Fit it again" in capsys.readouterr().err
    assert call("check", folder / "fitted.safetensors", folder / "same.npz", "--level", "7") == 2
    assert "level must be" in capsys.readouterr().err


def test_check_by_a_column_ranks_slices_by_how_far_the_confidence_may_be_off(folder, call, capsys):
    parts = {name: np.load(folder / f"{name}.npz")["logits"] for name in ROWS}
    lines = [f"{name},{','.join(map(str, row))}" for name, rows in parts.items() for row in rows]
    (folder / "days.csv").write_text("\n".join(["day,logit_0,logit_1,logit_2", *lines, "few,1,0,0"]))
    files = folder / "fitted.safetensors", folder / "days.csv"
    assert call("check", *files, "--by", "day", "--json") == 4
    slices = json.loads(capsys.readouterr().out)["slices"]
    assert [each["name"] for each in slices][2:] == ["same", "few"]
    assert [each["verdict"] for each in slices][2:] == ["same", "few"]
    harms = [each["harm"]["value"] for each in slices[:3]]
    assert harms == sorted(harms, reverse=True)
    assert call("check", *files, "--by", "day") == 4
    said = capsys.readouterr().out
    assert said.startswith("Label first where the confidence may be off most: ")
    assert max(map(len, said.splitlines()[1:])) <= 80
    assert call("check", *files, "--by", "hour") == 2
    assert "there is no column 'hour'" in capsys.readouterr().err


def test_pick_by_a_column_takes_more_rows_where_the_confidence_may_be_off_more(folder, call, capsys, tmp_path):
    rows = [(name, *row) for name in ("same", "new") for row in np.load(folder / f"{name}.npz")["logits"]]
    lines = ["day,logit_0,logit_1,logit_2", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "days.csv").write_text("\n".join(lines))
    picked = {}
    for by in ((), ("--by", "day")):
        out = tmp_path / f"{len(by)}.csv"
        assert call("pick", folder / "fitted.safetensors", tmp_path / "days.csv", "--n", 200, "-o", out, *by) == 0
        picked[by] = sum(',"new",' in line for line in out.read_text().splitlines())
    assert picked["--by", "day"] > 1.3 * picked[()]
    assert call("pick", tmp_path / "days.csv", "--n", 5, "--by", "day", "-o", tmp_path / "no.csv") == 2
    assert "asks a calibrator" in capsys.readouterr().err


def test_adapt_saves_a_calibrator_that_show_explains(folder, call, capsys, tmp_path):
    out = tmp_path / "adapted.safetensors"
    files = folder / "fitted.safetensors", folder / "mix.npz"
    assert call("adapt", *files, "--labelled", folder / "mix.npz", "-o", out) == 0
    assert "adapted to 1,000 rows without labels and 1,000 with labels" in capsys.readouterr().out
    assert call("show", out) == 0
    assert "adapted to" in capsys.readouterr().out
    assert call("check", out, folder / "mix.npz") == 0
    assert call("check", out, folder / "same.npz") == 3
    assert "share of no class (3" in capsys.readouterr().out
    assert call("score", out, folder / "same.npz", "-o", tmp_path / "out.csv") == 0
    assert "class proportions have changed since the calibrator was adapted" in capsys.readouterr().err
    assert call("adapt", *files, "-o", out, "--json") == 0


def test_adapt_refuses_something_new_and_leaves_no_file(folder, call, capsys, tmp_path):
    files = folder / "fitted.safetensors", folder / "new.npz"
    assert call("adapt", *files, "-o", tmp_path / "adapted.safetensors") == 2
    assert "Label some of them" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    np.savez(tmp_path / "four.npz", logits=np.ones((30, 4)), y=np.zeros(30, dtype=int))
    others = "--labelled", tmp_path / "four.npz"
    assert call("adapt", files[0], folder / "mix.npz", *others, "-o", tmp_path / "adapted.safetensors") == 2
    assert "3 columns" in capsys.readouterr().err
    assert call("adapt", *files, "--if-new", "warn", "-o", tmp_path / "adapted.safetensors") == 0


@pytest.mark.parametrize("name", ROWS)
def test_score_says_a_line_where_rows_are_not_like_those_of_the_fit(name, folder, call, capsys, tmp_path):
    assert call("score", folder / "fitted.safetensors", folder / f"{name}.npz", "-o", tmp_path / "out.csv") == 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == (name != "same")
    assert call("score", folder / "old.safetensors", folder / "mix.npz", "-o", tmp_path / "old.csv") == 0
