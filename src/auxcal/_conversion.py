"""Conversion of any array to NumPy; `_arrays` checks what it means."""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auxcal._errors import InvalidInputError

Floats: TypeAlias = NDArray[np.floating[Any]]

LARGEST = 1e15
"""Beyond it, squares and differences leave what float32 can hold."""


def to_numpy(array: Any, name: str) -> NDArray[Any]:
    """Return any array as NumPy, without a copy where none is needed; torch is recognised, never imported."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        check_not_traced(name)
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
    if _is_masked(array) or (isinstance(array, list | tuple) and any(map(_is_masked, array))):
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


def _is_masked(array: Any) -> bool:
    return hasattr(array, "mask") and bool(np.ma.is_masked(array))  # numpy.ma is imported when it is first asked for


def check_not_traced(name: str) -> None:
    """Reject tensors that are being traced: in NumPy they would become constants, the same for all samples."""
    torch = sys.modules.get("torch")
    if torch is not None and (torch.jit.is_tracing() or torch.compiler.is_compiling()):
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
    """Return a matrix with contiguous rows: summing in another order gives other bits on some processors."""
    in_one_piece = matrix.shape[1] == 1 or matrix.strides[1] == matrix.itemsize
    return matrix if in_one_piece else np.ascontiguousarray(matrix)


def check_size(array: Floats, name: str, *, repair: str, shrink: str) -> None:
    """Reject numbers that are not finite, or too large to compute with."""
    largest = largest_of(array)
    if not largest <= LARGEST:
        check_finite(array, name, repair)
        raise InvalidInputError(f"{name} must be within ±{LARGEST:.0e}; got {largest:.3g}. {shrink}")


def largest_of(array: Floats) -> float:
    """Return the largest absolute value, or NaN if there is one."""
    return max(float(array.max()), -float(array.min()))  # both are NaN if there is one


def check_finite(array: Floats, name: str, advice: str) -> None:
    """Reject NaN and inf."""
    if np.isfinite(array).all():
        return
    bad = ~np.isfinite(array)
    first = tuple(int(i) for i in np.argwhere(bad)[0])
    rows = int(bad.reshape(len(array), -1).any(axis=1).sum())
    raise InvalidInputError(
        f"{name} must be finite; got {array[first]} (NaN or inf) at {list(first)} ({rows} such rows). {advice}"
    )


def check_spread(logits: Floats) -> None:
    """Reject logits that differ too little within every row for float32; equal ones are fine."""
    few = logits[:1000]  # which nearly always show that the others need no look
    if _spread(few) > _least_spread(few) or (spread := _spread(logits)) > _least_spread(logits):
        return
    if spread > 0:
        raise InvalidInputError(
            f"the logits of a row must differ by more than float32 can tell; got {spread:.3g} at most, for logits up "
            f"to {np.abs(logits).max():.3g}. These are no scores of a classifier: check where they come from, take the "
            f"mean of each row off, or scale them."
        )


def _spread(logits: Floats) -> float:
    return float((logits.max(axis=1) - logits.min(axis=1)).max())


def _least_spread(logits: Floats) -> float:
    return max(1 / LARGEST, float(np.abs(logits).max()) * float(np.finfo(np.float32).eps) / 2)
