"""Copies of rows in a fit: a method that holds rows out would find the answer in the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from auxcal._core.arrays import Bools, Ints
from auxcal._core.equal_rows import EqualRows, are_copies, in_equal_numbers
from auxcal.splits import row_hashes

if TYPE_CHECKING:
    from auxcal.predictions import Predictions

_FEW = 0.02  # the share of the rows that may be copies: so few make no difference
_FEWEST = 10  # rows that are left; fewer are not worth a fit
_WRONG = 7  # of two draws of one value of which one is wrong, both have the same label half of the time at most


def each_once(data: Predictions) -> tuple[Predictions, Ints | slice]:
    """Return rows that are no copies of each other, and which of these each row is.

    A row that was copied more often than others counts more than they do. What all are worth then is (Σ c)² / Σ c² rows
    (Kish), with c copies of each: their number, if all c are equal. Who gives groups has said what belongs together,
    and that each row counts.
    """
    unit = None if data.groups is not None else _copied(data)
    if unit is None:
        return data, slice(None)
    _, first, at, counts = np.unique(unit, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    place, counts = np.argsort(order)[at], counts[order]
    left = data.take(first[order])
    if data.sample_weight is None and (counts == counts[0]).all():
        return left, place
    weight = np.bincount(place, data.sample_weight)
    return left._with(sample_weight=weight * (len(data) / (counts @ counts))), place


def _copied(data: Predictions) -> Ints | None:
    """Return the same number for all copies of a row, or None where hardly any row was copied.

    Where a classifier has few values to say, rows are equal by themselves, and each is a draw. If every row was copied
    as often, that is the greatest common divisor of how many are equal. Else copies are known by having one label.
    """
    hashes = row_hashes(data.logits, data.features)
    n_values = len(np.unique(hashes))
    if not _FEWEST <= n_values < (1 - _FEW) * len(data):
        return None
    equal = EqualRows.of(hashes, data.y)
    times = equal.times
    if len(equal.counts) == n_values and _show_copies(equal.counts // times, data.correct[equal.first]):
        return equal.of_row
    return None if times == 1 else equal.of_row * len(data) + equal.rank() // times


def _show_copies(counts: Ints, correct: Bools) -> bool:
    """Return whether rows that stand there so often, always with one label, were copied.

    Draws vary in how many there are of each value, and not all that are equal are right, or all wrong.
    """
    several = counts > 1
    if not are_copies(counts[several]):
        return False
    return bool(np.sum(~correct[several]) >= _WRONG) or in_equal_numbers(counts, int(counts.max()))
