"""CIFAR-10 clean (D0) and under D1, D2, OOD and AD: ResNet-20 and -56 stand for the paper's VGG16 and ResNet-50."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from auxcal._core.progress import Report
from auxcal.predictions import Predictions
from auxcal_paper.datasets._images import Images
from auxcal_paper.datasets.cifar10 import CLASSES, load_cifar10
from auxcal_paper.datasets.tiny_imagenet import load_tiny_imagenet, wnids
from auxcal_paper.shifts.images import D1, D2
from auxcal_paper.suites._images import Sample, adversarial, augmented, clean, out_of_distribution
from auxcal_paper.suites._suite import NOT_IN_PAPER, Suite

CIFAR10_OF_WNID = {
    # automobile: cars, and buses and vans, as the paper takes the buses of CIFAR-100
    "n02814533": "automobile",  # beach wagon, estate car
    "n03100240": "automobile",  # convertible
    "n03670208": "automobile",  # limousine
    "n04285008": "automobile",  # sports car
    "n03977966": "automobile",  # police van
    "n04146614": "automobile",  # school bus
    "n04487081": "automobile",  # trolleybus
    "n01855672": "bird",  # goose
    "n02002724": "bird",  # black stork
    "n02056570": "bird",  # king penguin
    "n02058221": "bird",  # albatross
    # cat: house cats only, neither cougar nor lion
    "n02123045": "cat",  # tabby
    "n02123394": "cat",  # Persian cat
    "n02124075": "cat",  # Egyptian cat
    "n02085620": "dog",  # Chihuahua
    "n02094433": "dog",  # Yorkshire terrier
    "n02099601": "dog",  # golden retriever
    "n02099712": "dog",  # Labrador retriever
    "n02106662": "dog",  # German shepherd
    "n02113799": "dog",  # standard poodle
    "n01641577": "frog",  # bullfrog
    "n01644900": "frog",  # tailed frog
    "n03447447": "ship",  # gondola
    "n03662601": "ship",  # lifeboat
    "n03796401": "truck",  # moving van
}
"""The 25 of Tiny-ImageNet's 200 classes that are in CIFAR-10; gazelles are no deer, tractors no trucks."""


def _d0(data_dir: Path) -> Sample:
    return clean(load_cifar10(data_dir, "test"))


def _d1(data_dir: Path) -> Sample:
    return augmented(*_both(data_dir), (30_000, 10_000), D1, random_state=1)


def _d2(data_dir: Path) -> Sample:
    return augmented(*_both(data_dir), (30_000, 10_000), D2, random_state=2)


def _ood(data_dir: Path) -> Sample:
    names = wnids(data_dir)
    label_map = {names.index(wnid): CLASSES.index(name) for wnid, name in CIFAR10_OF_WNID.items()}
    other = load_tiny_imagenet(data_dir, "train", size=32, most=60)
    return out_of_distribution(load_cifar10(data_dir, "train"), other, (28_000, 12_000), label_map, random_state=3)


_SHIFTS = {"D0": _d0, "D1": _d1, "D2": _d2, "OOD": _ood}


def _both(data_dir: Path) -> tuple[Images, Images]:
    return load_cifar10(data_dir, "train"), load_cifar10(data_dir, "test")


def _build(depth: int, adversarial_size: int, shift: str, data_dir: Path, report: Report) -> Predictions:
    from auxcal_paper.classifiers.cifar_resnet import cifar_resnet

    classifier = cifar_resnet(data_dir, depth)
    if shift == "AD":
        images, y = adversarial(*_both(data_dir), adversarial_size, classifier, random_state=0, report=report)
    else:
        images, y = _SHIFTS[shift](data_dir)
    return Predictions(classifier.logits(images, report=report), y)


def _suite(depth: int, paper: str, adversarial_size: int) -> Suite:
    network = f"The classifier is a ResNet-{depth} and not {paper}."
    return Suite(
        name=f"cifar10-resnet{depth}",
        stands_for=((paper, "CIFAR-10"),),
        shifts=("D0", "D1", "D2", "OOD", "AD"),
        needs=("cifar10", "tiny-imagenet", "cifar10-resnet"),
        sizes=(30_000, 2_000, 8_000),
        differences={
            "D0": f"{network} {NOT_IN_PAPER} All 10,000 test images of CIFAR-10.",
            "D1": network,
            "D2": network,
            "OOD": f"{network} The 12,000 out-of-distribution images are from Tiny-ImageNet, 60 of each of "
            f"its 200 classes, resized to 32 pixels, not from CIFAR-100; 25 classes have a class in CIFAR-10 (12.5 "
            f"% of the images), where the paper maps 2 of 100.",
            "AD": f"{network} {adversarial_size:,} images instead of 40,000, a half of them DeepFool's on "
            f"training images, tried against the 3 likeliest other classes and not all 9.",
        },
        build=partial(_build, depth, adversarial_size),
        class_names=tuple(CLASSES),
    )


CIFAR10_RESNET20 = _suite(20, "VGG16", adversarial_size=10_000)
CIFAR10_RESNET56 = _suite(56, "ResNet-50", adversarial_size=3_000)
