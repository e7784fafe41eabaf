"""Rows of three classes and of none, whose logits are known functions of the class."""

import numpy as np
import pytest

import auxcal
from auxcal import NO_CLASS


def drawn(n, *, foreign=0.3, weights=(1, 1, 1), scale=1.0, random_state=0):
    """Return logits and y; a sample of no class has logits without a peak."""
    rng = np.random.default_rng(random_state)
    y = rng.choice(3, size=n, p=np.array(weights) / sum(weights))
    y[rng.random(n) < foreign] = NO_CLASS
    peak = np.where(y[:, None] == NO_CLASS, 0, 3 * np.eye(3)[y])
    return scale * (peak + rng.normal(size=(n, 3))).astype(np.float32), y


@pytest.fixture(scope="session")
def draw():
    return drawn


@pytest.fixture(scope="session")
def calibrator():
    return auxcal.CCACX(random_state=0).fit(*drawn(3000, random_state=100))


@pytest.fixture(scope="session")
def platt():
    return auxcal.PlattScaling().fit(*drawn(3000, random_state=100))
