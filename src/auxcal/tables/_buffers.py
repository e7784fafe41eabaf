"""NumPy arrays of Arrow's buffers, and the other way round.

pyarrow's own conversions import pandas where it is installed: half a second and 30 MB in every process.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auxcal._core.extras import needs

with needs("tables"):
    import pyarrow as pa


def to_numpy(values: pa.Array) -> NDArray[Any]:
    """Return an array as NumPy, numbers without a copy; a missing number is NaN.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from auxcal.tables._buffers import to_numpy
    >>> to_numpy(pa.array([1, None, 3]))
    array([ 1., nan,  3.])
    """
    kind = values.type
    if is_time(kind) and len(values):
        return _times(values)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)) or not len(values):
        return np.asarray(values.to_numpy(zero_copy_only=False))
    dtype = np.dtype(f"{'f' if pa.types.is_floating(kind) else str(kind)[0]}{kind.bit_width // 8}")
    end = values.offset + len(values)
    numbers = np.frombuffer(values.buffers()[1], dtype, count=end)[values.offset :]
    if not values.null_count:
        return numbers
    return np.where(nulls_in(values), np.nan, numbers.astype(dtype if dtype.kind == "f" else np.float64))


def is_time(kind: pa.DataType) -> bool:
    """Whether NumPy has a type for these dates, times or durations; it knows no zones, and no times of the day."""
    plain = pa.types.is_timestamp(kind) and kind.tz is None
    return bool(plain or pa.types.is_date(kind) or pa.types.is_duration(kind))


def _times(values: pa.Array) -> NDArray[Any]:
    """Return dates, times or durations in their own unit, whatever their size; a missing one is NaT."""
    kind = values.type
    unit = "D" if pa.types.is_date32(kind) else "ms" if pa.types.is_date64(kind) else kind.unit
    numbers = to_numpy(values.view(pa.int32() if pa.types.is_date32(kind) else pa.int64()).fill_null(0))
    times = numbers.astype(f"{'m' if pa.types.is_duration(kind) else 'M'}8[{unit}]")
    times[nulls_in(values)] = "NaT"
    return times


def nulls_in(values: pa.Array) -> NDArray[np.bool_]:
    """Return which values are missing."""
    if not values.null_count:
        return np.zeros(len(values), np.bool_)
    validity = values.buffers()[0]
    if validity is None:  # as in arrays that have nothing but nulls
        return np.asarray(values.is_null().to_numpy(zero_copy_only=False))
    bits = np.unpackbits(np.frombuffer(validity, np.uint8), count=values.offset + len(values), bitorder="little")
    return bits[values.offset :] == 0


def from_numpy(values: Any, missing: NDArray[np.bool_] | None = None) -> pa.Array:
    """Return numbers, booleans or text as an array, without a copy of numbers; those that are missing are null.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.tables._buffers import from_numpy
    >>> from_numpy(np.array(["a", None], dtype=object)).to_pylist()
    ['a', None]
    """
    if isinstance(values, pa.Array):
        return values
    if isinstance(values, np.ma.MaskedArray):
        values, missing = values.data, np.ma.getmaskarray(values)
    if values.ndim == 1 and values.dtype == object and missing is None:
        text = values.tolist()
        return from_text(text) if all(value is None or type(value) is str for value in text) else pa.array(values)
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    if values.ndim != 1 or values.dtype.kind not in "iufb":
        return _checked(pa.array(values, mask=missing), values)
    bits = values.dtype.kind == "b"
    data = np.packbits(values, bitorder="little") if bits else np.ascontiguousarray(values)
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [_validity(missing), pa.py_buffer(data)])


def _checked(found: pa.Array, values: NDArray[Any]) -> pa.Array:
    """Return what pyarrow made of an array, unless it counts days with fewer digits than NumPy and lost some."""
    if pa.types.is_date32(found.type) and not np.array_equal(
        np.asarray(values, "M8[D]"), _times(found), equal_nan=True
    ):
        raise pa.ArrowInvalid("a date is too far away for a table")
    return found


def from_text(text: list[str | None]) -> pa.Array:
    """Return text as an array, null where there is none."""
    encoded = [b"" if value is None else value.encode("utf-8", "surrogateescape") for value in text]
    offsets = np.fromiter(accumulate(map(len, encoded), initial=0), np.int64, len(text) + 1)
    missing = np.fromiter((value is None for value in text), np.bool_, len(text))
    kind, width = (pa.string(), np.int32) if offsets[-1] < 2**31 else (pa.large_string(), np.int64)
    buffers = [pa.py_buffer(offsets.astype(width)), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(kind, len(text), [_validity(missing if missing.any() else None), *buffers])


def _validity(missing: NDArray[np.bool_] | None) -> Any:
    return None if missing is None else pa.py_buffer(np.packbits(~missing, bitorder="little"))
