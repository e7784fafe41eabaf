"""The rows of a reference by stratum, and new rows as the reference's calibrator sees them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Floats, Ints
from auxcal._core.equal_rows import EqualRows, are_copies
from auxcal._core.float_errors import ignore_float_errors
from auxcal._core.threads import cached_property
from auxcal.calibrators import Calibrator
from auxcal.reference import Reference, drawn_by_weight, read_logits, stratum_of
from auxcal.splits import row_hashes

MOST_ROWS = 20_000
"""Of new rows so many are looked at, drawn at random: more would hardly say more than the reference can answer."""

_LEAST = 10  # rows of a stratum; fewer say too little of what it looks like
_TINY = 1e-6


class Seen(NamedTuple):
    """New rows: how likely each is of each stratum, what is read from its logits, its prediction and its hash."""

    strata: Floats
    readings: Floats
    prediction: Ints
    hashes: NDArray[np.uint64]

    def take(self, rows: Ints) -> Seen:
        """Return some of the rows."""
        return Seen(self.strata[rows], self.readings[rows], self.prediction[rows], self.hashes[rows])


@ignore_float_errors
def seen_by(calibrator: Calibrator, logits: Floats, features: Floats | None) -> Seen:
    """Return rows that are checked already as the calibrator sees them, rounded as those of the reference are."""
    strata = calibrator.strata(logits, features).astype(np.float16)
    return Seen(strata, read_logits(logits), logits.argmax(axis=1), row_hashes(logits, features))


def without_copies(reference: Reference, seen: Seen) -> tuple[Reference, Seen]:
    """Return the rows of a reference and new rows, where copies of a row count once."""
    if reference.hashes is None:
        return reference, seen
    return (
        reference.take(counted_once(reference.hashes, seen.hashes)),
        seen.take(counted_once(seen.hashes, reference.hashes)),
    )


def each_once(reference: Reference) -> Reference:
    """Return a reference in which copies of a row count once, before it is known which rows will come.

    Where every row was copied as often, one of each is left. Other copies have one label: if equal rows have several,
    the classifier has few values to say, and each row is a draw.
    """
    if reference.hashes is None:
        return reference
    equal = EqualRows.of(reference.hashes, reference.y)
    rows = np.flatnonzero(equal.rank() % equal.times == 0)
    hashes = reference.hashes[rows]
    if len(equal.counts) == len(np.unique(hashes)):
        rows = rows[counted_once(hashes, hashes[:0])]
    return reference.take(rows)


def counted_once(hashes: NDArray[np.uint64], elsewhere: NDArray[np.uint64]) -> Ints:
    """Return rows that are no copies of each other, and represent all.

    Where a classifier has few values to say, rows are equal by themselves, and each is a draw. Then the same values are
    found elsewhere too, or repeat very often. Else equal rows are copies. Where they are not equally many of each row,
    rows are drawn by how many, so that the others don't count more than they did.
    """
    values, at, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    copied = (counts > 1) & ~np.isin(values, elsewhere)
    if not are_copies(counts[copied]):
        return np.arange(len(hashes))
    first = np.zeros(len(hashes), dtype=bool)
    first[np.unique(hashes, return_index=True)[1]] = True
    rows = np.flatnonzero(first | ~copied[at])
    weight = np.where(copied[at], counts[at], 1)[rows]
    return rows[drawn_by_weight(len(rows), weight.astype(np.float64), len(rows))]


@dataclass(frozen=True)
class Known:
    """The rows of a reference, whose strata are known; strata of hardly any rows count as one."""

    reference: Reference

    @cached_property
    def stratum_counts(self) -> Ints:
        """How many rows there are of each stratum."""
        return np.bincount(stratum_of(self.reference), minlength=self.reference.strata.shape[1])

    @cached_property
    def least(self) -> int:
        """How many rows a stratum must have to be a group of its own."""
        # A class that has ten rows only by chance would seem to lose some: where most have fewer, it must have many.
        return _LEAST if np.median(self.stratum_counts) >= _LEAST else 2 * _LEAST

    @cached_property
    def group(self) -> Ints:
        """The group of strata that each stratum belongs to; most are alone in theirs, the small ones are the first."""
        counts = self.stratum_counts
        order = np.argsort(counts, kind="stable")
        small = max(int(np.sum(counts < self.least)), 1)
        while np.sum(counts[order[:small]]) < _LEAST and small < len(order):
            small += 1
        group = np.zeros(len(counts), dtype=np.intp)
        group[np.sort(order[small:])] = 1 + np.arange(len(order) - small)
        return group

    @cached_property
    def at(self) -> Ints:
        """The group of each row."""
        return self.group[stratum_of(self.reference)]

    @cached_property
    def counts(self) -> Ints:
        """How many rows there are of each group."""
        return np.bincount(self.at, minlength=self.group.max() + 1)

    @cached_property
    def shares(self) -> Floats:
        """The share of each group in the rows."""
        return self.counts / self.counts.sum()

    @cached_property
    def strata(self) -> Floats:
        """How likely each row is of each group, as the calibrator has it."""
        return self.grouped(self.reference.strata)

    @property
    def by_class(self) -> bool:
        """Whether the strata are the classes and none."""
        return self.reference.strata.shape[1] == self.reference.n_classes + 1

    @property
    def tells_none(self) -> bool:
        """Whether one of the strata is none of the classes."""
        return self.reference.strata.shape[1] > 2

    @property
    def none_is_alone(self) -> bool:
        """Whether none of the classes has a share of its own in the mix."""
        return self.tells_none and bool(np.sum(self.group == self.group[-1]) == 1)

    def names(self, class_names: Sequence[str] | None) -> list[str]:
        """Return what each group is called."""
        strata = ["right predictions", "wrong predictions", "no class"]
        if self.by_class:
            strata = [*(class_names or unnamed(self.reference.n_classes)), "no class"]
        members = [[name for name, group in zip(strata, self.group, strict=False) if group == j] for j in self._groups]
        return [each[0] if len(each) == 1 else f"{len(each)} rare classes" for each in members]

    @property
    def _groups(self) -> range:
        return range(len(self.counts))

    def mix(self, shares: Floats) -> Floats:
        """Return the shares of the groups, given those of the strata; none is 0."""
        sums = np.maximum(np.bincount(self.group, shares), _TINY)
        return sums / sums.sum()

    def grouped(self, strata: Floats) -> Floats:
        """Return how likely rows are of each group; nothing is impossible."""
        sums = np.stack([strata[:, self.group == j].sum(axis=1) for j in self._groups], axis=1)
        sums = np.maximum(sums.astype(np.float64), _TINY)
        return sums / sums.sum(axis=1, keepdims=True)

    def means(self, values: Floats) -> Floats:
        """Return the mean of what is known of each row over each group, of shape (groups, d)."""
        sums = np.zeros((len(self.counts), values.shape[1]))
        np.add.at(sums, self.at, values)
        return sums / self.counts[:, None]

    def confidence(self, strata: Floats, prediction: Ints, shares: Floats) -> Floats:
        """Return how likely each prediction is right if the groups have other shares."""
        weighed = strata.astype(np.float64) * (shares / self.shares)[self.group]
        at = prediction if self.by_class else np.zeros_like(prediction)
        right = weighed[np.arange(len(at)), at]
        return right / np.maximum(weighed.sum(axis=1), _TINY)


def unnamed(n_classes: int) -> list[str]:
    """Return what classes are called that have no names."""
    return [f"class {index}" for index in range(n_classes)]
