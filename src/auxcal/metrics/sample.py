"""Checked rows: arrays of any kind in, and the validated sample that the kernels of the metrics take."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import (
    Bools,
    Floats,
    Groups,
    Ints,
    Weight,
    as_confidence,
    as_correct,
    as_groups,
    as_sample_weight,
)
from auxcal._core.float_errors import ignore_float_errors

_P = ParamSpec("_P")
_R = TypeVar("_R")
Kernel = Callable[Concatenate[Floats, Bools, _P], _R]
Checked = Callable[Concatenate[ArrayLike, ArrayLike, _P], _R]


class Sample(NamedTuple):
    """Validated rows: confidence and correctness, how often each row counts, and the group that it belongs to."""

    confidence: Floats
    correct: Bools
    sample_weight: Weight | None = None
    groups: Groups | None = None

    @property
    def weight(self) -> Weight:
        """The weights, 1 by default."""
        return np.ones(len(self.confidence)) if self.sample_weight is None else self.sample_weight

    def take(self, rows: Bools | Ints) -> Sample:
        """Return some of the rows."""
        return Sample(*(None if column is None else column[rows] for column in self))  # type: ignore[arg-type]

    def counted(self) -> Sample:
        """Return the rows with a weight above 0 in ascending order of confidence.

        So rows are sorted once: ranking metrics notice and don't sort again.
        """
        order = np.argsort(self.confidence)
        return self.take(order if self.sample_weight is None else order[self.sample_weight[order] > 0])


def as_sample(
    confidence: ArrayLike,
    correct: ArrayLike,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> Sample:
    """Check rows, and return them as arrays of the same length."""
    checked_confidence = as_confidence(confidence)
    n = len(checked_confidence)
    return Sample(
        checked_confidence,
        as_correct(correct, n_rows=n),
        as_sample_weight(sample_weight, n_rows=n),
        None if groups is None else as_groups(groups, n_rows=n),
    )


def checked(kernel: Kernel[_P, _R]) -> Checked[_P, _R]:
    """Turn a kernel, a pure function of checked (confidence, correct, *, sample_weight=None), into a metric.

    The kernel gets the confidence as float64, so that a plain mean of a million float32 numbers is exact.

    Examples
    --------
    >>> from auxcal.metrics import checked
    >>> @checked
    ... def accuracy(confidence, correct, *, sample_weight=None):
    ...     return float(correct.mean())
    >>> accuracy([0.9, 0.8], [1, 0])
    0.5
    >>> accuracy([0.9, 1.8], [1, 0])
    Traceback (most recent call last):
    auxcal._core.errors.InvalidInputError: confidence must be a probability in [0, 1]; got 1.8 in row 1 (1 ...
    """

    @wraps(kernel)
    def in_float64(confidence: Floats, correct: Bools, *args: _P.args, **options: _P.kwargs) -> _R:
        return kernel(confidence.astype(np.float64, copy=False), correct, *args, **options)

    return checked_as_given(in_float64)  # type: ignore[arg-type]  # as below


def checked_as_given(kernel: Kernel[_P, _R]) -> Checked[_P, _R]:
    """Do what `checked` does for a kernel that takes float32 as it is, to save memory or to keep its ties and edges."""

    @wraps(kernel)
    @ignore_float_errors
    def metric(confidence: ArrayLike, correct: ArrayLike, *args: _P.args, **options: _P.kwargs) -> _R:
        rows = as_sample(confidence, correct, options.get("sample_weight"))  # type: ignore[arg-type]
        if rows.sample_weight is not None:
            options["sample_weight"] = rows.sample_weight
        return kernel(rows.confidence, rows.correct, *args, **options)

    return metric  # type: ignore[return-value]  # mypy can't know that both can be given by name


def kernel_of(metric: Callable[..., _R]) -> Callable[..., _R]:
    """Return the kernel of a metric, for arrays that are already checked; a plain function is its own kernel."""
    kernel: Any = getattr(metric, "__wrapped__", metric)
    return kernel
