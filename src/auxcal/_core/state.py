"""Fitted state: numbers and arrays as one file with a digest, and the validation of what a file holds."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import DTypeLike, NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load as from_safetensors
from safetensors.numpy import save as to_safetensors

from auxcal._core.errors import FileFormatError, InvalidInputError
from auxcal._core.files import atomic_write, check_regular
from auxcal._version import VERSION

Tensors: TypeAlias = dict[str, NDArray[Any]]
Header: TypeAlias = dict[str, Any]


def write_state(path: Path, header: Header, tensors: Tensors) -> None:
    """Write a header, in which `to_json` put names in place of arrays, and the arrays; whole or not at all."""
    contents = state_bytes(header, tensors)
    with atomic_write(path) as temporary:
        temporary.write_bytes(contents)


def state_bytes(header: Header, tensors: Tensors) -> bytes:
    """Return what `write_state` writes."""
    described = header | {"library": VERSION}
    described["digest"] = digest(described, tensors)
    return bytes(to_safetensors(tensors, metadata={"auxcal": json.dumps(described)}))


def read_state(source: Path | bytes, what: str, kinds: dict[str, type], newest: int) -> tuple[Header, Tensors]:
    """Return the header, which must have these kinds of entries, and the arrays of a file, or of its bytes.

    `what` names what it should hold, as in "calibrator", and `newest` is the newest format that this version reads.
    """
    path = source if isinstance(source, Path) else f"{len(source)} bytes"
    header, tensors = _read(source, what)
    kinds = {"format": int, "library": str, "digest": str} | kinds
    if not isinstance(header, dict) or any(not isinstance(header.get(key), kind) for key, kind in kinds.items()):
        raise FileFormatError(f"{path}: the header lacks one of {', '.join(kinds)}. Save the {what} again.")
    if header["format"] > newest:
        raise FileFormatError(
            f"{path}: written by auxcal {header['library']} in format {header['format']}; this is auxcal {VERSION}, "
            f"which reads up to format {newest}. Upgrade with git pull && pip install . in a clone of auxcal."
        )
    if digest(header, tensors) != header["digest"]:
        raise FileFormatError(
            f"{path}: the contents do not match their digest, so the file was damaged or changed after it was saved. "
            f"Save the {what} again."
        )
    return header, tensors


def to_json(value: Any, name: str, tensors: Tensors) -> Any:
    """Return the JSON form of a value, and add its arrays to the tensors."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        tensors[name] = np.ascontiguousarray(value)
        return {"tensor": name}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple | list):
        return [to_json(item, f"{name}.{i}", tensors) for i, item in enumerate(value)]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: to_json(item, f"{name}.{key}", tensors) for key, item in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InvalidInputError(
        f"{name} can't be saved: a file holds numbers, strings, arrays and tuples or dicts of them; got "
        f"{type(value).__name__}. Use an int as random_state."
    )


def from_json(value: Any, tensors: Tensors) -> Any:
    """Return what `to_json` was given, with tuples in place of lists."""
    if isinstance(value, list):
        return tuple(from_json(item, tensors) for item in value)
    if isinstance(value, dict):
        if set(value) == {"tensor"}:
            return tensors[value["tensor"]]
        return {key: from_json(item, tensors) for key, item in value.items()}
    return value


