"""Fitted state: numbers and arrays as one file with a digest, and the validation of what a file holds."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
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
    sha = hashlib.sha256()
    sha.update(json.dumps({k: v for k, v in header.items() if k != "digest"}, sort_keys=True).encode())
    for name in sorted(tensors):
        array = tensors[name]
        sha.update(f"{name} {array.dtype.str} {array.shape}".encode())
        sha.update(np.ascontiguousarray(array).tobytes())
    return sha.hexdigest()


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


Shape: TypeAlias = tuple[int | str, ...] | None
"""Of an array in a fitted state: numbers and letters, as ("K+1", "K"); () of a number; None of what has parts.

K is the number of classes, d of features, and x of both; m is 1 or K; another letter is the length that it meets first.
"""


def check_learned(shapes: Mapping[str, Shape], state: Mapping[str, Any], lengths: Mapping[str, int]) -> None:
    """Reject a fitted state with other names than these, with other shapes, or with numbers that are not finite."""
    if odd := sorted(state.keys() ^ shapes.keys()):
        raise ValueError(f"there must be {', '.join(shapes) or 'nothing'}, and nothing else; see {', '.join(odd)}")
    known = dict(lengths)
    for name, value in state.items():
        shape = shapes[name]
        if shape is not None:
            plain = isinstance(value, np.ndarray) if shape else isinstance(value, int | float)
            fits = plain and np.ndim(value) == len(shape)
            if not (fits and all(_fits(*pair, known) for pair in zip(np.shape(value), shape, strict=True))):
                raise ValueError(f"{name} must have the shape ({', '.join(map(str, shape))}), not {np.shape(value)}")
        check_finite(value, name)


def _fits(length: int, wanted: int | str, known: dict[str, int]) -> bool:
    if isinstance(wanted, int):
        return length == wanted
    letter, plus, _ = wanted.partition("+")
    if letter == "m" and length not in (1, known["K"]):  # a map for all predictions, or one for each class
        return False
    return length == known.setdefault(letter, length - bool(plus)) + bool(plus)


def check_finite(value: Any, name: str) -> None:
    """Reject numbers that are not finite; only what a search tried may have no score."""
    if isinstance(value, dict):
        value = tuple(part for key, part in value.items() if key != "score")
    if isinstance(value, tuple | list):
        for part in value:
            check_finite(part, name)
    numeric = isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")
    if numeric and not np.isfinite(value).all():
        raise ValueError(f"{name} must be finite")


def check_like(given: Any, fresh: Any, name: str = "state") -> None:
    """Reject a state that is not built like that of a fresh object: names, lengths, shapes and kinds of numbers.

    What an empty list or dict of the fresh one may hold is for the caller to check.
    """
    if isinstance(fresh, np.ndarray):
        alike = isinstance(given, np.ndarray) and (given.shape, given.dtype) == (fresh.shape, fresh.dtype)
        fits = alike and not np.isnan(given).any()
    elif isinstance(fresh, dict):
        fits = isinstance(given, dict) and (not fresh or given.keys() == fresh.keys())
    elif isinstance(fresh, tuple | list):
        fits = isinstance(given, tuple | list) and (not fresh or len(given) == len(fresh))
    elif isinstance(fresh, str):
        fits = given == fresh
    else:
        kinds = int if isinstance(fresh, int) else (int, float)
        fits = isinstance(given, kinds) and not isinstance(given, bool) and not math.isnan(given)
    if not fits:
        raise ValueError(f"{name} must be like {fresh!r}, not {given!r:.100}")
    if isinstance(fresh, dict):
        for key, inner in fresh.items():
            check_like(given[key], inner, f"{name}.{key}")
    elif isinstance(fresh, tuple | list):
        for part, inner in zip(given, fresh or given, strict=True):
            check_like(part, inner, name)


def check_count(value: Any, name: str) -> None:
    """Reject what is no count, and counts above 2**62: two of those would not add up within an int64."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 2**62:
        raise ValueError(f"{name} must be a whole number from 0 to 2**62")
