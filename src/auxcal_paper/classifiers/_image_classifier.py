"""A target classifier of images: a network and the normalisation of its input."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from auxcal._core.arrays import Floats
from auxcal._core.progress import Report, silent
from auxcal_paper.classifiers._onnx import OnnxNetwork

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
KERAS_MEAN = (123.68 / 255, 116.779 / 255, 103.939 / 255)
KERAS_STD = (1 / 255,) * 3
"""What Keras' VGG16 and ResNet-50 for ImageNet subtract, and no division, on the scale 0 to 255."""


@dataclass(frozen=True, eq=False)
class ImageClassifier:
    """A network with the mean and the standard deviation by which its input is normalised.

    Parameters
    ----------
    network : nn.Module
        Gives logits for normalised images (n, 3, H, W); in evaluation mode.
    mean, std : tuples of float
        For each channel, on the scale 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from torch import nn
    >>> from auxcal_paper.classifiers._image_classifier import ImageClassifier
    >>> classifier = ImageClassifier(nn.Flatten(), mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))
    >>> classifier.logits(np.ones((1, 3, 1, 1), dtype=np.float32))
    array([[1., 1., 1.]], dtype=float32)
    """

    network: nn.Module
    mean: tuple[float, ...] = IMAGENET_MEAN
    std: tuple[float, ...] = IMAGENET_STD

    def logits(self, images: Floats, *, report: Report = silent) -> Floats:
        """Return the logits of images (n, 3, H, W), float32 from 0 to 1."""
        return self.compiled(images.shape[1:])(images, report=report)

    def compiled(self, shape: tuple[int, ...]) -> OnnxNetwork:
        """Return a fast copy that gives logits for images of the given shape (3, H, W), from 0 to 1."""
        return OnnxNetwork(nn.Sequential(Normalise(self.mean, self.std), self.network).eval(), shape)


class Normalise(nn.Module):
    """Subtract the mean and divide by the standard deviation, channel by channel."""

    mean: Tensor
    std: Tensor

    def __init__(self, mean: tuple[float, ...], std: tuple[float, ...]) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean).view(1, -1, 1, 1))
        self.register_buffer("std", torch.tensor(std).view(1, -1, 1, 1))

    def forward(self, images: Tensor) -> Tensor:
        """Return normalised images."""
        return (images - self.mean) / self.std
