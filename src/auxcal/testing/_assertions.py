"""What a check does with a promise that is broken."""

from collections.abc import Callable
from typing import Any

import numpy as np

from auxcal._errors import ConformanceError


def demand(holds: bool | np.bool_, message: str) -> None:
    """Raise a `ConformanceError` with the message if the promise does not hold."""
    if not holds:
        raise ConformanceError(message)


def demand_error(kind: type[Exception], attempt: Callable[[], Any], message: str) -> str:
    """Raise a `ConformanceError` unless the attempt raises an error of the kind; return what that error says."""
    try:
        attempt()
    except kind as error:
        return str(error)
    except Exception as error:
        raise ConformanceError(f"{message}: expected {kind.__name__}, got {type(error).__name__}: {error}") from error
    raise ConformanceError(f"{message}: expected {kind.__name__}, and nothing was raised")
