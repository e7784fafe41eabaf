"""The rows of a sample in the order of their confidence, and grouped by it: what every ranking is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auxcal._arrays import Bools, Floats, Weight

_BLOCK = 1 << 15  # rows whose counts stay in the processor's cache


@dataclass(frozen=True, eq=False)
class Groups:
    """How many rows there are of each distinct confidence, in rising order.

    Parameters
    ----------
    confidence : array of shape (m,)
        The distinct confidences.
    right, wrong : arrays of shape (m,)
        The correct and the wrong predictions that have it, by weight.
    """

    confidence: Floats
    right: NDArray[Any]
    wrong: NDArray[Any]


class Counts(NamedTuple):
    """How many rows there are up to the end of some neighbouring groups, and before the first of them.

    The arrays may be used again for the groups that follow: copy what is to be kept.

    Parameters
    ----------
    start : int
        A row from which on `last` is counted.
    last : array of shape (m,)
        The last row of each group, in rising order of confidence.
    right, wrong : arrays of shape (m + 1,)
        The correct and the wrong predictions up to there, by weight; at first, those before all m groups.
    """

    start: int
    last: NDArray[Any]
    right: NDArray[Any]
    wrong: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Ranked:
    """The rows of a sample in rising order of confidence.

    Parameters
    ----------
    key : array of shape (n,)
        The bits of each confidence as a whole number, and below them one more bit for correctness.
    weight : array of shape (n,) or None
        How often each row counts.
    """

    key: NDArray[Any]
    weight: NDArray[Any] | None

    def confidence(self, rows: NDArray[Any]) -> Floats:
        """Return the confidence of some rows."""
        return np.asarray((self.key[rows] >> 1).view(f"f{self.key.itemsize}"))

    def counts(self) -> Iterator[Counts]:
        """Give the counts of all groups, block by block, so that only the rows themselves take memory."""
        if self.weight is not None:
            last = np.append(np.flatnonzero(_differ(self.key)), len(self.key) - 1)
            every = np.append(0, np.cumsum(self.weight)[last])
            right = np.append(0, np.cumsum(self.weight * (self.key & 1).astype(self.weight.dtype))[last])
            yield Counts(0, last, right, every - right)
            return
        yield from _count_each_once(self.key)


def ranked(confidence: Floats, correct: Bools, weight: Weight | None = None) -> Ranked:
    """Put rows in the order of their confidence, with one sort, or none where they are in order already."""
    if weight is not None and not weight.all():
        counted = np.flatnonzero(weight)
        confidence, correct, weight = confidence[counted], correct[counted], weight[counted]
    key = _key(confidence, correct)
    if not _in_order(confidence):
        if weight is None:
            key.view(confidence.dtype).sort()  # in the same order; NumPy sorts float64 faster than int64
        else:
            order = np.argsort(key)
            key, weight = key[order], weight[order]
    return Ranked(key, weight)


def groups(confidence: Floats, correct: Bools, weight: Weight | None = None) -> Groups:
    """Group rows by their confidence."""
    rows = ranked(confidence, correct, weight)
    found = [(rows.confidence(at.start + at.last), np.diff(at.right), np.diff(at.wrong)) for at in rows.counts()]
    return Groups(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _count_each_once(key: NDArray[Any]) -> Iterator[Counts]:
    """Give the counts of all groups, in arrays that are made once and used for all blocks."""
    bits, ends, position = np.empty(_BLOCK, key.dtype), np.ones(_BLOCK, np.bool_), np.arange(_BLOCK)
    running, right, wrong = np.zeros((3, _BLOCK + 1), dtype=np.intp)
    passed = 0
    for start in range(0, len(key), _BLOCK):
        block, following = key[start : start + _BLOCK], key[start + 1 : start + _BLOCK + 1]
        n, n_followed = len(block), len(following)
        ends[n - 1] = True  # and so it stays for the last row of all, which no row follows
        np.greater(np.bitwise_xor(block[:n_followed], following, out=bits[:n_followed]), 1, out=ends[:n_followed])
        np.cumsum(np.bitwise_and(block, 1, out=bits[:n]), dtype=np.intp, out=running[:n])
        # Where no two confidences are equal, every row is a group, and none has to be looked for.
        last = position[:n] if ends[:n].all() else np.flatnonzero(ends[:n])
        m = len(last)
        np.take(running, last, out=right[1 : m + 1], mode="clip")
        right[1 : m + 1] += passed
        np.subtract(last, right[1 : m + 1], out=wrong[1 : m + 1])
        wrong[1 : m + 1] += start + 1
        yield Counts(start, last, right[: m + 1], wrong[: m + 1])
        right[0], wrong[0] = right[m], wrong[m]
        passed += running[n - 1]


def _key(confidence: Floats, correct: Bools) -> NDArray[Any]:
    """Return whole numbers that are in the order of confidence, with correctness in the lowest bit.

    Floats of at least 0 are ordered as their bits are, and up to 1 they leave two bits free. One sort of these numbers
    is many times faster than to find the order of the rows and to follow it. The sign of −0 is shifted out.
    """
    key: NDArray[Any] = np.left_shift(confidence.view(f"u{confidence.itemsize}"), 1)
    key |= correct
    return key.view(f"i{confidence.itemsize}")  # as signed as the counts, which saves a cast


def _in_order(values: Floats) -> bool:
    blocks = (values[start : start + _BLOCK + 1] for start in range(0, len(values), _BLOCK))
    return all((block[1:] >= block[:-1]).all() for block in blocks)


def _differ(key: NDArray[Any]) -> Bools:
    """Whether each row's confidence is another than the next row's."""
    return np.asarray((key[1:] ^ key[:-1]) > 1)
