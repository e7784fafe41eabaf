"""Functions of logits that fits, scores and readings share: sigmoid, softmax, and log-odds of the prediction.

scipy.special has the sigmoid and its inverse too, but takes as long to import as NumPy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from auxcal._core.arrays import Floats, Ints

_FAINT = 1e-30  # a sum of exponentials below which float32, whose normal numbers end at 1.2e-38, loses digits


def expit(log_odds: Floats) -> Floats:
    """Return σ(x) = 1 / (1 + e^−x); where the exponential overflows, it is correctly 0."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-log_odds)))


def softplus(x: Floats) -> Floats:
    """Return log(1 + e^x); `np.logaddexp(0, x)` is the same but several times slower."""
    return np.asarray(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))


def logit(p: Floats | float) -> Floats:
    """Return the log-odds log(p / (1 − p)) of probabilities between 0 and 1."""
    return np.asarray(np.log(p) - np.log1p(-p))


def softmax(logits: Floats) -> Floats:
    """Return exp(z) / Σ exp(z) for each row, stable at any scale, computed in one new array."""
    out = logits - logits.max(axis=1, keepdims=True)
    np.exp(out, out=out)
    out /= out.sum(axis=1, keepdims=True)
    return out


def log_softmax(logits: Floats) -> Floats:
    """Return z − log Σ exp(z) for each row, stable at any scale."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def at_prediction(values: Floats, logits: Floats) -> Floats:
    """Return the value in the column of each row's prediction."""
    return np.take_along_axis(values, logits.argmax(axis=1)[:, None], axis=1)[:, 0]


class RelativeLogits(NamedTuple):
    """Logits relative to that of the prediction, in float32: a score must not depend on the precision of the logits."""

    top: tuple[Ints, Ints]  # where the prediction is
    z: Floats  # the logits minus that of the prediction
    e: Floats  # e^z, but 0 at the prediction
    others: Floats  # the sum of e for each row
    top_scores: Floats  # the log-odds of the prediction, −log Σ e


def relative(logits: Floats, dtype: DTypeLike = np.float32) -> RelativeLogits:
    """Return the logits relative to that of the prediction."""
    n, k = logits.shape
    top = np.arange(n), logits.argmax(axis=1)
    at = top[0] * k + top[1]  # one index is several times as fast as a pair
    z = (logits - logits.take(at)[:, None]).astype(dtype, copy=False)
    e = np.exp(z)
    e.put(at, 0)
    others = np.einsum("nk->n", e)  # as fast as a product with ones, and the same for a row alone
    return RelativeLogits(top, z, e, others, _top_scores(z, top[1], others))


def top_scores(logits: Floats) -> Floats:
    """Return the log-odds of the prediction."""
    return relative(logits).top_scores


def _top_scores(z: Floats, prediction: Ints, others: Floats) -> Floats:
    """Return −log Σ e; where e is too small for float32, as a sum of its larger multiple."""
    if others.min() >= _FAINT:
        return -np.log(others)
    faint = others < _FAINT
    rest = z[faint]
    rest[np.arange(len(rest)), prediction[faint]] = -np.inf
    second = rest.max(axis=1)
    scores = np.empty_like(others)
    scores[~faint] = -np.log(others[~faint])
    scores[faint] = -second - np.log(np.exp(rest - second[:, None]).sum(axis=1))
    return scores
