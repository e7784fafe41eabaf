"""The paper's own experiments on ImageNet: VGG16 and ResNet-50 on its validation images, in the paper's sizes.

30,000 images of 224 pixels would take 18 GB, so they are read, augmented and classified in batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from auxcal._core.arrays import Floats
from auxcal._core.progress import Report
from auxcal.predictions import Predictions
from auxcal_paper.datasets import dataset
from auxcal_paper.datasets.cifar100 import load_cifar100
from auxcal_paper.datasets.imagenet import enlarged, imagenet_paths, read_images
from auxcal_paper.shifts.images import IMAGENET_D1
from auxcal_paper.shifts.mixtures import Mixed, Mixture
from auxcal_paper.suites._suite import NOT_IN_PAPER, Suite
from auxcal_paper.suites.imagenet import too_many_classes

if TYPE_CHECKING:
    from auxcal_paper.classifiers._image_classifier import ImageClassifier

PIXELS = 224
_BATCH = 200
_SIZES = {"D0": (30_000, 0), "D1": (30_000, 0), "OOD": (15_000, 15_000)}
_SEEDS = {"D0": 0, "D1": 1, "OOD": 3}


def paper_imagenet_suite(
    network: str,
    sizes: Mapping[str, tuple[int, int]] | None = None,
    parts: tuple[int, int, int] = (10_000, 2_000, 18_000),
) -> Suite:
    """Return the suite of "VGG16" or "ResNet-50"; `sizes` are the images of ImageNet and of CIFAR-100.

    Examples
    --------
    >>> from auxcal_paper.suites.paper_imagenet import paper_imagenet_suite
    >>> paper_imagenet_suite("ResNet-50").needs
    ('imagenet', 'cifar100', 'imagenet-resnet50')
    """
    weights = f"imagenet-{network.lower().replace('-', '')}"
    setting = "The weights are torchvision's and not those of Keras."
    return Suite(
        name=weights,
        stands_for=((network, "ImageNet"),),
        shifts=("D0", "D1", "OOD"),
        needs=("imagenet", "cifar100", weights),
        sizes=parts,
        differences={
            "D0": f"{setting} {NOT_IN_PAPER} 30,000 validation images.",
            "D1": f"{setting} Images are turned and moved by our own code, with Keras' semantics.",
            "OOD": setting,
        },
        build=partial(_build, weights, sizes or _SIZES),
        basis="own",
        left_out=too_many_classes(parts[0]),
    )


def _build(
    weights: str, sizes: Mapping[str, tuple[int, int]], shift: str, data_dir: Path, report: Report
) -> Predictions:
    rng = np.random.default_rng(_SEEDS[shift])
    paths, y = imagenet_paths(data_dir)
    other = load_cifar100(data_dir, "train")
    mixed = Mixture(sizes[shift], (None, {}))((y, other.y), rng)
    classify = _classifier(weights, data_dir).compiled((3, PIXELS, PIXELS))
    logits = []
    for images in _batches(mixed, paths, other.pixels):
        logits.append(classify(IMAGENET_D1(images, rng) if shift == "D1" else images))
        report(sum(map(len, logits)) / len(mixed.y))
    return Predictions(np.concatenate(logits), mixed.y)


def _batches(
    mixed: Mixed, paths: list[Path], other: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]
) -> Iterator[Floats]:
    own, foreign = mixed.of(0), mixed.of(1)
    for start in range(0, len(own), _BATCH):
        yield read_images([paths[row] for row in own[start : start + _BATCH]], PIXELS)
    for start in range(0, len(foreign), _BATCH):
        yield enlarged(other[foreign[start : start + _BATCH]], PIXELS)


def _classifier(weights: str, data_dir: Path) -> ImageClassifier:
    from auxcal_paper.classifiers.imagenet_vgg import imagenet_vgg16
    from auxcal_paper.classifiers.resnet50 import imagenet_resnet50

    load = imagenet_vgg16 if weights == "imagenet-vgg16" else imagenet_resnet50
    return load(dataset(weights).path(data_dir))


PAPER_IMAGENET = tuple(paper_imagenet_suite(network) for network in ("VGG16", "ResNet-50"))
