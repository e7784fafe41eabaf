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


def log_odds(logits: Floats) -> Floats:
    """Return log(p / (1 − p)) of each softmax probability p: finite, and exact where p rounds to 0 or 1."""
    log_p = log_softmax(logits)
    top = logits.argmax(axis=1)
    with np.errstate(divide="ignore"):
        out = log_p - np.log1p(-np.exp(log_p))  # fails only where p is near 1, which is at the prediction
    out[np.arange(len(logits)), top] = top_log_odds(logits)
    return out


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
