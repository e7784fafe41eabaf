"""Every example runs in a fresh process, and says something."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))
NEEDS = {"hugging_face": "transformers", "large_tables": "daft", "mlflow_run": "mlflow"}  # what no extra brings


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path, tmp_path):
    if path.stem in NEEDS and find_spec(NEEDS[path.stem]) is None:
        pytest.skip(f"needs {NEEDS[path.stem]}")
    done = subprocess.run([sys.executable, path], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert not list(tmp_path.iterdir()), "an example leaves nothing behind where it is run"
