"""Fitted calibrators as files: safetensors with a JSON header, never pickle.

The tensors of the file are the arrays of the fitted state. Its metadata has one entry, ``auxcal``, a JSON object:

- ``format``: the version of this layout;
- ``library``: the version of auxcal that wrote it;
- ``class`` and ``params``: the calibrator's class and constructor arguments;
- ``state``: the fitted attributes, with ``{"tensor": name}`` in place of an array;
- ``inputs`` and ``fitted_on``: what it takes, with names, and what it learned from; files before 0.2 have neither;
- ``digest``: SHA-256 of all of the above and the tensors, which detects a damaged file.

Nothing in a file can run code: the class is looked up among the calibrators that are already imported, and everything
else is numbers and strings.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_safetensors

from auxcal._errors import FileFormatError, InvalidInputError
from auxcal._files import as_path, written_whole
from auxcal._inputs import FittedOn, Inputs
from auxcal._version import VERSION
from auxcal.calibrators import CALIBRATORS, Calibrator

FORMAT = 1

_KNOWN = ("inputs_", "fitted_on_")  # not learned, and so no part of the state


def save(calibrator: Calibrator, path: str | os.PathLike[str]) -> None:
    """Write a fitted calibrator to a file; an interrupted save leaves the old file intact.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import auxcal
    >>> fitted = auxcal.TemperatureScaling().fit([[2.0, 0.0], [0.0, 1.0], [3.0, 0.0]] * 2, [0, 1, 0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "temperature.safetensors"
    ...     auxcal.save(fitted, path)
    ...     auxcal.load(path).temperature_ == fitted.temperature_
    True
    """
    path = as_path(path)
    if not isinstance(calibrator, Calibrator):
        raise InvalidInputError(
            f"calibrator must be a fitted auxcal.Calibrator; got {type(calibrator).__name__}. Fit one first."
        )
    if not calibrator.__sklearn_is_fitted__():
        from auxcal._errors import NotFittedError

        raise NotFittedError(
            f"this {type(calibrator).__name__} is not fitted, so there is nothing to save. Fit it first."
        )
    tensors: dict[str, np.ndarray[Any, Any]] = {}
    header = {
        "format": FORMAT,
        "library": VERSION,
        "class": type(calibrator).__name__,
        "params": _to_json(calibrator.get_params(deep=False), "params", tensors),
        "state": {name: _to_json(value, name, tensors) for name, value in _state(calibrator).items()},
        "inputs": _known(calibrator.inputs_),
        "fitted_on": _known(calibrator.fitted_on_),
    }
    header["digest"] = _digest(header, tensors)
    contents = to_safetensors(tensors, metadata={"auxcal": json.dumps(header)})
    with written_whole(path) as temporary:
        temporary.write_bytes(contents)


def load(path: str | os.PathLike[str]) -> Calibrator:
    """Load a calibrator that `save` wrote, ready to score, without importing torch.

    A file that is truncated, changed, of another kind, from a newer version or of a former design of its method raises
    a `FileFormatError`.

    Examples
    --------
    >>> import auxcal
    >>> auxcal.load("nowhere.safetensors")
    Traceback (most recent call last):
    ...
    FileNotFoundError: No such file or directory: nowhere.safetensors
    """
    path = as_path(path)
    header, tensors = _read(path)
    _check_header(header, tensors, path)
    kind = _class_named(header["class"], path)
    for name, design in kind.former_designs.items():
        if name in header["state"]:
            raise FileFormatError(
                f"{path}: was saved by {design}, and this version can't score with it; fit it again with auxcal fit."
            )
    try:
        calibrator = kind(**_from_json(header["params"], tensors))
        for name, value in header["state"].items():
            setattr(calibrator, _attribute(name), _from_json(value, tensors))
        calibrator.inputs_ = Inputs(**_from_json(header.get("inputs", {}), tensors))
        calibrator.inputs_.check(calibrator.n_features_in_, calibrator.n_further_features_)
        calibrator.fitted_on_ = FittedOn(**_from_json(header.get("fitted_on", {}), tensors))
        _score_zeros(calibrator)
    except Exception as error:  # a state that does not fit its class can fail in as many ways as there are classes
        raise FileFormatError(
            f"{path}: the fitted state does not fit a {header['class']}: {type(error).__name__}: {error}. "
            f"Save the calibrator again."
        ) from error
    return calibrator


def _attribute(name: str) -> str:
    """Return the name of a fitted attribute, which must not hide a method."""
    if not name.endswith("_") or name.startswith("_"):
        raise ValueError(f"{name!r} is no fitted attribute")
    return name


def _score_zeros(calibrator: Calibrator) -> None:
    d = calibrator.n_further_features_
    features = np.zeros((1, d), dtype=np.float32) if d else None
    calibrator._confidence_in(np.zeros((1, calibrator.n_features_in_), dtype=np.float32), features)


def _state(calibrator: Calibrator) -> dict[str, Any]:
    return {name: value for name, value in vars(calibrator).items() if name.endswith("_") and name not in _KNOWN}


def _known(facts: Inputs | FittedOn) -> dict[str, Any]:
    return {name: value for name, value in asdict(facts).items() if value is not None}


def _to_json(value: Any, name: str, tensors: dict[str, np.ndarray[Any, Any]]) -> Any:
    """Return the JSON form of a value, and add its arrays to the tensors."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        tensors[name] = np.ascontiguousarray(value)
        return {"tensor": name}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple | list):
        return [_to_json(item, f"{name}.{i}", tensors) for i, item in enumerate(value)]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _to_json(item, f"{name}.{key}", tensors) for key, item in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InvalidInputError(
        f"{name} can't be saved: a file holds numbers, strings, arrays and tuples or dicts of them; got "
        f"{type(value).__name__}. Use an int as random_state."
    )


def _from_json(value: Any, tensors: dict[str, np.ndarray[Any, Any]]) -> Any:
    if isinstance(value, list):
        return tuple(_from_json(item, tensors) for item in value)
    if isinstance(value, dict):
        if set(value) == {"tensor"}:
            return tensors[value["tensor"]]
        return {key: _from_json(item, tensors) for key, item in value.items()}
    return value


def _read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    if path.is_dir():
        raise FileFormatError(f"{path}: a saved calibrator was expected; this is a folder. Name the file in it.")
    try:
        with safe_open(path, framework="numpy") as file:
            header = json.loads((file.metadata() or {})["auxcal"])
            return header, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise FileNotFoundError(f"No such file or directory: {path}") from None
    except (SafetensorError, KeyError, ValueError, TypeError, OSError, RecursionError) as error:
        raise FileFormatError(
            f"{path}: expected a calibrator that auxcal saved; this is another kind of file, or a part of one "
            f"({type(error).__name__}: {error}). Save the calibrator again with calibrator.save(path)."
        ) from error


def _check_header(header: Any, tensors: dict[str, np.ndarray[Any, Any]], path: str | os.PathLike[str]) -> None:
    kinds = {"format": int, "library": str, "class": str, "params": dict, "state": dict, "digest": str}
    if not isinstance(header, dict) or any(not isinstance(header.get(key), kind) for key, kind in kinds.items()):
        raise FileFormatError(f"{path}: the header lacks one of {', '.join(kinds)}. Save the calibrator again.")
    if header["format"] > FORMAT:
        raise FileFormatError(
            f"{path}: written by auxcal {header['library']} in format {header['format']}; this is auxcal "
            f"{VERSION}, which reads up to format {FORMAT}. Upgrade with pip install -U auxcal."
        )
    if _digest(header, tensors) != header["digest"]:
        raise FileFormatError(
            f"{path}: the contents do not match their digest, so the file was damaged or changed after it was saved. "
            f"Save the calibrator again."
        )


def _digest(header: dict[str, Any], tensors: dict[str, np.ndarray[Any, Any]]) -> str:
    digest = hashlib.sha256()
    digest.update(json.dumps({k: v for k, v in header.items() if k != "digest"}, sort_keys=True).encode())
    for name in sorted(tensors):
        array = tensors[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _class_named(name: str, path: Path) -> type[Calibrator]:
    """Find a class among the library's calibrators, or among the user's own that are already imported."""
    own: type = Calibrator  # as a plain type, since mypy takes no abstract class for a type[Calibrator]
    known = {kind.__name__: kind for kind in [*_subclasses(own), *CALIBRATORS.values()]}
    if name not in known:
        raise FileFormatError(
            f"{path}: expected a calibrator that is known here; got a {name}. Import the module that defines it before "
            f"loading, or upgrade with pip install -U auxcal."
        )
    return known[name]


def _subclasses(kind: type[Calibrator]) -> list[type[Calibrator]]:
    return [kind for child in kind.__subclasses__() for kind in (child, *_subclasses(child))]
