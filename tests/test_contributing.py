"""What CONTRIBUTING.md tells to do, done to the letter in a copy of the package."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

TRY = """
import auxcal
from auxcal.cli import main
from auxcal.experiments import Results
from auxcal.experiments.results import SCORES
from auxcal.testing import check_metric

check_metric(auxcal.METRICS["absolute_error"])
scores = auxcal.evaluate([0.9, 0.6, 0.5], [True, True, False], bootstrap=5)
assert round(scores["absolute_error"], 4) == 0.3333 and "absolute_error_low" in scores
assert "absolute_error" in SCORES
old = Results.read(sys.argv[1])
assert len(old) and "absolute_error" not in old.rows[0].scores
sys.argv = ["auxcal", "evaluate", "scored.csv", "--resamples", "0"]
main()
"""


def code_of(title):
    section = GUIDE[GUIDE.index(f"## {title}") :].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)


@pytest.fixture
def package(tmp_path):
    copy = tmp_path / "copy/auxcal"
    shutil.copytree(ROOT / "src/auxcal", copy, ignore=shutil.ignore_patterns("__pycache__", "vendor", "packaged"))
    return copy


def test_a_metric_is_a_function_and_one_line(package, tmp_path):
    function, line = code_of("Add a metric in one line")
    (package / "metrics/_absolute_error.py").write_text(function)
    evaluate = package / "metrics/_evaluate.py"
    text = evaluate.read_text().replace("METRICS: dict[str, Metric] = {\n", f"METRICS: dict[str, Metric] = {{\n{line}")
    first = "from auxcal.metrics._calibration_error"
    evaluate.write_text(text.replace(first, f"from auxcal.metrics._absolute_error import absolute_error\n{first}", 1))
    (tmp_path / "scored.csv").write_text("prediction,confidence,y\n0,0.9,0\n1,0.6,1\n0,0.5,1\n")
    program = f"import sys; sys.path.insert(0, {str(package.parent)!r})\n{TRY}"
    command = [sys.executable, "-c", program, str(ROOT / "docs/results/r8-dan.csv")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Absolute error" in done.stdout
