"""What strangers look for before they trust a project: how to cite it, its workflow, its types."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import auxcal

ROOT = Path(__file__).parents[1]

SCHEMAS = {
    "CITATION.cff": "vendor.citation-file-format",
    ".github/workflows/ci.yml": "vendor.github-workflows",
    ".github/dependabot.yml": "vendor.dependabot",
    ".github/ISSUE_TEMPLATE/bug.yml": "vendor.github-issue-forms",
    ".github/ISSUE_TEMPLATE/config.yml": "vendor.github-issue-config",
    ".github/ISSUE_TEMPLATE/idea.yml": "vendor.github-issue-forms",
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_file_that_others_read_follows_its_schema(name):
    pytest.importorskip("check_jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", SCHEMAS[name], ROOT / name]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_citation_has_the_version_of_the_library():
    assert f"\nversion: {auxcal.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_workflow_runs_what_ci_runs_on_the_pythons_that_are_promised():
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    tried = json.loads(re.search(r"python: (\[.*\])", workflow)[1])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    promised = [line.rsplit(" ", 1)[1] for line in project["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert tried == promised
    assert project["requires-python"] == f">={promised[0]}"
    assert "- run: .ci/run" in workflow
    lowest = workflow.partition("- run: make lowest")[0].rpartition("\n  lowest:")[2]
    assert f'python-version: "{promised[0]}"\n' in lowest


USE = """
import numpy as np
import auxcal

calibrator = auxcal.CCACX(random_state=0).fit(np.eye(3), [0, 1, 2])
confidence = calibrator.predict_confidence(np.eye(3))
reveal_type(confidence)
found: str = auxcal.evaluate(confidence, [True, True, False])
"""


WHEEL = ROOT / ".venv-base" / "bin" / "python"  # which `make base` has installed the wheel for


@pytest.mark.parametrize("python", [Path(sys.executable), WHEEL], ids=["here", "wheel"])
def test_the_types_reach_mypy_from_outside(python, tmp_path):
    pytest.importorskip("mypy")
    if not python.exists():
        pytest.skip("make base installs the wheel")
    (tmp_path / "use.py").write_text(USE)
    options = ["--strict", "--follow-imports=silent", "--python-executable", python]
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")}
    command = [sys.executable, "-m", "mypy", *options, "use.py"]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "use.py:7: note: Revealed type is" in run.stdout
    assert "ndarray" in run.stdout
    assert "use.py:8: error: Incompatible types in assignment" in run.stdout
    assert "Found 1 error in 1 file" in run.stdout
