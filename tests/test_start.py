"""What a process that only scores imports: NumPy, safetensors and this library."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.needs("torch")  # where all that is heavy could be imported
GOLDEN = sorted((ROOT / "tests/golden").glob("*.safetensors"))

HEAVY = {"joblib", "matplotlib", "pandas", "pyarrow", "rich", "scipy", "sklearn", "torch"}

SCORE = """
import auxcal, numpy as np
for path in {paths}:
    calibrator = auxcal.load(path)
    logits = np.zeros((1, calibrator.n_features_in_), np.float32)
    calibrator.predict_confidence(logits)
    getattr(calibrator, "predict_proba", calibrator.predict_confidence)(logits)
    repr(calibrator)
"""

COMMAND = """
import sys
sys.argv = ["auxcal", *{arguments}]
from auxcal.cli import main
try: main()
except SystemExit: pass
"""


def imported(code, folder=None):
    """Return the packages that a fresh process has imported after running code."""
    code += "\nimport sys, json; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_to_load_and_score_imports_nothing_heavy():
    found = imported(SCORE.format(paths=[str(path) for path in GOLDEN]))
    assert {"numpy", "safetensors"} <= found
    assert not found & (HEAVY | {"typer", "click"})


def test_the_command_that_scores_imports_nothing_heavy(tmp_path):
    logits = 5 * np.eye(3)
    np.savez(tmp_path / "rows.npz", logits=logits)
    np.savetxt(tmp_path / "rows.csv", logits, delimiter=",", header="logit_0,logit_1,logit_2", comments="")
    calibrator = next(str(path) for path in GOLDEN if path.stem == "ccac-x")
    tables = ("rows.csv", "rows.npz")
    commands = [COMMAND.format(arguments=["score", calibrator, table, "-o", f"out-{table}"]) for table in tables]
    found = imported("".join(commands), tmp_path) & (HEAVY - {"pyarrow"})
    assert not found
    assert all((tmp_path / f"out-{table}").exists() for table in tables)


def test_metrics_are_computed_without_scikit_learn():
    found = imported("import auxcal; auxcal.evaluate([0.9, 0.2] * 50, [True, False] * 50, bootstrap=10)")
    assert not found & HEAVY
