"""Answers with signals on the command line: fitted, scored, measured and watched, from files of any format."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import auxcal

pd = pytest.importorskip("pandas")


def answers(n, random_state):
    rng = np.random.default_rng(random_state)
    ability, topic = rng.normal(size=n), rng.choice(["law", "maths"], n)
    correct = rng.random(n) < 1 / (1 + np.exp(-(2 * ability + np.where(topic == "law", -1, 1))))
    verbal = np.round(0.8 + 0.1 * ability, 3)
    verbal[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame({"verbal": verbal, "length": rng.normal(200, 50, n), "topic": topic, "right": correct})


@pytest.fixture(scope="module")
def tables():
    return answers(900, 0), answers(1200, 1)


@pytest.fixture
def command(call, capsys):
    """Run the command line in this process."""

    def run(*arguments):
        code = call(*arguments)
        return SimpleNamespace(returncode=code, **capsys.readouterr()._asdict())

    return run


@pytest.fixture(scope="module")
def calibrator(tables):
    return auxcal.SignalCalibrator(random_state=0).fit(tables[0][["verbal", "length", "topic"]], tables[0]["right"])


@pytest.fixture
def fitted(tables, calibrator, tmp_path):
    tables[1].to_parquet(tmp_path / "new.parquet", index=False)
    calibrator.inputs_ = replace(calibrator.inputs_, label_name="right")
    calibrator.save(tmp_path / "signals.safetensors")
    return tmp_path / "signals.safetensors"


def test_files_give_what_python_gives(calibrator, tables, command, tmp_path):
    tables[0].to_csv(tmp_path / "fit.csv", index=False)
    out = tmp_path / "signals.safetensors"
    found = command("fit", tmp_path / "fit.csv", "--signals", "verbal,length,topic", "--correct", "right", "-o", out)
    assert found.returncode == 0, found.err
    assert "900 answers with 3 signals" in found.out
    again = auxcal.load(out)
    assert again.columns.kinds == ("number", "number", "category")
    np.testing.assert_allclose(again.predict_confidence(tables[1]), calibrator.predict_confidence(tables[1]), atol=1e-6)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_walk_from_scores_to_a_promise(fitted, tables, command, tmp_path, ending):
    new, scored = tmp_path / f"rows.{ending}", tmp_path / f"scored.{ending}"
    getattr(tables[1], f"to_{ending}")(new, index=False)
    assert command("score", fitted, new, "-o", scored).returncode == 0
    table = pd.read_csv(scored) if ending == "csv" else pd.read_parquet(scored)
    assert list(table) == ["verbal", "length", "topic", "right", "confidence", "in_fit"]
    np.testing.assert_allclose(table["confidence"], auxcal.load(fitted).predict_confidence(tables[1]), atol=1e-6)
    found = json.loads(command("evaluate", scored, "--correct", "right", "--json").out)
    assert found["accuracy"] == pytest.approx(tables[1]["right"].mean())
    assert found == json.loads(command("evaluate", scored, "--calibrator", fitted, "--json").out)
    promised = command("threshold", scored, "--correct", "right", "--risk", "0.2", "--save", fitted)
    assert promised.returncode == 0, promised.err
    assert auxcal.load(fitted).certificate_ is not None
    assert command("plan", scored, "--correct", "right", "--accuracy-within", "0.02").returncode == 0


def test_new_rows_are_checked_and_watched(fitted, tables, command, tmp_path):
    assert command("check", fitted, tmp_path / "new.parquet").returncode == 0
    tables[1].assign(length=20 * tables[1]["length"]).to_csv(tmp_path / "long.csv", index=False)
    found = command("check", fitted, tmp_path / "long.csv")
    assert found.returncode == 4
    assert "length (higher)" in found.out
    tables[1].assign(day=np.repeat(["monday", "tuesday"], 600)).to_csv(tmp_path / "days.csv", index=False)
    assert command("monitor", fitted, tmp_path / "days.csv", "--by", "day").returncode == 0


def test_rows_to_label_have_an_empty_column_for_right_or_wrong(fitted, tables, command, tmp_path):
    tables[1].drop(columns="right").to_csv(tmp_path / "rest.csv", index=False)
    assert command("pick", fitted, tmp_path / "rest.csv", "--n", "20", "-o", tmp_path / "picked.csv").returncode == 0
    picked = pd.read_csv(tmp_path / "picked.csv")
    assert len(picked) == 20
    assert picked["right"].isna().all()
    assert "prediction" not in picked


def test_answers_without_a_mark_are_left_out(tables, command, tmp_path):
    marks = tables[0]["right"].astype(object).where(np.arange(900) % 3 > 0, None)
    tables[0].assign(right=marks).to_csv(tmp_path / "some.csv", index=False)
    options = ["--signals", "verbal,topic", "--correct", "right", "-o", tmp_path / "s.safetensors"]
    found = command("fit", tmp_path / "some.csv", *options)
    assert "600 answers" in found.out
    assert "300 of 900 rows have no label" in found.err


def test_levels_of_the_select_part_are_those_of_the_fit_part(tables, command, tmp_path):
    parts = [tables[0][:100], tables[1][tables[1]["topic"] == "maths"][:60]]  # whose only level has another code there
    for name, part in zip("ab", parts, strict=True):
        part.to_csv(tmp_path / f"{name}.csv", index=False)
    found = command("fit", tmp_path / "a.csv", "--select", tmp_path / "b.csv", "--signals", "verbal,topic",
                    "--correct", "right", "-o", tmp_path / "s.safetensors")  # fmt: skip
    assert found.returncode == 0, found.err
    both = pd.concat(parts)
    expected = auxcal.SignalCalibrator(random_state=0).fit(both[["verbal", "topic"]], both["right"])
    confidence = auxcal.load(tmp_path / "s.safetensors").predict_confidence(both)
    np.testing.assert_allclose(confidence, expected.predict_confidence(both), atol=1e-6)


def test_what_is_wrong_is_said(fitted, tables, command, tmp_path):
    tables[0].to_csv(tmp_path / "fit.csv", index=False)
    out = ["-o", tmp_path / "s.safetensors"]
    found = command("fit", tmp_path / "fit.csv", "--signals", "verbla", "--correct", "right", *out)
    assert found.returncode == 2
    assert "there is no column 'verbla' (did you mean 'verbal'?)" in found.err
    found = command("fit", tmp_path / "fit.csv", "--signals", "verbal", "--correct", "topic", *out)
    assert "topic must hold true and false, or 1 and 0, for right and wrong answers; got" in found.err
    tables[1].drop(columns="length").to_csv(tmp_path / "short.csv", index=False)
    found = command("score", fitted, tmp_path / "short.csv", "-o", tmp_path / "scored.csv")
    assert "there is no column 'length'" in found.err


def test_adapt_follows_another_share_of_right_answers_and_transfer_says_why_not(fitted, tables, command, tmp_path):
    kept = tables[1]["right"] | (np.random.default_rng(0).random(1200) < 0.25)
    tables[1][kept].drop(columns="right").to_csv(tmp_path / "mix.csv", index=False)
    found = command("adapt", fitted, tmp_path / "mix.csv", "-o", tmp_path / "adapted.safetensors")
    assert found.returncode == 0, found.err
    before, after = (auxcal.load(path) for path in (fitted, tmp_path / "adapted.safetensors"))
    right = tables[1][kept]["right"]
    assert after.score(tables[1][kept], right) > before.score(tables[1][kept], right)
    found = command("transfer", fitted, tmp_path / "mix.csv", "-o", tmp_path / "there.safetensors")
    assert "only a CCAC-S can be transferred; this is Signals" in found.err


def test_what_signals_are_is_said_by_name(tables, command, tmp_path):
    tables[0].assign(verbal=tables[0]["verbal"].clip(0, 1)).to_csv(tmp_path / "fit.csv", index=False)
    options = ["--signals", "verbal,length", "--correct", "right", "--signal-probabilities", "verbal"]
    options += ["--increasing", "verbal"]
    out = tmp_path / "s.safetensors"
    assert command("fit", tmp_path / "fit.csv", *options, "-o", out).returncode == 0
    fitted = auxcal.load(out)
    assert fitted.columns.kinds == ("probability", "number")
    rising = fitted.predict_confidence({"verbal": np.linspace(0, 1, 50), "length": np.full(50, 200.0)})
    assert np.diff(rising).min() >= -1e-9
    found = command(
        "compare", tmp_path / "fit.csv", *options, "--methods", "signals", "--out", tmp_path / "r", "--json"
    )
    (answer,) = json.loads(found.out)
    assert answer["answer"].startswith("The signal verbal says")
    wrong = command(
        "fit", tmp_path / "fit.csv", *options[:-2], "--increasing", "lenght", "-o", tmp_path / "t.safetensors"
    )
    assert "increasing must name columns of the signals; there is no 'lenght' (did you mean 'length'?)" in wrong.err


def test_methods_are_compared_as_those_of_logits(tables, command, tmp_path):
    tables[0].assign(case=[f"case {i}" for i in range(900)]).to_csv(tmp_path / "fit.csv", index=False)
    tables[1].to_csv(tmp_path / "test.csv", index=False)
    options = ["--signals", "verbal,length,topic", "--correct", "right", "--out", tmp_path / "report"]
    found = command("compare", tmp_path / "fit.csv", *options, "--id", "case", "--by", "topic")
    assert found.returncode == 0, found.err
    for words in ("of the answers are right.", "behind, ‰", "all signals  ours", "all signals by topic"):
        assert words in found.out
    assert {path.name for path in (tmp_path / "report").iterdir()} == {
        "report.html", "results.csv", "results.json", "fit-signals.safetensors",
    }  # fmt: skip
    options += ["--test", tmp_path / "test.csv", "--methods", "verbal: isotonic", "--overwrite", "--json"]
    (again,) = json.loads(command("compare", tmp_path / "fit.csv", *options).out)
    assert (again["n_fit"], again["n_test"]) == (900, 1200)
    assert {row["method"] for row in again["methods"]} == {"base rate", "signals", "verbal: isotonic"}
    assert again["signals"][0]["name"] == "verbal"


def test_one_column_of_scores_is_enough(tables, command, tmp_path):
    tables[0].to_csv(tmp_path / "fit.csv", index=False)
    options = ["--signals", "verbal", "--correct", "right", "-o", tmp_path / "s.safetensors"]
    assert command("fit", tmp_path / "fit.csv", *options).returncode == 0
    assert auxcal.load(tmp_path / "s.safetensors").predict_confidence({"verbal": [0.6, 1.0]}).round(1).tolist()[0] < 0.3


def test_arrow_tables_and_folders_are_scored_too(fitted, tables, command, tmp_path):
    import pyarrow as pa

    from auxcal.arrow import score

    calibrator = auxcal.load(fitted)
    wanted = calibrator.predict_confidence(tables[1])
    found = score(pa.Table.from_pandas(tables[1]), calibrator)
    np.testing.assert_allclose(found.confidence.to_numpy(), wanted, atol=1e-6)
    parts = tmp_path / "parts"
    parts.mkdir()
    for place in range(2):
        tables[1][600 * place : 600 * (place + 1)].to_parquet(parts / f"part-{place}.parquet", index=False)
    assert command("score", fitted, parts, "-o", tmp_path / "scored/").returncode == 0
    both = pd.concat(pd.read_parquet(path) for path in sorted((tmp_path / "scored").glob("*.parquet")))
    np.testing.assert_allclose(both["confidence"], wanted, atol=1e-6)
