"""The paper's own experiments on CIFAR: VGG16 and ResNet-50, for CIFAR-10 and for CIFAR-100, in the paper's sizes."""

from __future__ import annotations

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
from auxcal_paper.suites._suite import NOT_IN_PAPER, Suite

if TYPE_CHECKING:
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
class _Cifar:
    """CIFAR with 10 or 100 classes, and the other one, two of whose classes it has too."""

    n_classes: int

    def images(self, data_dir: Path, part: str) -> Images:
        return load_cifar10(data_dir, part) if self.n_classes == 10 else load_cifar100(data_dir, part)

    def foreign(self, data_dir: Path) -> tuple[Images, dict[int, int]]:
        if self.n_classes == 10:
            return load_cifar100(data_dir, "train"), {BUS: _AUTOMOBILE, PICKUP_TRUCK: _TRUCK}
        return load_cifar10(data_dir, "train"), {_AUTOMOBILE: BUS, _TRUCK: PICKUP_TRUCK}


def paper_cifar_suite(n_classes: int, network: str, sizes: Sizes | None = None) -> Suite:
    """Return the suite of "VGG16" or "ResNet-50" for CIFAR with 10 or 100 classes.

    Examples
    --------
    >>> from auxcal_paper.suites.paper_cifar import paper_cifar_suite
    >>> paper_cifar_suite(100, "VGG16").needs
    ('cifar100', 'cifar10', 'cifar100-vgg16')
    """
    sizes = sizes or Sizes()
    own, other = ("cifar10", "cifar100") if n_classes == 10 else ("cifar100", "cifar10")
    weights = f"{own}-{network.lower().replace('-', '')}"
    setting = f"{_WEIGHTS[network]} Images are turned, moved and zoomed by our own code, with Keras' semantics."
    return Suite(
        name=weights,
        stands_for=((network, f"CIFAR-{n_classes}"),),
        shifts=("D0", "D1", "D2", "OOD", "AD"),
        needs=(own, other, weights),
        sizes=sizes.parts,
        differences={
            "D0": f"{_WEIGHTS[network]} {NOT_IN_PAPER} All 10,000 test images.",
            "D1": setting,
            "D2": setting,
            "OOD": _WEIGHTS[network],
            "AD": f"{_WEIGHTS[network]} DeepFool is tried against the 3 likeliest other classes and not all.",
        },
        build=partial(_build, _Cifar(n_classes), weights, sizes),
        class_names=tuple(CLASSES) if n_classes == 10 else (),
    )


_WEIGHTS = {
    "VGG16": "The classifier has the weights that the paper names.",
    "ResNet-50": "The network is the paper's; its weights are others than those that the paper names.",
}


def _build(cifar: _Cifar, weights: str, sizes: Sizes, shift: str, data_dir: Path, report: Report) -> Predictions:
    classifier = _classifier(weights, cifar.n_classes, data_dir)
    if shift == "AD":
        both = cifar.images(data_dir, "train"), cifar.images(data_dir, "test")
        images, y = adversarial(*both, sizes.adversarial, classifier, random_state=0, report=report)
    else:
        images, y = _sample(cifar, sizes, shift, data_dir)
    return Predictions(classifier.logits(images, report=report), y)


def _sample(cifar: _Cifar, sizes: Sizes, shift: str, data_dir: Path) -> Sample:
    if shift == "D0":
        return clean(cifar.images(data_dir, "test"))
    train = cifar.images(data_dir, "train")
    if shift == "OOD":
        other, classes = cifar.foreign(data_dir)
        return out_of_distribution(train, other, sizes.out_of_distribution, classes, random_state=3)
    augment, random_state = {"D1": (D1, 1), "D2": (D2, 2)}[shift]
    return augmented(train, cifar.images(data_dir, "test"), sizes.augmented, augment, random_state)


def _classifier(weights: str, n_classes: int, data_dir: Path) -> ImageClassifier:
    from auxcal_paper.classifiers.cifar_vgg import cifar_vgg16
    from auxcal_paper.classifiers.resnet50 import cifar_resnet50

    load = cifar_vgg16 if weights.endswith("vgg16") else cifar_resnet50
    return load(dataset(weights).path(data_dir), n_classes=n_classes)


PAPER_CIFAR = tuple(paper_cifar_suite(n, network) for n in (10, 100) for network in ("VGG16", "ResNet-50"))
