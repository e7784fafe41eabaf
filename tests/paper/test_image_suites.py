"""The image suites on small data: shares, label maps, seeds."""

import numpy as np
import pytest
from torch import nn

from auxcal import NO_CLASS
from auxcal_paper.classifiers._image_classifier import ImageClassifier
from auxcal_paper.datasets._images import Images
from auxcal_paper.shifts.images import Augment
from auxcal_paper.suites import _images as parts


def some_images(n, n_classes, value):
    return Images(np.full((n, 3, 8, 8), value, np.uint8), np.arange(n) % n_classes)


def test_augmented_draws_from_both_parts():
    images, y = parts.augmented(some_images(50, 10, 0), some_images(20, 10, 255), (30, 10), Augment(), 1)
    assert images.shape == (40, 3, 8, 8)
    assert (images[:30] == 0).all()
    assert (images[30:] == 1).all()
    assert len(y) == 40


def test_foreign_images_get_a_class_or_none():
    images, y = parts.out_of_distribution(
        some_images(50, 10, 0), some_images(40, 4, 255), (28, 12), {2: 7}, random_state=3
    )
    assert (images[:28] == 0).all()
    assert (images[28:] == 1).all()
    assert set(y[28:]) == {7, NO_CLASS}
    assert (y[:28] >= 0).all()


def test_half_of_the_adversarial_sample_is_attacked():
    pytest.importorskip("foolbox")
    generator = np.random.default_rng(0)
    pool = Images(generator.integers(0, 256, (60, 3, 8, 8), dtype=np.uint8), np.arange(60) % 3)
    network = nn.Sequential(nn.Flatten(), nn.Linear(192, 3)).eval()
    classifier = ImageClassifier(network, (0.5,) * 3, (0.5,) * 3)
    images, y = parts.adversarial(pool, pool, 40, classifier, random_state=0, report=lambda *_: None)
    assert len(images) == len(y) == 40
    prediction = classifier.logits(images).argmax(axis=1)
    assert (prediction[10:30] != y[10:30]).all()
    untouched = {image.tobytes() for image in pool.unit()}
    assert all(image.tobytes() in untouched for image in [*images[:10], *images[30:]])
