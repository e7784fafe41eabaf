"""The paper's VGG16 for CIFAR, https://github.com/geifmany/cifar-vgg, from its Keras files of weights."""

from __future__ import annotations

from pathlib import Path

from torch import nn

from auxcal._core.errors import InvalidInputError
from auxcal_paper.classifiers._image_classifier import ImageClassifier
from auxcal_paper.classifiers._keras import fill, keras_layers
from auxcal_paper.classifiers._vgg import vgg16_convolutions
from auxcal_paper.classifiers._weights import load_weights, read_state_dict

_SCALES = {10: (120.707, 64.15), 100: (121.936, 68.389)}  # mean and deviation of all pixels, 0 to 255


DROPOUT = (0.3, 0.4, 0.5)
"""The rates after the first convolution, after the others that no pooling follows, and around the dense layer."""


def cifar_vgg_network(
    n_classes: int, *, width: float = 1.0, dropout: tuple[float, float, float] = DROPOUT
) -> nn.Sequential:
    """Return the network without weights: 13 convolutions and 2 dense layers, normalised after their ReLU.

    `width` is the share of the channels that the layers have. Dropout acts only in training.
    """
    first, inner, last = dropout
    layers: list[nn.Module] = []
    for layer in vgg16_convolutions(_convolution, width):
        if layers and isinstance(layer, nn.Conv2d) and isinstance(layers[-1], nn.BatchNorm2d):
            layers.append(nn.Dropout(first if len(layers) == len(_convolution(1, 1)) else inner))
        layers.append(layer)
    n = round(512 * width)
    dense = [nn.Linear(n, n), nn.ReLU(), nn.BatchNorm1d(n, eps=1e-3)]
    return nn.Sequential(*layers, nn.Dropout(last), nn.Flatten(), *dense, nn.Dropout(last), nn.Linear(n, n_classes))


def _convolution(inputs: int, outputs: int) -> list[nn.Module]:
    return [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(), nn.BatchNorm2d(outputs, eps=1e-3)]


def cifar_scales(n_classes: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the mean and the standard deviation by which the images are normalised, for each channel."""
    mean, std = (value / 255 for value in _SCALES[n_classes])
    return (mean,) * 3, (std,) * 3


def cifar_vgg16(path: Path, *, n_classes: int = 10) -> ImageClassifier:
    """Return VGG16 for CIFAR-10 or CIFAR-100 with the weights of ``cifar10vgg.h5`` or ``cifar100vgg.h5``."""
    if n_classes not in _SCALES:
        raise InvalidInputError(f"n_classes must be 10 or 100, for which there are weights; got {n_classes}.")
    network = cifar_vgg_network(n_classes)
    fill(network, list(keras_layers(path)), path)
    return ImageClassifier(network.eval(), *cifar_scales(n_classes))


def trained_cifar_vgg16(path: Path, *, n_classes: int = 10) -> ImageClassifier:
    """Return the VGG16 for CIFAR-10 or CIFAR-100 that `train_vgg16` made, of whatever width."""
    width = read_state_dict(path)["0.weight"].shape[0] / 64
    network = load_weights(lambda: cifar_vgg_network(n_classes, width=width), path)
    return ImageClassifier(network, *cifar_scales(n_classes))
