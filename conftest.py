"""Which tests and examples need which extra; where it is not installed, they are left out."""

import inspect

import pytest

from auxcal import CALIBRATORS, Calibrator
from auxcal._extras import is_installed

NEEDS = {
    "torch": [
        "src/auxcal/calibrators/ccac.py",
        "src/auxcal/calibrators/simplified_ccac.py",
        "src/auxcal/shifts/adversarial.py",
        "src/auxcal/shifts/images.py",
        "src/auxcal/torch",
        "src/auxcal/training",
        "tests/calibrators/test_auxiliary.py",
        "tests/shifts/test_adversarial.py",
        "tests/shifts/test_images.py",
        "tests/test_torch.py",
        "tests/test_torch_forms.py",
    ],
    "onnx": ["src/auxcal/onnx"],
    "tables": ["src/auxcal/arrow", "src/auxcal/formats/_arrow.py", "tests/arrow", "tests/engines"],
    "spark": ["src/auxcal/spark.py", "tests/engines/test_spark.py"],
    "ray": ["src/auxcal/ray.py", "tests/engines/test_ray.py"],
    "report": ["src/auxcal/reports/html", "tests/reports"],
    "plots": ["src/auxcal/plots", "tests/plots"],
    "experiments": [
        "src/auxcal/experiments",
        "tests/cli/test_reproduce.py",
        "tests/experiments",
        "tests/serving",
        "tests/test_benchmarks.py",
        "tests/test_documents.py",
        "tests/test_examples.py",
        "tests/test_site.py",
    ],
}

collect_ignore = [path for extra, paths in NEEDS.items() if not is_installed(extra) for path in paths]


def pytest_collection_modifyitems(items):
    """Skip tests of what can't be done here: those that say so, and those of a method that can't be fitted."""
    for item in items:
        params = item.callspec.params.values() if hasattr(item, "callspec") else ()
        params = [each for value in params for each in (value if isinstance(value, tuple) else (value,))]
        extras = [mark.args[0] for mark in item.iter_markers("needs")] + [_fit_extra(value) for value in params]
        missing = [extra for extra in extras if extra and not is_installed(extra)]
        if missing:
            item.add_marker(pytest.mark.skip(reason=f"needs the extra {missing[0]}"))


def _fit_extra(value):
    kind = CALIBRATORS.get(value) if isinstance(value, str) else value if inspect.isclass(value) else type(value)
    return kind.fit_extra if inspect.isclass(kind) and issubclass(kind, Calibrator) else None
