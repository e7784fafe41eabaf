"""Training as in a fresh process, whatever the user has set in torch."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import torch

_P = ParamSpec("_P")
_R = TypeVar("_R")


def as_in_a_fresh_process(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorate what makes or trains networks: gradients are on, inference mode and autocast off.

    The default dtype and device belong to all threads, so they stay; whoever makes a tensor says its own.

    Examples
    --------
    >>> import torch
    >>> from auxcal.calibrators.training.surroundings import as_in_a_fresh_process
    >>> with torch.inference_mode(), torch.autocast("cpu"):
    ...     as_in_a_fresh_process(torch.is_grad_enabled)(), as_in_a_fresh_process(torch.is_autocast_enabled)("cpu")
    (True, False)
    """

    @wraps(function)
    def freshly(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with torch.inference_mode(False), torch.enable_grad(), torch.autocast("cpu", enabled=False):
            return function(*args, **kwargs)

    return freshly
