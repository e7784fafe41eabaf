"""Whether what a file says of a state can be one: the same names, kinds and shapes, and no number that none has."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_MOST = 2**62  # of what is counted


def check_like(given: Any, fresh: Any, name: str = "state", *, signed: str | None = None) -> None:
    """Refuse a state that is not built like that of an object that has seen nothing yet.

    Numbers are not NaN, and not negative but for those of the name `signed`. A list that is empty in the fresh one
    may hold rows of numbers; what a dict that is empty there may hold is for the caller to check.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal._state_checks import check_like
    >>> check_like({"n_rows": 5, "sums": np.array([np.nan])}, {"n_rows": 0, "sums": np.zeros(1)})
    Traceback (most recent call last):
    ...
    ValueError: state.sums must hold numbers from 0 up
    """
    if isinstance(fresh, np.ndarray):
        check_numbers(given, name, shape=fresh.shape, dtype=fresh.dtype)
    elif isinstance(fresh, dict):
        if not isinstance(given, dict) or (fresh and given.keys() != fresh.keys()):
            raise ValueError(f"{name} must have the entries {', '.join(fresh) or 'of a state'}")
        for key, inner in fresh.items():
            check_like(given[key], inner, f"{name}.{key}", signed=signed)
    elif isinstance(fresh, tuple | list):
        if not isinstance(given, tuple | list) or (fresh and len(given) != len(fresh)):
            raise ValueError(f"{name} must be a list{f' of {len(fresh)}' if fresh else ''}")
        for each, inner in zip(given, fresh or [None] * len(given), strict=True):
            check_like(each, [0.0] * _width(each) if inner is None else inner, name, signed=signed)
    elif isinstance(fresh, str):
        if given != fresh:
            raise ValueError(f"{name} must be {fresh!r}")
    else:
        check_number(given, name, whole=isinstance(fresh, int), signed=name == signed)


def _width(row: Any) -> int:
    return len(row) if isinstance(row, tuple | list) and row else 1


def check_number(value: Any, name: str, *, whole: bool = False, signed: bool = False) -> None:
    """Refuse what is no number, or one below 0 unless that may be."""
    kinds = int if whole else int | float
    least = -math.inf if signed else 0
    if not isinstance(value, kinds) or isinstance(value, bool) or math.isnan(value) or value < least:
        raise ValueError(f"{name} must be a {'whole ' if whole else ''}number{'' if signed else ' from 0 up'}")


def check_count(value: Any, name: str) -> None:
    """Refuse what nobody can have counted to."""
    check_number(value, name, whole=True)
    if value > _MOST:
        raise ValueError(f"{name} must be a number that can be counted to")


def check_numbers(
    value: Any, name: str, *, shape: tuple[int, ...], dtype: np.dtype[Any] | None = None, most: float = math.inf
) -> None:
    """Refuse what is no array of this shape and kind, with numbers from 0 up; those of a given whole kind are free."""
    if (
        not isinstance(value, np.ndarray)
        or value.dtype.kind not in "iuf"
        or (dtype is not None and value.dtype != dtype)
    ):
        raise ValueError(f"{name} must be an array of {'numbers' if dtype is None else dtype}")
    if value.shape != shape:
        raise ValueError(f"{name} must have the shape {shape}, not {value.shape}")
    free = dtype is not None and dtype.kind == "i"  # such as -1 for none
    if not free and not ((value >= 0) & (value <= most)).all():
        raise ValueError(f"{name} must hold numbers from 0 up")
