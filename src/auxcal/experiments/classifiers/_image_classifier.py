"""A target classifier of images: a network and the normalisation of its input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from auxcal._arrays import Floats

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


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
    >>> from auxcal.experiments.classifiers._image_classifier import ImageClassifier
    >>> classifier = ImageClassifier(nn.Flatten(), mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))
    >>> classifier.logits(np.ones((1, 3, 1, 1), dtype=np.float32))
    array([[1., 1., 1.]], dtype=float32)
    """

    network: nn.Module
    mean: tuple[float, ...] = IMAGENET_MEAN
    std: tuple[float, ...] = IMAGENET_STD

    def logits(
        self, images: Floats, *, batch_size: int = 250, report: Callable[[int, int], None] | None = None
    ) -> Floats:
        """Return the logits of images (n, 3, H, W), float32 from 0 to 1."""
        mean, std = (torch.tensor(values).view(1, -1, 1, 1) for values in (self.mean, self.std))
        rows = []
        with torch.inference_mode():
            for start in range(0, len(images), batch_size):
                batch = torch.from_numpy(np.ascontiguousarray(images[start : start + batch_size]))
                rows.append(self.network((batch - mean) / std).numpy())
                if report is not None:
                    report(min(start + batch_size, len(images)), len(images))
        return np.concatenate(rows)
