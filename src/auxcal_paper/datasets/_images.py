"""Labelled images, the form of every image data set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Bools, Ints


@dataclass(frozen=True, eq=False)
class Images:
    """Images and the class of each.

    Parameters
    ----------
    pixels : array of shape (n, 3, H, W), uint8
        Red, green and blue from 0 to 255.
    y : array of shape (n,)
        The class index in the data set.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal_paper.datasets._images import Images
    >>> images = Images(np.full((2, 3, 4, 4), 255, dtype=np.uint8), np.array([1, 0]))
    >>> len(images), float(images.unit().max())
    (2, 1.0)
    """

    pixels: NDArray[np.uint8]
    y: Ints

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: Ints | Bools | slice) -> Images:
        """Return the given images."""
        return Images(self.pixels[rows], self.y[rows])

    def unit(self) -> NDArray[np.float32]:
        """Return the pixels as float32 from 0 to 1."""
        return np.divide(self.pixels, 255, dtype=np.float32)
