""".safetensors: tensors by name, such as those of `safetensors.torch.save_file({"logits": ..., "y": ...}, path)`."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save

from auxcal._core.errors import FileFormatError, InvalidInputError
from auxcal.tables._arrays import arrays_source, joined
from auxcal.tables._format import Columns, Source

_BFLOAT16 = "BF16"


@contextmanager
def open_safetensors(path: Path) -> Iterator[Source]:
    """Read all tensors of a .safetensors file that is not a calibrator."""
    with safe_open(path, framework="numpy") as file:
        if "auxcal" in (file.metadata() or {}):
            raise FileFormatError("expected logits; this is a calibrator. Give the file of the predictions.")
        kinds = {name: file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118
        named = {name: file.get_tensor(name) for name, kind in kinds.items() if kind != _BFLOAT16}
    narrow = [name for name, kind in kinds.items() if kind == _BFLOAT16]
    yield arrays_source(named | (_read_bfloat16(path, narrow) if narrow else {}))


def _read_bfloat16(path: Path, names: list[str]) -> dict[str, NDArray[np.float32]]:
    """Read tensors of a type that NumPy does not have: the first half of a float32."""
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        found = {}
        for name in names:
            begin, end = header[name]["data_offsets"]
            file.seek(8 + length + begin)
            halves = np.frombuffer(file.read(end - begin), "<u2").astype(np.uint32)
            found[name] = (halves << 16).view(np.float32).reshape(header[name]["shape"])
    return found


def write_safetensors(path: Path, batches: Iterator[Columns]) -> None:
    """Write columns of numbers as tensors; all rows are held in memory until the last one arrives."""
    arrays = joined(batches)
    text = [name for name, array in arrays.items() if array.dtype.kind not in "biuf" or array.itemsize > 8]
    if text:
        raise InvalidInputError(
            f"a .safetensors file holds numbers only; {', '.join(map(repr, text))} is none. Write .parquet or .csv."
        )
    path.write_bytes(save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))
