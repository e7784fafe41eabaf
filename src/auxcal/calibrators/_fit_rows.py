"""Which rows a calibrator was fitted on, as hashes: on those it looks better than it is, so they promise nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auxcal._arrays import Bools, Floats
from auxcal.calibrators._learned import check_learned, numbers

if TYPE_CHECKING:
    from auxcal.predictions import Predictions

MOST = 16_384
"""Hashes that are kept, the lowest ones: of a larger fit, so many rows are known again."""
REPEATED = 0.02
"""The share of rows with a copy in the fit up to which rows are known again: else new rows are equal to old by chance."""


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
    """Return a hash of each row in float32: the sum of its bits times odd numbers, modulo 2**64, the upper half of it."""
    total = np.zeros(len(logits), np.uint64)
    before = 0
    for part in (logits,) if features is None else (logits, features):
        bits = (np.ascontiguousarray(part, dtype=np.float32) + np.float32(0)).view(np.uint32)  # -0 is 0
        total += bits.astype(np.uint64) @ _factors(before, part.shape[1])
        before += part.shape[1]
    return (total >> np.uint64(32)).astype(np.uint32)


def _factors(start: int, n: int) -> NDArray[np.uint64]:
    """Return the numbers that columns are multiplied by (splitmix64), the same in every version."""
    mixed = np.arange(start + 1, start + n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return (mixed ^ (mixed >> np.uint64(31))) | np.uint64(1)
