"""What CONTRIBUTING.md tells to do, done to the letter in a copy of the package."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
CALIBRATOR_GUIDE = (ROOT / "docs/reference/add-a-calibrator.md").read_text(encoding="utf-8")

TRY = """
import sys
import auxcal
from auxcal.cli import main
from auxcal_paper import Results
from auxcal_paper.results import SCORES
from auxcal.testing import check_metric

check_metric(auxcal.METRICS["absolute_error"])
scores = auxcal.evaluate([0.9, 0.6, 0.5], [True, True, False], bootstrap=5)
assert round(scores["absolute_error"], 4) == 0.3333 and "absolute_error_low" in scores
assert "absolute_error" in SCORES
old = Results.read(sys.argv[1])
assert len(old) and "absolute_error" not in old.rows[0].scores
sys.argv = ["auxcal", "evaluate", "scored.csv", "--resamples", "0", "--all"]
main()
"""


def code_of(title, guide=GUIDE):
    section = guide[guide.index(f"## {title}") :].split("\n## ")[0]
    return re.findall(r"```py(?:thon)?\n(.*?)```", section, flags=re.DOTALL)


@pytest.fixture
def package(tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("vendor", "packaged", "demo_data"))
    return copy / "auxcal"


@pytest.fixture
def with_a_metric(package):
    """Give the package with the metric of the guide."""
    function, line, _ = code_of("Add a metric in one line")
    (package / "metrics/_absolute_error.py").write_text(function)
    first, end = "from auxcal.metrics._bootstrap", '}\n"""The one list of metrics'
    evaluate = package / "metrics/_evaluate.py"
    text = evaluate.read_text()
    assert first in text
    assert end in text
    text = text.replace(first, f"from auxcal.metrics._absolute_error import absolute_error\n{first}", 1)
    evaluate.write_text(text.replace(end, line + end, 1))
    return package


def test_a_metric_is_a_function_and_one_line(with_a_metric, tmp_path):
    (tmp_path / "scored.csv").write_text("prediction,confidence,y\n0,0.9,0\n1,0.6,1\n0,0.5,1\n")
    done = run_with(with_a_metric, "-c", TRY, ROOT / "docs/results/r8-dan.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Absolute error" in done.stdout


def test_the_tests_of_every_metric_demand_no_more_of_a_metric_than_its_twin(with_a_metric, tmp_path):
    """Run them with the new one: those of it alone, and those of all metrics together."""
    for name in ("conftest.py", "pyproject.toml", "tests/conftest.py", "tests/testing/test_conformance.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "tests/metrics", tmp_path / "tests/metrics")
    values = tmp_path / "tests/metrics/test_values.py"
    *_, twin = code_of("Add a metric in one line")
    values.write_text(values.read_text().replace("TWINS = {\n", "TWINS = {\n" + twin, 1))
    own = "absolute_error or test_slices or every_metric_and or plain_float or named or undefined"
    done = run_with(
        with_a_metric, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-k", own, "tests", cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 40


TRY_CALIBRATOR = """
import sys
import auxcal
from auxcal.calibrators import UniformMixing
from auxcal.cli import main
from auxcal_paper.methods import METHODS
from auxcal.testing import check_calibrator

check_calibrator(auxcal.CALIBRATORS["uniform-mixing"]())
assert METHODS["uniform-mixing"].calibrator is UniformMixing
sys.argv = ["auxcal", "fit", "logits.csv", "--method", "uniform-mixing", "-o", "mixing.safetensors"]
main()
"""

EVERY_METHOD = [  # the tests of what all methods have in common, and the module's own example
    "tests/test_repository.py",
    "tests/test_documents.py",
    "tests/integrations/test_scikit_learn.py",
    "tests/test_malformed.py",
    "tests/report/test_comparison.py",
    "tests/test_persistence.py",
    "tests/cli/test_commands.py",
]


@pytest.fixture
def with_a_calibrator(package):
    """Give the package with the calibrator of the guide."""
    file, line = code_of("To the library", CALIBRATOR_GUIDE)
    (package / "calibrators/uniform_mixing.py").write_text(file)
    registry = package / "calibrators/__init__.py"
    text = registry.read_text()
    for before, new in {
        "from auxcal.calibrators.temperature_scaling import TemperatureScaling\n": (
            "from auxcal.calibrators.uniform_mixing import UniformMixing\n"
        ),
        '    "spline": SplineCalibration,\n': line,
        '    "Uncalibrated",\n': '    "UniformMixing",\n',
    }.items():
        assert before in text
        text = text.replace(before, before + new, 1)
    registry.write_text(text)
    return package


def test_a_calibrator_is_a_file_and_a_line(with_a_calibrator, tmp_path):
    assert "(docs/reference/add-a-calibrator.md#to-the-library)" in GUIDE
    rows = "".join(f"{i % 7},{i % 5},{i % 3},{i % 3}\n" for i in range(200))
    (tmp_path / "logits.csv").write_text(f"logit_0,logit_1,logit_2,y\n{rows}")
    done = run_with(with_a_calibrator, "-c", TRY_CALIBRATOR, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "UM" in done.stdout


def test_the_tests_of_every_method_demand_no_more_of_a_calibrator(with_a_calibrator):
    """Run them with the new one: those of it alone, and those of all names together."""
    own = "uniform-mixing or UniformMixing or public_names or types_are_declared or labels_of_methods"
    example = with_a_calibrator / "calibrators/uniform_mixing.py"
    done = run_with(
        with_a_calibrator, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", own, *EVERY_METHOD, example, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 40


def run_with(package, *arguments, cwd):
    environment = os.environ | {"PYTHONPATH": str(package.parent)}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
