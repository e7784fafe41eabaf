"""Intervals by the bootstrap: rows, or whole groups of them, are drawn again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auxcal._arrays import Bools, Floats, Groups, Ints, Weight, as_rng, check_total
from auxcal._progress import Report
from auxcal._telling import kept_warnings

_CELLS = 10_000
_ROWS_OF_A_CELL = 10  # with more, resampling cells is faster than resampling rows
_BINS = 20  # of ECE, as in the paper


class Scored(NamedTuple):
    """Rows in ascending order of confidence, all of them with a weight above 0."""

    confidence: Floats
    correct: Bools
    sample_weight: Weight | None = None
    groups: Groups | None = None


class _Cells(NamedTuple):
    """Neighbouring rows that are equally correct, as one: resampling their counts is cheap."""

    confidence: Floats
    correct: Bools
    weight: NDArray[Any]
    of_row: Ints


def intervals(
    kernels: Mapping[str, Callable[..., float]],
    rows: Scored,
    bootstrap: int,
    level: float,
    random_state: int | None,
    report: Report,
) -> dict[str, float]:
    """Return the ends of the percentile interval of each metric, as `<metric>_low` and `<metric>_high`."""
    rng = as_rng(random_state)
    draws = np.empty((bootstrap, len(kernels)))
    cells = _cells(rows)
    if rows.groups is None:
        resamples = _resamples(cells.weight, bootstrap, rng)
    else:
        resamples = _of_groups(rows.groups, rows.sample_weight, cells, bootstrap, rng)
    with kept_warnings():  # a resample without a wrong row has no AUROC; it is left out of the interval
        for number, (draw, count) in enumerate(zip(draws, resamples, strict=True), 1):
            drawn = np.flatnonzero(count)
            some = cells.confidence[drawn], cells.correct[drawn]
            draw[:] = [kernel(*some, sample_weight=count[drawn]) for kernel in kernels.values()]
            report(number / bootstrap)
    low, high = np.full((2, len(kernels)), np.nan)
    for column, values in enumerate(draws.T):
        defined = values[~np.isnan(values)]
        if len(defined):
            low[column], high[column] = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return {
        f"{name}_{end}": float(value)
        for end, values in (("low", low), ("high", high))
        for name, value in zip(kernels, values, strict=True)
    }


def _resamples(count: NDArray[Any], number: int, rng: np.random.Generator) -> Iterator[NDArray[Any]]:
    """Yield how often each cell occurs in each resample of as many rows as all weights add up to."""
    n = round(count.sum())
    many = n > max(_CELLS, _ROWS_OF_A_CELL * len(count))
    if many or (count % 1).any():  # there is no half a row to draw
        for _ in range(number):
            yield rng.multinomial(n, count / count.sum())
    else:
        rows = np.repeat(np.arange(len(count)), count.astype(np.intp))
        for _ in range(number):
            yield np.bincount(rows[rng.integers(n, size=n)], minlength=len(count))


def _of_groups(
    groups: Groups, sample_weight: Weight | None, cells: _Cells, number: int, rng: np.random.Generator
) -> Iterator[NDArray[Any]]:
    """Yield the weight of each cell in each resample of whole groups."""
    labels, group = np.unique(groups, return_inverse=True)
    weight = 1 if sample_weight is None else sample_weight
    for _ in range(number):
        drawn = np.bincount(rng.integers(len(labels), size=len(labels)), minlength=len(labels))
        yield np.bincount(cells.of_row, weight * drawn[group], minlength=len(cells.weight))


def _cells(rows: Scored) -> _Cells:
    """Merge rows into cells.

    Above `_CELLS` rows, neighbours in the same ECE bin are merged, with their mean confidence, so that the cost does
    not grow with the rows.
    """
    confidence, correct, weight, groups = rows
    if weight is not None and groups is None:
        check_total(weight)
    cell = _places(len(confidence), weight)
    edges = np.searchsorted(confidence, (np.arange(1, _BINS) / _BINS).astype(confidence.dtype))
    cell += np.cumsum(np.bincount(edges, minlength=len(confidence) + 1)[:-1])
    _, first, cell = np.unique(cell, return_index=True, return_inverse=True)
    size = np.bincount(cell, weight)
    mean = np.bincount(cell, confidence if weight is None else confidence * weight) / size
    # Rounding must not tell equal confidences apart: ties would be ranked.
    mean = np.clip(mean, confidence[first], confidence[np.append(first[1:], len(cell)) - 1])
    used, of_row = np.unique(2 * cell + correct, return_inverse=True)
    return _Cells(mean[used // 2], used % 2 == 1, np.bincount(of_row, weight), of_row)


def _places(n_rows: int, weight: Weight | None) -> Ints:
    """Return numbers that rise along the rows, and are the same for neighbours where there are too many rows."""
    if weight is None or n_rows <= _CELLS:
        return np.arange(n_rows) * min(n_rows, _CELLS) // n_rows
    middle = np.cumsum(weight) - weight / 2
    return (middle * (_CELLS / weight.sum())).astype(np.intp)
