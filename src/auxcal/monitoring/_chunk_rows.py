"""What is kept of the rows of a chunk until they are watched: 14 bytes each, however many classes there are."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Bools, Floats
from auxcal.monitoring._row_bets import Found
from auxcal.reference import READINGS

Rows: TypeAlias = NDArray[np.void]

NO_LABEL = -1
"""In place of whether the prediction is right, where a row has no label."""

_ROW = np.dtype([("cells", np.uint8, len(READINGS) + 1), ("confidence", np.float32), ("right", np.int8)])
_FIRST = 256  # rows that there is room for where it is not known how many will come


def kept_of(cells: Found, confidence: Floats, correct: Bools, labelled: Bools) -> Rows:
    """Return what is kept of some rows: their cells, the confidence, and whether the prediction is right."""
    rows = np.empty(len(cells), _ROW)
    rows["cells"], rows["confidence"] = cells, confidence
    rows["right"] = np.where(labelled, correct, NO_LABEL)
    return rows


class ChunkRows:
    """The rows of a chunk that have come so far.

    Parameters
    ----------
    n_rows : int or None
        How many will come, if that is known.
    """

    def __init__(self, n_rows: int | None) -> None:
        self._room = np.empty(_FIRST if n_rows is None else n_rows, _ROW)
        self._n_rows = 0

    def __len__(self) -> int:
        return self._n_rows

    def add(self, rows: Rows) -> None:
        """Keep more rows."""
        end = self._n_rows + len(rows)
        if end > len(self._room):
            room = np.empty(max(end, 2 * len(self._room)), _ROW)
            room[: self._n_rows] = self.rows
            self._room = room
        self._room[self._n_rows : end] = rows
        self._n_rows = end

    @property
    def rows(self) -> Rows:
        """All of them."""
        return self._room[: self._n_rows]
