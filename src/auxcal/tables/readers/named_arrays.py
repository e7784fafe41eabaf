""".npz, .npy, .safetensors, .pt and .pth: arrays by name, which hold logits, y and what else there is of each row."""

from __future__ import annotations

import json
import struct
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save

from auxcal._core.arrays import to_numpy
from auxcal._core.errors import FileFormatError, InvalidInputError
from auxcal._core.extras import needs
from auxcal._core.files import open_arrays
from auxcal._core.memory import check_memory
from auxcal.tables.batches import Batch, Source, check_rows, rows_per_batch
from auxcal.tables.parts import File
from auxcal.tables.values import from_numpy
from auxcal.tables.written import array_of

with needs("tables"):
    import pyarrow as pa

_NPY_NAMES = {1: ("y",), 2: ("logits", "proba")}  # a matrix does not tell which it holds, so it has both names
_BFLOAT16 = "BF16"


def as_source(arrays: Mapping[str, NDArray[Any]]) -> Source:
    """Return named arrays as a source, without a copy; the rows of a matrix are lists."""
    n_rows = max((len(array) for array in arrays.values() if array.ndim), default=0)

    def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Batch]:
        names = list(dict.fromkeys((*numbers, *others)))
        lengths = {name: len(arrays[name]) if arrays[name].ndim else 0 for name in names}
        if len(set(lengths.values())) > 1:
            text = ", ".join(f"{name!r} {length}" for name, length in lengths.items())
            raise InvalidInputError(
                f"all arrays must have one row for each sample; got {text}. Save them together again."
            )
        n = max(lengths.values(), default=0)
        rows = rows_per_batch(sum(arrays[name].nbytes for name in names) / max(n, 1))
        for start in range(0, max(n, 1), rows):
            stop = min(start + rows, n)
            columns = {name: _column(arrays[name][start:stop], name) for name in names}
            yield Batch(pa.RecordBatch.from_pydict(columns), stop / max(n, 1))

    matrices = tuple(name for name, array in arrays.items() if array.shape != (n_rows,))
    return Source(tuple(arrays), batches, matrices, arrays=True)


def _column(values: NDArray[Any], name: str) -> pa.Array:
    try:
        return from_numpy(values)
    except pa.ArrowException as error:
        raise InvalidInputError(
            f"the array {name!r} of {values.dtype} is no column of a table ({error}). Leave it out, or save it as "
            f"numbers or text."
        ) from error


def _joined(batches: Iterator[pa.RecordBatch]) -> dict[str, NDArray[Any]]:
    """Return all rows of the batches, which are held in memory until the last one arrives."""
    parts = list(batches)
    check_rows(len(parts))
    whole = pa.Table.from_batches(parts).combine_chunks()
    return {
        name: array_of(column.chunk(0) if column.num_chunks else column.combine_chunks(), name)
        for name, column in zip(whole.column_names, whole.columns, strict=True)
    }


@contextmanager
def open_npz(file: File) -> Iterator[Source]:
    """Read all arrays of a file such as `numpy.savez(path, logits=logits, y=y)` writes."""
    with file.local() as path:
        if not zipfile.is_zipfile(path):
            raise FileFormatError(
                "expected a complete .npz file; this is another kind of file, or damaged. Check it, or save it again "
                "with numpy.savez(path, logits=logits, y=y)."
            )
        with open_arrays(path) as arrays:
            if len(set(arrays.files)) < len(arrays.files):
                raise FileFormatError("an array is there more than once. Save the file again.")
            unpacked = sum(member.file_size for member in arrays.zip.infolist())
            check_memory(unpacked, "what it holds", instead="Save it as .npy or .parquet, which are read in batches.")
            named = dict(arrays)
        yield as_source(named)


def write_npz(path: Path, batches: Iterator[pa.RecordBatch]) -> None:
    """Write columns as arrays."""
    with path.open("wb") as file:
        np.savez_compressed(file, **_joined(batches))  # type: ignore[arg-type]


@contextmanager
def open_npy(*files: File) -> Iterator[Source]:
    """Memory-map a matrix, and a vector `y` if there are two files, in either order."""
    with ExitStack() as stack:
        paths = [stack.enter_context(file.local()) for file in files]
        with np.errstate(over="ignore"):  # of a shape that no file has: what it means is an error then
            shapes = [np.load(path, mmap_mode="r").shape for path in paths]
        if sorted(len(shape) for shape in shapes) not in ([2], [1, 2]):
            raise InvalidInputError(
                f"expected logits of shape (n, K), and y of shape (n,) in a second file; got "
                f"{' and '.join(map(str, shapes))}. Save y as class indices."
            )
        named = {name: path for path, shape in zip(paths, shapes, strict=True) for name in _NPY_NAMES[len(shape)]}
        yield as_source(_Mapped(named))


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


@contextmanager
def open_safetensors(file: File) -> Iterator[Source]:
    """Read all tensors of a .safetensors file that is not a calibrator."""
    with file.local() as path:
        with safe_open(path, framework="numpy") as opened:
            if "auxcal" in (opened.metadata() or {}):
                raise FileFormatError("expected logits; this is a calibrator. Give the file of the predictions.")
            kinds = {name: opened.get_slice(name).get_dtype() for name in opened.keys()}  # noqa: SIM118
            named = {name: opened.get_tensor(name) for name, kind in kinds.items() if kind != _BFLOAT16}
        narrow = [name for name, kind in kinds.items() if kind == _BFLOAT16]
        yield as_source(named | (_read_bfloat16(path, narrow) if narrow else {}))


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


def write_safetensors(path: Path, batches: Iterator[pa.RecordBatch]) -> None:
    """Write columns of numbers as tensors."""
    arrays = _joined(batches)
    text = [name for name, array in arrays.items() if array.dtype.kind not in "biuf" or array.itemsize > 8]
    if text:
        raise InvalidInputError(
            f"a .safetensors file holds numbers only; {', '.join(map(repr, text))} is none. Write .parquet or .csv."
        )
    path.write_bytes(save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))


@contextmanager
def open_torch(file: File) -> Iterator[Source]:
    """Read the tensors of a dict that `torch.save` wrote; nothing in the file can run code."""
    with needs("torch"):
        import torch
    with file.local() as path:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of how it was written: it is read, or refused in our words
            saved = torch.load(path, map_location="cpu", weights_only=True)
        if not isinstance(saved, dict):
            raise FileFormatError(
                f"expected a dict with logits and y; got {type(saved).__name__}. Write it with "
                f'torch.save({{"logits": logits, "y": y}}, path).'
            )
        tensors = {str(name): value for name, value in saved.items() if isinstance(value, torch.Tensor)}
        for name, tensor in tensors.items():
            if tensor.layout == torch.strided and tensor.nbytes > tensor.untyped_storage().nbytes():
                raise FileFormatError(
                    f"{name!r} has more entries than the file holds, as an expanded tensor has. "
                    f"Save {name}.contiguous()."
                )
        yield as_source({name: to_numpy(tensor, name) for name, tensor in tensors.items()})
