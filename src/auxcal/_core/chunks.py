"""Rows are scored in chunks, so that memory does not grow with their number."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from auxcal._core.arrays import Floats
from auxcal._core.errors import InvalidInputError
from auxcal._core.float_errors import ignore_float_errors

CHUNK_BYTES = 2**18
"""How much of logits and features is scored at a time: it stays in the cache, and memory does not grow with n."""

_LEAST_ROWS = 256  # of a chunk: fewer do not pay for the calls

# glibc returns freed memory to the system, which hands it out again page by page, where more is free than twice the
# largest block that it has ever taken back. To free one that no chunk comes near makes scoring up to twice as fast.
_block = np.empty(2**23, dtype=np.uint8)
del _block

OfLogits: TypeAlias = Callable[[Floats], Floats]
OfFeatures: TypeAlias = Callable[[Floats, Floats | None], Floats]


@ignore_float_errors
def in_chunks(score: OfFeatures, array: Floats, further: Floats | None) -> Floats:
    """Apply a function to logits, and to features if there are any, in chunks; clip the result to [0, 1]."""
    if len(array) <= _LEAST_ROWS:
        return _as_probabilities(score(array, further))
    inputs = (array,) if further is None else (array, further)
    size = max(_LEAST_ROWS, CHUNK_BYTES // sum(each.itemsize * each.shape[1] for each in inputs))
    parts = (slice(start, start + size) for start in range(0, len(array), size))
    chunks = [score(array[rows], None if further is None else further[rows]) for rows in parts]
    return _as_probabilities(chunks[0] if len(chunks) == 1 else np.concatenate(chunks))


def _as_probabilities(found: Floats) -> Floats:
    """Clip to [0, 1] what rounding may have taken beyond it; reject NaN."""
    clipped = np.clip(found, 0, 1)
    if np.isnan(clipped.sum()):
        row = int(np.argmax(np.isnan(clipped).reshape(len(clipped), -1).any(axis=1)))
        raise InvalidInputError(
            f"row {row} has no confidence (NaN): the fitted numbers and these logits or features can't be computed "
            f"with. Check their scale, or fit the calibrator again on rows like these."
        )
    return clipped
