"""What the formats with named arrays share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auxcal._core.errors import InvalidInputError
from auxcal.tables._format import Batch, Columns, Source, concatenated, rows_per_batch

_MOST_WHOLE = 2**53  # up to which floats have all whole numbers


def arrays_source(arrays: Mapping[str, NDArray[Any]]) -> Source:
    """Return named arrays as a source; vectors with one entry per row are passed through."""
    n = max((len(array) for array in arrays.values() if array.ndim), default=0)

    def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Batch]:
        names = (*numbers, *others)
        n = _common_length({name: arrays[name] for name in names})
        rows = rows_per_batch(sum(arrays[name].nbytes for name in names) / max(n, 1))
        for start in range(0, max(n, 1), rows):
            stop = min(start + rows, n)
            yield Batch({name: arrays[name][start:stop] for name in names}, stop / max(n, 1))

    return Source(tuple(arrays), batches, tuple(name for name, array in arrays.items() if array.shape == (n,)))


def joined(batches: Iterator[Columns]) -> dict[str, NDArray[Any]]:
    """Return all rows of the batches as arrays; text becomes NumPy strings, which need no pickle."""
    parts: dict[str, list[NDArray[Any]]] = {}
    for columns in batches:
        for name, column in columns.items():
            parts.setdefault(name, []).append(_as_numpy(column, name))
    return {name: concatenated(arrays, name) for name, arrays in parts.items()}


def _common_length(arrays: Mapping[str, NDArray[Any]]) -> int:
    lengths = {name: len(array) if array.ndim else 0 for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        text = ", ".join(f"{name!r} {length}" for name, length in lengths.items())
        raise InvalidInputError(f"all arrays must have one row for each sample; got {text}. Save them together again.")
    return max(lengths.values(), default=0)


def _as_numpy(column: Any, name: str) -> NDArray[Any]:
    """Return a column as numbers, NaN where one is missing, or as text, empty where it is: NumPy would call it None."""
    if isinstance(column, np.ma.MaskedArray):
        if column.dtype.kind in "iu":
            check_fits_float(column.compressed(), name)
        return np.where(column.mask, np.nan, column.data)
    if not isinstance(column, np.ndarray):
        from auxcal.tables._arrow import as_array

        return as_array(column, name)
    if column.dtype == object:
        return np.array(["" if value is None or value != value else str(value) for value in column], dtype=str)
    return column


def check_fits_float(numbers: NDArray[Any], name: str) -> None:
    """Refuse whole numbers that would be other ones as floats, which NumPy needs where some are missing."""
    if len(numbers) and max(abs(int(numbers.min())), abs(int(numbers.max()))) > _MOST_WHOLE:
        raise InvalidInputError(
            f"{name!r} has missing values, and whole numbers that are too large for floats. Write .parquet or .csv."
        )
