"""What all tests share."""

from dataclasses import replace

import numpy as np
import pytest

from auxcal import NO_CLASS, Predictions
from auxcal.calibrators import _auxiliary
from auxcal.experiments.suites import Suite


@pytest.fixture
def quick_training(monkeypatch):
    """Train networks for a tenth of the steps, where a test asks for a contract and not for quality."""
    monkeypatch.setattr(_auxiliary, "FAST", replace(_auxiliary.FAST, epochs=1, least_steps=150))


def build_toy(shift, data_dir, report):
    """Give samples of three classes; on OOD a third of them are of none."""
    rng = np.random.default_rng(len(shift))
    y = rng.integers(3, size=1200)
    logits = (6 * np.eye(3)[y] + 3 * rng.normal(size=(1200, 3))).astype(np.float32)
    if shift == "OOD":
        y[::3] = NO_CLASS
    report(1, 1)
    return Predictions(logits, y)


@pytest.fixture
def toy_suite():
    return Suite(
        name="toy-net",
        stands_for=(("DAN", "R8"),),
        shifts=("D1", "OOD"),
        needs=(),
        sizes=(700, 200, 300),
        differences={"D1": "It is a toy.", "OOD": "It is a toy."},
        build=build_toy,
        left_out={"matrix": "it is left out"},
    )
