"""Checks of fitted attributes, so that a file can't bring anything else: their shapes and ranges.

A check takes a value and the lengths that are known by letter (see `lengths_of`, and whatever the shapes before it have
named), and raises a ValueError that ends the sentence "temperature_ must …".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

import numpy as np

Lengths: TypeAlias = dict[str, int]
Check: TypeAlias = Callable[[Any, Lengths], None]

_LARGEST = float(np.finfo(np.float32).max)
_TOLERANCE = 1e-6


def numbers(
    *shape: int | str,
    least: float = -_LARGEST,
    most: float = _LARGEST,
    adds_up: bool = False,
    rises: bool = False,
    may_be_nan: bool = False,
) -> Check:
    """Return the check of an array, or of one number where there is no shape.

    Parameters
    ----------
    *shape : int or str
        Its lengths: numbers, letters, or a letter plus one, as "K+1". A letter that is not known yet becomes known.
    least, most : float
        The range; by default all that float32 can hold.
    adds_up : bool
        Whether the sum must be 1.
    rises : bool
        Whether the numbers must not decrease along the last axis.
    may_be_nan : bool
        Whether NaN is allowed, for what is not known.

    Examples
    --------
    >>> from auxcal.calibrators._learned import numbers
    >>> numbers(least=0.0)(-1.0, {})
    Traceback (most recent call last):
    ...
    ValueError: be from 0 to 3.4e+38
    """

    def check(value: Any, lengths: Lengths) -> None:
        array = np.asarray(value)
        plain = isinstance(value, np.ndarray) if shape else isinstance(value, int | float)
        if not plain or isinstance(value, bool) or array.dtype.kind not in "iuf":
            raise ValueError(f"be {'an array of numbers' if shape else 'a number'}")
        if array.ndim != len(shape) or not all(map(_fits(lengths), array.shape, shape)):
            raise ValueError(f"have the shape {_written(shape, lengths)}, not {array.shape}")
        known = array[~np.isnan(array)] if may_be_nan else array
        if known.size and not (least <= float(known.min()) and float(known.max()) <= most):  # NaN is neither
            raise ValueError(f"be from {least:.2g} to {most:.2g}")
        if adds_up and not abs(array.sum(dtype=np.float64) - 1) <= _TOLERANCE:
            raise ValueError("add up to 1")
        if rises and (array[..., 1:] < array[..., :-1]).any():  # a difference of unsigned numbers is never negative
            raise ValueError("rise")

    return check


def _fits(lengths: Lengths) -> Callable[[int, int | str], bool]:
    def fits(length: int, wanted: int | str) -> bool:
        if isinstance(wanted, int):
            return length == wanted
        letter, plus, _ = wanted.partition("+")
        if letter == "m" and length not in (1, lengths["K"]):  # a map for all predictions, or one for each class
            return False
        return length == lengths.setdefault(letter, length - bool(plus)) + bool(plus)

    return fits


def _written(shape: Sequence[int | str], lengths: Lengths) -> str:
    known = ", ".join(f"{letter} = {lengths[letter]}" for letter in ("K", "d", "m") if letter in lengths)
    return f"({', '.join(map(str, shape))}) with {known}"


def knots(*, least: float = -_LARGEST, most: float = _LARGEST) -> Check:
    """Return the check of a map that is linear between knots: their places, which rise, above their values."""
    places, values = numbers(2, "knots", rises=False), numbers("knots", least=least, most=most)

    def check(value: Any, lengths: Lengths) -> None:
        own = {letter: length for letter, length in lengths.items() if letter != "knots"}
        places(value, own)
        if value.shape[1] == 0 or (value[0, 1:] <= value[0, :-1]).any():
            raise ValueError("have knots that rise")
        values(value[1], own)

    return check


def layers(first: str, last: str | int) -> Check:
    """Return the check of a network's matrices, each of which takes what the one before it gives."""

    def check(value: Any, lengths: Lengths) -> None:
        if not isinstance(value, tuple) or not value:
            raise ValueError("be the matrices of a network")
        names = [first, *(f"layer {i}" for i in range(1, len(value))), last]
        for matrix, before, after in zip(value, names[:-1], names[1:], strict=True):
            numbers(before, after)(matrix, lengths)

    return check


