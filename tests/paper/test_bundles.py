"""Bundles come from the package, then from the cache, and are built at last."""

from dataclasses import replace

import numpy as np
import pytest

from auxcal import Predictions
from auxcal._core.errors import InvalidInputError, MissingDataError
from auxcal_paper import bundles
from auxcal_paper.bundles import bundle, bundle_path
from auxcal_paper.suites import SUITES
from auxcal_paper.suites._suite import Suite


@pytest.fixture
def toy():
    """A suite that counts how often it was built."""
    built = []

    def build(shift, data_dir, report):
        built.append(shift)
        report(1)
        return Predictions(np.eye(4, dtype=np.float32) * 1.2345678, np.arange(4))

    suite = Suite("toy-net", (), ("D1", "OOD"), (), (2, 1, 1), {}, build)
    return suite, built


def test_a_bundle_is_built_once(toy, tmp_path):
    suite, built = toy
    seen = []
    first = bundle(suite, "D1", tmp_path, tmp_path / "new" / "cache", seen.append)
    again = bundle(suite, "D1", tmp_path, tmp_path / "new" / "cache")
    assert built == ["D1"]
    assert seen == [1]
    np.testing.assert_array_equal(first.logits, again.logits)
    assert again.logits.dtype == np.float32


def test_the_key_follows_the_specification(toy, tmp_path, monkeypatch):
    suite, _ = toy
    paths = {
        bundle_path(suite, "D1", tmp_path),
        bundle_path(suite, "OOD", tmp_path),
        bundle_path(replace(suite, sizes=(3, 1, 1)), "D1", tmp_path),
        bundle_path(replace(suite, name="other"), "D1", tmp_path),
    }
    monkeypatch.setattr(bundles, "SPEC_VERSION", 0)
    paths.add(bundle_path(suite, "D1", tmp_path))
    assert len(paths) == 5


def test_a_damaged_file_is_built_again(toy, tmp_path):
    suite, built = toy
    bundle(suite, "D1", tmp_path, tmp_path)
    path = bundle_path(suite, "D1", tmp_path)
    path.write_bytes(path.read_bytes()[:50])
    assert len(bundle(suite, "D1", tmp_path, tmp_path)) == 4
    assert built == ["D1", "D1"]


def test_a_build_that_is_interrupted_leaves_nothing(toy, tmp_path):
    def interrupted(shift, data_dir, report):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bundle(replace(toy[0], build=interrupted), "D1", tmp_path, tmp_path / "cache")
    assert not list(tmp_path.rglob("*.npz*"))


def test_a_packaged_bundle_needs_no_data(toy, tmp_path, monkeypatch):
    suite, built = toy
    (tmp_path / "packaged").mkdir()
    Predictions(np.eye(2), [0, 1]).save(tmp_path / "packaged" / "toy-net-D1.npz", half=True)
    monkeypatch.setattr(bundles, "files", lambda package: tmp_path)
    assert bundle(suite, "D1", tmp_path / "none", tmp_path / "none").logits.shape == (2, 2)
    assert built == []


def test_missing_data_is_named_before_anything_is_built(toy, tmp_path):
    with pytest.raises(MissingDataError, match=r"toronto\.edu"):
        bundle(replace(toy[0], needs=("cifar10",)), "D1", tmp_path, tmp_path)
    assert toy[1] == []


def test_an_unknown_shift_is_refused(toy, tmp_path):
    with pytest.raises(InvalidInputError, match="one of D1, OOD"):
        bundle(toy[0], "AD", tmp_path, tmp_path)


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_parts_are_the_sizes_or_in_their_proportion(suite):
    whole = sum(suite.sizes)
    assert suite.parts(whole) == suite.parts(whole + 5) == suite.sizes
    small = suite.parts(whole // 4)
    assert sum(small) <= whole // 4
    np.testing.assert_allclose(np.array(small) * 4, suite.sizes, atol=8)
