"""Labelled rows as draws, evenly or with known probabilities, and the tests that each kind allows."""

from __future__ import annotations

from numbers import Real
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import Bools, Floats, Groups, Ints, Weight
from auxcal._core.equal_rows import in_equal_numbers
from auxcal._core.errors import InvalidInputError
from auxcal.metrics.sample import as_sample
from auxcal.thresholds._promises import (
    Start,
    rarities,
    starts,
    sure_rows,
    upper_risk,
    weighted_rarities,
    weighted_starts,
)

_ROUNDING = 1e-6  # of weights that were written as text, or in float32
MOST_COPIES = 20
"""Of one row; a number that more rows have is a tie that a method made."""


def singles(confidence: Floats) -> Floats:
    """Return confidences in the precision in which they are ties."""
    return confidence.astype(np.float32, copy=False)


class WeightedSample(NamedTuple):
    """Rows that were drawn evenly, or, where they have weights, with probabilities that these make up for.

    `max_weight` is the largest weight that a row could have had. Rows of one group are one draw.
    """

    confidence: Floats
    correct: Bools
    sample_weight: Weight | None = None
    max_weight: float | None = None
    groups: Groups | None = None

    @property
    def weights(self) -> Floats:
        """The weight of each row."""
        return np.ones(len(self.correct)) if self.sample_weight is None else self.sample_weight

    def take(self, rows: Bools | Ints) -> WeightedSample:
        """Return some of the rows."""
        weight, groups = (None if column is None else column[rows] for column in (self.sample_weight, self.groups))
        return WeightedSample(self.confidence[rows], self.correct[rows], weight, self.max_weight, groups)

    def independent(self) -> WeightedSample:
        """Return rows that are one draw each: of every group one at most, so that each row is as likely to be it.

        One row of each group is drawn, and it stays with a probability in proportion to the size of its group: else
        the rows of large groups would count less than there are of them.
        """
        if self.groups is None:
            return self
        single = singles(self.confidence)
        order = np.lexsort((self.correct, single, self.groups))
        _, first, size = np.unique(self.groups[order], return_index=True, return_counts=True)
        # Numbers that are the same for other data too would favour the same places in all of them.
        rng = np.random.default_rng([crc32(column.tobytes()) for column in (single[order], self.correct[order], size)])
        one_of_each = order[first + (rng.random(len(size)) * size).astype(np.intp)]
        by_size = np.lexsort((rng.random(len(size)), size))
        steps = np.floor(np.cumsum(size[by_size]) / size.max() + rng.random())
        return self.take(one_of_each[by_size[np.diff(steps, prepend=0) > 0]])._replace(groups=None)

    def ranked(self, *, shuffle_ties: bool = False) -> WeightedSample:
        """Return the rows with a weight in float32, the most confident first; the largest weight for all is none.

        Among equal confidences the errors come first, or, where ties are shuffled, rows in a random order: one that
        does not depend on the order of the input.
        """
        single = singles(self.confidence) + np.float32(0)  # −0 becomes 0
        key = self.correct - 2 * single.view(np.int32).astype(np.int64)  # floats from 0 up sort like their bits
        order = np.argsort(key) if self.sample_weight is None else np.lexsort((self.sample_weight, key))
        if shuffle_ties:
            numbers, ordered = np.random.default_rng(0).random(len(order)), single[order]
            same = np.append(ordered[1:] == ordered[:-1], False)
            tied = np.flatnonzero(same | np.roll(same, 1))
            order[tied] = order[tied[np.lexsort((numbers[tied], -ordered[tied]))]]
        if self.sample_weight is not None:
            order = order[self.sample_weight[order] > 0]
        rows = self._replace(confidence=single).take(order)
        even = self.max_weight is None or bool((rows.weights >= self.max_weight * (1 - _ROUNDING)).all())
        return rows._replace(sample_weight=None) if even else rows

    @property
    def _weight_shares(self) -> Weight:
        """The weights as shares of the largest that a row could have had."""
        return np.minimum(self.weights / (self.max_weight or self.weights.max()), 1.0)

    def tests(self, risk: float, delta: float) -> tuple[list[Start], Floats]:
        """Return where the runs over ranked rows start, and how rare so few errors would be at each rank."""
        n, sure = len(self.correct), sure_rows(self.confidence, risk)
        if self.sample_weight is None:
            return starts(n, risk, delta, sure=sure), rarities(np.cumsum(~self.correct, dtype=np.intp), risk)
        return weighted_starts(n, risk, delta, sure=sure), weighted_rarities(~self.correct, self._weight_shares, risk)

    def risk_upper(self, ranks: Ints, level: float) -> float:
        """Return the largest of the risks that the first so many ranked rows show not to be exceeded."""
        if self.sample_weight is None:
            errors = np.cumsum(~self.correct, dtype=np.intp)
            return float(np.max(upper_bounds(errors[ranks - 1], ranks, level)))
        wrong, weight = ~self.correct, self._weight_shares
        return max(upper_risk(wrong[:rank], weight[:rank], 1 - level) for rank in ranks.tolist())


