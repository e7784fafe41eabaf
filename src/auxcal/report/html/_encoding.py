"""Numbers in a page: arrays as base64, the rest as JSON that can't end its script element."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auxcal._core.arrays import Floats

LEVELS = 60_000
"""The steps of a packed confidence: a multiple of 1000, so that a threshold of three decimals lies on a step."""


def quantise(confidence: Floats) -> NDArray[np.uint16]:
    """Return the step that each confidence reaches, so that comparing it with a step's threshold stays exact.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.report.html._encoding import quantise
    >>> quantise(np.array([0.0, 0.69999, 0.7, 1.0], dtype=np.float32))
    array([    0, 41999, 42000, 60000], dtype=uint16)
    """
    # In the array's own precision, so that a float32 0.7 reaches 0.7 as a float64 one does.
    steps = (np.arange(LEVELS + 1) / LEVELS).astype(confidence.dtype)
    return (np.searchsorted(steps, confidence, side="right") - 1).astype(np.uint16)


def packed(values: ArrayLike) -> dict[str, Any]:
    """Return whole numbers in the narrowest type that holds them, as base64.

    Examples
    --------
    >>> from auxcal.report.html._encoding import packed
    >>> packed([1, 2, -1])
    {'type': 'int8', 'data': 'AQL/'}
    """
    array = np.asarray(values)
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    kinds = (np.uint8, np.uint16, np.uint32) if low >= 0 else (np.int8, np.int16, np.int32)
    kind = np.dtype(next(kind for kind in kinds if low >= np.iinfo(kind).min and high <= np.iinfo(kind).max))
    data = base64.b64encode(array.astype(kind.newbyteorder("<")).tobytes()).decode("ascii")
    return {"type": kind.name, "data": data}


def rounded(values: ArrayLike, digits: int = 4) -> list[float | None]:
    """Return floats that are short in JSON; NaN, which JSON lacks, is None."""
    array = np.asarray(values, dtype=np.float64)
    return [None if np.isnan(value) else round(float(value), digits) for value in array]


def script_json(value: Any) -> str:
    r"""Return JSON that is safe inside a script element, whatever the strings in it say.

    Examples
    --------
    >>> from auxcal.report.html._encoding import script_json
    >>> script_json(["</script>"])
    '["\\u003c/script\\u003e"]'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
