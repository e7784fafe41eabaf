"""The recipes of the page on large tables give what every engine must give, also where rows are bad."""

import importlib.util
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import auxcal

for module in ("daft", "dask", "duckdb", "polars"):
    pytest.importorskip(module)

EXAMPLE = Path(__file__).parents[3] / "examples/large_tables.py"


@pytest.fixture(scope="module")
def recipes():
    spec = importlib.util.spec_from_file_location("large_tables", EXAMPLE)
    module = sys.modules["large_tables"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["large_tables"]


@pytest.mark.parametrize("engine", ["polars", "duckdb", "daft", "dask"])
def test_a_recipe_gives_the_scores_of_all_rows(engine, recipes, rows, tmp_path):
    out = tmp_path / "scored"
    if engine == "dask":
        out.mkdir()
    indices = auxcal.load(rows.file)
    indices.inputs_ = auxcal.inputs.LogitInputs("logits")  # without names of classes, as in the recipes
    getattr(recipes, f"score_in_{engine}")(rows.folder, indices, out)
    scored = pq.read_table(out)
    places = scored["prediction"].to_pylist()
    names = [None if place is None else ["cat", "dog", "bird"][place] for place in places]
    at = scored.schema.get_field_index("prediction")
    rows.check(scored.set_column(at, "prediction", [names]))
