"""The paper's experiments on ImageNet: Keras' VGG16 and ResNet-50 on validation images, as they are and changed.

30,000 images of 224 pixels would take 18 GB, so they are read, changed and classified in batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from auxcal._core.arrays import NO_CLASS, Floats
from auxcal._core.progress import Report
from auxcal.predictions import Predictions
from auxcal_paper.datasets import dataset
from auxcal_paper.datasets.cifar100 import load_cifar100
from auxcal_paper.datasets.imagenet import enlarged, imagenet_paths, read_images
from auxcal_paper.shifts.images import IMAGENET_D1
from auxcal_paper.suites._suite import NOT_IN_PAPER, Suite

if TYPE_CHECKING:  # torch is imported when a bundle must be built, not to name the suites
    from auxcal_paper.classifiers._onnx import OnnxNetwork

PIXELS = 224
ROUNDS = 6
"""How often each of the 5,000 images is changed for D1, which makes the paper's 30,000."""
_BATCH = 200
_PARTS = (10_000, 2_000, 18_000)


def imagenet_suite(network: str) -> Suite:
    """Return the suite of "VGG16" or "ResNet-50".

    Examples
    --------
    >>> from auxcal_paper.suites.imagenet import imagenet_suite
    >>> imagenet_suite("ResNet-50").needs
    ('imagenet', 'cifar100', 'imagenet-resnet50')
    """
    weights = f"imagenet-{network.lower().replace('-', '')}"
    return Suite(
        name=weights,
        stands_for=((network, "ImageNet"),),
        shifts=("D0", "D1", "OOD"),
        needs=("imagenet", "cifar100", weights),
        sizes=_PARTS,
        classifier=_SETTING,
        differences={
            "D0": f"{NOT_IN_PAPER} All 5,000 images.",
            "D1": f"Each image is turned, moved and mirrored {ROUNDS} times, by our own code with Keras' semantics, "
            f"which makes the paper's 30,000; those of one image stay in one part.",
            "OOD": "The images as they are and as many training images of CIFAR-100: 5,000 of each, where the paper "
            "has 15,000, split in its proportion.",
        },
        build=partial(_build, weights),
        basis="own",
        left_out=_TOO_MANY_CLASSES,
    )


_SETTING = (
    "The network and its weights are those of Keras, as in the paper. The images are 5,000 of ImageNet's validation "
    "images, five of each class, scaled to 256 pixels on their shorter side and cut to the middle 224. Their logits "
    "are too large to come with the package: the command makes them from the images, in half an hour on one core."
)
_MILLION = f"it learns a million weights from {_PARTS[0]:,} rows or fewer"
_TOO_MANY_CLASSES = {
    "scaling-binning": f"it learns a calibrator for each of the 1000 classes, from {_PARTS[0] // 1000} rows each",
    "dirichlet": f"{_MILLION}; the paper has no row for it either",
    "ccac": f"{_MILLION}; the paper has no row for it either",
    "ccac-t": "its network has no hidden layer that could be kept; the paper has no row for it either",
    "matrix": _MILLION,
}


def _build(weights: str, shift: str, data_dir: Path, report: Report) -> Predictions:
    paths, y = imagenet_paths(data_dir)
    classify = _compiled(weights, data_dir)
    if shift == "D1":
        rounds = [_changed(number, paths, classify, report) for number in range(ROUNDS)]
        return Predictions(np.concatenate(rounds), np.tile(y, ROUNDS), groups=np.tile(np.arange(len(y)), ROUNDS))
    clean = _logits(_clean(paths), classify, len(paths), report)
    if shift == "D0":
        return Predictions(clean, y)
    foreign = _logits(_foreign(data_dir, len(paths)), classify, len(paths), report)
    return Predictions(np.concatenate([clean, foreign]), np.append(y, np.full(len(y), NO_CLASS)))


def _compiled(weights: str, data_dir: Path) -> OnnxNetwork:
    from auxcal_paper.classifiers.imagenet_vgg import imagenet_vgg16
    from auxcal_paper.classifiers.resnet50 import imagenet_resnet50

    load = imagenet_vgg16 if weights == "imagenet-vgg16" else imagenet_resnet50
    return load(dataset(weights).path(data_dir)).compiled((3, PIXELS, PIXELS))


def _changed(number: int, paths: list[Path], classify: OnnxNetwork, report: Report) -> Floats:
    """Return the logits of all images in one of the rounds of D1."""
    rng = np.random.default_rng([1, number])
    images = (IMAGENET_D1(batch, rng) for batch in _clean(paths))
    return _logits(images, classify, len(paths), lambda done: report((number + done) / ROUNDS))


def _clean(paths: list[Path]) -> Iterator[Floats]:
    for start in range(0, len(paths), _BATCH):
        yield read_images(paths[start : start + _BATCH], PIXELS)


def _foreign(data_dir: Path, n: int) -> Iterator[Floats]:
    """Draw training images of CIFAR-100, and enlarge them."""
    pixels = load_cifar100(data_dir, "train").pixels
    drawn = np.random.default_rng(3).permutation(len(pixels))[:n]
    for start in range(0, n, _BATCH):
        yield enlarged(pixels[drawn[start : start + _BATCH]], PIXELS)


def _logits(batches: Iterable[Floats], classify: OnnxNetwork, n: int, report: Report) -> Floats:
    rows: list[Floats] = []
    for images in batches:
        rows.append(classify(images))
        report(sum(map(len, rows)) / n)
    return np.concatenate(rows)


IMAGENET = tuple(imagenet_suite(network) for network in ("VGG16", "ResNet-50"))
"""The 1000 classes of ImageNet as they are (D0) and under D1 and OOD: the paper's own experiments."""
