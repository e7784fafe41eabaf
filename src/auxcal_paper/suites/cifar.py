"""CIFAR-10 and CIFAR-100, clean (D0) and under D1, D2, OOD and AD: the paper's images, in the paper's sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from auxcal._core.progress import Report
from auxcal.predictions import Predictions
from auxcal_paper.datasets import dataset
from auxcal_paper.datasets._images import Images
from auxcal_paper.datasets.cifar10 import CLASSES, load_cifar10
from auxcal_paper.datasets.cifar100 import BUS, PICKUP_TRUCK, load_cifar100
from auxcal_paper.shifts.images import D1, D2
from auxcal_paper.suites._images import Sample, adversarial, augmented, clean, out_of_distribution
from auxcal_paper.suites._suite import NOT_IN_PAPER, Basis, Suite

if TYPE_CHECKING:  # torch is imported when a bundle must be built, not to name the suites
    from auxcal_paper.classifiers._image_classifier import ImageClassifier

_AUTOMOBILE, _TRUCK = CLASSES.index("automobile"), CLASSES.index("truck")


@dataclass(frozen=True)
class Sizes:
    """How many images a shift is made of; by default as many as in the paper."""

    augmented: tuple[int, int] = (30_000, 10_000)
    out_of_distribution: tuple[int, int] = (28_000, 12_000)
    adversarial: int = 40_000
    parts: tuple[int, int, int] = (30_000, 2_000, 8_000)


@dataclass(frozen=True)
class Cifar:
    """CIFAR with 10 or 100 classes, and the other one, two of whose classes it has too."""

    n_classes: int

    @property
    def name(self) -> str:
        """Its name among the data sets."""
        return f"cifar{self.n_classes}"

    def images(self, data_dir: Path, part: str) -> Images:
        """Return the part "train" or "test"."""
        return load_cifar10(data_dir, part) if self.n_classes == 10 else load_cifar100(data_dir, part)

    def foreign(self, data_dir: Path) -> tuple[Images, dict[int, int]]:
        """Return the training images of the other CIFAR, and which of its classes are ours; the rest have none."""
        if self.n_classes == 10:
            return load_cifar100(data_dir, "train"), {BUS: _AUTOMOBILE, PICKUP_TRUCK: _TRUCK}
        return load_cifar10(data_dir, "train"), {_AUTOMOBILE: BUS, _TRUCK: PICKUP_TRUCK}


@dataclass(frozen=True)
class Network:
    """A trained target classifier.

    Parameters
    ----------
    name : str
        The rest of its suite's name.
    stands_for : str
        The paper's network in whose place it is.
    weights : str
        The rest of the name of its weights among the data sets.
    load : callable
        ``load(n_classes, data_dir)`` returns the classifier.
    note : str
        How it differs from the paper's, in a sentence; ``{n_classes}`` is filled in.
    basis : {"own", "layout", "network"}
        What it makes of a suite.
    """

    name: str
    stands_for: str
    weights: str
    load: Callable[[int, Path], ImageClassifier]
    note: str
    basis: Basis = "network"


def _resnet(depth: int, n_classes: int, data_dir: Path) -> ImageClassifier:
    from auxcal_paper.classifiers.cifar_resnet import cifar_resnet

    return cifar_resnet(data_dir, depth, n_classes)


def _vgg16(n_classes: int, data_dir: Path) -> ImageClassifier:
    from auxcal_paper.classifiers.cifar_vgg import cifar_vgg16

    return cifar_vgg16(dataset(f"cifar{n_classes}-vgg16").path(data_dir), n_classes=n_classes)


def _resnet50(n_classes: int, data_dir: Path) -> ImageClassifier:
    from auxcal_paper.classifiers.resnet50 import cifar_resnet50

    return cifar_resnet50(dataset(f"cifar{n_classes}-resnet50").path(data_dir), n_classes=n_classes)


def _trained_vgg16(n_classes: int, data_dir: Path) -> ImageClassifier:
    from auxcal_paper.classifiers.cifar_vgg import trained_cifar_vgg16

    return trained_cifar_vgg16(dataset(f"cifar{n_classes}-vgg16-trained").path(data_dir), n_classes=n_classes)


_CITED = "The paper writes ResNet-50, and names a repository that had ResNet-20 to -56"

VGG16 = Network("vgg16", "VGG16", "vgg16", _vgg16, "The classifier has the weights that the paper names.", "own")
TRAINED_VGG16 = Network(
    "vgg16",
    "VGG16",
    "vgg16-trained",
    _trained_vgg16,
    "The classifier is a VGG16 of our own, of the paper's layout at half its width, trained for 16 epochs by "
    "`python -m auxcal_paper.classifiers.train_vgg16 {n_classes}`, with the rotations, shifts and flips of the "
    "official one, which was trained for 250.",
    "layout",
)
RESNET50 = Network(
    "resnet50", "ResNet-50", "resnet50", _resnet50, f"{_CITED}; this is a ResNet-50 with weights of others."
)
RESNET20 = Network("resnet20", "VGG16", "resnet", partial(_resnet, 20), "The classifier is a ResNet-20 and not VGG16.")
RESNET56 = Network("resnet56", "ResNet-50", "resnet", partial(_resnet, 56), f"{_CITED}; this is a ResNet-56 of others.")
CITED_RESNET56 = Network("resnet56", "ResNet-50", "resnet", partial(_resnet, 56), f"{_CITED}; this is its ResNet-56.")


def cifar_suite(
    n_classes: int, network: Network, sizes: Sizes | None = None, *, official: Suite | None = None
) -> Suite:
    """Return the suite of a network for CIFAR with 10 or 100 classes.

    Examples
    --------
    >>> from auxcal_paper.suites.cifar import VGG16, cifar_suite
    >>> cifar_suite(100, VGG16).needs
    ('cifar100', 'cifar10', 'cifar100-vgg16')
    """
    cifar, other, sizes = Cifar(n_classes), Cifar(110 - n_classes), sizes or Sizes()
    return Suite(
        name=f"{cifar.name}-{network.name}",
        stands_for=((network.stands_for, f"CIFAR-{n_classes}"),),
        shifts=("D0", "D1", "D2", "OOD", "AD"),
        needs=(cifar.name, other.name, f"{cifar.name}-{network.weights}"),
        sizes=sizes.parts,
        classifier=network.note.format(n_classes=n_classes),
        differences={
            "D0": f"{NOT_IN_PAPER} All 10,000 test images.",
            "D1": _AUGMENTED,
            "D2": _AUGMENTED,
            "AD": _attack(cifar, network, sizes.adversarial),
        },
        build=partial(_build, cifar, network, sizes),
        basis=network.basis,
        class_names=tuple(CLASSES) if n_classes == 10 else (),
        official=official,
    )


_AUGMENTED = "Images are turned, moved and zoomed by our own code, with Keras' semantics."


def _attack(cifar: Cifar, network: Network, size: int) -> str:
    fewer = "" if size == Sizes.adversarial else f"{size:,} images instead of {Sizes.adversarial:,}. "
    text = (
        f"{fewer}A half of them are training images moved by DeepFool, which is tried against the 3 likeliest other "
        f"classes and not all {cifar.n_classes - 1}, and stops at the boundary."
    )
    if (network.stands_for, cifar.n_classes) != ("VGG16", 10):
        return text
    return (
        f"{text} There the largest probability is about a half, so that the mean of all images stays near 75 %. The "
        f"paper's MP, with an ECE of 48.9 % at an accuracy of 47 %, has a mean of 96 %: its images were moved further."
    )


def _build(cifar: Cifar, network: Network, sizes: Sizes, shift: str, data_dir: Path, report: Report) -> Predictions:
    classifier = network.load(cifar.n_classes, data_dir)
    if shift == "AD":
        both = cifar.images(data_dir, "train"), cifar.images(data_dir, "test")
        images, y = adversarial(*both, sizes.adversarial, classifier, random_state=0, report=report)
    else:
        images, y = _sample(cifar, sizes, shift, data_dir)
    return Predictions(classifier.logits(images, report=report), y)


def _sample(cifar: Cifar, sizes: Sizes, shift: str, data_dir: Path) -> Sample:
    if shift == "D0":
        return clean(cifar.images(data_dir, "test"))
    train = cifar.images(data_dir, "train")
    if shift == "OOD":
        other, classes = cifar.foreign(data_dir)
        return out_of_distribution(train, other, sizes.out_of_distribution, classes, random_state=3)
    augment, random_state = {"D1": (D1, 1), "D2": (D2, 2)}[shift]
    return augmented(train, cifar.images(data_dir, "test"), sizes.augmented, augment, random_state)


CIFAR_RESNETS = (
    cifar_suite(10, RESNET20, Sizes(adversarial=10_000)),
    cifar_suite(10, RESNET56, Sizes(adversarial=10_000)),
    cifar_suite(100, CITED_RESNET56),
)
"""Those that stand for the paper's, with weights that can be had; DeepFool takes 0.13 s for an image of the largest."""

CIFAR_VGG16 = (
    cifar_suite(10, TRAINED_VGG16, official=cifar_suite(10, VGG16)),
    cifar_suite(100, TRAINED_VGG16, Sizes(adversarial=10_000), official=cifar_suite(100, VGG16)),
)
"""The paper's VGG16, trained by ourselves where the official weights are not there."""

CIFAR_RESNET50 = tuple(cifar_suite(n_classes, RESNET50) for n_classes in (10, 100))
"""The paper's ResNet-50, for who has weights."""
