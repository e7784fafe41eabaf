"""Whether two fits give the same answer: the loss that each reaches on the rows it was fitted on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

TOLERANCE = 1e-3
"""How far above a peer's loss ours may be, absolutely and relative to it, and still count as the same answer."""
FAR_OFF = 5e-2
"""Likewise for a peer: one whose loss is so far above ours has not found the optimum, and its time does not count."""

ODIR = 0.1
"""Both strengths of Dirichlet's penalty: on the mean squared off-diagonal weight and on the mean squared bias."""


def same_answer(ours: float, peers: float) -> bool:
    """Whether our loss is the peer's within the tolerance, or lower."""
    return ours <= peers + TOLERANCE * (1 + abs(peers))


def found_the_optimum(method: str, ours: float, peers: float) -> bool:
    """Whether a peer's loss is near ours or below it; maps that are not fitted to one loss all count."""
    return LOSSES[method] is brier or peers <= ours + FAR_OFF * (1 + abs(ours))


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Return the logarithm of the softmax of each row, in float64."""
    z = logits.astype(np.float64)
    z -= z.max(axis=1, keepdims=True)
    return z - np.log(np.exp(z).sum(axis=1, keepdims=True))


def softmax(logits: np.ndarray) -> np.ndarray:
    """Return the softmax of each row, in float64."""
    return np.exp(log_softmax(logits))


def nll(proba: np.ndarray, logits: np.ndarray, y: np.ndarray) -> float:
    """Return the mean of −log of the probability of the true class."""
    at_y = np.asarray(proba, dtype=np.float64)[np.arange(len(y)), y]
    return float(-np.log(np.maximum(at_y, np.finfo(np.float32).tiny)).mean())


def brier(answer: np.ndarray, logits: np.ndarray, y: np.ndarray) -> float:
    """Return the Brier score of the confidence in the prediction; of a distribution, that is the value there."""
    prediction = logits.argmax(axis=1)
    confidence = answer if answer.ndim == 1 else answer[np.arange(len(y)), prediction]
    return float(np.square(confidence - (prediction == y), dtype=np.float64).mean())


def odir(theta: tuple[np.ndarray, np.ndarray], logits: np.ndarray, y: np.ndarray) -> float:
    """Return the negative log-likelihood of softmax(W log p + b) and the penalty of the least W and b that give it."""
    weight, bias = (np.asarray(part, dtype=np.float64) for part in theta)
    k = len(bias)
    proba = softmax(log_softmax(logits) @ weight.T + bias)
    off_diagonal = ~np.eye(k, dtype=bool)
    weight = weight - np.where(off_diagonal, weight, 0).sum(axis=0) / (k - 1)
    penalty = np.square(weight[off_diagonal]).mean() + np.square(bias - bias.mean()).mean()
    return nll(proba, logits, y) + ODIR * float(penalty)


Loss = Callable[[Any, np.ndarray, np.ndarray], float]

LOSSES: dict[str, Loss] = {
    "temperature": nll,
    "vector": nll,
    "matrix": nll,
    "dirichlet": odir,
    "ensemble-temperature": nll,
    "scaling-binning": brier,
    "histogram": brier,
    "isotonic": brier,
    "beta": brier,
}
"""What is compared for each method: the loss that it minimises, or for maps of one score the Brier score."""
