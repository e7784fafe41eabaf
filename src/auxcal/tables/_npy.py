""".npy: one NumPy array per file; logits in one, y in another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auxcal._core.errors import InvalidInputError
from auxcal.tables._arrays import arrays_source
from auxcal.tables._format import Source

_NAMES = {1: ("y",), 2: ("logits", "proba")}  # a matrix does not say which it holds, so it has both names


@contextmanager
def open_npy(*paths: Path) -> Iterator[Source]:
    """Memory-map a matrix, and a vector `y` if there are two files, in either order."""
    with np.errstate(over="ignore"):  # of a shape that no file has: what it means is an error then
        shapes = [np.load(path, mmap_mode="r").shape for path in paths]
    if sorted(len(shape) for shape in shapes) not in ([2], [1, 2]):
        raise InvalidInputError(
            f"expected logits of shape (n, K), and y of shape (n,) in a second file; got "
            f"{' and '.join(map(str, shapes))}. Save y as class indices."
        )
    yield arrays_source(
        _Mapped({name: path for path, shape in zip(paths, shapes, strict=True) for name in _NAMES[len(shape)]})
    )


class _Mapped(Mapping[str, NDArray[Any]]):
    """Arrays that are memory-mapped anew at every access, so that pages already read do not stay in memory."""

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self._paths = paths

    def __getitem__(self, name: str) -> NDArray[Any]:
        return np.load(self._paths[name], mmap_mode="r")

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)
