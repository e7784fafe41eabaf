"""Which rows a calibrator was fitted on, as hashes: on those it looks better than it is, so they promise nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Bools, Floats
from auxcal._core.state import check_learned, numbers
from auxcal.splits import row_hashes

if TYPE_CHECKING:
    from auxcal.predictions import Predictions

MOST = 16_384
"""Hashes that are kept, the lowest ones: of a larger fit, so many rows are known again."""
REPEATED = 0.02
"""The share of rows with a copy in the fit up to which rows are known again: else new rows equal old ones by chance."""


class FitRows(NamedTuple):
    """Hashes of the rows of a fit, in ascending order.

    Examples
    --------
    >>> import auxcal
    >>> logits, y = [[2.0, 0.0], [0.0, 1.0], [3.0, 0.5]] * 2, [0, 1, 1] * 2
    >>> auxcal.PlattScaling().fit(logits[:3], y[:3]).share_in_fit([[2.0, 0.0], [1.0, 4.0]])
    0.5
    >>> auxcal.PlattScaling().fit(logits, y).share_in_fit([[2.0, 0.0], [1.0, 4.0]]) is None
    True
    """

    hashes: NDArray[np.uint32]

    def contain(self, logits: Floats, features: Floats | None) -> Bools:
        """Return which rows were in the fit."""
        return np.isin(_hashes(logits, features), self.hashes)

    def joined(self, other: FitRows | None) -> FitRows:
        """Return the rows of both."""
        return self if other is None else FitRows(np.union1d(self.hashes, other.hashes)[:MOST])

    def check(self) -> None:
        """Reject what no fit leaves."""
        check_learned({"hashes": numbers("n", least=0, most=2**32 - 1, rises=True)}, self._asdict(), {})
        if self.hashes.dtype != np.uint32 or not 0 < len(self.hashes) <= MOST:
            raise ValueError(f"hashes must be up to {MOST} unsigned integers of 32 bits")


def fit_rows_of(data: Predictions) -> FitRows | None:
    """Return the rows of a fit; None where so many repeat that equal rows are not the same ones."""
    found = np.unique(_hashes(data.logits, data.features))
    return FitRows(found[:MOST]) if len(found) >= (1 - REPEATED) * len(data) else None


def _hashes(logits: Floats, features: Floats | None) -> NDArray[np.uint32]:
    """Return the upper half of the hash of each row."""
    return (row_hashes(logits, features) >> np.uint64(32)).astype(np.uint32)
