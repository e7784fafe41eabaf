"""VGG16 for ImageNet, from torchvision's weights (``vgg16-397923af.pth`` from download.pytorch.org)."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

from torch import nn

from auxcal_paper.classifiers._image_classifier import ImageClassifier
from auxcal_paper.classifiers._vgg import vgg16_convolutions
from auxcal_paper.classifiers._weights import load_weights


def vgg16(n_classes: int = 1000) -> nn.Module:
    """Return the network for 224-pixel images, with the names of torchvision and no trained weights."""
    return nn.Sequential(
        OrderedDict(
            features=nn.Sequential(*vgg16_convolutions(_convolution)),
            pool=nn.Sequential(nn.AdaptiveAvgPool2d(7), nn.Flatten()),
            classifier=nn.Sequential(
                nn.Linear(512 * 7 * 7, 4096),
                nn.ReLU(),
                nn.Dropout(),
                nn.Linear(4096, 4096),
                nn.ReLU(),
                nn.Dropout(),
                nn.Linear(4096, n_classes),
            ),
        )
    )


def imagenet_vgg16(path: Path) -> ImageClassifier:
    """Return VGG16 for the 1000 classes of ImageNet with torchvision's weights."""
    return ImageClassifier(load_weights(vgg16, path))


def _convolution(inputs: int, outputs: int) -> list[nn.Module]:
    return [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU()]
