"""The command line as a program of its own, and data to give it."""

import subprocess
import sys

import numpy as np
import pytest


@pytest.fixture
def command(patience):
    """Run the command line as a program of its own."""

    def run(*arguments, **options):
        return subprocess.run(
            [sys.executable, "-m", "auxcal", *map(str, arguments)],
            capture_output=True,
            timeout=patience,
            **({"text": True} | options),
        )

    return run


@pytest.fixture(scope="session")
def rows():
    """Give logits of three classes that are twice as sure as they should be, and the true classes."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(1200, 3), scale=4)
    y = (logits / 2 + rng.gumbel(size=logits.shape)).argmax(axis=1)
    y[::40] = -1
    return logits, y
