"""A random sample of rows that come in batches, in one pass; memory does not grow with their number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import as_rng
from auxcal._core.errors import InvalidInputError

_Rows: TypeAlias = dict[str, NDArray[Any]]

_KEY, _ORDER = "\0", "\1"  # no column has such names
_SPARE = 1.25  # rows are drawn for each that is kept, so that every label has enough of them


class Sampled(NamedTuple):
    """Rows of a table, and how many there are in all."""

    columns: _Rows
    n_rows: int


def labelled_sample(parts: Iterable[_Rows], label: str, n: int, random_state: int | None) -> Sampled:
    """Return `n` rows, or all if there are no more; each label has the share that it has among all rows."""
    counts: Counter[Any] = Counter()

    def counted() -> Iterator[_Rows]:
        for rows in parts:
            counts.update(_as_keys(rows[label]))
            yield rows

    drawn, total = _lowest_of(counted(), int(_SPARE * n), random_state)
    if total > n:
        drawn = _in_shares(drawn, label, counts, n / total)
    return Sampled(_in_order(drawn), total)


def even_sample(parts: Iterable[_Rows], n: int, random_state: int | None) -> Sampled:
    """Return `n` rows, each with the same probability, or all if there are no more."""
    drawn, total = _lowest_of(parts, n, random_state)
    return Sampled(_in_order(drawn), total)


def as_sample_size(n: int | None) -> int:
    """Check how many rows are to be drawn."""
    if not isinstance(n, int) or n < 1:
        raise InvalidInputError(f"sample must be a whole number of at least 1, or None for all rows; got {n!r}.")
    return n


class EvenSample:
    """The `n` rows with the lowest of the numbers that each row draws as it goes by: each has the same probability.

    Parameters
    ----------
    n : int
        How many rows to keep.
    rng : numpy.random.Generator
        What the numbers are drawn from.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal._core.sampling import EvenSample
    >>> sample = EvenSample(3, np.random.default_rng(0))
    >>> for _ in range(10):
    ...     sample.add({"x": np.arange(5)})
    >>> sample.n_rows, len(sample.rows["x"])
    (50, 3)
    """

    def __init__(self, n: int, rng: np.random.Generator) -> None:
        self._n, self._rng = n, rng
        self._pool: list[_Rows] = []
        self._most = 1.0  # what can't stay, because it draws more, need not be held
        self.n_rows = 0

    def add(self, rows: _Rows) -> None:
        """Give each row a random key."""
        n_rows = len(next(iter(rows.values())))
        drawn = {**rows, _ORDER: self.n_rows + np.arange(n_rows), _KEY: self._rng.random(n_rows)}
        self.n_rows += n_rows
        self._hold(_below(drawn, self._most))

    def _hold(self, rows: _Rows) -> None:
        self._pool.append(rows)
        if sum(len(each[_KEY]) for each in self._pool) > 1.5 * self._n:
            self._pool = [self.rows]
            self._most = min(self._most, float(self._pool[0][_KEY][-1]))

    @property
    def rows(self) -> _Rows:
        """Those that stay, in the order of what they drew."""
        joined = {name: np.concatenate([rows[name] for rows in self._pool]) for name in self._pool[0]}
        order = np.argsort(joined[_KEY])[: self._n]
        return {name: column[order] for name, column in joined.items()}

    def save(self, path: Path) -> None:
        """Write what a sample of another process needs to be added to this one."""
        rows = self.rows if self._pool else {}
        names = {_KEY: "key", _ORDER: "order"}
        columns = {names.get(name, f"column {name}"): column for name, column in rows.items()}
        np.savez(path, facts=np.array([self.n_rows, self._n, self._most]), **columns)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path) -> EvenSample:
        """Read what `save` wrote, to be added to another sample."""
        with np.load(path, allow_pickle=False) as file:
            columns = {name: file[name] for name in file.files}
        n_rows, n, most = columns.pop("facts")
        found = cls(int(n), np.random.default_rng(0))
        found.n_rows, found._most = int(n_rows), float(most)
        names = {"key": _KEY, "order": _ORDER}
        rows = {names.get(name) or name.removeprefix("column "): column for name, column in columns.items()}
        found._pool = [rows] if rows else []
        return found

    def __add__(self, other: EvenSample) -> EvenSample:
        """Return a sample of the rows of both, of the larger size; fewer where one has let go of rows too early."""
        both = EvenSample(max(self._n, other._n), self._rng)
        both.n_rows, both._most = self.n_rows + other.n_rows, min(self._most, other._most)
        for rows in (*self._pool, *other._pool):
            both._hold(_below(rows, both._most))
        return both


def _lowest_of(parts: Iterable[_Rows], n: int, random_state: int | None) -> tuple[_Rows, int]:
    """Return the `n` rows that drew the lowest numbers, and how many there are."""
    sample = EvenSample(n, as_rng(random_state).spawn(1)[0])  # the data may have been drawn with the same random state
    for part in parts:
        sample.add(part)
    return sample.rows, sample.n_rows


def _below(rows: _Rows, most: float) -> _Rows:
    return rows if most == 1 else {name: column[rows[_KEY] <= most] for name, column in rows.items()}


def _in_order(rows: _Rows) -> _Rows:
    """Return rows in the order of the table, without what they were drawn by."""
    order = np.argsort(rows[_ORDER])
    return {name: column[order] for name, column in rows.items() if name not in (_KEY, _ORDER)}


def _in_shares(rows: _Rows, label: str, counts: Counter[Any], share: float) -> _Rows:
    """Return of each label the share that is wanted, those with the lowest keys first."""
    left = {key: round(count * share) for key, count in counts.items()}
    kept = np.zeros(len(rows[_KEY]), np.bool_)
    for row, key in enumerate(_as_keys(rows[label])):
        if left[key] > 0:
            left[key] -= 1
            kept[row] = True
    return {name: column[kept] for name, column in rows.items()}


def _as_keys(labels: NDArray[Any]) -> list[Any]:
    """Return labels that are equal where they are the same; a missing number is none, and so is what is no label."""
    if labels.ndim != 1:
        return [None] * len(labels)
    return [None if value != value else value for value in labels.tolist()]
