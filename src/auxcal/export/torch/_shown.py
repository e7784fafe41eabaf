"""A short description of a value, for errors."""

from collections.abc import Mapping
from typing import Any


def shown(value: Any) -> str:
    """Describe a value: an array by its shape, a container by its entries.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.export.torch._shown import shown
    >>> shown(np.zeros((4, 3))), shown({"loss": None}), shown((np.zeros((4, 3)), 0.5)), shown(None)
    ('shape (4, 3)', "dict with 'loss'", 'tuple of shape (4, 3), float', 'None')
    """
    if value is None:
        return "None"
    kind = type(value).__name__
    if isinstance(value, Mapping):
        return f"{kind} with {', '.join(map(repr, value)) or 'nothing in it'}"
    if isinstance(value, tuple | list) and len(value) <= 5:
        return f"{kind} of {', '.join(map(shown, value)) or 'nothing'}"
    if isinstance(value, tuple | list):
        return f"{kind} of {len(value)} entries"
    return f"shape {tuple(value.shape)}" if hasattr(value, "shape") else kind
