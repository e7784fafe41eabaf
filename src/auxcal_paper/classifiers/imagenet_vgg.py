"""VGG16 for ImageNet, from the Keras file ``vgg16_weights_tf_dim_ordering_tf_kernels.h5``."""

from __future__ import annotations

from pathlib import Path

from torch import nn

from auxcal._core.errors import FileFormatError
from auxcal_paper.classifiers._image_classifier import KERAS_MEAN, KERAS_STD, ImageClassifier
from auxcal_paper.classifiers._keras import fill, keras_layers
from auxcal_paper.classifiers._vgg import vgg16_convolutions

_SIDE = 7  # pixels that are left of 224


def imagenet_vgg_network(width: float = 1.0) -> nn.Sequential:
    """Return the network for 224-pixel images without weights, at a share of its width."""
    channels, hidden = round(512 * width), round(4096 * width)
    dense = [nn.Linear(channels * _SIDE**2, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()]
    return nn.Sequential(*vgg16_convolutions(_convolution, width), nn.Flatten(), *dense, nn.Linear(hidden, 1000))


def imagenet_vgg16(path: Path, *, width: float = 1.0) -> ImageClassifier:
    """Return VGG16 for the 1000 classes of ImageNet with Keras' weights."""
    layers = list(keras_layers(path))
    network = imagenet_vgg_network(width)
    try:
        first, dense = layers[0][1], layers[13][1]
        first[0] = first[0][:, :, ::-1]  # Keras' images are BGR
        # Keras flattens the channels last.
        nodes = dense[0].reshape(_SIDE, _SIDE, -1, dense[0].shape[1]).transpose(2, 0, 1, 3)
        dense[0] = nodes.reshape(dense[0].shape)
    except (IndexError, ValueError) as error:
        raise FileFormatError(f"{path}: expected the weights of Keras' VGG16; got those of another network.") from error
    fill(network, layers, path)
    return ImageClassifier(network.eval(), KERAS_MEAN, KERAS_STD)


def _convolution(inputs: int, outputs: int) -> list[nn.Module]:
    return [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU()]
