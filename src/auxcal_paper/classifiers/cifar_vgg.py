"""The paper's VGG16 for CIFAR, https://github.com/geifmany/cifar-vgg, from its Keras files of weights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from auxcal._core.errors import FileFormatError, InvalidInputError, MissingDataError
from auxcal._core.extras import needs
from auxcal_paper.classifiers._image_classifier import ImageClassifier
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
    layers = [layer for layer in network if list(layer.parameters())]
    arrays = list(_keras_layers(path))
    if len(arrays) != len(layers):
        raise FileFormatError(
            f"{path}: expected the {len(layers)} layers with weights of the VGG16 for CIFAR; got "
            f"{len(arrays)}. The file is of another network."
        )
    for layer, (name, values) in zip(layers, arrays, strict=True):
        _fill(layer, values, f"{path}: {name}")
    return ImageClassifier(network.eval(), *cifar_scales(n_classes))


def trained_cifar_vgg16(path: Path, *, n_classes: int = 10) -> ImageClassifier:
    """Return the VGG16 for CIFAR-10 or CIFAR-100 that `train_vgg16` made, of whatever width."""
    width = read_state_dict(path)["0.weight"].shape[0] / 64
    network = load_weights(lambda: cifar_vgg_network(n_classes, width=width), path)
    return ImageClassifier(network, *cifar_scales(n_classes))


def _keras_layers(path: Path) -> Iterator[tuple[str, list[Any]]]:
    with needs("experiments"):
        import h5py
    if not path.is_file():
        raise MissingDataError(
            f"{path}: expected a file of weights; there is none. Get cifar10vgg.h5 or cifar100vgg.h5, "
            f"which the README of https://github.com/geifmany/cifar-vgg links."
        )
    try:
        with h5py.File(path, "r") as file:
            root = file.get("model_weights", file)
            for name in _texts(root.attrs["layer_names"]):
                values = [np.asarray(root[name][key]) for key in _texts(root[name].attrs["weight_names"])]
                if values:
                    yield name, values
    except (OSError, KeyError) as error:
        raise FileFormatError(
            f"{path}: expected weights in the HDF5 layout of Keras; reading failed with {error}. Write it "
            f"with model.save_weights('name.h5')."
        ) from error


def _texts(values: Any) -> list[str]:
    return [value.decode() if isinstance(value, bytes) else str(value) for value in values]


def _fill(layer: nn.Module, values: list[Any], where: str) -> None:
    tensors: list[Tensor] = [layer.weight, layer.bias]  # type: ignore[list-item]
    if isinstance(layer, nn.Conv2d):
        values = [values[0].transpose(3, 2, 0, 1), *values[1:]] if values[0].ndim == 4 else values
    elif isinstance(layer, nn.Linear):
        values = [values[0].T, *values[1:]]
    else:
        tensors += [layer.running_mean, layer.running_var]  # type: ignore[list-item]
    expected, got = [tuple(tensor.shape) for tensor in tensors], [tuple(value.shape) for value in values]
    if expected != got:
        raise FileFormatError(
            f"{where}: expected weights of the shapes {expected}; got {got}. The file is of another network, "
            f"or of one for another number of classes."
        )
    with torch.no_grad():
        for tensor, value in zip(tensors, values, strict=True):
            tensor.copy_(torch.from_numpy(np.ascontiguousarray(value, dtype=np.float32)))
