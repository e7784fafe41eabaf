"""Numbers, strings and arrays as one file: safetensors with a JSON header and a digest, never pickle."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load as from_safetensors
from safetensors.numpy import save as to_safetensors

from auxcal._errors import FileFormatError, InvalidInputError
from auxcal._files import check_regular, written_whole
from auxcal._version import VERSION

Tensors: TypeAlias = dict[str, NDArray[Any]]
Header: TypeAlias = dict[str, Any]


def write_state(path: Path, header: Header, tensors: Tensors) -> None:
    """Write a header, in which `to_json` put names in place of arrays, and the arrays; whole or not at all."""
    contents = state_bytes(header, tensors)
    with written_whole(path) as temporary:
        temporary.write_bytes(contents)


def state_bytes(header: Header, tensors: Tensors) -> bytes:
    """Return what `write_state` writes."""
    described = header | {"library": VERSION}
    described["digest"] = digest(described, tensors)
    return bytes(to_safetensors(tensors, metadata={"auxcal": json.dumps(described)}))


def read_state(source: Path | bytes, what: str, kinds: dict[str, type], newest: int) -> tuple[Header, Tensors]:
    """Return the header and the arrays of a file.

    Parameters
    ----------
    source : Path or bytes
        The file, or what it contains.
    what : str
        What it should hold, in a word: a calibrator.
    kinds : dict of str to type
        What the header must have.
    newest : int
        The newest format that is known.
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
        raise _foreign(str(path), what, error) from error


def _parsed(contents: bytes, what: str) -> tuple[Any, Tensors]:
    """Read from bytes, for which safetensors gives no metadata: parse its JSON header."""
    try:
        described = json.loads(contents[8 : 8 + int.from_bytes(contents[:8], "little")])
        return json.loads(described["__metadata__"]["auxcal"]), dict(from_safetensors(contents))
    except (SafetensorError, KeyError, ValueError, TypeError, RecursionError) as error:
        raise _foreign(f"{len(contents)} bytes", what, error) from error


def _foreign(place: str, what: str, error: Exception) -> FileFormatError:
    return FileFormatError(
        f"{place}: expected a {what} that auxcal saved; this is another kind of file, or a part of one "
        f"({type(error).__name__}: {error}). Save the {what} again with {what}.save(path)."
    )
