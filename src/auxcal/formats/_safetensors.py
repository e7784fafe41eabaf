""".safetensors: tensors by name, such as those of `safetensors.torch.save_file({"logits": ..., "y": ...}, path)`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save

from auxcal._errors import FileFormatError, InvalidInputError
from auxcal.formats._arrays import arrays_source, joined
from auxcal.formats._format import Columns, Source


@contextmanager
def open_safetensors(path: Path) -> Iterator[Source]:
    """Read all tensors of a .safetensors file that is not a calibrator."""
    with safe_open(path, framework="numpy") as file:
        if "auxcal" in (file.metadata() or {}):
            raise FileFormatError("expected logits; this is a calibrator. Give the file of the predictions.")
        named = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    yield arrays_source(named)


def write_safetensors(path: Path, batches: Iterator[Columns]) -> None:
    """Write columns of numbers as tensors; all rows are held in memory until the last one arrives."""
    arrays = joined(batches)
    text = [name for name, array in arrays.items() if array.dtype.kind not in "biuf"]
    if text:
        raise InvalidInputError(
            f"a .safetensors file holds numbers only; {', '.join(map(repr, text))} is none. Write .parquet or .csv."
        )
    path.write_bytes(save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))
