"""Validation of the metrics' input: arrays of any kind in, checked NumPy for the kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from numpy.typing import ArrayLike

from auxcal._core.arrays import Bools, Floats, as_confidence, as_correct, as_sample_weight
from auxcal._core.float_errors import ignore_float_errors

_P = ParamSpec("_P")
_R = TypeVar("_R")
Kernel = Callable[Concatenate[Floats, Bools, _P], _R]
Checked = Callable[Concatenate[ArrayLike, ArrayLike, _P], _R]


def check(confidence: ArrayLike, correct: ArrayLike) -> tuple[Floats, Bools]:
    """Return confidence and correctness as validated arrays of the same length."""
    checked = as_confidence(confidence)
    return checked, as_correct(correct, n_rows=len(checked))


def checked(kernel: Kernel[_P, _R]) -> Checked[_P, _R]:
    """Turn a kernel, a pure function of checked (confidence, correct, *, sample_weight=None), into a metric.

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
    @ignore_float_errors
    def metric(confidence: ArrayLike, correct: ArrayLike, *args: _P.args, **options: _P.kwargs) -> _R:
        arrays = check(confidence, correct)
        if options.get("sample_weight") is not None:
            options["sample_weight"] = as_sample_weight(options["sample_weight"], n_rows=len(arrays[0]))  # type: ignore
        return kernel(*arrays, *args, **options)

    return metric  # type: ignore[return-value]  # mypy can't know that both can be given by name


def kernel_of(metric: Callable[..., float]) -> Callable[..., float]:
    """Return the kernel of a metric, for arrays that are already checked; a plain function is its own kernel."""
    kernel: Any = getattr(metric, "__wrapped__", metric)
    return kernel
