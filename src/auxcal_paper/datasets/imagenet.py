"""The 50,000 validation images of ImageNet 2012, in a folder for each of the 1000 WordNet ids."""

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
    """Return the image files in ``data_dir/imagenet-val`` and the class of each, an index of the sorted ids."""
    folder = dataset("imagenet").require(data_dir)
    wnids = sorted(path.name for path in folder.glob("n*") if path.is_dir())
    if len(wnids) != N_CLASSES:
        raise FileFormatError(
            f"{folder}: expected a folder for each of the {N_CLASSES} classes of ImageNet, named by its WordNet id; "
            f"got {len(wnids)}. Sort the validation images into such folders."
        )
    files = [(path, index) for index, wnid in enumerate(wnids) for path in sorted((folder / wnid).glob("*.JPEG"))]
    return [path for path, _ in files], np.array([index for _, index in files], dtype=np.intp)


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
    """Return small images (n, 3, H, W) from 0 to 1, enlarged to a size, bilinearly."""
    with needs("experiments"):
        from PIL import Image
    images = [Image.fromarray(image).resize((size, size), Image.Resampling.BILINEAR) for image in _last(pixels)]
    return np.divide(np.stack([np.asarray(image).transpose(2, 0, 1) for image in images]), 255, dtype=np.float32)


def _last(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Put the channels last, as Pillow expects them."""
    return np.ascontiguousarray(pixels.transpose(0, 2, 3, 1))
