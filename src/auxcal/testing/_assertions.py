"""How a check reports a failure."""

from collections.abc import Callable
from typing import Any

import numpy as np

from auxcal._core.errors import ConformanceError


def demand(holds: bool | np.bool_, message: str) -> None:
    """Raise a `ConformanceError` with the message unless the condition holds."""
    if not holds:
        raise ConformanceError(message)


def demand_error(kind: type[Exception], attempt: Callable[[], Any], message: str) -> str:
    """Raise a `ConformanceError` unless the call raises an error of that kind; return its message."""
    try:
        attempt()
    except kind as error:
        return str(error)
    except Exception as error:
        raise ConformanceError(f"{message}: expected {kind.__name__}, got {type(error).__name__}: {error}") from error
    raise ConformanceError(f"{message}: expected {kind.__name__}, and nothing was raised")
