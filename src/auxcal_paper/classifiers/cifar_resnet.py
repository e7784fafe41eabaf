"""The ResNets of He et al. for CIFAR-10 and CIFAR-100, and their published weights."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor, nn
from torch.nn import functional

from auxcal._core.errors import InvalidInputError
from auxcal_paper.classifiers._image_classifier import ImageClassifier
from auxcal_paper.classifiers._weights import load_weights
from auxcal_paper.datasets import dataset

FILES = {
    (10, 20): "resnet20-12fca82f.th",
    (10, 56): "resnet56-4bfd9763.th",
    (100, 56): "cifar100_resnet56-f2eff4c8.pt",
}
"""The published checkpoints by classes and depth: 91.73, 93.39 and 72.63 % of the test images are classified right."""

_CIFAR100 = (0.5070, 0.4865, 0.4409), (0.2673, 0.2564, 0.2761)  # mean and deviation, from the repository of the weights


class Block(nn.Module):
    """Two convolutions and a shortcut, which in a block of stride 2 changes the shape.

    By default it takes every second pixel and fills new channels with zeros (option A of He et al.); `projected`, it is
    a convolution (option B).
    """

    def __init__(self, inputs: int, outputs: int, stride: int, *, projected: bool = False) -> None:
        super().__init__()
        self.downsample: nn.Module | None = None
        if projected and stride != 1:
            convolution = nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False)
            self.downsample = nn.Sequential(convolution, nn.BatchNorm2d(outputs))
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.stride = stride
        self.new = (outputs - inputs) // 2

    def forward(self, x: Tensor) -> Tensor:
        """Add the output of the convolutions to the shortcut."""
        out = self.bn2(self.conv2(functional.relu(self.bn1(self.conv1(x)))))
        if self.downsample is not None:
            x = self.downsample(x)
        elif self.stride != 1:
            x = functional.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, self.new, self.new))
        return functional.relu(out + x)


class CifarResNet(nn.Module):
    """6n + 2 layers: a convolution, three stages of n blocks with 16, 32 and 64 channels, a linear layer."""

    def __init__(self, depth: int, n_classes: int = 10, *, projected: bool = False) -> None:
        super().__init__()
        if depth < 8 or depth % 6 != 2:
            raise InvalidInputError(f"depth must be 6n + 2 with n at least 1, such as 20 or 56; got {depth}.")
        n = (depth - 2) // 6
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.layer1 = _stage(16, 16, 1, n, projected)
        self.layer2 = _stage(16, 32, 2, n, projected)
        self.layer3 = _stage(32, 64, 2, n, projected)
        self.linear = nn.Linear(64, n_classes)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits of normalised images (n, 3, 32, 32)."""
        x = functional.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        logits: Tensor = self.linear(x.mean(dim=(2, 3)))
        return logits


def cifar_resnet(data_dir: Path, depth: int, n_classes: int = 10) -> ImageClassifier:
    """Return a trained ResNet for CIFAR-10 or CIFAR-100 from ``data_dir/cifar10-resnet`` or ``cifar100-resnet``."""
    if (n_classes, depth) not in FILES:
        known = ", ".join(f"ResNet-{deep} for {classes} classes" for classes, deep in FILES)
        raise InvalidInputError(
            f"depth and n_classes must be those of published weights, {known}; got ResNet-{depth} for {n_classes}."
        )
    path = dataset(f"cifar{n_classes}-resnet").require(data_dir) / FILES[n_classes, depth]
    if n_classes == 10:
        return ImageClassifier(load_weights(lambda: CifarResNet(depth), path))
    network = load_weights(
        lambda: CifarResNet(depth, n_classes, projected=True),
        path,
        renamed={"fc.weight": "linear.weight", "fc.bias": "linear.bias"},
    )
    return ImageClassifier(network, *_CIFAR100)


def _stage(inputs: int, outputs: int, stride: int, n: int, projected: bool) -> nn.Sequential:
    first = Block(inputs, outputs, stride, projected=projected)
    return nn.Sequential(first, *(Block(outputs, outputs, 1) for _ in range(n - 1)))
