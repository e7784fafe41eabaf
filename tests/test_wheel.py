"""The wheel as a user gets it: `make base` installs it, without extras, into an environment of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import auxcal

SIZE = Path(sys.prefix) / "size"  # what the environment took before pytest came on top
LARGEST = 310  # MB, pip included
SOURCES = Path(__file__).parent.parent / "src"
INSTALLED = Path(sys.prefix, "lib", f"python{sys.version_info.major}.{sys.version_info.minor}", "site-packages")

pytestmark = pytest.mark.skipif(not SIZE.exists(), reason="make base tries the wheel")


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"}


def run(name, *arguments, folder, code=0):
    """Run a program of the environment, outside of the repository, and return what it prints."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [Path(sys.prefix) / "bin" / name, *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def test_the_base_is_small():
    assert int(SIZE.read_text().split()[0]) < LARGEST


@pytest.mark.parametrize("package", ["auxcal", "auxcal_paper"])
def test_the_wheel_holds_every_file_of_both_packages(package):
    assert files(INSTALLED / package) == files(SOURCES / package)


def test_it_is_imported_from_where_it_was_installed_in_this_version(tmp_path):
    code = "import auxcal, importlib.metadata as m; print(auxcal.__file__, auxcal.__version__, m.version('auxcal'))"
    found = run("python", "-c", code, folder=tmp_path).split()
    assert found == [str(INSTALLED / "auxcal/__init__.py"), auxcal.__version__, auxcal.__version__]


JOURNEY = """
import auxcal, numpy as np

rng = np.random.default_rng(0)
logits = rng.normal(size=(400, 3))
y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
calibrator = auxcal.CCAC(random_state=0).fit(3 * logits, y)
auxcal.save(calibrator, "ccac.safetensors")
assert (auxcal.load("ccac.safetensors").predict_confidence(logits) == calibrator.predict_confidence(logits)).all()
auxcal.Monitor(calibrator).update(logits)
print(auxcal.evaluate(calibrator.predict_confidence(logits), logits.argmax(axis=1) == y)["ece"] < 0.3)
print(auxcal.compare(3 * logits, y, methods=["temperature", "platt"]))
"""


def test_logits_are_fitted_saved_monitored_and_compared_in_python(tmp_path):
    found = run("python", "-c", JOURNEY, folder=tmp_path)
    assert found.startswith("True")
    assert "TS" in found


def test_the_command_names_the_extra_that_it_needs(tmp_path):
    assert "pip install '.[cli]'" in run("auxcal", "--help", folder=tmp_path, code=1)


def test_the_packaged_logits_are_there(tmp_path):
    code = """
from auxcal_paper.bundles import is_packaged
from auxcal_paper.suites import SUITES
print([suite.name for suite in SUITES if is_packaged(suite, "OOD")])
"""
    assert "r8-dan" in run("python", "-c", code, folder=tmp_path)
