"""Adversarial images: the smallest perturbation that makes a classifier wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Floats, Ints
from auxcal._core.errors import InvalidInputError
from auxcal._core.extras import needs
from auxcal._core.progress import Report, silent


@dataclass(frozen=True, eq=False)
class DeepFool:
    """Move images just across the nearest decision boundary of a classifier, with foolbox's L2 DeepFool.

    The images stay floats: rounding them to 8 bits undoes most of the attack.

    Parameters
    ----------
    network : torch.nn.Module
        Gives logits for normalised images, in evaluation mode.
    mean, std : sequences of float
        The per-channel normalisation of the network's input, for images in [0, 1]. Foolbox applies it, so the
        perturbation is bounded and measured on the images themselves.
    steps : int
        The maximum number of steps per image.
    candidates : int
        The number of most likely classes to try as the new prediction.
    batch_size : int
        The number of images attacked at a time. A batch runs until its last image has crossed, so small ones are
        faster: 8 take three fifths of the CPU time of 100 with a ResNet-56, and give the same images.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from auxcal_paper.shifts import DeepFool
    >>> network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 2)).eval()
    >>> images = np.full((1, 3, 2, 2), 0.5, dtype=np.float32)
    >>> y = network(torch.from_numpy(images)).argmax(dim=1).numpy()
    >>> moved = DeepFool(network, mean=(0, 0, 0), std=(1, 1, 1))(images, y)
    >>> bool(network(torch.from_numpy(moved)).argmax(dim=1).numpy() == y)
    False
    """

    network: Any
    mean: Sequence[float]
    std: Sequence[float]
    steps: int = 50
    candidates: int = 10
    batch_size: int = 8

    def __call__(
        self,
        images: NDArray[np.float32],
        y: Ints,
        report: Report = silent,
    ) -> Floats:
        """Return attacked copies of the images.

        Parameters
        ----------
        images : array of shape (n, C, H, W), float32
            From 0 to 1.
        y : array of shape (n,)
            The true classes. An image that is already misclassified is returned unchanged.
        report : callable
            Called after each batch with the share of the images that is done.

        Returns
        -------
        array of shape (n, C, H, W), float32
            From 0 to 1; `images` are not modified. The attack is deterministic.
        """
        images = _as_unit_images(images)
        attack, model = self._foolbox()
        parts = []
        with _fixed_weights(self.network):
            for start in range(0, len(images), self.batch_size):
                part = slice(start, start + self.batch_size)
                parts.append(_attacked(attack, model, images[part], y[part]))
                report(min(start + self.batch_size, len(images)) / len(images))
        return np.concatenate(parts)

    def _foolbox(self) -> tuple[Any, Any]:
        with needs("experiments"):
            import foolbox
        preprocessing = {"mean": list(self.mean), "std": list(self.std), "axis": -3}
        model = foolbox.PyTorchModel(
            self.network, bounds=(0, 1), device=_device(self.network), preprocessing=preprocessing
        )
        attack = foolbox.attacks.L2DeepFoolAttack(steps=self.steps, candidates=self.candidates)
        return attack, model


@contextmanager
def _fixed_weights(network: Any) -> Iterator[None]:
    """Take gradients of the images alone: those of the weights, which nobody reads, cost a third of the attack."""
    learned = [weight for weight in network.parameters() if weight.requires_grad]
    for weight in learned:
        weight.requires_grad_(False)
    try:
        yield
    finally:
        for weight in learned:
            weight.requires_grad_(True)


def _attacked(attack: Any, model: Any, images: NDArray[np.float32], y: Ints) -> Floats:
    import torch

    batch = torch.tensor(images, device=model.device)
    moved: Floats = attack.run(model, batch, torch.tensor(y, device=model.device)).cpu().numpy()
    return moved


def _device(network: Any) -> Any:
    import torch

    first = next(network.parameters(), None)
    return torch.device("cpu") if first is None else first.device


def _as_unit_images(images: NDArray[np.float32]) -> NDArray[np.float32]:
    images = np.asarray(images)
    if images.ndim != 4 or images.dtype.kind != "f":
        raise InvalidInputError(
            f"images must be floats of shape (n, C, H, W); got dtype {images.dtype} and shape "
            f"{images.shape}. Divide 8-bit images by 255."
        )
    if len(images) == 0 or not (images.min() >= 0 and images.max() <= 1):
        raise InvalidInputError(
            "images must hold at least one image, from 0 to 1 and not yet normalised. Divide 8-bit images by "
            "255 and give mean and std to DeepFool."
        )
    return images.astype(np.float32, copy=False)
