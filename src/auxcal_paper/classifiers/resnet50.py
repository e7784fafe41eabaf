"""ResNet-50 for ImageNet and for CIFAR, from PyTorch checkpoints with the names of torchvision.

For ImageNet the weights are torchvision's own (``resnet50-0676ba61.pth`` from download.pytorch.org). For CIFAR-10
they are those of https://github.com/huyvnphan/PyTorch_CIFAR10, whose network differs in its first convolution
alone.
"""

from __future__ import annotations

from pathlib import Path

from torch import Tensor, nn
from torch.nn import functional

from auxcal_paper.classifiers._image_classifier import ImageClassifier
from auxcal_paper.classifiers._weights import load_weights

_CIFAR_MEAN, _CIFAR_STD = (0.4914, 0.4822, 0.4465), (0.2471, 0.2435, 0.2616)
_STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # width, blocks, stride of the first


class Bottleneck(nn.Module):
    """Three convolutions, of which the middle one has the stride, and a shortcut."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = 4 * width
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.downsample: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: Tensor) -> Tensor:
        """Add the output of the convolutions to the shortcut."""
        out = functional.relu(self.bn1(self.conv1(x)))
        out = functional.relu(self.bn2(self.conv2(out)))
        return functional.relu(self.bn3(self.conv3(out)) + self.downsample(x))


class ResNet50(nn.Module):
    """ResNet-50; its first convolution is 7 by 7 with stride 2, or 3 by 3 with stride 1 for CIFAR."""

    def __init__(self, n_classes: int, *, for_cifar: bool) -> None:
        super().__init__()
        kernel, stride = (3, 1) if for_cifar else (7, 2)
        self.conv1 = nn.Conv2d(3, 64, kernel, stride=stride, padding=kernel // 2, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        inputs = 64
        for number, (width, blocks, first) in enumerate(_STAGES, start=1):
            self.add_module(f"layer{number}", _stage(inputs, width, blocks, first))
            inputs = 4 * width
        self.fc = nn.Linear(inputs, n_classes)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits of normalised images."""
        x = functional.max_pool2d(functional.relu(self.bn1(self.conv1(x))), 3, stride=2, padding=1)
        for number in range(1, len(_STAGES) + 1):
            x = self.get_submodule(f"layer{number}")(x)
        logits: Tensor = self.fc(x.mean(dim=(2, 3)))
        return logits


def imagenet_resnet50(path: Path) -> ImageClassifier:
    """Return ResNet-50 for the 1000 classes of ImageNet with torchvision's weights, for 224-pixel images."""
    return ImageClassifier(load_weights(lambda: ResNet50(1000, for_cifar=False), path))


def cifar_resnet50(path: Path, *, n_classes: int = 10) -> ImageClassifier:
    """Return ResNet-50 for CIFAR with the weights in the given file, for 32-pixel images."""
    network = load_weights(lambda: ResNet50(n_classes, for_cifar=True), path)
    return ImageClassifier(network, _CIFAR_MEAN, _CIFAR_STD)


def _stage(inputs: int, width: int, blocks: int, stride: int) -> nn.Sequential:
    rest = (Bottleneck(4 * width, width, 1) for _ in range(blocks - 1))
    return nn.Sequential(Bottleneck(inputs, width, stride), *rest)
