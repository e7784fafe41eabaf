"""What is kept of rows whose labels may come late: the confidence and the prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import Floats, Ints, to_numpy
from auxcal._core.errors import InvalidInputError

_LABELLED = -2  # in place of the prediction, once a row's label has come


class KeptRows:
    """The last rows of a stream, each of which waits for its label.

    Parameters
    ----------
    most : int
        How many are kept.
    """

    def __init__(self, most: int) -> None:
        self._confidence = np.zeros(most, dtype=np.float32)
        self._prediction = np.full(most, _LABELLED, dtype=np.int32)
        self.n_rows = 0

    def add(self, confidence: Floats, prediction: Ints) -> Ints:
        """Keep rows, forget the oldest for them, and return their numbers."""
        rows = self.n_rows + np.arange(len(confidence))
        last = slice(max(0, len(rows) - len(self._confidence)), None)
        place = rows[last] % max(len(self._confidence), 1)
        self._confidence[place], self._prediction[place] = confidence[last], prediction[last]
        self.n_rows += len(rows)
        return rows

    def find(self, rows: ArrayLike) -> Ints:
        """Check the numbers of rows that still wait for their labels, and return them."""
        found = to_numpy(rows, "rows")
        if found.ndim != 1 or (len(found) and not np.issubdtype(found.dtype, np.integer)):
            raise InvalidInputError(
                f"rows must be numbers of rows, as update returned them; got shape {found.shape} and dtype "
                f"{found.dtype}. Give some of those."
            )
        found = found.astype(np.intp)
        most = len(self._confidence)
        unseen, gone = (found < 0) | (found >= self.n_rows), found < self.n_rows - most
        if unseen.any():
            raise InvalidInputError(
                f"rows must be numbers of the {self.n_rows:,} rows seen, counted from 0; got {found[unseen][0]}. Give "
                f"what update returned."
            )
        if gone.any():
            raise InvalidInputError(
                f"rows must be among the last {most:,} of the {self.n_rows:,} rows seen; got row {found[gone][0]}. "
                f"Keep more of them with Monitor(calibrator, keep=...)."
            )
        _, first, group = np.unique(found, return_index=True, return_inverse=True)
        again = (first[group] != np.arange(len(found))) | (self._prediction[found % max(most, 1)] == _LABELLED)
        if again.any():
            raise InvalidInputError(
                f"a row has one label; got another for row {found[again][0]}. Give each of them once."
            )
        return found

    def take(self, rows: Ints) -> tuple[Floats, Ints]:
        """Return the confidence and the prediction of rows, which no longer wait."""
        place = rows % max(len(self._confidence), 1)
        found = self._confidence[place], self._prediction[place]
        self.drop(rows)
        return found

    def drop(self, rows: Ints) -> None:
        """Wait no longer for the labels of rows."""
        if len(self._prediction):
            self._prediction[rows[rows >= self.n_rows - len(self._prediction)] % len(self._prediction)] = _LABELLED

    def state(self) -> dict[str, Any]:
        """Return what changes from row to row."""
        return {"confidence": self._confidence, "prediction": self._prediction, "n_rows": self.n_rows}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where another one was."""
        self._confidence, self._prediction = state["confidence"].copy(), state["prediction"].copy()
        self.n_rows = state["n_rows"]
