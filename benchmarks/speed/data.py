"""The logits that everything is measured on."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from auxcal import Predictions
from auxcal_paper.bundles import bundle
from auxcal_paper.suites import suite


def packaged(name: str, shift: str) -> Predictions:
    """Return a bundle that comes with the package."""
    return bundle(suite(name), shift, Path("data"), Path("auxcal-cache") / "bundles")


def predictions(n_rows: int, n_classes: int, random_state: int = 0) -> Predictions:
    """Return real logits for 10 classes, and drawn ones for other numbers of classes, or where there are too few."""
    if n_classes == 10:
        real = packaged("cifar10-resnet20", "D1")
        if n_rows <= len(real):
            rows = np.random.default_rng(random_state).permutation(len(real))[:n_rows]
            return real.take(rows)
    return drawn(n_rows, n_classes, random_state)


def drawn(n_rows: int, n_classes: int, random_state: int = 0) -> Predictions:
    """Draw logits as a classifier gives them, and classes that follow a distorted softmax of them.

    A row is a point near the centre of one of the classes, in 32 dimensions, and its logits are the products with all
    centres with a little noise: neighbours are confused, as in a network's last layer. The true class is drawn from
    softmax((v ∘ z + b) / 1.6): the classifier is overconfident, more so for some classes, and no map of one number
    puts that right. A class that no row would have gets one, since some peers fail without it.
    """
    rng = np.random.default_rng(random_state)
    centres = rng.normal(size=(n_classes, 32))
    home = rng.permutation(np.arange(n_rows) % n_classes)
    points = centres[home] + 0.8 * rng.normal(size=(n_rows, 32))
    logits = (0.45 * points @ centres.T + 0.3 * rng.normal(size=(n_rows, n_classes))).astype(np.float32)
    v, b = rng.normal(1, 0.08, n_classes), rng.normal(0, 0.4, n_classes)
    y = np.concatenate(
        [
            ((v * chunk + b) / 1.6 + rng.gumbel(size=chunk.shape)).argmax(axis=1)
            for chunk in np.array_split(logits, max(1, logits.size // 10_000_000))
        ]
    )
    for missing in np.setdiff1d(np.arange(n_classes), y):
        y[np.flatnonzero(home == missing)[:1]] = missing
    return Predictions(logits, y)
