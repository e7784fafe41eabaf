"""The checked edge of the metrics: arrays of any kind in, kernels over checked NumPy behind it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from numpy.typing import ArrayLike

from auxcal._arrays import Bools, Floats, as_confidence, as_correct, as_weight

_P = ParamSpec("_P")
_R = TypeVar("_R")
Kernel = Callable[Concatenate[Floats, Bools, _P], _R]
Checked = Callable[Concatenate[ArrayLike, ArrayLike, _P], _R]


def check(confidence: ArrayLike, correct: ArrayLike) -> tuple[Floats, Bools]:
    """Return a confidence and whether each prediction is correct as arrays of one length that kernels can trust."""
    checked = as_confidence(confidence)
    return checked, as_correct(correct, n_rows=len(checked))


def checked(kernel: Kernel[_P, _R]) -> Checked[_P, _R]:
    """Make a public metric of a kernel, a pure function of (confidence, correct, *, weight=None) over checked arrays.

    Examples
    --------
    >>> from auxcal.metrics import checked
    >>> @checked
    ... def accuracy(confidence, correct, *, weight=None):
    ...     return float(correct.mean())
    >>> accuracy([0.9, 0.8], [1, 0])
    0.5
    >>> accuracy([0.9, 1.8], [1, 0])
    Traceback (most recent call last):
    auxcal._errors.InvalidInputError: confidence must be a probability in [0, 1]; got 1.8 in row 1 (1 such rows). ...
    """

    @wraps(kernel)
    def metric(confidence: ArrayLike, correct: ArrayLike, *args: _P.args, **options: _P.kwargs) -> _R:
        arrays = check(confidence, correct)
        if options.get("weight") is not None:
            options["weight"] = as_weight(options["weight"], n_rows=len(arrays[0]))  # type: ignore[arg-type]
        return kernel(*arrays, *args, **options)

    return metric  # type: ignore[return-value]  # what it does not know: both can be given by name


def kernel_of(metric: Callable[..., float]) -> Callable[..., float]:
    """Return what a metric is made of, for arrays that are checked already; a metric without an edge is its own."""
    kernel: Any = getattr(metric, "__wrapped__", metric)
    return kernel