def biases(last: str | int) -> Check:
    """Return the check of what is added in each layer of a network, whose matrices came before."""

    def check(value: Any, lengths: Lengths) -> None:
        n_hidden = sum(name.startswith("layer ") for name in lengths)
        each(*(numbers(f"layer {i}") for i in range(1, n_hidden + 1)), numbers(last))(value, lengths)

    return check


def words(*allowed: str) -> Check:
    """Return the check of a word."""

    def check(value: Any, lengths: Lengths) -> None:
        if value not in allowed:
            raise ValueError(f"be one of {', '.join(allowed)}")

    return check


def each(*checks: Check) -> Check:
    """Return the check of a tuple with so many entries."""

    def check(value: Any, lengths: Lengths) -> None:
        if not isinstance(value, tuple) or len(value) != len(checks):
            raise ValueError(f"have {len(checks)} parts")
        for part, of_part in zip(value, checks, strict=True):
            of_part(part, lengths)

    return check


def times(length: str, of_each: Check) -> Check:
    """Return the check of a tuple of like entries, as many as a letter says."""

    def check(value: Any, lengths: Lengths) -> None:
        if not isinstance(value, tuple) or not _fits(lengths)(len(value), length):
            raise ValueError(f"have {lengths.get(length)} parts")
        for part in value:
            of_each(part, lengths)

    return check


def table(**columns: Check) -> Check:
    """Return the check of a dict with these entries."""

    def check(value: Any, lengths: Lengths) -> None:
        if not isinstance(value, dict) or set(value) != set(columns):
            raise ValueError(f"have the entries {', '.join(columns)}")
        for name, of_column in columns.items():
            of_column(value[name], lengths)

    return check


def lengths_of(calibrator: Any) -> Lengths:
    """Return what is known by letter: K classes, d features, x columns of both."""
    k, d = calibrator.n_features_in_, calibrator.n_further_features_
    return {"K": k, "d": d, "x": k + d}


def check_learned(learned: Mapping[str, Check], state: Mapping[str, Any], lengths: Lengths) -> None:
    """Reject a fitted state that fails the method's checks."""
    if set(state) != set(learned):
        odd = sorted(set(state) ^ set(learned))
        raise ValueError(f"there must be {', '.join(learned) or 'nothing'}, and nothing else; see {', '.join(odd)}")
    for name, check in learned.items():
        try:
            check(state[name], lengths)
        except ValueError as error:
            raise ValueError(f"{name} must {error}") from None


def check_parameters(kind: type, parameters: Mapping[str, Any]) -> None:
    """Reject arguments of a constructor that don't match its annotations."""
    hints = get_type_hints(kind.__init__)  # type: ignore[misc]
    for name, value in parameters.items():
        if name in hints and not _is_a(value, hints[name]):
            raise ValueError(f"{name} can't be {value!r}")


def _is_a(value: Any, hint: Any) -> bool:
    """Whether a value matches an annotation; true for types that a file can't hold."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return isinstance(value, str) and value in arguments
    if origin is Union or type(hint).__name__ == "UnionType":
        return any(_is_a(value, each) for each in arguments)
    if isinstance(origin, type) and issubclass(origin, Sequence):
        items = value.tolist() if isinstance(value, np.ndarray) and value.ndim == 1 else value
        return isinstance(items, tuple | list) and all(_is_a(item, arguments[0]) for item in items)
    if hint is type(None):
        return value is None
    if hint in (int, float):
        whole = isinstance(value, int) and not isinstance(value, bool)
        return whole or (hint is float and isinstance(value, float) and bool(np.isfinite(value)))
    return not isinstance(hint, type) or isinstance(value, hint)
