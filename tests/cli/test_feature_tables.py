"""Features with gaps and categories in files: fitted, compared, scored and checked as Python does."""

import json

import numpy as np
import pytest

import auxcal

pd = pytest.importorskip("pandas")

COLUMNS = ["a", "b", "c"]


def rows(n, random_state):
    rng = np.random.default_rng(random_state)
    logits = rng.normal(size=(n, 3), scale=2)
    site = rng.choice(["east", "north", "west"], n)
    noise = np.where(site == "north", 5, 1)[:, None] * rng.gumbel(size=(n, 3))
    age = rng.normal(50, 10, n).round(1)
    age[rng.random(n) < 0.2] = np.nan
    table = pd.DataFrame(logits, columns=COLUMNS)
    return table.assign(age=age, site=site, y=np.array(COLUMNS)[(logits + noise).argmax(axis=1)])


@pytest.fixture(scope="module")
def tables():
    return rows(700, 0), rows(500, 1)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_give_what_python_gives(tables, call, tmp_path, ending):
    for name, table in zip(("fit", "new"), tables, strict=True):
        getattr(table, f"to_{ending}")(tmp_path / f"{name}.{ending}", index=False)
    fitted, scored = tmp_path / "x.safetensors", tmp_path / f"scored.{ending}"
    options = ["--columns", ",".join(COLUMNS), "--features", "age,site"]
    assert call("fit", tmp_path / f"fit.{ending}", *options, "-o", fitted) == 0
    assert call("score", fitted, tmp_path / f"new.{ending}", "-o", scored) == 0
    assert call("check", fitted, tmp_path / f"new.{ending}") == 0
    found = getattr(pd, f"read_{ending}")(scored)
    calibrator, features = auxcal.CCACX(random_state=0), ["age", "site"]
    calibrator.fit(tables[0][COLUMNS], tables[0]["y"], features=tables[0][features])
    wanted = calibrator.predict_confidence(tables[1][COLUMNS], tables[1][features])
    np.testing.assert_allclose(found["confidence"], wanted, atol=1e-5)
    assert wanted[tables[1]["site"] == "north"].mean() < wanted[tables[1]["site"] == "east"].mean() - 0.05


def test_no_label_of_the_test_part_is_in_the_effects_of_categories(tables, call, capsys, tmp_path):
    rng = np.random.default_rng(0)  # each level is there a few times, and tells nothing
    crowded = tables[0].assign(site=rng.choice([f"site {k}" for k in range(200)], 700))
    crowded.to_csv(tmp_path / "fit.csv", index=False)
    options = ["--columns", ",".join(COLUMNS), "--methods", "ccac-x", "--out", tmp_path / "report", "--json"]
    briers = []
    for features in ("age", "age,site"):
        assert call("compare", tmp_path / "fit.csv", *options, "--features", features, "--overwrite") == 0
        (found,) = json.loads(capsys.readouterr().out)
        briers.append(next(row["brier"] for row in found["methods"] if row["method"] == "ccac-x"))
    assert abs(briers[1] - briers[0]) < 0.01


def test_levels_of_a_select_and_a_test_part_are_read_by_name(tables, call, tmp_path):
    tables[0].to_csv(tmp_path / "fit.csv", index=False)
    tables[1].replace({"site": {"east": "south"}}).to_csv(tmp_path / "other.csv", index=False)
    options = ["--columns", ",".join(COLUMNS), "--features", "age,site"]
    parts = [tmp_path / "fit.csv", "--select", tmp_path / "other.csv"]
    assert call("fit", *parts, *options, "-o", tmp_path / "x.safetensors") == 0
    out = ["--methods", "ccac-x", "--out", tmp_path / "report"]
    assert call("compare", tmp_path / "fit.csv", "--test", tmp_path / "other.csv", *options, *out) == 0
