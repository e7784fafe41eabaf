"""Which tests and examples need which extra; where it is not installed, they are left out."""

from pathlib import Path

import pytest

from auxcal._core.extras import is_installed

NEEDS = {
    "torch": [
        "src/auxcal_paper/shifts/adversarial.py",
        "src/auxcal_paper/shifts/images.py",
        "src/auxcal/torch",
        "tests/paper/shifts/test_adversarial.py",
        "tests/paper/shifts/test_images.py",
    ],
    "onnx": ["src/auxcal/onnx.py"],
    "tables": [
        "src/auxcal/arrow.py",
        "src/auxcal/monitoring/_timeline.py",
        "src/auxcal/tables",
        "tests/integrations/engines",
        "tests/tables",
    ],
    "cli": [
        "src/auxcal/cli",
        "tests/cli",
        "tests/test_fill.py",
        "tests/labelling/test_pick.py",
        "tests/monitoring/test_table_timeline.py",
        "tests/monitoring/test_timeline.py",
        "tests/test_extreme.py",
        "tests/test_hints.py",
        "tests/test_inputs.py",
    ],
    "spark": ["src/auxcal/spark.py", "tests/integrations/engines/test_spark.py"],
    "ray": ["src/auxcal/ray.py", "tests/integrations/engines/test_ray.py"],
    "report": ["src/auxcal/report/html", "tests/report/test_browser.py", "tests/report/test_page.py"],
    "plots": [
        "src/auxcal/plots",
        "tests/report/test_displays.py",
        "tests/report/test_plot_imports.py",
    ],
    "experiments": [
        "src/auxcal_paper",
        "tests/export",
        "tests/paper/test_*.py",
        "tests/test_benchmarks.py",
        "tests/test_contributing.py",
        "tests/test_documents.py",
        "tests/test_examples.py",
        "tests/test_site.py",
    ],
}

# `make test` begins in the environment without extras. What has passed there is tried again with them only where they
# change what runs; a test that needs an extra is skipped there, and so is tried with them anyway.
_PROMISE = "tests/testing/test_conformance.py::test_every_calibrator_keeps_every_promise["
CHANGED_BY_EXTRAS = (
    "tests/report/test_comparison.py",
    f"{_PROMISE}arrays_of_every_kind_agree",  # with torch and ONNX, if they are installed
    f"{_PROMISE}a_module_gives_the_same",
    f"{_PROMISE}an_onnx_model_gives_the_same",
    f"{_PROMISE}nothing_else_changes",
    f"{_PROMISE}what_a_user_has_set_changes_nothing",
    "tests/test_repository.py::test_public_modules",
)

collect_ignore_glob = [path for extra, paths in NEEDS.items() if not is_installed(extra) for path in paths]


def pytest_addoption(parser):
    """Add the options of `make test`."""
    parser.addoption("--write-passed", metavar="FILE", type=Path, help="write the names of the tests that pass")
    parser.addoption("--after", metavar="FILE", type=Path, help="leave them out, unless extras change them")


def pytest_terminal_summary(terminalreporter, config):
    """Write what has passed, for the tests of the other environment."""
    if config.option.write_passed:
        names = [report.nodeid for report in terminalreporter.getreports("passed")]
        config.option.write_passed.write_text("\n".join(names))


def pytest_collection_modifyitems(config, items):
    """Skip the tests of extras that are not installed."""
    passed, tried = set(config.option.after.read_text().split("\n") if config.option.after else ()), []
    for item in items:
        missing = [mark.args[0] for mark in item.iter_markers("needs") if not is_installed(mark.args[0])]
        if missing:
            item.add_marker(pytest.mark.skip(reason=f"needs the extra {missing[0]}"))
        elif item.nodeid in passed and not item.nodeid.startswith(CHANGED_BY_EXTRAS):
            tried.append(item)
    config.hook.pytest_deselected(items=tried)
    left_out = set(tried)
    items[:] = [item for item in items if item not in left_out]
