"""Comparisons for the page: three classes with awkward names, two data sets."""

from dataclasses import replace

import numpy as np
import pytest

from auxcal import NO_CLASS, Predictions, compare
from auxcal.calibrators import auxiliary

AWKWARD = ("</script><b>cat", "dog & 'pup'", 'the "bird"')


def sample(seed, n=1500):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, 3))
    y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    y[::7] = NO_CLASS
    return Predictions((3 * logits).astype(np.float32), y)


@pytest.fixture(scope="session")
def comparisons():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(auxiliary, "FAST", replace(auxiliary.FAST, epochs=1, least_steps=150))
        options = {"methods": ["temperature", "ccac-s", "platt"], "bootstrap": 20}
        return [
            compare(sample(0), name="spring <1>", class_names=AWKWARD, **options),
            compare(sample(1), name="autumn", **options),
        ]
