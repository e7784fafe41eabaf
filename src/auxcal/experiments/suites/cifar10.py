"""CIFAR-10 under D1, D2, OOD and AD: ResNet-20 and ResNet-56 stand for the paper's VGG16 and ResNet-50."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from auxcal._arrays import Floats, Ints
from auxcal.experiments.classifiers.cifar_resnet import cifar_resnet
from auxcal.experiments.datasets.cifar10 import CLASSES, load_cifar10
from auxcal.experiments.datasets.tiny_imagenet import load_tiny_imagenet, wnids
from auxcal.experiments.suites._suite import Suite
from auxcal.predictions import Predictions
from auxcal.shifts.images import D1, D2, Augment
from auxcal.shifts.mixtures import Mixture

Report = Callable[[int, int], None]

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
"""The 25 of the 200 classes of Tiny-ImageNet that are a class of CIFAR-10; gazelles are no deer, tractors no trucks."""


def augmented(data_dir: Path, augment: Augment, rng: np.random.Generator) -> tuple[Floats, Ints]:
    """Return 30,000 training images and the 10,000 test images of CIFAR-10, augmented."""
    train, test = load_cifar10(data_dir, "train"), load_cifar10(data_dir, "test")
    mixed = Mixture(sizes=(30_000, 10_000), label_maps=(None, None))((train.y, test.y), rng)
    images = np.concatenate([train.take(mixed.of(0)).unit(), test.take(mixed.of(1)).unit()])
    return augment(images, rng), mixed.y


def out_of_distribution(data_dir: Path, rng: np.random.Generator) -> tuple[Floats, Ints]:
    """Return 28,000 training images of CIFAR-10 and 12,000 of Tiny-ImageNet, 60 of each of its classes."""
    train = load_cifar10(data_dir, "train")
    other = load_tiny_imagenet(data_dir, "train", size=32, most=60)
    names = wnids(data_dir)
    classes = {names.index(wnid): CLASSES.index(name) for wnid, name in CIFAR10_OF_WNID.items()}
    mixed = Mixture(sizes=(28_000, 12_000), label_maps=(None, classes))((train.y, other.y), rng)
    return np.concatenate([train.take(mixed.of(0)).unit(), other.take(mixed.of(1)).unit()]), mixed.y
