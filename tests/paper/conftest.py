"""Small data sets in the official layouts, and a toy suite."""

import numpy as np
import pytest

from auxcal import NO_CLASS, Predictions
from auxcal._core import threads
from auxcal_paper.suites import Suite


@pytest.fixture(autouse=True)
def one_thread():
    """Small networks on a busy machine wait for threads more than they compute."""
    with threads.one_thread():
        yield


@pytest.fixture
def cifar10_dir(tmp_path):
    """A CIFAR-10 of 20 images in each training file and 30 in the test file."""
    folder = tmp_path / "cifar-10-batches-bin"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for name, n in [*((f"data_batch_{i}.bin", 20) for i in range(1, 6)), ("test_batch.bin", 30)]:
        labels = rng.integers(0, 10, (n, 1), dtype=np.uint8)
        pixels = rng.integers(0, 256, (n, 3072), dtype=np.uint8)
        np.hstack([labels, pixels]).tofile(folder / name)
    return tmp_path


@pytest.fixture
def cifar100_dir(cifar10_dir):
    """A CIFAR-100 of 120 training and 30 test images, beside the CIFAR-10."""
    folder = cifar10_dir / "cifar-100-binary"
    folder.mkdir()
    rng = np.random.default_rng(1)
    for part, n in (("train", 120), ("test", 30)):
        labels = np.column_stack([np.zeros(n), rng.permutation(np.arange(n) % 100)]).astype(np.uint8)
        np.hstack([labels, rng.integers(0, 256, (n, 3072), dtype=np.uint8)]).tofile(folder / f"{part}.bin")
    return cifar10_dir


@pytest.fixture
def run_reproduce(tmp_path, call):
    """Run `auxcal reproduce` on a suite with two quick methods, into ``tmp_path/out``."""

    def run(name, data_dir):
        arguments = ["reproduce", name, "--methods", "uncalibrated,platt", "--random-states", 1, "--jobs", 1]
        arguments += ["--data", data_dir, "--cache", tmp_path / "cache", "--out", tmp_path / "out", "--no-figures"]
        assert call(*arguments) == 0

    return run


def build_toy(shift, data_dir, report):
    """Give samples of three classes; on OOD a third of them are of none."""
    rng = np.random.default_rng(len(shift))
    y = rng.integers(3, size=1200)
    logits = (6 * np.eye(3)[y] + 3 * rng.normal(size=(1200, 3))).astype(np.float32)
    if shift == "OOD":
        y[::3] = NO_CLASS
    report(1)
    return Predictions(logits, y)


@pytest.fixture
def toy_suite():
    return Suite(
        name="toy-net",
        stands_for=(("DAN", "R8"),),
        shifts=("D1", "OOD"),
        needs=(),
        sizes=(700, 200, 300),
        differences={"D1": "It is a toy.", "OOD": "It is a toy."},
        build=build_toy,
        left_out={"matrix": "it is left out"},
    )
