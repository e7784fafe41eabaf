"""Read the weights of a Keras network that TensorFlow.js keeps: a list in ``model.json``, numbers in shards."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from auxcal._core.arrays import Floats
from auxcal._core.errors import FileFormatError, MissingDataError


def read_tfjs(path: Path) -> dict[str, Floats]:
    """Return the arrays that a ``model.json`` lists, by name; the shards lie beside it."""
    if not path.is_file():
        raise MissingDataError(f"{path}: expected the model.json of a network; there is none. Put it there.")
    try:
        groups = json.loads(path.read_text(encoding="utf-8"))["weightsManifest"]
        return {name: array for group in groups for name, array in _arrays(path, group).items()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileFormatError(
            f"{path}: expected a network of TensorFlow.js with all of its shards; reading it failed with "
            f"{type(error).__name__}: {error}. Get the published files again."
        ) from error


def _arrays(path: Path, group: dict[str, Any]) -> dict[str, Floats]:
    numbers = np.frombuffer(b"".join((path.parent / name).read_bytes() for name in group["paths"]), dtype="<f4")
    entries = group["weights"]
    if any(entry["dtype"] != "float32" or "quantization" in entry for entry in entries):
        raise ValueError("some weights are not kept as float32")
    ends = np.cumsum([prod(entry["shape"]) for entry in entries])
    if ends[-1] != len(numbers):
        raise ValueError(f"the list has {ends[-1]:,} numbers and the shards {len(numbers):,}")
    parts = np.split(numbers, ends[:-1])
    return {entry["name"]: part.reshape(entry["shape"]) for entry, part in zip(entries, parts, strict=True)}
