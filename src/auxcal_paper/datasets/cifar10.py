"""CIFAR-10: 60,000 images of 32 by 32 pixels in 10 classes, read from the official binary files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from auxcal._core.errors import FileFormatError
from auxcal_paper.datasets._catalog import dataset
from auxcal_paper.datasets._images import Images

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
"""The classes in the order of their indices."""

_RECORD = 1 + 3 * 32 * 32  # the class, then the planes R, G and B


def load_cifar10(data_dir: Path, part: str) -> Images:
    """Read the part "train" (50,000 images) or "test" (10,000) from ``data_dir/cifar-10-batches-bin``."""
    folder = dataset("cifar10").require(data_dir)
    names = ["test_batch.bin"] if part == "test" else [f"data_batch_{i}.bin" for i in range(1, 6)]
    records = np.concatenate([_read(folder / name) for name in names])
    return Images(records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0].astype(np.intp))


def _read(path: Path) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    values = np.fromfile(path, dtype=np.uint8)
    if values.size == 0 or values.size % _RECORD:
        raise FileFormatError(
            f"{path}: expected records of {_RECORD} bytes, a class and the planes R, G and B; got "
            f"{values.size} bytes, which is no whole number of them. Get the file again: it is cut off, or "
            f"not of the binary version of CIFAR-10."
        )
    records = values.reshape(-1, _RECORD)
    if records[:, 0].max() >= len(CLASSES):
        raise FileFormatError(
            f"{path}: expected classes 0 to 9; got {records[:, 0].max()}. This is not CIFAR-10 (CIFAR-100 "
            f"has two label bytes): get the binary version of CIFAR-10."
        )
    return records
