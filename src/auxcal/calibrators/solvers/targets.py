"""The target distribution of each row: one-hot at its class, or uniform if it has none."""

from typing import Literal, get_args

import numpy as np

from auxcal._core.arrays import NO_CLASS, Floats, Ints
from auxcal._core.errors import InvalidInputError
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
    strange = y == NO_CLASS
    if strange.any():
        means[strange] = values[strange].mean(axis=1)
    return means


def add_targets(values: Floats, y: Ints, times: int) -> None:
    """Add a multiple of every row's target to it, in place."""
    known = np.flatnonzero(y != NO_CLASS)
    values[known, y[known]] += times
    if len(known) < len(y):
        values[y == NO_CLASS] += times / values.shape[1]


def entries(y: Ints, n_classes: int) -> tuple[Ints, Ints, Floats]:
    """Return rows, classes and probabilities of the non-zero targets: one entry per row, or all K."""
    strange = y == NO_CLASS
    counts = np.where(strange, n_classes, 1)
    rows = np.repeat(np.arange(len(y)), counts)
    classes = y[rows]
    classes[strange[rows]] = np.tile(np.arange(n_classes), strange.sum())
    return rows, classes, 1 / counts[rows]