def digest(header: Header, tensors: Tensors) -> str:
    """Return the SHA-256 of a header, without its own digest, and of the arrays."""
    found = hashlib.sha256()
    found.update(json.dumps({k: v for k, v in header.items() if k != "digest"}, sort_keys=True).encode())
    for name in sorted(tensors):
        array = tensors[name]
        found.update(f"{name} {array.dtype.str} {array.shape}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def _read(path: Path | bytes, what: str) -> tuple[Any, Tensors]:
    if isinstance(path, bytes):
        return _parsed(path, what)
    if path.is_dir():
        raise FileFormatError(f"{path}: a saved {what} was expected; this is a folder. Name the file in it.")
    if path.exists():
        check_regular(path)
    try:
        with safe_open(path, framework="numpy") as file:
            header = json.loads((file.metadata() or {})["auxcal"])
            return header, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise FileNotFoundError(f"No such file or directory: {path}") from None
    except (SafetensorError, KeyError, ValueError, TypeError, OSError, RecursionError) as error:
        raise _unreadable(str(path), what, error) from error


def _parsed(contents: bytes, what: str) -> tuple[Any, Tensors]:
    """Read from bytes, for which safetensors gives no metadata: parse its JSON header."""
    try:
        described = json.loads(contents[8 : 8 + int.from_bytes(contents[:8], "little")])
        return json.loads(described["__metadata__"]["auxcal"]), dict(from_safetensors(contents))
    except (SafetensorError, KeyError, ValueError, TypeError, RecursionError) as error:
        raise _unreadable(f"{len(contents)} bytes", what, error) from error


def _unreadable(place: str, what: str, error: Exception) -> FileFormatError:
    return FileFormatError(
        f"{place}: expected a {what} that auxcal saved; this is another kind of file, or a part of one "
        f"({type(error).__name__}: {error}). Save the {what} again with {what}.save(path)."
    )


Lengths: TypeAlias = dict[str, int]
"""What the letters of a shape stand for: K classes, d features, and what a check has met so far."""

Check: TypeAlias = Callable[[Any, str, Lengths], None]
"""Validates a part of a saved state, by its name: keys, types, shapes, ranges. A ValueError says what it must be."""

_LARGEST = float(np.finfo(np.float32).max)
_LARGEST_COUNT = 2**62  # two such counts add up within an int64
_TOLERANCE = 1e-6  # of a sum of float32 numbers, whose rounding is 6e-8 for each


def _require(condition: bool, name: str, what: str) -> None:
    if not condition:
        raise ValueError(f"{name} must {what}")


def numbers(
    *shape: int | str,
    least: float = -_LARGEST,
    most: float = _LARGEST,
    adds_up: bool = False,
    rises: bool = False,
    may_be_nan: bool = False,
    whole: bool = False,
    dtype: DTypeLike | None = None,
) -> Check:
    """Return the check of an array, or of one number where there is no shape.

    Parameters
    ----------
    *shape : int or str
        Its lengths: numbers, letters, or a letter plus one, as "K+1". A new letter gets the length that it meets.
    least, most : float
        The range; by default all that float32 can hold.
    adds_up, rises, may_be_nan, whole : bool
        The sum must be 1; numbers must not decrease along the last axis; NaN is allowed, for what was not measured; the
        numbers must be integers.
    dtype : dtype, optional
        The only dtype that the array may have.
    """

    def check(value: Any, name: str, lengths: Lengths) -> None:
        array = np.asarray(value)
        plain = isinstance(value, np.ndarray) if shape else isinstance(value, int | float)
        kinds = "iuf" if shape else "iufO"  # a whole number beyond 64 bits, as a random state has, is an object
        is_number = plain and not isinstance(value, bool) and array.dtype.kind in kinds
        _require(is_number, name, f"be {'an array of numbers' if shape else 'a number'}")
        other = (whole and array.dtype.kind == "f") or (dtype is not None and array.dtype != dtype)
        _require(not other, name, f"be {'whole' if dtype is None else np.dtype(dtype)} numbers")
        fits = array.ndim == len(shape) and all(_fits(*pair, lengths) for pair in zip(array.shape, shape, strict=True))
        given = ", ".join(f"{letter} = {lengths[letter]}" for letter in ("K", "d", "m") if letter in lengths)
        _require(fits, name, f"have the shape ({', '.join(map(str, shape))}) with {given}, not {array.shape}")
        valid = array[~np.isnan(array)] if may_be_nan else array
        within = valid.size == 0 or (least <= float(valid.min()) and float(valid.max()) <= most)  # NaN is not
        _require(within, name, f"be from {least:.2g} {'up' if most == math.inf else f'to {most:.2g}'}")
        _require(not adds_up or abs(array.sum(dtype=np.float64) - 1) <= _TOLERANCE, name, "add up to 1")
        # A difference of unsigned numbers is never negative.
        _require(not rises or not (array[..., 1:] < array[..., :-1]).any(), name, "rise")

    return check


def _fits(length: int, wanted: int | str, lengths: Lengths) -> bool:
    if isinstance(wanted, int):
        return length == wanted
    letter, plus, _ = wanted.partition("+")
    if letter == "m" and length not in (1, lengths["K"]):  # a map for all predictions, or one for each class
        return False
    return length == lengths.setdefault(letter, length - bool(plus)) + bool(plus)


def knots(*, least: float = -_LARGEST, most: float = _LARGEST) -> Check:
    """Return the check of a map that is linear between knots: their places, which rise, above their values."""

    def check(value: Any, name: str, lengths: Lengths) -> None:
        own = dict(lengths)  # the next map may have another number of knots
        numbers(2, "knots")(value, name, own)
        rise = value.shape[1] > 0 and not (value[0, 1:] <= value[0, :-1]).any()
        _require(rise, name, "have knots that rise")
        numbers("knots", least=least, most=most)(value[1], name, own)

    return check


def layers(first: str, last: str | int) -> Check:
    """Return the check of a network's matrices, each of which takes what the one before it gives."""

    def check(value: Any, name: str, lengths: Lengths) -> None:
        _require(isinstance(value, tuple) and len(value) > 0, name, "be the matrices of a network")
        ends = [first, *(f"layer {i}" for i in range(1, len(value))), last]
        each(*map(numbers, ends[:-1], ends[1:]))(value, name, lengths)

    return check


def biases(last: str | int) -> Check:
    """Return the check of what is added in each layer of a network, whose matrices came before."""

    def check(value: Any, name: str, lengths: Lengths) -> None:
        hidden = [letter for letter in lengths if letter.startswith("layer ")]
        each(*map(numbers, hidden), numbers(last))(value, name, lengths)

    return check


def words(*allowed: str) -> Check:
    """Return the check of a word."""
    return lambda value, name, lengths: _require(value in allowed, name, f"be one of {', '.join(allowed)}")


def each(*checks: Check) -> Check:
    """Return the check of a tuple with so many entries."""

    def check(value: Any, name: str, lengths: Lengths) -> None:
        _require(isinstance(value, tuple) and len(value) == len(checks), name, f"have {len(checks)} parts")
        for part, of_part in zip(value, checks, strict=True):
            of_part(part, name, lengths)

    return check


def or_none(check: Check) -> Check:
    """Return the check of what may be None."""

    def check_or_none(value: Any, name: str, lengths: Lengths) -> None:
        if value is not None:
            check(value, name, lengths)

    return check_or_none


def times(length: str, of_each: Check) -> Check:
    """Return the check of a tuple of like entries, as many as a letter stands for."""

    def check(value: Any, name: str, lengths: Lengths) -> None:
        fits = isinstance(value, tuple) and _fits(len(value), length, lengths)
        _require(fits, name, f"have {lengths.get(length)} parts")
        each(*[of_each] * len(value))(value, name, lengths)

    return check


def table(**columns: Check) -> Check:
    """Return the check of a dict with these entries."""

    def check(value: Any, name: str, lengths: Lengths) -> None:
        known = isinstance(value, dict) and value.keys() == columns.keys()
        _require(known, name, f"have the entries {', '.join(columns)}")
        for key, of_column in columns.items():
            of_column(value[key], f"{name}.{key}", lengths)

    return check


def check_learned(learned: Mapping[str, Check], state: Mapping[str, Any], lengths: Lengths) -> None:
    """Reject a fitted state that fails the method's checks."""
    if odd := sorted(state.keys() ^ learned.keys()):
        raise ValueError(f"there must be {', '.join(learned) or 'nothing'}, and nothing else; see {', '.join(odd)}")
    for name, check in learned.items():
        check(state[name], name, lengths)


def check_count(value: Any, name: str) -> None:
    """Reject what is no count, and counts above 2**62."""
    numbers(least=0, most=_LARGEST_COUNT, whole=True)(value, name, {})


def check_like(given: Any, fresh: Any, name: str = "state", *, signed: str | None = None) -> None:
    """Reject a state that is not built like that of a fresh object, before its first row.

    Numbers are not NaN, and not negative but for those of the name `signed` and of integer arrays. A list that is empty
    in the fresh one may hold rows of numbers; what a dict that is empty there may hold is for the caller to check.
    """
    if isinstance(fresh, np.ndarray):
        least = -math.inf if fresh.dtype.kind == "i" else 0  # an index can be -1 for none
        numbers(*fresh.shape, least=least, most=math.inf, dtype=fresh.dtype)(given, name, {})
    elif isinstance(fresh, dict):
        known = isinstance(given, dict) and (not fresh or given.keys() == fresh.keys())
        _require(known, name, f"have the entries {', '.join(fresh) or 'of a state'}")
        for key, inner in fresh.items():
            check_like(given[key], inner, f"{name}.{key}", signed=signed)
    elif isinstance(fresh, tuple | list):
        known = isinstance(given, tuple | list) and (not fresh or len(given) == len(fresh))
        _require(known, name, f"be a list{f' of {len(fresh)}' if fresh else ''}")
        rows = ([0.0] * (len(row) if isinstance(row, tuple | list) and row else 1) for row in given)
        for part, inner in zip(given, fresh or rows, strict=True):
            check_like(part, inner, name, signed=signed)
    elif isinstance(fresh, str):
        _require(given == fresh, name, f"be {fresh!r}")
    else:
        least = -math.inf if name == signed else 0
        numbers(least=least, most=math.inf, whole=isinstance(fresh, int))(given, name, {})


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
