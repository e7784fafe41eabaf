"""NumPy's floating-point errors: what a user has made of them does not change what the library computes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np

_P = ParamSpec("_P")
_R = TypeVar("_R")


def ignore_float_errors(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorate what computes at the public edge, for users who have set `np.errstate(all="raise")`.

    An underflow in a softmax is no error, nor is an overflow to a limit that is right. NaN is one, and is looked for in
    the results.
    """

    @wraps(function)
    def ignoring(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)

    return ignoring


def undecorated(stacklevel: int) -> int:
    """Return the level of the stack, for a warning, that is so many functions above the caller of this one."""
    frame, level = sys._getframe(1), 1
    while stacklevel > 1 and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
        stacklevel -= frame.f_code.co_filename != __file__
    return level
