""".npz: NumPy arrays by name, such as those of `numpy.savez(path, logits=logits, y=y)`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from auxcal.formats._arrays import arrays_source, joined
from auxcal.formats._format import Columns, Source


@contextmanager
def open_npz(path: Path) -> Iterator[Source]:
    """Read all arrays of an .npz file."""
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        named = dict(arrays)
    yield arrays_source(named)


def write_npz(path: Path, batches: Iterator[Columns]) -> None:
    """Write columns as arrays; all rows are held until the last one has come."""
    with path.open("wb") as file:
        np.savez_compressed(file, **joined(batches))  # type: ignore[arg-type]
