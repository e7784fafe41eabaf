"""What the suites of images share."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from auxcal._core.arrays import Floats, Ints
from auxcal._core.progress import Report
from auxcal_paper.datasets._images import Images
from auxcal_paper.shifts.adversarial import DeepFool
from auxcal_paper.shifts.images import Augment
from auxcal_paper.shifts.mixtures import Mixture

if TYPE_CHECKING:  # torch is imported when a bundle must be built, not to name the suites
    from auxcal_paper.classifiers._image_classifier import ImageClassifier

Sample: TypeAlias = tuple[Floats, Ints]


def clean(test: Images) -> Sample:
    """Return the test images as they are, and the class of each."""
    return test.unit(), test.y


def augmented(train: Images, test: Images, sizes: tuple[int, int], augment: Augment, random_state: int) -> Sample:
    """Draw training and test images, augment them, and return the class of each."""
    rng = np.random.default_rng(random_state)
    mixed = Mixture(sizes, (None, None))((train.y, test.y), rng)
    images = np.concatenate([train.take(mixed.of(0)).unit(), test.take(mixed.of(1)).unit()])
    return augment(images, rng), mixed.y


def out_of_distribution(
    own: Images, other: Images, sizes: tuple[int, int], label_map: dict[int, int], random_state: int
) -> Sample:
    """Draw images of the classifier's data set and of another, with the class of each."""
    rng = np.random.default_rng(random_state)
    mixed = Mixture(sizes, (None, label_map))((own.y, other.y), rng)
    return np.concatenate([own.take(mixed.of(0)).unit(), other.take(mixed.of(1)).unit()]), mixed.y


def adversarial(
    train: Images, test: Images, size: int, classifier: ImageClassifier, random_state: int, report: Report
) -> Sample:
    """Return a quarter of training images, one of test images, and DeepFool's half on training images."""
    rng = np.random.default_rng(random_state)
    normal = size // 4
    mixed = Mixture((size - normal, normal), (None, None))((train.y, test.y), rng)
    from_train = train.take(mixed.of(0))
    attack = DeepFool(classifier.network, classifier.mean, classifier.std, candidates=4)
    images = [
        from_train.take(slice(normal)).unit(),
        attack(from_train.take(slice(normal, None)).unit(), from_train.y[normal:], report),
        test.take(mixed.of(1)).unit(),
    ]
    return np.concatenate(images), mixed.y
