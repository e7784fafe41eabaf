"""Curvature for each class: matrices, with which Newton's equation is preconditioned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auxcal._core.arrays import Floats


@dataclass(frozen=True)
class Blocks:
    """A matrix for each class, or one that all share.

    With `own`, the first number of each class is apart from the others, and has a curvature of its own: many classes
    then need one small matrix in the place of one for each.

    Parameters
    ----------
    matrices : array of shape (K or 1, d, d); (1, d - 1, d - 1) with `own`
    own : array of shape (K or 1,), optional

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.calibrators.solvers.blocks import Blocks
    >>> blocks = Blocks(2 * np.eye(2)[None], own=np.array([4.0, 8.0]))
    >>> blocks.inverse() @ np.ones((2, 3))
    array([[0.25 , 0.5  , 0.5  ],
           [0.125, 0.5  , 0.5  ]])
    """

    matrices: Floats
    own: Floats | None = None

    def definite(self) -> Blocks:
        """Add as much as rounding can have taken away, which may have made them indefinite."""
        traces, eye = np.trace(self.matrices, axis1=1, axis2=2), np.eye(self.matrices.shape[1])
        own = None
        if self.own is not None:
            own = self.own + np.finfo(np.float32).eps * (self.own + traces)
            traces = traces + self.own.mean()
        return Blocks(self.matrices + np.finfo(np.float32).eps * traces[:, None, None] * eye, own)

    def plus_diagonal(self, diagonal: Floats) -> Blocks:
        """Add a number for each column of θ."""
        if self.own is None:
            return Blocks(self.matrices + np.diag(diagonal))
        return Blocks(self.matrices + np.diag(diagonal[1:]), self.own + diagonal[0])

    def inverse(self) -> Blocks:
        """Return the inverses."""
        return Blocks(np.linalg.inv(self.matrices), None if self.own is None else 1 / self.own)

    def __add__(self, other: Blocks) -> Blocks:
        """Add another of the same kind."""
        own = None if self.own is None or other.own is None else self.own + other.own
        return Blocks(self.matrices + other.matrices, own)

    def __mul__(self, factor: float) -> Blocks:
        """Multiply all by a number."""
        return Blocks(self.matrices * factor, None if self.own is None else self.own * factor)

    def __truediv__(self, divisor: float) -> Blocks:
        """Divide all by a number."""
        return Blocks(self.matrices / divisor, None if self.own is None else self.own / divisor)

    def __matmul__(self, theta: Floats) -> Floats:
        """Multiply every row of θ by its class' matrix."""
        if self.own is not None:
            return np.column_stack([self.own * theta[:, 0], theta[:, 1:] @ self.matrices[0]])
        if len(self.matrices) == 1:
            return theta @ self.matrices[0]
        return np.asarray(np.matmul(self.matrices, theta[:, :, None])[:, :, 0])
