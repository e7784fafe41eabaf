""".npz: NumPy arrays by name, such as those of `numpy.savez(path, logits=logits, y=y)`."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from auxcal._core.errors import FileFormatError
from auxcal._core.files import open_arrays
from auxcal._core.memory import check_memory
from auxcal.tables._arrays import arrays_source, joined
from auxcal.tables._format import Columns, Source


@contextmanager
def open_npz(path: Path) -> Iterator[Source]:
    """Read all arrays of an .npz file."""
    if not zipfile.is_zipfile(path):
        raise FileFormatError(
            "expected a complete .npz file; this is another kind of file, or damaged. Check it, or save it again with "
            "numpy.savez(path, logits=logits, y=y)."
        )
    with open_arrays(path) as arrays:
        if len(set(arrays.files)) < len(arrays.files):
            raise FileFormatError("an array is there more than once. Save the file again.")
        unpacked = sum(member.file_size for member in arrays.zip.infolist())
        check_memory(unpacked, "what it holds", instead="Save it as .npy or .parquet, which are read in batches.")
        named = dict(arrays)
    yield arrays_source(named)


def write_npz(path: Path, batches: Iterator[Columns]) -> None:
    """Write columns as arrays; all rows are held in memory until the last one arrives."""
    with path.open("wb") as file:
        np.savez_compressed(file, **joined(batches))  # type: ignore[arg-type]
