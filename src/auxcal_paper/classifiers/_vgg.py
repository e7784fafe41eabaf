"""The 13 convolutions of VGG16, which its versions for CIFAR and for ImageNet share."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

_WIDTHS = (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0)  # 0: pooling


def vgg16_convolutions(block: Callable[[int, int], list[nn.Module]], width: float = 1.0) -> list[nn.Module]:
    """Return the layers up to the last pooling; `block(inputs, outputs)` makes those of one convolution.

    `width` is the share of the channels that they have.
    """
    layers: list[nn.Module] = []
    inputs = 3
    for full in _WIDTHS:
        outputs = round(width * full)
        layers += block(inputs, outputs) if full else [nn.MaxPool2d(2)]
        inputs = outputs or inputs
    return layers
