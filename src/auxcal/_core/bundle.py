"""Bundles: `.npz` files with logits, true classes and what else is known about the rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Floats
from auxcal._core.errors import AuxcalError, FileFormatError, InvalidInputError
from auxcal._core.files import as_path, atomic_write, check_regular, open_arrays


def write_bundle(path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any] | None], *, half: bool) -> None:
    """Write the arrays that are not None; `half` stores logits and features as float16."""
    path = as_path(path)
    if path.suffix != ".npz":
        raise InvalidInputError(f"a bundle is an .npz file; got {path.name!r}. Save it as {path.stem}.npz.")
    stored = {name: array for name, array in arrays.items() if array is not None}
    if half:
        stored |= {name: _halved(stored[name], name) for name in ("logits", "features") if name in stored}
    with atomic_write(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **stored)  # type: ignore[arg-type]


@contextmanager
def reading_bundle(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Give the arrays of a bundle by name; errors name the file."""
    path = as_path(path)
    check_regular(path)
    try:
        with open_arrays(path) as arrays:
            yield arrays
    except AuxcalError as error:
        raise type(error)(f"{path}: {error}") from None
    except Exception as error:  # a damaged file can make the zip, zlib and NumPy readers raise nearly anything
        raise FileFormatError(
            f"{path}: expected a bundle, an .npz file with the arrays 'logits' and 'y'; reading it failed with "
            f"{type(error).__name__}: {error}. Write one with numpy.savez(path, logits=logits, y=y)."
        ) from error


def _halved(array: Floats, name: str) -> Floats:
    if np.abs(array).max() > np.finfo(np.float16).max:
        raise InvalidInputError(f"these {name} do not fit into float16 (beyond 65504). Save them with half=False.")
    return array.astype(np.float16)
