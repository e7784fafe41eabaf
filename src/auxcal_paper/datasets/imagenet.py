"""5,000 validation images of ImageNet 2012, five of each class, in a folder for each of the 1000 classes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Ints
from auxcal._core.errors import FileFormatError
from auxcal._core.extras import needs
from auxcal_paper.datasets._catalog import dataset

N_CLASSES = 1000
_BORDER = 1 / 16  # of 256 pixels on each side, the 224 that the published classifiers see


def imagenet_paths(data_dir: Path) -> tuple[list[Path], Ints]:
    """Return the image files and the class of each, sorted by class and name."""
    folder = dataset("imagenet").require(data_dir) / "ILSVRC2012_img_val_subset"
    files = [(path, index) for index in range(N_CLASSES) for path in sorted((folder / str(index)).glob("*.JPEG"))]
    y = np.array([index for _, index in files], dtype=np.intp)
    absent = np.setdiff1d(np.arange(N_CLASSES), y)
    if len(absent):
        raise FileFormatError(
            f"{folder}: expected images in a folder for each of the {N_CLASSES} classes of ImageNet, 0 to "
            f"{N_CLASSES - 1}; there are none of {len(absent)}, such as {absent[0]}. Get the repository again."
        )
    return [path for path, _ in files], y


def read_images(paths: Sequence[Path], size: int) -> NDArray[np.float32]:
    """Return images from 0 to 1, resized and centre-cropped as in the tests of the published classifiers."""
    with needs("experiments"):
        from PIL import Image, ImageOps
    images = []
    for path in paths:
        with Image.open(path) as image:
            cut = ImageOps.fit(image.convert("RGB"), (size, size), Image.Resampling.BILINEAR, bleed=_BORDER)
        images.append(np.asarray(cut).transpose(2, 0, 1))
    return np.divide(np.stack(images), 255, dtype=np.float32)


def enlarged(pixels: NDArray[np.uint8], size: int) -> NDArray[np.float32]:
    """Return small images (n, 3, H, W) from 0 to 1, enlarged to a size, bilinearly, as tf.image.resize does it."""
    with needs("torch"):
        import torch
    small = torch.from_numpy(np.divide(pixels, 255, dtype=np.float32))
    large: NDArray[np.float32] = torch.nn.functional.interpolate(small, size=(size, size), mode="bilinear").numpy()
    return large