def as_weighted_sample(
    confidence: ArrayLike,
    correct: ArrayLike,
    sample_weight: ArrayLike | None,
    max_weight: float | None,
    groups: ArrayLike | None,
) -> WeightedSample:
    """Check rows, and return them as draws."""
    rows = as_sample(confidence, correct, sample_weight, groups)
    if max_weight is not None:
        _check_largest(rows.sample_weight, max_weight)
    return WeightedSample(rows.confidence, rows.correct, rows.sample_weight, max_weight, rows.groups)


def check_draws(rows: WeightedSample) -> None:
    """Reject rows that can't promise anything, however many they are."""
    if rows.sample_weight is not None and rows.groups is not None:
        raise InvalidInputError(
            "a promise takes sample_weight or groups, not both: with which probability a group was drawn is not known. "
            "Leave one of them out, or use promise=False (--empirical)."
        )
    if rows.sample_weight is not None and rows.max_weight is None:
        raise InvalidInputError(
            "weighted rows promise nothing unless the largest weight that a row could have had is known: rows that "
            "are drawn rarely weigh much, and may be missing here. Give it as max_weight (--max-weight); picks have it "
            "as picks.max_weight, and what auxcal pick writes has a column max_weight."
        )


def check_no_copies(ordered: Floats) -> None:
    """Reject rows that look like copies of each other, by their sorted confidences; such rows need groups."""
    if look_like_copies(ordered):
        n, different = len(ordered), len(_sizes_of_ties(ordered))
        raise InvalidInputError(
            f"these {n:,} rows have {different:,} different confidences, and as many rows share one as copies of a row "
            f"do. Copies are one draw. Say which rows belong together with groups (--group), where rows that were "
            f"drawn apart have a group each; or leave the copies out."
        )


def _check_largest(weight: Weight | None, max_weight: float) -> None:
    if weight is None:
        raise InvalidInputError("max_weight is that of sample_weight. Give the weights too (--weight).")
    if not isinstance(max_weight, Real) or not float(weight.max()) <= max_weight * (1 + _ROUNDING) < np.inf:
        raise InvalidInputError(
            f"max_weight must be the largest weight that a row could have had, on the scale of the weights, whose "
            f"largest is {weight.max():.6g}; got {max_weight!r}. If you scaled the weights, scale it with them."
        )


def upper_bounds(errors: Ints, accepted: Ints, level: float) -> Floats:
    """Return the upper bounds of Clopper and Pearson for shares."""
    from scipy.special import betaincinv

    right = np.where(errors == accepted, 1, accepted - errors)
    return np.where(errors == accepted, 1.0, betaincinv(errors + 1, right, level))


def look_like_copies(ordered: Floats) -> bool:
    """Whether rows with the same confidence, in sorted order, come in such numbers as copies of a row do.

    Equal confidences alone mean little: a method that bins gives them to rows that were drawn apart. But draws that
    fall on the same number vary in how many fall there; see `auxcal._core.equal_rows`.
    """
    return in_equal_numbers(_sizes_of_ties(ordered), MOST_COPIES)


def _sizes_of_ties(ordered: Floats) -> Ints:
    """Return how many rows have each of sorted confidences."""
    ends = np.flatnonzero(ordered[1:] != ordered[:-1])
    return np.diff(ends, prepend=-1, append=len(ordered) - 1)
