"""Any array as NumPy: what it is made of is settled here, what it means in `_arrays`."""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auxcal._errors import InvalidInputError

Floats: TypeAlias = NDArray[np.floating[Any]]

_LARGEST = 1e15  # beyond it, squares and differences leave what float32 can hold


def to_numpy(array: Any, name: str) -> NDArray[Any]:
    """Return any array as NumPy, without a copy where none is needed; torch is recognised, never imported."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        _check_not_traced(torch, name)
        try:
            array = array.detach().cpu().resolve_conj().resolve_neg()
            narrow = array.is_floating_point() and array.dtype not in (torch.float16, torch.float32, torch.float64)
            return np.asarray((array.float() if narrow else array).numpy())
        except (TypeError, NotImplementedError, RuntimeError) as error:
            raise InvalidInputError(
                f"{name} must be a dense tensor with data; got layout {array.layout} on {array.device}: {error}."
            ) from error
    if torch is not None and isinstance(array, list | tuple) and any(isinstance(row, torch.Tensor) for row in array):
        array = [to_numpy(row, name) for row in array]
    if hasattr(array, "mask") and np.ma.is_masked(array):  # numpy.ma is imported when it is first asked for
        raise InvalidInputError(
            f"{name} must have a value in every entry; got a masked array. Drop the rows with masked entries."
        )
    if hasattr(array, "toarray"):
        raise InvalidInputError(
            f"{name} must be a dense array; got a sparse {type(array).__name__} (sparse data was passed). "
            f"Convert it with {name}.toarray()."
        )
    try:
        return np.asarray(array)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(
            f"{name} must be an array of numbers with rows of one length; got {type(array).__name__}: {error}. "
            f"Check for rows that are shorter than the others."
        ) from error


def _check_not_traced(torch: Any, name: str) -> None:
    """Refuse tensors of a trace: what NumPy makes of them would be a constant in it, the same for all samples."""
    if torch.jit.is_tracing() or torch.compiler.is_compiling():
        raise InvalidInputError(
            f"{name} must be numbers; got a tensor that torch is tracing, for a compiler or an exporter. There use "
            f"auxcal.torch.as_module(calibrator), or auxcal.torch.with_confidence(classifier, calibrator)."
        )


def as_floats(values: ArrayLike, name: str) -> Floats:
    """Return any array of numbers as float32 or float64, whichever holds them."""
    array = to_numpy(values, name)
    if array.dtype.char in "fd" and array.dtype.isnative:
        return array
    if np.iscomplexobj(array):
        raise InvalidInputError(
            f"{name} must be real numbers; got dtype {array.dtype}. Complex data not supported: take the real part."
        )
    wide = array.dtype.itemsize > 4 or array.dtype.kind not in "fV"  # bfloat16 and its kin are kind V
    if array.dtype.kind in "mM" or array.dtype.fields is not None:
        raise InvalidInputError(
            f"{name} must be numbers; got dtype {array.dtype}. Convert the entries to numbers first."
        )
    if array.dtype.kind in "UST" or (array.dtype.kind == "O" and any(isinstance(v, str | bytes) for v in array.flat)):
        raise InvalidInputError(
            f"{name} must be numbers; got strings (dtype {array.dtype}). Convert them with {name}.astype(float)."
        )
    try:
        return array.astype(np.float64 if wide else np.float32)
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidInputError(
            f"{name} must be numbers; got dtype {array.dtype}: {error}. Convert every entry to a number first."
        ) from error


def row_by_row(matrix: Floats) -> Floats:
    """Return a matrix with each row in one piece: sums in another order give other bits on some processors."""
    in_one_piece = matrix.shape[1] == 1 or matrix.strides[1] == matrix.itemsize
    return matrix if in_one_piece else np.ascontiguousarray(matrix)


def check_size(array: Floats, name: str, *, repair: str, shrink: str) -> None:
    """Refuse numbers that are not finite, or too large to compute with."""
    largest = max(float(array.max()), -float(array.min()))  # both are NaN if there is one
    if not largest <= _LARGEST:
        check_finite(array, name, repair)
        raise InvalidInputError(f"{name} must be within ±{_LARGEST:.0e}; got {largest:.3g}. {shrink}")


def check_finite(array: Floats, name: str, advice: str) -> None:
    """Refuse NaN and inf."""
    if np.isfinite(array).all():
        return
    bad = ~np.isfinite(array)
    first = tuple(int(i) for i in np.argwhere(bad)[0])
    rows = int(bad.reshape(len(array), -1).any(axis=1).sum())
    raise InvalidInputError(
        f"{name} must be finite; got {array[first]} (NaN or inf) at {list(first)} ({rows} such rows). {advice}"
    )
