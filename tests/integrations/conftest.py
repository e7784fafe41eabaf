"""Data that some classifiers of scikit-learn get partly right."""

import numpy as np
import pytest

from auxcal._core.threads import one_thread

NAMES = np.array(["ant", "bee", "cow"])


def blobs(n, random_state, *, n_classes=3):
    rng = np.random.default_rng(random_state)
    y = rng.integers(n_classes, size=n)
    return 2 * np.eye(4)[y] + rng.normal(size=(n, 4)), NAMES[y]


@pytest.fixture(autouse=True)
def single_thread():
    """Fit scikit-learn's classifiers in one thread: on a busy machine several wait for each other."""
    with one_thread():
        yield


@pytest.fixture(scope="session")
def three():
    """Give rows of three classes, by name."""
    return blobs(300, 0)


@pytest.fixture(scope="session")
def two():
    """Give rows of two classes, by name."""
    return blobs(200, 1, n_classes=2)


@pytest.fixture(scope="session")
def with_others(three):
    """Give rows of three classes, and a hundred that have none of them."""
    x, y = three
    others = 3 * np.eye(4)[[3]] + np.random.default_rng(2).normal(size=(100, 4))
    order = np.random.default_rng(3).permutation(400)
    return np.concatenate([x, others])[order], np.concatenate([y, np.full(100, "other")])[order]
