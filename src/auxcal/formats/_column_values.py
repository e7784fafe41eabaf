"""One column of a table, however its format gives it, as NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def values_of_column(column: Any) -> NDArray[Any]:
    """Return numbers as they are, and text as objects."""
    if not isinstance(column, np.ndarray):
        from auxcal.formats._arrow import values_of

        return values_of(column)
    if isinstance(column, np.ma.MaskedArray):
        return np.where(column.mask, np.nan, column.data)
    return column.astype(str).astype(object) if column.dtype.kind in "US" else column
