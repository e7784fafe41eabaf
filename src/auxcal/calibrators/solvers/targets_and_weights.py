"""What a row aims at and how often it counts: target distributions, and sums, means and quantiles by weight.

The target of a row is one-hot at its class, or uniform if it has none. Without weights, each row counts once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from auxcal._core.arrays import NO_CLASS, Floats, Ints, Weight
from auxcal._core.errors import InvalidInputError
from auxcal.metrics.binning import steps
from auxcal.predictions import Predictions

NoClass = Literal["leave-out", "uniform"]


def rows_to_learn(data: Predictions, no_class: NoClass) -> Predictions | None:
    """Return the rows that a fit learns from, or None if there are none.

    "uniform" keeps the rows of `NO_CLASS`, whose target is the uniform one below (Roschewitz et al., arXiv 2507.07780).
    """
    if no_class not in get_args(NoClass):
        raise InvalidInputError(f"no_class must be 'leave-out' or 'uniform'; got {no_class!r}.")
    return data if no_class == "uniform" else data.with_class()


def expected(values: Floats, y: Ints) -> Floats:
    """Return the mean of each row of values, of shape (n, K), under its target."""
    means = values[np.arange(len(y)), y]
    is_ood = y == NO_CLASS
    if is_ood.any():
        means[is_ood] = values[is_ood].mean(axis=1)
    return means


def add_targets(values: Floats, y: Ints, times: int) -> None:
    """Add a multiple of every row's target to it, in place."""
    with_class = np.flatnonzero(y != NO_CLASS)
    values[with_class, y[with_class]] += times
    if len(with_class) < len(y):
        values[y == NO_CLASS] += times / values.shape[1]


def entries(y: Ints, n_classes: int) -> tuple[Ints, Ints, Floats]:
    """Return rows, classes and probabilities of the non-zero targets: one entry per row, or all K."""
    is_ood = y == NO_CLASS
    counts = np.where(is_ood, n_classes, 1)
    rows = np.repeat(np.arange(len(y)), counts)
    classes = y[rows]
    classes[is_ood[rows]] = np.tile(np.arange(n_classes), is_ood.sum())
    return rows, classes, 1 / counts[rows]


def total(values: Floats, weight: Weight | None = None) -> Floats:
    """Return the sum over the last axis, in float64."""
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
    """Return the effective sample size: the sum of the weights."""
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
