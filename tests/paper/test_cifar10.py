"""CIFAR-10 is read as its official page describes the binary files."""

import numpy as np
import pytest

from auxcal._core.errors import FileFormatError
from auxcal_paper.datasets.cifar10 import load_cifar10


def test_parts_and_layout(cifar10_dir):
    train, test = load_cifar10(cifar10_dir, "train"), load_cifar10(cifar10_dir, "test")
    assert (len(train), len(test)) == (100, 30)
    raw = np.fromfile(cifar10_dir / "cifar-10-batches-bin" / "data_batch_2.bin", np.uint8).reshape(20, 3073)
    assert train.y[20] == raw[0, 0]
    assert train.pixels[20, 0, 1, 2] == raw[0, 1 + 32 + 2]  # red plane, second row, third column
    assert train.pixels[20, 2, 0, 0] == raw[0, 1 + 2048]  # blue plane
    assert train.unit().dtype == np.float32
    assert train.unit().max() <= 1


def test_a_cut_off_file_is_refused(cifar10_dir):
    path = cifar10_dir / "cifar-10-batches-bin" / "test_batch.bin"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileFormatError, match="3073 bytes"):
        load_cifar10(cifar10_dir, "test")


def test_cifar100_is_refused(cifar10_dir):
    path = cifar10_dir / "cifar-10-batches-bin" / "test_batch.bin"
    np.full((2, 3073), 77, np.uint8).tofile(path)
    with pytest.raises(FileFormatError, match="got 77"):
        load_cifar10(cifar10_dir, "test")
