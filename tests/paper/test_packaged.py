"""The bundles of three suites come with the package, and a script makes them from built ones."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from auxcal import Predictions
from auxcal_paper.bundles import bundle, is_packaged
from auxcal_paper.suites import suite

ROOT = Path(__file__).parents[2]


@pytest.fixture
def script():
    spec = importlib.util.spec_from_file_location("package_bundles", ROOT / "benchmarks" / "package_bundles.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_all_shifts_of_the_packaged_suites_are_there(script, tmp_path):
    for entry in map(suite, script.PACKAGED):
        for shift in entry.shifts:
            assert is_packaged(entry, shift)
            data = bundle(entry, shift, tmp_path / "none", tmp_path / "none")
            assert len(data) >= sum(entry.parts(len(data)))
            assert entry.class_names == () or data.n_classes == len(entry.class_names)


def test_a_packaged_bundle_is_half_unless_that_changes_predictions(script, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=2000)
    clear = Predictions(4 * np.eye(3, dtype=np.float32)[y] + rng.normal(size=(2000, 3)).astype(np.float32), y)
    near = Predictions(clear.logits.max(axis=1, keepdims=True) + 1e-4 * clear.logits, y)
    for data, half in ((clear, True), (near, False)):
        data.save(tmp_path / "built.npz")
        assert f"half={half}" in script.package(tmp_path / "built.npz", tmp_path / "packaged.npz")
        with np.load(tmp_path / "packaged.npz") as arrays:
            assert arrays["logits"].dtype == (np.float16 if half else np.float32)
