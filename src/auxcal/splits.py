"""Units that stay together in folds and splits: a row with its weight, or a whole group of rows."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Floats, Groups, Ints, Weight
from auxcal._core.errors import InvalidInputError
from auxcal._core.threads import cached_property


@dataclass(frozen=True, eq=False)
class Units:
    """Units of rows, and the weight of every label in each of them; a row of weight 2 is like a group of two such rows.

    `of_row` is the unit of every row. The entries, in the order of the units, are the weight of each label in each
    unit.
    """

    of_row: Ints
    owner: Ints
    label: Ints
    weight: Weight

    @classmethod
    def of(cls, order: Ints, labels: Ints, sample_weight: Weight | None, groups: Groups | None) -> Units:
        """Return the units of rows, numbered by first occurrence in the given order."""
        weight = np.ones(len(order)) if sample_weight is None else sample_weight
        of_row = np.empty(len(order), dtype=np.intp)
        if groups is None:
            of_row[order] = np.arange(len(order))
            return cls(of_row, np.arange(len(order)), labels[order], weight[order])
        of_row[order] = _by_first(groups[order])
        n_labels = int(labels.max()) + 1
        entries, inverse = np.unique(of_row * n_labels + labels, return_inverse=True)
        return cls(of_row, entries // n_labels, entries % n_labels, np.bincount(inverse, weight))

    @cached_property
    def total(self) -> Weight:
        """The weight of each unit."""
        return np.bincount(self.owner, self.weight)

    @property
    def alike(self) -> bool:
        """Whether all units have the same weight and one label each, which allows a faster split."""
        return len(self.owner) == len(self.total) and bool((self.weight == self.weight[0]).all())

    def in_turn(self, rng: np.random.Generator) -> Ints:
        """Return the units sorted by their main label, the heaviest first, ties in random order."""
        entries = np.lexsort((-self.weight, self.owner))
        main = self.label[entries[np.searchsorted(self.owner, np.arange(len(self.total)))]]
        drawn = rng.permutation(len(self.total))
        return drawn[np.lexsort((-self.total[drawn], main[drawn]))]

    def assign_folds(self, n_parts: int, rng: np.random.Generator) -> Ints:
        """Return a part for each row: each unit in turn goes to the part that has least of its labels."""
        part = np.empty(len(self.total), dtype=np.intp)
        if self.alike:
            part[self.in_turn(rng)] = np.arange(len(part)) % n_parts
            return np.asarray(part[self.of_row])
        begin = np.searchsorted(self.owner, np.arange(len(part) + 1)).tolist()
        share = (self.weight / np.bincount(self.label, self.weight)[self.label]).tolist()
        label, weight, total = self.label.tolist(), self.weight.tolist(), self.total.tolist()
        held = [[0.0] * n_parts for _ in range(max(label) + 1)]
        size = [0.0] * n_parts
        for unit in self.in_turn(rng).tolist():
            entries = range(begin[unit], begin[unit + 1])
            crowd = [sum(share[entry] * held[label[entry]][fold] for entry in entries) for fold in range(n_parts)]
            chosen = part[unit] = min(range(n_parts), key=lambda fold: (crowd[fold], size[fold]))
            size[chosen] += total[unit]
            for entry in entries:
                held[label[entry]][chosen] += weight[entry]
        return np.asarray(part[self.of_row])

    def set_aside(self, share: float, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Return the rows that stay, and those set aside: each unit in turn that brings these closer to their share."""
        n = len(self.of_row)
        in_share = isinstance(share, Real) and 0 < share < 1
        if not in_share or not 1 <= np.floor(n * share + 0.5) < n:
            raise InvalidInputError(
                f"share must be a number in (0, 1) that leaves at least one of the {n} rows on both sides; got "
                f"{share!r}. Use 0.2."
            )
        order, total = self.in_turn(rng), self.total
        aside = np.zeros(len(total), dtype=bool)
        if self.alike:
            # Systematic sampling along the sorted labels: the share of every label is exact to within one unit.
            steps = np.floor(np.arange(len(total) + 1) * share + 0.5)
            aside[order] = np.diff(steps) > 0
        else:
            passed = held = 0.0
            for unit in order.tolist():
                passed += total[unit]
                if held + total[unit] / 2 <= share * passed:
                    aside[unit] = True
                    held += total[unit]
        return _checked(np.flatnonzero(~aside[self.of_row]), np.flatnonzero(aside[self.of_row]))

    def drawn(self, sizes: tuple[int, ...], rng: np.random.Generator) -> tuple[Ints, ...]:
        """Return the rows of parts of about the given sizes, units in random order; the middle of a unit decides."""
        order = rng.permutation(len(self.total))
        count = np.bincount(self.of_row)
        part, place = np.empty((2, len(order)), dtype=np.intp)
        part[order] = np.searchsorted(np.cumsum(sizes), np.cumsum(count[order]) - count[order] / 2, side="right")
        place[order] = np.arange(len(order))
        rows = np.argsort(place[self.of_row], kind="stable")
        return _checked(*(rows[part[self.of_row[rows]] == index] for index in range(len(sizes))))


def ordered_rows(logits: Floats, y: Ints, w: Ints, features: Floats | None) -> Ints:
    """Return the rows sorted by their contents: by label, by the largest and the smallest logit, by the rest.

    The rest is one number that different rows almost never share. Equal rows may be in any order.
    """
    rest = _mark(logits) if features is None else _mark(logits) + _mark(features)
    return np.lexsort((rest, logits.min(axis=1), logits.max(axis=1), y, w))


def row_hashes(logits: Floats, features: Floats | None) -> NDArray[np.uint64]:
    """Return a hash of each row in float32: the sum of its bits times odd numbers, modulo 2**64."""
    total = np.zeros(len(logits), np.uint64)
    before = 0
    for part in (logits,) if features is None else (logits, features):
        bits = (np.ascontiguousarray(part, dtype=np.float32) + np.float32(0)).view(np.uint32)  # -0 is 0
        total += bits.astype(np.uint64) @ _factors(before, part.shape[1])
        before += part.shape[1]
    return total


def _factors(start: int, n: int) -> NDArray[np.uint64]:
    """Return the numbers that columns are multiplied by (splitmix64), the same in every version."""
    mixed = np.arange(start + 1, start + n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return (mixed ^ (mixed >> np.uint64(31))) | np.uint64(1)


def _mark(x: Floats) -> Floats:
    """Return a weighted sum of each row, with weights that are no simple fractions of each other; a gap counts as 0."""
    x = np.nan_to_num(x) if np.isnan(x).any() else x
    return np.asarray(np.einsum("nk,k->n", x, np.sqrt(np.arange(2, x.shape[1] + 2) + 1 / np.pi)))


def _checked(*parts: Ints) -> tuple[Any, ...]:
    if not all(map(len, parts)):
        raise InvalidInputError(
            f"every part must get at least one row, and rows of one group stay together; got parts of "
            f"{', '.join(str(len(part)) for part in parts)} rows. Ask for larger parts, or give more groups."
        )
    return parts


def _by_first(groups: Groups) -> Ints:
    """Number groups by first occurrence."""
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[inverse])
