"""The ResNets of He et al. for CIFAR-10, with identity shortcuts (option A), and their published weights."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor, nn
from torch.nn import functional

from auxcal._core.errors import InvalidInputError
from auxcal_paper.classifiers._image_classifier import ImageClassifier
from auxcal_paper.classifiers._weights import load_weights
from auxcal_paper.datasets import dataset

FILES = {20: "resnet20-12fca82f.th", 56: "resnet56-4bfd9763.th"}
"""The published checkpoints by depth: 91.73 % and 93.39 % of the test images are classified right."""


class Block(nn.Module):
    """Two convolutions and a shortcut that takes every second pixel and fills new channels with zeros."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.stride = stride
        self.new = (outputs - inputs) // 2

    def forward(self, x: Tensor) -> Tensor:
        """Add the output of the convolutions to the shortcut."""
        out = self.bn2(self.conv2(functional.relu(self.bn1(self.conv1(x)))))
        if self.stride != 1:
            x = functional.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, self.new, self.new))
        return functional.relu(out + x)


class CifarResNet(nn.Module):
    """6n + 2 layers: a convolution, three stages of n blocks with 16, 32 and 64 channels, a linear layer."""

    def __init__(self, depth: int, n_classes: int = 10) -> None:
        super().__init__()
        if depth < 8 or depth % 6 != 2:
            raise InvalidInputError(f"depth must be 6n + 2 with n at least 1, such as 20 or 56; got {depth}.")
        n = (depth - 2) // 6
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.layer1 = _stage(16, 16, 1, n)
        self.layer2 = _stage(16, 32, 2, n)
        self.layer3 = _stage(32, 64, 2, n)
        self.linear = nn.Linear(64, n_classes)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits of normalised images (n, 3, 32, 32)."""
        x = functional.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        logits: Tensor = self.linear(x.mean(dim=(2, 3)))
        return logits


def cifar_resnet(data_dir: Path, depth: int) -> ImageClassifier:
    """Return the trained ResNet-20 or ResNet-56 for CIFAR-10 from ``data_dir/cifar10-resnet``."""
    if depth not in FILES:
        raise InvalidInputError(f"depth must be one of {sorted(FILES)}, which have published weights; got {depth}.")
    path = dataset("cifar10-resnet").require(data_dir) / FILES[depth]
    return ImageClassifier(load_weights(lambda: CifarResNet(depth), path))


def _stage(inputs: int, outputs: int, stride: int, n: int) -> nn.Sequential:
    return nn.Sequential(Block(inputs, outputs, stride), *(Block(outputs, outputs, 1) for _ in range(n - 1)))
