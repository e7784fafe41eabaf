"""100 classes of Tiny-ImageNet, clean (D0) and under D1, D2, OOD and AD: a suite of our own, of larger images.

The target classifier is EfficientNet-Lite0 whose last layer is trained here, on the training images.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from auxcal._core.progress import Report
from auxcal.predictions import Predictions
from auxcal_paper.datasets._images import Images
from auxcal_paper.datasets.tiny_imagenet import load_tiny_imagenet, wnids
from auxcal_paper.shifts.images import D1, D2
from auxcal_paper.suites._images import Sample, adversarial, augmented, clean, out_of_distribution
from auxcal_paper.suites._suite import Suite

if TYPE_CHECKING:
    from torch import nn

    from auxcal_paper.classifiers._image_classifier import ImageClassifier

N_CLASSES = 100
PIXELS = 96

CLASS_OF_OTHER = {
    "n04285008": "n03100240",  # sports car: convertible
    "n03983396": "n02823428",  # pop bottle: beer bottle
}
"""The two of the other 100 classes that are taken as the classifier's, as the paper takes buses as cars."""


def _d0(data_dir: Path) -> Sample:
    return clean(_part(data_dir, "val"))


def _d1(data_dir: Path) -> Sample:
    return augmented(*_both(data_dir), (15_000, 5_000), D1, random_state=1)


def _d2(data_dir: Path) -> Sample:
    return augmented(*_both(data_dir), (15_000, 5_000), D2, random_state=2)


def _ood(data_dir: Path) -> Sample:
    names = wnids(data_dir)
    label_map = {names.index(other): names.index(own) for other, own in CLASS_OF_OTHER.items()}
    other = load_tiny_imagenet(data_dir, "train", most=60, classes=range(N_CLASSES, len(names)))
    return out_of_distribution(_part(data_dir, "train"), other, (14_000, 6_000), label_map, random_state=3)


_SHIFTS = {"D0": _d0, "D1": _d1, "D2": _d2, "OOD": _ood}


def _build(shift: str, data_dir: Path, report: Report) -> Predictions:
    classifier = _classifier(data_dir, report)
    if shift == "AD":
        images, y = adversarial(*_both(data_dir), 2_000, classifier, random_state=0, report=report)
    else:
        images, y = _SHIFTS[shift](data_dir)
    return Predictions(classifier.logits(images, report=report), y)


_HEADS: dict[Path, nn.Module] = {}  # the shifts of one process share one training


def _classifier(data_dir: Path, report: Report) -> ImageClassifier:
    from torch import nn

    from auxcal_paper.classifiers.efficientnet import efficientnet_lite0
    from auxcal_paper.classifiers.linear_head import train_head

    key = Path(data_dir).resolve()
    if key not in _HEADS:
        train = _part(data_dir, "train")
        network = efficientnet_lite0(data_dir, size=PIXELS, head=nn.Identity())
        features = network.logits(train.unit(), report=report)
        _HEADS[key] = train_head(features, train.y, n_classes=N_CLASSES)
    return efficientnet_lite0(data_dir, size=PIXELS, head=_HEADS[key])


def _both(data_dir: Path) -> tuple[Images, Images]:
    return _part(data_dir, "train"), _part(data_dir, "val")


def _part(data_dir: Path, part: str) -> Images:
    return load_tiny_imagenet(data_dir, part, most=250, classes=range(N_CLASSES))


_SETTING = (
    "The data set is the first 100 classes of Tiny-ImageNet (250 training and 50 validation images of each, "
    "64 pixels); the classifier is EfficientNet-Lite0, pre-trained on ImageNet, at 96 pixels, with a "
    "linear layer trained on the 25,000 training images."
)
_AUGMENTED = f"{_SETTING} 15,000 training and 5,000 validation images."


TINY100_EFFICIENTNET = Suite(
    name="tiny100-efficientnet",
    stands_for=(),
    shifts=("D0", "D1", "D2", "OOD", "AD"),
    needs=("tiny-imagenet", "efficientnet-lite0"),
    sizes=(15_000, 1_000, 4_000),
    differences={
        "D0": f"{_SETTING} All 5,000 validation images.",
        "D1": _AUGMENTED,
        "D2": _AUGMENTED,
        "OOD": f"{_SETTING} 14,000 training images and 6,000 of the other 100 classes of Tiny-ImageNet; two of those "
        "classes have a class here (sports cars are convertibles, pop bottles beer bottles).",
        "AD": f"{_SETTING} 2,000 images, a half of them DeepFool's on training images, "
        "tried against the 3 likeliest other classes.",
    },
    build=_build,
    basis="substitute",
)
