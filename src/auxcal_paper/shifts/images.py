"""Rotated, shifted, zoomed and flipped images, with the semantics of Keras' ImageDataGenerator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Floats
from auxcal._core.errors import InvalidInputError
from auxcal._core.extras import needs


@dataclass(frozen=True)
class Augment:
    """Random affine augmentation of every image, with the semantics of Keras' ImageDataGenerator.

    Every image gets its own angle, flip, and shift and zoom factor for each axis, all drawn uniformly. Output pixel p
    samples the input at R(Z(p - c) + s) + c, with centre c, rotation R, zoom Z and shift s. Interpolation is bilinear;
    outside the image, the nearest border pixel is used. The flip comes last. Until pull request 314 of
    keras-preprocessing (2020), Keras rotated about a point one pixel off the centre.

    Parameters
    ----------
    rotation : float
        Angles are drawn from [-rotation, rotation], in degrees.
    shift : float
        Shifts are drawn from [-shift, shift], as a fraction of the height and of the width.
    zoom : float
        A factor for each axis is drawn from [1 - zoom, 1 + zoom].
    flip : bool
        Whether half of the images are mirrored, left to right.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal_paper.shifts import Augment
    >>> images = np.zeros((2, 3, 32, 32), dtype=np.uint8)  # (n, C, H, W)
    >>> Augment(rotation=20, shift=0.25, zoom=0.4, flip=True)(images, 0).shape
    (2, 3, 32, 32)
    """

    rotation: float = 0.0
    shift: float = 0.0
    zoom: float = 0.0
    flip: bool = False

    def __post_init__(self) -> None:
        if not (self.rotation >= 0 and self.shift >= 0 and 0 <= self.zoom < 1):
            raise InvalidInputError(
                f"rotation and shift must be at least 0 and zoom in [0, 1); got {self}. Ranges are "
                f"symmetric: rotation=20 means -20 to 20 degrees, zoom=0.4 a factor of 0.6 to 1.4."
            )

    def __call__(self, images: NDArray[np.generic], rng: np.random.Generator | int) -> Floats:
        """Return augmented copies of the images.

        Parameters
        ----------
        images : array of shape (n, C, H, W)
            On any scale; integers are converted to floats, not rescaled.
        rng : numpy Generator or int
            The only source of randomness.

        Returns
        -------
        array of shape (n, C, H, W), float32
            On the scale of `images`, which are not modified.
        """
        images = np.asarray(images)
        if images.ndim != 4:
            raise InvalidInputError(
                f"images must have shape (n, C, H, W); got shape {images.shape}. Use images[None] for a "
                f"single one, images.transpose(0, 3, 1, 2) where the channels come last."
            )
        rng = np.random.default_rng(rng)
        matrices, flips = self._draw(len(images), images.shape[2:], rng)
        moved = affine(images, matrices)
        moved[flips] = moved[flips][..., ::-1]
        return moved

    def _draw(self, n: int, size: tuple[int, ...], rng: np.random.Generator) -> tuple[Floats, NDArray[np.bool_]]:
        angle = np.deg2rad(rng.uniform(-self.rotation, self.rotation, n))
        shift = rng.uniform(-self.shift, self.shift, (n, 2)) * size
        zoom = rng.uniform(1 - self.zoom, 1 + self.zoom, (n, 2))
        flips = (rng.random(n) < 0.5) & self.flip
        cos, sin = np.cos(angle), np.sin(angle)
        rotate = np.stack([np.stack([cos, -sin], -1), np.stack([sin, cos], -1)], -2)
        return np.concatenate([rotate * zoom[:, None, :], rotate @ shift[:, :, None]], axis=2), flips


def affine(images: NDArray[np.generic], matrices: Floats) -> Floats:
    """Resample every image with its own affine map from output to input pixels, relative to the centre.

    Parameters
    ----------
    images : array of shape (n, C, H, W)
        On any scale.
    matrices : array of shape (n, 2, 3)
        Applied to (row, column, 1), in pixels from the centre of the image.

    Returns
    -------
    array of shape (n, C, H, W), float32
        Bilinear; points outside take the nearest border pixel.
    """
    with needs("torch"):
        import torch
    half = (np.array(images.shape[2:]) - 1) / 2
    half = np.maximum(half, 0.5)  # an axis of one pixel has no extent to scale by
    # grid_sample counts (x, y) from -1 to 1 over the pixel centres; the maps count (row, column) in pixels.
    scaled = matrices * np.append(half, 1.0) / half[:, None]
    theta = torch.from_numpy(scaled[:, ::-1][:, :, [1, 0, 2]].astype(np.float32))
    pixels = torch.from_numpy(np.array(images, dtype=np.float32))
    grid = torch.nn.functional.affine_grid(theta, list(images.shape), align_corners=True)
    sample = torch.nn.functional.grid_sample(pixels, grid, mode="bilinear", padding_mode="border", align_corners=True)
    moved: Floats = sample.numpy()
    return moved


D1 = Augment(rotation=20, shift=0.25, zoom=0.4, flip=True)
"""The paper's D1 for 10 and 100 classes."""

D2 = Augment(rotation=40, shift=0.4, zoom=0.5, flip=True)
"""The paper's D2 for 10 and 100 classes."""

IMAGENET_D1 = Augment(rotation=40, shift=0.5, flip=True)
"""The paper's D1 for the 1000 classes of ImageNet."""
