"""Softmax and log-softmax, stable at any scale of logits."""

import numpy as np

from auxcal._core.arrays import Floats


def softmax(logits: Floats) -> Floats:
    """Return exp(z) / Σ exp(z) for each row, computed in one new array."""
    out = logits - logits.max(axis=1, keepdims=True)
    np.exp(out, out=out)
    out /= out.sum(axis=1, keepdims=True)
    return out


def log_softmax(logits: Floats) -> Floats:
    """Return z − log Σ exp(z) for each row."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
