"""Which tests and examples need which extra; where it is not installed, they are left out."""

import inspect
from pathlib import Path

import pytest

from auxcal import CALIBRATORS, Calibrator
from auxcal._core.extras import is_installed

NEEDS = {
    "torch": [
        "src/auxcal/calibrators/ccac.py",
        "src/auxcal/calibrators/simplified_ccac.py",
        "src/auxcal_paper/shifts/adversarial.py",
        "src/auxcal_paper/shifts/images.py",
        "src/auxcal/torch.py",
        "src/auxcal/export/collect.py",
        "src/auxcal/export/torch_module.py",
        "src/auxcal/calibrators/training.py",
        "tests/calibrators/test_auxiliary.py",
        "tests/paper/shifts/test_adversarial.py",
        "tests/paper/shifts/test_images.py",
    ],
    "onnx": ["src/auxcal/onnx.py", "src/auxcal/export/onnx_attach.py", "src/auxcal/export/onnx_model.py"],
    "tables": [
        "src/auxcal/arrow.py",
        "src/auxcal/tables/arrow_columns.py",
        "src/auxcal/tables/arrow_scoring.py",
        "src/auxcal/tables/arrow_tallies.py",
        "tests/integrations/engines",
        "tests/tables/test_arrow.py",
        "tests/tables/test_arrow_columns.py",
    ],
    "spark": [
        "src/auxcal/spark.py",
        "src/auxcal/integrations/spark_frames.py",
        "tests/integrations/engines/test_spark.py",
    ],
    "ray": ["src/auxcal/ray.py", "src/auxcal/integrations/ray_data.py", "tests/integrations/engines/test_ray.py"],
    "report": ["src/auxcal/report/html", "tests/report/test_browser.py", "tests/report/test_page.py"],
    "plots": [
        "src/auxcal/report/plots",
        "tests/report/test_displays.py",
        "tests/report/test_panels.py",
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

# What extras make no difference to. `make test` tries it in the environment without them, and what has passed there not
# again with them.
SAME_WITHOUT_EXTRAS = (
    "src/auxcal/integrations/sklearn.py",
    "src/auxcal/labelling",
    "src/auxcal/metrics",
    "src/auxcal/monitoring",
    "src/auxcal/thresholds",
    "tests/calibrators",
    "tests/cli/test_check.py",
    "tests/cli/test_commands.py",
    "tests/cli/test_labelling.py",
    "tests/cli/test_large.py",
    "tests/cli/test_process.py",
    "tests/cli/test_weights.py",
    "tests/core/test_extras.py",
    "tests/core/test_files.py",
    "tests/integrations/test_",
    "tests/tables",
    "tests/labelling",
    "tests/metrics",
    "tests/monitoring",
    "tests/paper/shifts/test_text.py",
    "tests/test_fill.py",
    "tests/test_forged.py",
    "tests/test_logits.py",
    "tests/test_predictions.py",
    "tests/test_reference.py",
    "tests/test_repository.py::test_a_public_module",
    "tests/test_repository.py::test_private_modules_stay",
    "tests/test_repository.py::test_the_library_neither",
    "tests/test_units.py",
    "tests/testing/test_conformance.py::test_every_metric",
    "tests/thresholds",
)

collect_ignore_glob = [path for extra, paths in NEEDS.items() if not is_installed(extra) for path in paths]


def pytest_addoption(parser):
    """Add the options of `make test`."""
    parser.addoption("--write-passed", metavar="FILE", type=Path, help="write the names of the tests that pass")
    parser.addoption("--after", metavar="FILE", type=Path, help="leave out those of them that extras don't change")


def pytest_terminal_summary(terminalreporter, config):
    """Write what has passed, for the tests of the other environment."""
    if config.option.write_passed:
        names = [report.nodeid for report in terminalreporter.getreports("passed")]
        config.option.write_passed.write_text("\n".join(names))


def pytest_collection_modifyitems(config, items):
    """Skip tests of what can't be done here: those that say so, and those of a method that can't be fitted."""
    passed, tried = set(config.option.after.read_text().split("\n") if config.option.after else ()), []
    for item in items:
        extras = _extras(item)
        missing = [extra for extra in extras if not is_installed(extra)]
        if missing:
            item.add_marker(pytest.mark.skip(reason=f"needs the extra {missing[0]}"))
        elif not extras and item.nodeid in passed and item.nodeid.startswith(SAME_WITHOUT_EXTRAS):
            tried.append(item)
    config.hook.pytest_deselected(items=tried)
    left_out = set(tried)
    items[:] = [item for item in items if item not in left_out]


def _extras(item):
    params = item.callspec.params.values() if hasattr(item, "callspec") else ()
    params = [each for value in params for each in (value if isinstance(value, tuple) else (value,))]
    extras = [mark.args[0] for mark in item.iter_markers("needs")] + [_fit_extra(value) for value in params]
    return [extra for extra in extras if extra]


def _fit_extra(value):
    kind = CALIBRATORS.get(value) if isinstance(value, str) else value if inspect.isclass(value) else type(value)
    return kind.fit_extra if inspect.isclass(kind) and issubclass(kind, Calibrator) else None
