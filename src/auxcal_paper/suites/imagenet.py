"""The 1000 classes of ImageNet as they are (D0) and under D1 and OOD: stands for VGG16 and ResNet-50 on ImageNet."""

from __future__ import annotations

import csv
from importlib.resources import files
from pathlib import Path

import numpy as np

from auxcal._core.progress import Report
from auxcal.predictions import Predictions
from auxcal_paper.datasets._images import Images
from auxcal_paper.datasets.cifar10 import load_cifar10
from auxcal_paper.datasets.tiny_imagenet import load_tiny_imagenet, wnids
from auxcal_paper.shifts.images import IMAGENET_D1
from auxcal_paper.suites._images import Sample, augmented, clean, out_of_distribution
from auxcal_paper.suites._suite import NOT_IN_PAPER, Suite

PIXELS = 160


def imagenet_indices() -> dict[str, int]:
    """Return the class index of the 200 WordNet ids of Tiny-ImageNet among the 1000 sorted ids of ImageNet.

    Examples
    --------
    >>> from auxcal_paper.suites.imagenet import imagenet_indices
    >>> imagenet_indices()["n02123045"]  # the tabby cat
    281
    """
    text = files("auxcal_paper.suites").joinpath("imagenet_indices.csv").read_text()
    return {row["wnid"]: int(row["index"]) for row in csv.DictReader(text.splitlines())}


def _d0(data_dir: Path) -> Sample:
    return clean(_val(data_dir))


def _d1(data_dir: Path) -> Sample:
    val = _val(data_dir)
    return augmented(val.take(slice(0)), val, (0, 10_000), IMAGENET_D1, random_state=1)


def _ood(data_dir: Path) -> Sample:
    other = load_cifar10(data_dir, "test")
    enlarged = Images(other.pixels.repeat(2, axis=2).repeat(2, axis=3), other.y)
    return out_of_distribution(_val(data_dir), enlarged, (5_000, 5_000), {}, random_state=3)


def _val(data_dir: Path) -> Images:
    val = load_tiny_imagenet(data_dir, "val")
    indices = imagenet_indices()
    return Images(val.pixels, np.array([indices[wnid] for wnid in wnids(data_dir)])[val.y])


_SHIFTS = {"D0": _d0, "D1": _d1, "OOD": _ood}


def _build(shift: str, data_dir: Path, report: Report) -> Predictions:
    from auxcal_paper.classifiers.efficientnet import efficientnet_lite0

    images, y = _SHIFTS[shift](data_dir)
    return Predictions(efficientnet_lite0(data_dir, size=PIXELS).logits(images, report=report), y)


_SETTING = (
    "The classifier is EfficientNet-Lite0 at 160 pixels; the images are the 10,000 validation images of "
    "Tiny-ImageNet, 200 of the 1000 classes at 64 pixels, enlarged, and not ImageNet's own. 10,000 images "
    "instead of 30,000, split in the paper's proportion. Nine in ten of the wrong predictions name one of the 800 "
    "classes that never occur: a method that learns a bias for each class, as VS does, tells them at a glance, and "
    "its AUROC says little about other data."
)


def too_many_classes(n_fit: int) -> dict[str, str]:
    """Return the methods that 1000 classes are too many for, and why."""
    million = f"it learns a million weights from {n_fit:,} rows"
    return {
        "scaling-binning": f"it learns a calibrator for each of the 1000 classes, from {n_fit // 1000} rows each",
        "dirichlet": f"{million}; the paper has no row for it either",
        "ccac": f"{million}; the paper has no row for it either",
        "ccac-t": "its network has no hidden layer that could be kept; the paper has no row for it either",
        "matrix": million,
    }


IMAGENET_EFFICIENTNET = Suite(
    name="imagenet-efficientnet",
    stands_for=(("VGG16", "ImageNet"), ("ResNet-50", "ImageNet")),
    shifts=("D0", "D1", "OOD"),
    needs=("tiny-imagenet", "cifar10", "efficientnet-lite0"),
    sizes=(3_333, 667, 6_000),
    differences={
        "D0": f"{_SETTING} {NOT_IN_PAPER}",
        "D1": _SETTING,
        "OOD": f"{_SETTING} The out-of-distribution half is from the test images of CIFAR-10, not from CIFAR-100.",
    },
    build=_build,
    basis="substitute",
    left_out=too_many_classes(3_333),
)
