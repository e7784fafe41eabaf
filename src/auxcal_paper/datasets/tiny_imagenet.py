"""Tiny-ImageNet: 200 classes of ImageNet in 64 by 64 pixels, read from the official folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from auxcal._core.errors import FileFormatError
from auxcal._core.extras import needs
from auxcal_paper.datasets._catalog import dataset
from auxcal_paper.datasets._images import Images


def wnids(data_dir: Path) -> tuple[str, ...]:
    """Return the 200 WordNet ids of the classes, sorted: the order of the class indices."""
    return tuple(sorted((dataset("tiny-imagenet").require(data_dir) / "wnids.txt").read_text().split()))


def load_tiny_imagenet(
    data_dir: Path,
    part: str,
    *,
    size: int = 64,
    most: int | None = None,
    classes: Sequence[int] | None = None,
) -> Images:
    """Read the part "train" or "val" from ``data_dir/tiny-imagenet-200``.

    Parameters
    ----------
    data_dir : Path
        The folder of all data.
    part : str
        "train" or "val"; the labels of the part "test" are not public.
    size : int
        The images are resized to that many pixels, bilinearly and with antialiasing.
    most : int, optional
        At most that many images of each class, the first by name.
    classes : sequence of int, optional
        Only these class indices.

    Returns
    -------
    Images
        Class by class; an index is a position in `wnids`.
    """
    folder = dataset("tiny-imagenet").require(data_dir)
    names = wnids(data_dir)
    paths = _train_paths(folder, names) if part == "train" else _val_paths(folder, names)
    chosen = [
        (path, index) for index in (range(len(names)) if classes is None else classes) for path in paths[index][:most]
    ]
    if not chosen:
        raise FileFormatError(
            f"{folder}: expected images of the part {part!r}; found none. Unpack the whole archive there."
        )
    return Images(
        np.stack([_decode(path, size) for path, _ in chosen]),
        np.array([index for _, index in chosen], dtype=np.intp),
    )


def _train_paths(folder: Path, names: Sequence[str]) -> list[list[Path]]:
    return [sorted((folder / "train" / name / "images").glob("*.JPEG"), key=_number) for name in names]


def _val_paths(folder: Path, names: Sequence[str]) -> list[list[Path]]:
    paths: dict[str, list[Path]] = {name: [] for name in names}
    for line in (folder / "val" / "val_annotations.txt").read_text().splitlines():
        file, name = line.split("\t")[:2]
        paths[name].append(folder / "val" / "images" / file)
    return [sorted(paths[name], key=_number) for name in names]


def _number(path: Path) -> int:
    return int(path.stem.rsplit("_", 1)[1])


def _decode(path: Path, size: int) -> NDArray[np.uint8]:
    with needs("experiments"):
        from PIL import Image
    with Image.open(path) as image:
        colour = image.convert("RGB")
        if colour.size != (size, size):
            colour = colour.resize((size, size), Image.Resampling.BILINEAR)
        return np.asarray(colour).transpose(2, 0, 1)
