"""The rows of a sample, grouped by their confidence: what every ranking is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auxcal._arrays import Bools, Floats, as_confidence, as_correct, as_weight


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


def groups(confidence: ArrayLike, correct: ArrayLike, weight: ArrayLike | None = None) -> Groups:
    """Group rows by their confidence, with one sort, or none where they are in order already."""
    confidence = as_confidence(confidence)
    correct = as_correct(correct, n_rows=len(confidence))
    checked = as_weight(weight, n_rows=len(confidence))
    if checked is not None and not checked.all():
        counted = np.flatnonzero(checked)
        confidence, correct, checked = confidence[counted], correct[counted], checked[counted]
    if (confidence[1:] < confidence[:-1]).any():
        confidence, correct, checked = _sorted(confidence, correct, checked)
    last = np.append(np.flatnonzero(confidence[1:] != confidence[:-1]), len(confidence) - 1)
    right = _sums(correct if checked is None else correct * checked, last)
    every = np.diff(last, prepend=-1) if checked is None else _sums(checked, last)
    return Groups(confidence[last], right, every - right)


def _sorted(
    confidence: Floats, correct: Bools, weight: NDArray[Any] | None
) -> tuple[Floats, Bools, NDArray[Any] | None]:
    if weight is not None:
        order = np.argsort(confidence)
        return confidence[order], correct[order], weight[order]
    # Floats of at least 0 are ordered as their bits are, and up to 1 they leave two bits free. With correctness in the
    # lowest one, the rows are sorted as whole numbers: many times faster than to find their order and to follow it.
    bits = np.dtype(f"u{confidence.itemsize}")
    key: NDArray[Any] = (confidence + 0).view(bits)  # + 0 makes a 0 of −0, whose bits are those of a large number
    key <<= 1
    key |= correct
    key.sort()
    correct = (key & 1).astype(np.bool_)
    key >>= 1
    return key.view(confidence.dtype), correct, None


def _sums(values: NDArray[Any], last: NDArray[Any]) -> NDArray[Any]:
    """Sum values over groups that end at the given rows."""
    return np.diff(np.cumsum(values)[last], prepend=0)
