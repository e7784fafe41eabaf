"""Checks on the real data sets, where a machine has them: set AUXCAL_DATA to their folder."""

import os
from pathlib import Path

import numpy as np
import pytest

from auxcal_paper.classifiers.cifar_resnet import cifar_resnet
from auxcal_paper.classifiers.resnet50 import imagenet_resnet50
from auxcal_paper.datasets import dataset
from auxcal_paper.datasets.cifar10 import load_cifar10
from auxcal_paper.datasets.imagenet import imagenet_paths, read_images

DATA = os.environ.get("AUXCAL_DATA")
pytestmark = pytest.mark.skipif(not DATA, reason="AUXCAL_DATA is not set")


@pytest.mark.parametrize(("depth", "right"), [(20, 9173), (56, 9339)])
def test_cifar_resnets_have_their_published_accuracy(depth, right):
    test = load_cifar10(Path(DATA), "test")
    logits = cifar_resnet(Path(DATA), depth).logits(test.unit())
    assert abs((logits.argmax(axis=1) == test.y).sum() - right) <= 2


def test_resnet50_has_the_accuracy_that_keras_publishes():
    paths, y = imagenet_paths(Path(DATA))
    some = np.arange(0, len(paths), 25)
    classifier = imagenet_resnet50(dataset("imagenet-resnet50").path(Path(DATA)))
    logits = classifier.logits(read_images([paths[row] for row in some], 224))
    assert 0.69 < (logits.argmax(axis=1) == y[some]).mean() < 0.81  # 74.9 %, and two standard errors
