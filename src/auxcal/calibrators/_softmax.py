"""Softmax and its kin, stable at any scale of logits."""

import numpy as np

from auxcal._arrays import Floats


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


def top_log_odds(logits: Floats) -> Floats:
    """Return the log-odds of the largest softmax probability of each row."""
    rows, top = np.arange(len(logits)), logits.argmax(axis=1)
    others = logits.astype(np.float64)  # bins end at scores of the fit part, so a score must not depend on the dtype
    best = others[rows, top]
    others[rows, top] = -np.inf
    second = others.max(axis=1)
    others -= second[:, None]
    rest = np.exp(others, out=others).sum(axis=1)
    return np.asarray(best - second - np.log(rest))
