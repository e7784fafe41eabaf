"""Where a new row lies among the rows of the reference: the one law that is known without knowing the data."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Floats, Ints

N_CELLS = 128


class Cells(NamedTuple):
    r"""One reading, cut into cells at fixed ranks of the reference.

    The n values of the reference leave n + 1 slots. While new rows are drawn as those of the reference were, the slot
    of the first is equally likely any of them, and the t-th lies in cell j with probability

    .. math:: P_t(j) = \frac{m_j + c_j}{n + t},

    where :math:`m_j` is the number of the cell's slots, and :math:`c_j` how many of the t - 1 rows before lay there:
    Pólya's urn, whatever the distribution is. Chance breaks ties, so this holds for readings with few values too.

    Parameters
    ----------
    values : array
        The distinct values of the reference at the edges of cells.
    edges : array of shape (N_CELLS - 1,)
        The edges, as places among these values.
    slots : array of shape (N_CELLS,)
        How many slots each cell has.
    """

    values: Floats
    edges: NDArray[np.float64]
    slots: Ints

    @classmethod
    def of(cls, reading: Floats, chance: NDArray[np.float64]) -> Cells:
        """Cut at the ranks of a reading of the reference; chance, from 0 to 1, breaks ties."""
        below = np.arange(1, N_CELLS) * (len(reading) + 1) // N_CELLS  # slots below each edge
        order = np.lexsort((chance, reading))[np.maximum(below - 1, 0)]
        values, places = np.unique(reading[order], return_inverse=True)
        edges = np.where(below > 0, 2 * places + 1 + chance[order], -1)
        return cls(values, edges, np.diff(below, prepend=0, append=len(reading) + 1))

    def find(self, reading: Floats, chance: NDArray[np.float64]) -> Ints:
        """Return the cell of each new row."""
        place = np.searchsorted(self.values, reading)
        tied = self.values[np.minimum(place, len(self.values) - 1)] == reading
        return np.searchsorted(self.edges, 2 * place + np.where(tied, 1 + chance, 0))
