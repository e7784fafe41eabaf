"""`auxcal.experiments` and `auxcal.shifts`, the public paths to what lies in `auxcal_paper`."""

import importlib

import pytest

import auxcal

DOORS = {"experiments": "auxcal_paper", "shifts": "auxcal_paper.shifts"}


@pytest.mark.parametrize(("door", "room"), DOORS.items())
def test_a_door_gives_what_is_behind_it(door, room):
    module, behind = importlib.import_module(f"auxcal.{door}"), importlib.import_module(room)
    assert getattr(auxcal, door) is module
    assert module.__all__ == behind.__all__
    assert set(dir(module)) == set(dir(behind))
    for name in module.__all__:
        assert getattr(module, name) is getattr(behind, name)


def test_names_are_imported_through_the_doors():
    from auxcal.experiments import METHODS, Results, run
    from auxcal.shifts import Mixture, TextNoise

    assert "ccac-t" in METHODS
    assert run.__module__ == "auxcal_paper.runner"
    assert Results.__module__ == "auxcal_paper.results"
    assert Mixture.__module__.startswith("auxcal_paper.shifts")
    assert TextNoise.__module__.startswith("auxcal_paper.shifts")


@pytest.mark.parametrize("door", DOORS)
def test_a_wrong_name_is_an_attribute_error(door):
    with pytest.raises(AttributeError, match="NoSuchName"):
        getattr(importlib.import_module(f"auxcal.{door}"), "NoSuchName")  # noqa: B009


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("auxcal.experiments.suites", "auxcal_paper.suites"),
        ("auxcal.experiments.suites.r8", "auxcal_paper.suites.r8"),
        ("auxcal.experiments.bundles", "auxcal_paper.bundles"),
        ("auxcal.shifts.text", "auxcal_paper.shifts.text"),
    ],
)
def test_a_module_by_its_old_path_is_the_same_module(old, new):
    assert importlib.import_module(old) is importlib.import_module(new)
    assert importlib.import_module(new).__spec__.name == new
