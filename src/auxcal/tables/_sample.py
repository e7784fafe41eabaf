"""A sample of a table's rows in one pass; memory does not grow with the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import as_rng
from auxcal._core.errors import InvalidInputError
from auxcal._core.sampling import KEY, Reservoir, Rows, in_order
from auxcal.tables._column_values import values_of_column
from auxcal.tables._format import Batch, Columns

_SPARE = 1.25  # rows are drawn for each that is kept, so that every label has enough of them


class Sampled(NamedTuple):
    """Rows of a table, and how many there are in all."""

    columns: Columns
    n_rows: int


def labelled_sample(batches: Iterable[Batch], label: str, n: int, random_state: int | None) -> Sampled:
    """Return `n` rows, or all if there are no more; each label has the share that it has among all rows."""
    counts: Counter[Any] = Counter()

    def parts() -> Iterator[Rows]:
        for batch in batches:
            rows = {name: values_of_column(column) for name, column in batch.columns.items()}
            counts.update(_as_keys(rows[label]))
            yield rows

    drawn, total = _lowest_of(parts(), int(_SPARE * n), random_state)
    if total > n:
        drawn = _in_shares(drawn, label, counts, n / total)
    return Sampled(in_order(drawn), total)


def even_sample(parts: Iterable[Rows], n: int, random_state: int | None) -> Sampled:
    """Return `n` rows, each with the same probability, or all if there are no more."""
    drawn, total = _lowest_of(parts, n, random_state)
    return Sampled(in_order(drawn), total)


def as_sample_size(n: int | None) -> int:
    """Check how many rows are to be drawn."""
    if not isinstance(n, int) or n < 1:
        raise InvalidInputError(f"sample must be a whole number of at least 1, or None for all rows; got {n!r}.")
    return n


def _lowest_of(parts: Iterable[Rows], n: int, random_state: int | None) -> tuple[Rows, int]:
    """Return the `n` rows that drew the lowest numbers, and how many there are."""
    sample = Reservoir(n, as_rng(random_state).spawn(1)[0])  # the data may have been drawn with the same random state
    for part in parts:
        sample.add(part)
    return sample.rows, sample.n_rows


def _in_shares(rows: Rows, label: str, counts: Counter[Any], share: float) -> Rows:
    """Return of each label the share that is wanted, those with the lowest keys first."""
    left = {key: round(count * share) for key, count in counts.items()}
    kept = np.zeros(len(rows[KEY]), np.bool_)
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
