"""What pyproject.toml requires: everything that is imported, in versions that the constraints files have."""

import ast
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]

# The constraints files, and the extras that each is used with; None where auxcal is not installed.
CONSTRAINTS = {
    "constraints.txt": set(EXTRAS),
    "benchmarks/constraints.txt": {"torch", "tables", "report", "plots"},
    "benchmarks/constraints-dirichletcal.txt": None,
}

PACKAGES = {"PIL": "pillow", "sklearn": "scikit-learn"}
"""Modules that are not called like their package."""


@cache
def required(extras):
    """Return what the base and some extras require of other packages, and of auxcal's own extras in turn."""
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in EXTRAS[extra])]
    requirements = [Requirement(line) for line in lines]
    own = frozenset(extra for each in requirements if each.name == "auxcal" for extra in each.extras)
    return [each for each in requirements if each.name != "auxcal"] if own <= extras else required(extras | own)


def pins(name):
    lines = (line for line in (ROOT / name).read_text().splitlines() if not line.startswith("#"))
    return {canonicalize_name(package): version for package, version in (line.split("==") for line in lines)}


def unmet(requirements, pinned):
    """Return the requirements that pinned versions don't meet, or that nothing is pinned for."""
    versions = {each: pinned.get(canonicalize_name(each.name)) for each in requirements}
    return [f"{each}: {version}" for each, version in versions.items() if version not in each.specifier or not version]


def test_every_constraints_file_is_known():
    files = {path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.txt"), *ROOT.glob("[!.]*/**/*.txt")]}
    assert {name for name in files if Path(name).name.startswith("constraints")} == set(CONSTRAINTS)


@pytest.mark.parametrize("name", [name for name, extras in CONSTRAINTS.items() if extras is not None])
def test_constraints_have_a_permitted_version_of_all_that_is_required(name):
    assert unmet(required(frozenset(CONSTRAINTS[name])), pins(name)) == []


@pytest.mark.parametrize(
    ("line", "pinned", "answer"),
    [
        ("typer>=0.26,<0.29", {"typer": "0.28.0"}, []),
        ("typer>=0.26,<0.29", {"typer": "0.29.0"}, ["typer<0.29,>=0.26: 0.29.0"]),
        ("import-linter", {}, ["import-linter: None"]),
        ("ray[data]>=2", {"ray": "2.60.0"}, []),
    ],
)
def test_a_version_that_is_not_permitted_is_noticed(line, pinned, answer):
    assert unmet([Requirement(line)], pinned) == answer


def test_the_lowest_versions_are_those_of_the_requirements():
    run = subprocess.run([sys.executable, ROOT / ".ci/lowest.py"], capture_output=True, text=True, check=True)
    lowest = dict(line.split("==") for line in run.stdout.splitlines())
    everything = required(frozenset(EXTRAS))
    assert unmet(everything, lowest) == []
    bounds = {each.name: part.version for each in everything for part in each.specifier if part.operator == ">="}
    assert {name: lowest[canonicalize_name(name)] for name in bounds} == bounds


def test_users_get_a_lower_bound_for_everything():
    for extra in ("", *(set(EXTRAS) - {"dev", "docs"})):
        assert [str(each) for each in required(frozenset({extra} - {""})) if ">=" not in str(each.specifier)] == []


def imported():
    """Yield the names of the modules that the library imports anywhere, without what lies below them."""
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                yield node.module.partition(".")[0]


def test_all_that_is_imported_is_required():
    foreign = set(imported()) - set(sys.stdlib_module_names) - {"auxcal", "auxcal_paper"}
    for_users = required(frozenset(EXTRAS) - {"dev", "docs"})
    assert {PACKAGES.get(name, name) for name in foreign} <= {canonicalize_name(each.name) for each in for_users}
