"""Rows with the name of their chunk, such as a day: what a timeline reads, batch by batch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Bools, Floats, Ints, is_missing
from auxcal._core.errors import InvalidInputError

Names: TypeAlias = NDArray[np.object_]
"""The name of each row's chunk."""


class Timed(NamedTuple):
    """Some rows of a table.

    Parameters
    ----------
    logits : array of shape (n, K)
        Their logits, which are checked.
    features : array of shape (n, d) or None
        Their features, where the calibrator was fitted with such.
    y, labelled : array of shape (n,) or None
        Their true classes, and which of them are known; None where the table has none.
    by : array of shape (n,)
        The names of their chunks.
    done : float or None
        The share of the table that is read by now, if known.
    """

    logits: Floats
    features: Floats | None
    y: Ints | None
    labelled: Bools | None
    by: Names
    done: float | None

    def take(self, rows: slice) -> Timed:
        """Return some of the rows."""
        return Timed._make(part[rows] if isinstance(part, np.ndarray) else part for part in self)


class TimedRows(Protocol):
    """The rows of a table, in any order, which need not be held."""

    def counts(self) -> Mapping[str, int] | None:
        """Return how many rows each chunk has, or None where only the one pass of `batches` can tell."""

    def batches(self) -> Iterator[Timed]:
        """Yield all rows."""


class _Cache(dict[Any, str]):
    def __missing__(self, value: Any) -> str:
        name = self[value] = "" if is_missing(value) else str(value).strip()
        return name


def chunk_names(values: Sequence[Any] | NDArray[Any]) -> Names:
    """Return the name of each row's chunk, empty where there is none.

    Examples
    --------
    >>> from auxcal.monitoring.timed import chunk_names
    >>> chunk_names([3, " monday ", None]).tolist()
    ['3', 'monday', '']
    """
    given = values.to_pylist() if hasattr(values, "to_pylist") else values  # Arrow's own values are no Python values
    return np.fromiter(map(_Cache().__getitem__, given), dtype=object, count=len(given))


def check_names(names: Names, rows: Sequence[int] | Ints, part: str = "") -> None:
    """Refuse a row that is of no chunk; `rows` are the places of the rows in the table, or in a part of it."""
    empty = np.flatnonzero(names == "")
    if len(empty):
        raise InvalidInputError(
            f"{part}by (--by) must say of every row which chunk it is of; row {rows[empty[0]]} has nothing there. "
            f"Fill it in, or leave such rows out."
        )


def in_order(names: Iterable[str]) -> list[str]:
    """Return the names of chunks in their order: numbers by size, all else by alphabet.

    Examples
    --------
    >>> from auxcal.monitoring.timed import in_order
    >>> in_order(["10", "9"]), in_order(["10", "9", "a"])
    (['9', '10'], ['10', '9', 'a'])
    """
    given = list(names)
    try:
        numbers = {name: float(name) for name in given}
    except ValueError:
        return sorted(given)
    finite = all(map(math.isfinite, numbers.values()))
    return sorted(given, key=lambda name: (numbers[name], name) if finite else (0.0, name))
