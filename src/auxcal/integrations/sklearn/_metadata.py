"""Metadata of the rows, such as weights and groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn import get_config

from auxcal._core.arrays import Bools, Ints
from auxcal._core.errors import InvalidInputError


def routes() -> bool:
    """Whether scikit-learn's metadata routing is on."""
    return bool(get_config()["enable_metadata_routing"])


def of_rows(params: Mapping[str, Any], rows: Ints | Bools, n: int) -> dict[str, Any]:
    """Return the metadata of some of n rows."""
    arrays = {name: np.asarray(value) for name, value in params.items() if value is not None}
    for name, array in arrays.items():
        if array.shape != (n,):
            raise InvalidInputError(f"{name} must have one value for each of the {n} rows; got shape {array.shape}.")
    return {name: array[rows] for name, array in arrays.items()}
