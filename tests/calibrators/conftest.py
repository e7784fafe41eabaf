"""Data that the tests of the calibrators share."""

import numpy as np
import pytest

from auxcal import NO_CLASS, Predictions


def draw(n=3000, n_classes=4, scale=1.5, seed=0):
    """Logits whose softmax is the true distribution of y."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, n_classes), scale=scale)
    return logits, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)


@pytest.fixture(scope="session")
def calibrated():
    return Predictions(*draw())


@pytest.fixture(scope="session")
def shifted():
    """Rows of a classifier, three tenths of them out-of-distribution, with other logits."""
    logits, y = draw(n=4000)
    rng = np.random.default_rng(1)
    is_ood = rng.random(len(y)) < 0.3
    logits = 2 * logits
    logits[is_ood] = rng.normal(size=(is_ood.sum(), 4), scale=3) + 4
    y[is_ood] = NO_CLASS
    return Predictions(logits, y)
