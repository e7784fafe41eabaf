"""The distribution of CCAC-X: the confidence at the prediction, the rest in proportion to the open map."""

from __future__ import annotations

import numpy as np

from auxcal._core.arrays import Floats
from auxcal._core.logits import RelativeLogits, expit, softmax
from auxcal.calibrators.ccac_x.fits import CrossFitted


def shared_out(confidence: Floats, scores: Floats, near: RelativeLogits) -> Floats:
    """Put the confidence at the prediction, and divide the rest by the softmax of scores of shape (n, K + 1)."""
    scores[near.top] = -np.inf
    proba = softmax(scores) * (1 - confidence)[:, None]
    proba[near.top] = confidence
    return proba


def held_out_strata(confidence: Floats, found: CrossFitted, near: RelativeLogits) -> Floats:
    """Return the strata of the rows from out-of-fold maps; only the correction was fitted on them."""
    if found.scores is not None:
        return shared_out(confidence, found.scores.T, near)
    log_odds, none, _ = found.readings
    none = (1 - confidence) * np.exp(none) / expit(-log_odds)
    return np.stack([confidence, np.maximum(1 - confidence - none, 0), none], axis=1)
