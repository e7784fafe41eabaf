"""The commands on tables of several parts, with bad rows in them, and on more rows than are held."""

import json

import numpy as np
import pytest

import auxcal

from .test_check import ROWS, drawn

ROWS_OF_A_PART = 400


def part_of(logits, y, bad=False):
    lines = [f"id,{a},{b},{c},{label}" for (a, b, c), label in zip(logits.tolist(), y, strict=True)]
    return "id,logit_0,logit_1,logit_2,y\n" + "\n".join(lines) + "\n" + ("x,,1,2,0\n" if bad else "")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Give folders of two parts: rows like those of the fit, another mix, something new, and some with a bad row."""
    folder = tmp_path_factory.mktemp("large")
    auxcal.CCACX(random_state=0).fit(*drawn(2000, random_state=9)).save(folder / "fitted.safetensors")
    for name, change in {**ROWS, "bad": {}}.items():
        (folder / name).mkdir()
        for part in range(3):
            rows = drawn(ROWS_OF_A_PART, random_state=part, **change)
            (folder / name / f"{part}.csv").write_text(part_of(*rows, bad=name == "bad" and part == 1))
    return folder


@pytest.mark.parametrize("name", ["same", "mix", "new"])
def test_score_warns_of_all_parts_in_one_line(name, made, call, capsys, tmp_path):
    words = made / "fitted.safetensors", made / name, "-o", tmp_path / "scored"
    assert call("score", *words) == 0
    said = capsys.readouterr()
    assert len(said.err.splitlines()) == (name != "same")
    assert {"same": "", "mix": "class proportions have changed since the fit", "new": "proportions can't explain"}[
        name
    ] in said.err
    assert call("score", *words) == 0  # nothing is scored again, so there is nothing to say of it
    assert "3 of 3 parts were there already" in capsys.readouterr().out


COMMANDS = {
    "fit": lambda made, out: ("fit", made / "bad", "-o", out / "a.safetensors", "--method", "platt"),
    "compare": lambda made, out: ("compare", made / "bad", "--out", out / "report", "--methods", "platt"),
    "check": lambda made, out: ("check", made / "fitted.safetensors", made / "bad"),
    "adapt": lambda made, out: ("adapt", made / "fitted.safetensors", made / "bad", "-o", out / "a.safetensors"),
    "monitor": lambda made, out: ("monitor", made / "fitted.safetensors", made / "bad", "--by", "id"),
    "pick": lambda made, out: ("pick", made / "bad", "--n", 5, "-o", out / "a.csv"),
    "score": lambda made, out: ("score", made / "fitted.safetensors", made / "bad", "-o", out / "a.csv"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_a_bad_row_or_leaves_it_out(command, made, call, capsys, tmp_path):
    words = COMMANDS[command](made, tmp_path)
    strict = ("--on-bad-rows", "fail") if command == "score" else ()
    assert call(*words, *strict) == 2
    said = capsys.readouterr().err
    assert f"{made / 'bad' / '1.csv'}: logits must be finite; got nan (NaN or inf) at [400, 0]" in said
    assert "in the first 401 rows: 1 bad row (1 NaN)" in said
    assert "(--on-bad-rows skip)" in said
    assert len(said.splitlines()) == 1
    assert not list(tmp_path.glob("a.*"))
    assert call(*words, "--on-bad-rows", "skip") == 0
    assert "of 1,201 rows, 1 bad row (1 NaN) are left out." in capsys.readouterr().err


@pytest.fixture
def scored(tmp_path):
    """Write scores of which a row has none and a row has half of one."""
    rng = np.random.default_rng(7)
    confidence = rng.random(3000).round(3)
    y = np.where(rng.random(3000) < confidence, 1, 0)
    lines = [
        f"1,{sure},{label},{'ab'[place % 2]}" for place, (sure, label) in enumerate(zip(confidence, y, strict=True))
    ]
    (tmp_path / "scored.csv").write_text("\n".join(["prediction,confidence,y,side", *lines, ",,0,a", "1,,0,b"]))
    return tmp_path / "scored.csv"


@pytest.mark.parametrize("command", [("evaluate",), ("threshold", "--risk", "0.4")])
def test_half_a_score_is_refused(command, scored, call, capsys):
    assert call(command[0], scored, *command[1:]) == 2
    assert "confidence must be finite; got nan in row 3001 (1 such rows" in capsys.readouterr().err


def test_threshold_draws_a_sample_and_says_so(scored, call, capsys):
    words = "threshold", scored, "--risk", "0.2", "--on-bad-rows", "skip", "--json"
    assert call(*words) == 0
    every = json.loads(capsys.readouterr().out)
    assert call(*words, "--sample", "2000") == 0
    said = capsys.readouterr()
    some = json.loads(said.out)
    assert "2,000 of 3,000 rows are used, a random sample" in said.err
    assert (every["rows"], some["rows"]) == (3000, 2000)
    assert some["threshold"] == pytest.approx(every["threshold"], abs=0.1)
