"""CIFAR-100: 60,000 images of 32 by 32 pixels in 100 classes, read from the official binary files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from auxcal._core.errors import FileFormatError
from auxcal_paper.datasets._catalog import dataset
from auxcal_paper.datasets._images import Images

BUS, PICKUP_TRUCK = 13, 58
"""The two classes that CIFAR-10 has too, as automobile and truck; indices count the sorted names."""

N_CLASSES = 100
_RECORD = 2 + 3 * 32 * 32  # the super-class and the class, then the planes R, G and B


def load_cifar100(data_dir: Path, part: str) -> Images:
    """Read the part "train" (50,000 images) or "test" (10,000) from ``data_dir/cifar-100-binary``."""
    path = dataset("cifar100").require(data_dir) / f"{part}.bin"
    values = np.fromfile(path, dtype=np.uint8)
    if values.size == 0 or values.size % _RECORD or values[1::_RECORD].max() >= N_CLASSES:
        raise FileFormatError(
            f"{path}: expected records of {_RECORD} bytes, a super-class, a class from 0 to 99 and the planes R, G and "
            f"B; got {values.size} bytes of something else. Get the binary version of CIFAR-100 again."
        )
    records = values.reshape(-1, _RECORD)
    return Images(records[:, 2:].reshape(-1, 3, 32, 32), records[:, 1].astype(np.intp))
