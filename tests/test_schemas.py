"""What the commands print with --json is what docs/reference/json.md says."""

import importlib
import json
import shlex
from pathlib import Path

import numpy as np
import pytest

jsonschema = pytest.importorskip("jsonschema")
pytestmark = pytest.mark.needs("onnx")
ROOT = Path(__file__).parent.parent
with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(ROOT / "docs")
    schemas = importlib.import_module("schemas")

COMMANDS = """
auxcal fit rows.csv --method platt -o platt.safetensors
auxcal show platt.safetensors
auxcal score platt.safetensors rows.csv -o scored.csv
auxcal evaluate scored.csv --resamples 20
auxcal threshold scored.csv --risk 0.4 --empirical
auxcal check platt.safetensors rows.csv
auxcal monitor platt.safetensors rows.csv --by day
auxcal pick platt.safetensors rows.csv --n 20 -o picked.csv
auxcal plan scored.csv --accuracy-within 0.05
auxcal export platt.safetensors -o platt.onnx
auxcal methods
auxcal compare rows.csv --methods temperature,platt
""".strip().splitlines()


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=400)
    logits = (2 * np.eye(3)[y] + rng.normal(size=(400, 3))).round(3)
    lines = [f"{a},{b},{c},{label},{row // 200}" for row, ((a, b, c), label) in enumerate(zip(logits, y, strict=True))]
    return "\n".join(["logit_0,logit_1,logit_2,y,day", *lines, ""])


def test_every_command_prints_what_its_schema_says(rows, tmp_path, monkeypatch, call, capsys):
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text(rows)
    printed = {}
    for line in COMMANDS:
        _, name, *arguments = shlex.split(line)
        assert call(name, *arguments, "--json") in (0, 3, 4), line
        printed[name] = json.loads(capsys.readouterr().out)
    assert printed.keys() == schemas.schemas().keys()
    for name, schema in schemas.schemas().items():
        jsonschema.validate(printed[name], schema)
        each, known = (printed[name][0], schema["items"]) if name in schemas.LISTS else (printed[name], schema)
        new = {key for key in each if not key.endswith(("_low", "_high"))} - known["properties"].keys()
        assert not new, f"docs/reference/json.md does not know these keys of auxcal {name}"


def test_the_schemas_are_those_of_the_page():
    for command, schema in schemas.schemas().items():
        jsonschema.Draft202012Validator.check_schema(schema)
        kept = json.loads((schemas.FOLDER / f"{command}.json").read_text())
        assert kept == schema, "run: python docs/schemas.py"
