"""Rows sorted by confidence, and the ties among them, for the ranking metrics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Bools, Floats, Weight

_BLOCK = 1 << 15  # rows whose counts fit into the CPU cache


@dataclass(frozen=True, eq=False)
class Ties:
    """The number of rows with each distinct confidence, in ascending order.

    Parameters
    ----------
    confidence : array of shape (m,)
        The distinct confidences.
    right, wrong : arrays of shape (m,), or (draws, m) for many draws of the same rows
        The weighted numbers of correct and of wrong predictions with that confidence.
    """

    confidence: Floats
    right: NDArray[Any]
    wrong: NDArray[Any]

    @cached_property
    def up_to(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The wrong and the correct predictions with at most that confidence."""
        return np.cumsum(self.wrong, axis=-1), np.cumsum(self.right, axis=-1)


class Counts(NamedTuple):
    """Cumulative counts over a block of consecutive ties.

    The arrays may be reused for the next block: copy what you keep.

    Parameters
    ----------
    start : int
        The row that `last` is counted from.
    last : array of shape (m,)
        The last row of each tie, in ascending order of confidence.
    right, wrong : arrays of shape (m + 1,)
        The weighted numbers of correct and of wrong predictions up to there, preceded by those before the block.
    """

    start: int
    last: NDArray[Any]
    right: NDArray[Any]
    wrong: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Ranked:
    """The rows of a sample in ascending order of confidence.

    Parameters
    ----------
    key : array of shape (n,)
        The bits of each confidence as an integer, with correctness as one more bit below them.
    sample_weight : array of shape (n,) or None
        How often each row counts.
    """

    key: NDArray[Any]
    sample_weight: NDArray[Any] | None

    def confidence(self, rows: NDArray[Any]) -> Floats:
        """Return the confidence of some rows."""
        return np.asarray((self.key[rows] >> 1).view(f"f{self.key.itemsize}"))

    def counts(self) -> Iterator[Counts]:
        """Yield the counts of all ties, block by block, so that only the rows take memory."""
        if self.sample_weight is not None:
            last = np.append(np.flatnonzero(_differ(self.key)), len(self.key) - 1)
            of_right = self.sample_weight * (self.key & 1).astype(self.sample_weight.dtype)
            sums = (np.cumsum(weight)[last] for weight in (of_right, self.sample_weight - of_right))
            yield Counts(0, last, *(np.append(0, each) for each in sums))
            return
        yield from _unweighted_counts(self.key)


def ranked(confidence: Floats, correct: Bools, sample_weight: Weight | None = None) -> Ranked:
    """Sort rows by confidence, unless they are sorted already."""
    if sample_weight is not None and not sample_weight.all():
        counted = np.flatnonzero(sample_weight)
        confidence, correct, sample_weight = confidence[counted], correct[counted], sample_weight[counted]
    key = _key(confidence, correct)
    if not _in_order(confidence):
        if sample_weight is None:
            key.view(confidence.dtype).sort()  # in the same order; NumPy sorts float64 faster than int64
        else:
            order = np.argsort(key)
            key, sample_weight = key[order], sample_weight[order]
    return Ranked(key, sample_weight)


def ties(confidence: Floats, correct: Bools, sample_weight: Weight | None = None) -> Ties:
    """Count the rows of each distinct confidence."""
    rows = ranked(confidence, correct, sample_weight)
    found = [(rows.confidence(at.start + at.last), np.diff(at.right), np.diff(at.wrong)) for at in rows.counts()]
    return Ties(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _unweighted_counts(key: NDArray[Any]) -> Iterator[Counts]:
    """Yield the counts of all ties, in arrays that are allocated once and reused for every block."""
    bits, ends, position = np.empty(_BLOCK, key.dtype), np.ones(_BLOCK, np.bool_), np.arange(_BLOCK)
    running, right, wrong = np.zeros((3, _BLOCK + 1), dtype=np.intp)
    passed = 0
    for start in range(0, len(key), _BLOCK):
        block, following = key[start : start + _BLOCK], key[start + 1 : start + _BLOCK + 1]
        n, n_followed = len(block), len(following)
        ends[n - 1] = True  # stays True for the very last row, which no row follows
        np.greater(np.bitwise_xor(block[:n_followed], following, out=bits[:n_followed]), 1, out=ends[:n_followed])
        np.cumsum(np.bitwise_and(block, 1, out=bits[:n]), dtype=np.intp, out=running[:n])
        # If no two confidences are equal, every row is a tie of its own.
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
    """Return integers that sort like the confidence, with correctness in the lowest bit.

    Non-negative floats sort like their bits, and up to 1 they leave two bits free. Sorting these integers is many times
    faster than an argsort and indexing. The sign bit of −0 is shifted out.
    """
    key: NDArray[Any] = np.left_shift(confidence.view(f"u{confidence.itemsize}"), 1)
    key |= correct
    return key.view(f"i{confidence.itemsize}")  # as signed as the counts, which saves a cast


def _in_order(values: Floats) -> bool:
    blocks = (values[start : start + _BLOCK + 1] for start in range(0, len(values), _BLOCK))
    return all((block[1:] >= block[:-1]).all() for block in blocks)


def _differ(key: NDArray[Any]) -> Bools:
    """Whether each row's confidence differs from the next row's."""
    return np.asarray((key[1:] ^ key[:-1]) > 1)
