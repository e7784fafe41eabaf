"""Reservoir sampling: a random sample of rows that come in batches, in bounded memory."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Floats, Ints

Rows: TypeAlias = dict[str, NDArray[Any]]
"""Columns of equal length, by name."""

KEY, ORDER = "\0", "\1"
"""The columns of the random key and of the row number; no table has columns of such names."""

_SLACK = 1.5  # times n rows are held before the pool is cut to n: sorting it less often costs memory


class Drawn(NamedTuple):
    """The rows of a batch that may stay in a reservoir: where they are in it, their row numbers and their keys."""

    places: Ints
    order: Ints
    key: Floats


class Reservoir:
    """A random sample of a stream: the n rows with the lowest random keys; each row is as likely to stay."""

    def __init__(self, n: int, rng: np.random.Generator) -> None:
        self._n, self._rng = n, rng
        self._pool: list[Rows] = []
        self._size = 0  # rows in the pool
        self._most = 1.0  # rows with a larger key can't stay
        self.n_rows = 0

    def add(self, rows: Rows) -> None:
        """Give each row a random key, and keep the rows with the lowest."""
        n_rows = len(next(iter(rows.values())))
        drawn = self.draw(n_rows)
        if len(drawn.places) == n_rows:
            self.hold(rows, drawn)
        elif len(drawn.places):
            self.hold({name: column[drawn.places] for name, column in rows.items()}, drawn)

    def draw(self, n_rows: int) -> Drawn:
        """Give new rows random keys, and return those that may stay; nothing need be computed for the others."""
        key, order = self._rng.random(n_rows), self.n_rows + np.arange(n_rows)
        self.n_rows += n_rows
        places = np.arange(n_rows) if self._most == 1 else np.flatnonzero(key <= self._most)
        return Drawn(places, order[places], key[places])

    def hold(self, rows: Rows, drawn: Drawn) -> None:
        """Keep the rows that `draw` returned."""
        self._pool.append({**rows, ORDER: drawn.order, KEY: drawn.key})
        self._size += len(self._pool[-1][KEY])
        if self._size > _SLACK * self._n:
            self._pool = [self.rows]
            self._size = len(self._pool[0][KEY])
            self._most = min(self._most, float(self._pool[0][KEY][-1]))

    @property
    def rows(self) -> Rows:
        """The rows that stay, sorted by key, with the columns KEY and ORDER."""
        joined = {name: np.concatenate([rows[name] for rows in self._pool]) for name in self._pool[0]}
        lowest = np.argsort(joined[KEY])[: self._n]
        return {name: column[lowest] for name, column in joined.items()}


def in_order(rows: Rows) -> Rows:
    """Return the rows of a reservoir in the order of the stream, without KEY and ORDER."""
    order = np.argsort(rows[ORDER])
    return {name: column[order] for name, column in rows.items() if name not in (KEY, ORDER)}
