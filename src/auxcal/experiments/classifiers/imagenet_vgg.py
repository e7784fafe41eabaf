"""VGG16 for ImageNet, from torchvision's weights (``vgg16-397923af.pth`` from download.pytorch.org)."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

from torch import nn

from auxcal.experiments.classifiers._image_classifier import ImageClassifier
from auxcal.experiments.classifiers._weights import load_weights

_WIDTHS = (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0)  # 0: pooling


def vgg16(n_classes: int = 1000) -> nn.Module:
    """Return the network for 224-pixel images, with the names of torchvision and no trained weights."""
    return nn.Sequential(
        OrderedDict(
            features=_convolutions(),
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


def _convolutions() -> nn.Sequential:
    layers: list[nn.Module] = []
    inputs = 3
    for width in _WIDTHS:
        if width:
            layers += [nn.Conv2d(inputs, width, 3, padding=1), nn.ReLU()]
            inputs = width
        else:
            layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers)
