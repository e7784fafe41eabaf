"""What a monitor is compared with: a test of every batch, ADWIN, and a bettor who knows what is wrong."""

import numpy as np
from scipy.stats import ks_2samp

from auxcal import Predictions
from auxcal.reference import read_logits

try:
    from river.drift import ADWIN
except ImportError:  # it is no dependency: pip install river
    ADWIN = None

LEVEL, NEVER = 0.05, -1
BATCH = 200  # rows


def tested(fit: Predictions, stream: Predictions) -> int:
    """Return after how many rows Kolmogorov and Smirnov's test, done on each batch, says that a reading differs."""
    reference, readings = read_logits(fit.logits).astype(np.float64), read_logits(stream.logits).astype(np.float64)
    for start in range(0, len(readings) - BATCH + 1, BATCH):
        batch = readings[start : start + BATCH]
        least = min(ks_2samp(a, b, method="asymp").pvalue for a, b in zip(reference.T, batch.T, strict=True))
        if least < LEVEL / reference.shape[1]:
            return start + BATCH
    return NEVER


def adwin(fit: np.ndarray, stream: np.ndarray) -> int | None:
    """Return after how many values ADWIN, which has seen those of the fit, says that the mean changed."""
    if ADWIN is None:
        return None
    detector = ADWIN(delta=LEVEL)
    for value in fit.astype(float).tolist():
        detector.update(value)
    for after, value in enumerate(stream.astype(float).tolist(), start=1):
        detector.update(value)
        if detector.drift_detected:
            return after
    return NEVER


def known_to(truth: np.ndarray, confidence: np.ndarray, correct: np.ndarray) -> int:
    """Return after how many labels one has enough evidence who knows the truth, and when it began to be true."""
    q, p = (np.clip(each, 1e-6, 1 - 1e-6) for each in (truth, confidence))
    evidence = np.cumsum(np.where(correct, np.log(q / p), np.log((1 - q) / (1 - p))))
    enough = evidence >= np.log(1 / LEVEL)
    return int(enough.argmax()) + 1 if enough.any() else NEVER
