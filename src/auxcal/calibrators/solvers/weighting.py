"""Weighted sums, means and quantiles; without weights, each row counts once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from auxcal._core.arrays import Floats, Weight
from auxcal.metrics.binning import steps


def total(values: Floats, weight: Weight | None = None) -> Floats:
    """Return the sum over the last axis, in float64.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.calibrators.solvers.weighting import total
    >>> float(total(np.array([1.0, 2.0]))), float(total(np.array([1.0, 2.0]), np.array([1.0, 3.0])))
    (3.0, 7.0)
    """
    return np.asarray(values.sum(axis=-1, dtype=np.float64) if weight is None else values @ weight)


def mean(values: Floats, weight: Weight | None = None, axis: int = 0) -> Floats:
    """Return the mean over an axis, in float64."""
    if weight is None:
        return np.asarray(values.mean(axis=axis, dtype=np.float64))
    return np.asarray(np.average(values, axis=axis, weights=weight))


def deviation(values: Floats, weight: Weight | None = None, axis: int = 0) -> Floats:
    """Return the standard deviation over an axis, in float64."""
    if weight is None:
        return np.asarray(values.std(axis=axis, dtype=np.float64))
    centre = np.expand_dims(mean(values, weight, axis), axis)
    return np.sqrt(mean(np.square(values - centre), weight, axis))


def size(n_rows: int, weight: Weight | None = None) -> float:
    """Return the number of rows that they are worth."""
    return float(n_rows if weight is None else weight.sum())


def counts(n_rows: int, weight: Weight | None = None) -> Weight:
    """Return how many rows come before each row, and how many there are."""
    return np.arange(n_rows + 1) if weight is None else np.append(0, np.cumsum(weight))


def times(values: Floats, weight: Weight | None) -> Floats:
    """Return rows of values, each times its weight, in the precision of the values."""
    if weight is None:
        return values
    return np.asarray(values * weight.astype(values.dtype).reshape(-1, *[1] * (values.ndim - 1)))


def quantiles(values: Floats, shares: Sequence[float], weight: Weight | None = None) -> Floats:
    """Return quantiles of each row of values, of shape (shares, rows)."""
    if weight is None:
        return np.asarray(np.quantile(values, shares, axis=1))
    order = np.argsort(values, axis=1)
    at = (weight.sum() - 1) * np.asarray(shares)
    rows = [np.interp(at, *steps(row[of], weight[of])) for row, of in zip(values, order, strict=True)]
    return np.stack(rows, axis=1)
