"""The rows of a sample in the order of their confidence, and grouped by it: what every ranking is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auxcal._arrays import Bools, Floats, as_confidence, as_correct, as_weight

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

    Parameters
    ----------
    last : array of shape (m,)
        The last row of each group, in rising order of confidence.
    right, wrong : arrays of shape (m + 1,)
        The correct and the wrong predictions up to there, by weight; at first, those before all m groups.
    """

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
            yield Counts(last, right, every - right)
            return
        passed = 0
        before = np.zeros(2, dtype=np.intp)
        running = np.empty(_BLOCK, dtype=np.intp)
        for start in range(0, len(self.key), _BLOCK):
            block = self.key[start : start + _BLOCK]
            last = np.flatnonzero(_differ(self.key[start : start + _BLOCK + 1]))
            if start + _BLOCK >= len(self.key):
                last = np.append(last, len(block) - 1)
            np.cumsum(block & 1, out=running[: len(block)])
            right, wrong = np.empty((2, len(last) + 1), dtype=np.intp)
            right[0], wrong[0] = before
            np.add(running[last], passed, out=right[1:])
            last += start
            np.subtract(last, right[1:], out=wrong[1:])
            wrong[1:] += 1
            yield Counts(last, right, wrong)
            before = right[-1], wrong[-1]
            passed += running[len(block) - 1]


def ranked(confidence: ArrayLike, correct: ArrayLike, weight: ArrayLike | None = None) -> Ranked:
    """Put rows in the order of their confidence, with one sort, or none where they are in order already."""
    confidence = as_confidence(confidence)
    correct = as_correct(correct, n_rows=len(confidence))
    checked = as_weight(weight, n_rows=len(confidence))
    if checked is not None and not checked.all():
        counted = np.flatnonzero(checked)
        confidence, correct, checked = confidence[counted], correct[counted], checked[counted]
    key = _key(confidence, correct)
    if not _in_order(confidence):
        if checked is None:
            key.sort()
        else:
            order = np.argsort(key)
            key, checked = key[order], checked[order]
    return Ranked(key, checked)


def groups(confidence: ArrayLike, correct: ArrayLike, weight: ArrayLike | None = None) -> Groups:
    """Group rows by their confidence."""
    rows = ranked(confidence, correct, weight)
    found = [(rows.confidence(last), np.diff(right), np.diff(wrong)) for last, right, wrong in rows.counts()]
    return Groups(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _key(confidence: Floats, correct: Bools) -> NDArray[Any]:
    """Return whole numbers that are in the order of confidence, with correctness in the lowest bit.

    Floats of at least 0 are ordered as their bits are, and up to 1 they leave two bits free. One sort of these numbers
    is many times faster than to find the order of the rows and to follow it. The sign of −0 is shifted out.
    """
    key: NDArray[Any] = np.left_shift(confidence.view(f"u{confidence.itemsize}"), 1)
    key |= correct
    return key


def _in_order(values: Floats) -> bool:
    blocks = (values[start : start + _BLOCK + 1] for start in range(0, len(values), _BLOCK))
    return all((block[1:] >= block[:-1]).all() for block in blocks)


def _differ(key: NDArray[Any]) -> Bools:
    """Whether each row's confidence is another than the next row's."""
    return np.asarray((key[1:] ^ key[:-1]) > 1)
