"""The wheel as a user gets it: `make base` installs it, without extras, into an environment of its own."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import auxcal

SIZE = Path(sys.prefix) / "size"  # what the environment took before pytest came on top
LARGEST = 310  # MB, pip included
SOURCES = Path(__file__).parent.parent / "src"
INSTALLED = Path(sys.prefix, "lib", f"python{sys.version_info.major}.{sys.version_info.minor}", "site-packages")

pytestmark = pytest.mark.skipif(not SIZE.exists(), reason="make base tries the wheel")


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"}


def program(name, *arguments, folder):
    """Run a program of the environment, outside of the repository."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [Path(sys.prefix) / "bin" / name, *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_base_is_small():
    assert int(SIZE.read_text().split()[0]) < LARGEST


@pytest.mark.parametrize("package", ["auxcal", "auxcal_paper"])
def test_the_wheel_holds_every_file_of_both_packages(package):
    assert files(INSTALLED / package) == files(SOURCES / package)


def test_it_is_imported_from_where_it_was_installed_in_this_version(tmp_path):
    code = "import auxcal, importlib.metadata as m; print(auxcal.__file__, auxcal.__version__, m.version('auxcal'))"
    found = program("python", "-c", code, folder=tmp_path).split()
    assert found == [str(INSTALLED / "auxcal/__init__.py"), auxcal.__version__, auxcal.__version__]


def test_logits_are_fitted_scored_and_evaluated(tmp_path):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(400, 3))
    np.savez(tmp_path / "logits.npz", logits=3 * logits, y=(logits + rng.gumbel(size=logits.shape)).argmax(axis=1))
    program("auxcal", "fit", "logits.npz", "--method", "temperature", "-o", "ts.safetensors", folder=tmp_path)
    program("auxcal", "score", "ts.safetensors", "logits.npz", "-o", "scored.csv", folder=tmp_path)
    assert "ECE" in program("auxcal", "evaluate", "scored.csv", "--resamples", 0, folder=tmp_path)
    compared = program("auxcal", "compare", "logits.npz", "--methods", "temperature,platt", folder=tmp_path)
    assert "the classifier itself" in compared


def test_the_suites_and_their_packaged_logits_are_there(tmp_path):
    assert "packaged" in program("auxcal", "reproduce", "--list", folder=tmp_path)
