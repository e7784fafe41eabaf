"""What all tests share."""

from dataclasses import replace

import pytest

from auxcal.calibrators import _auxiliary


@pytest.fixture
def quick_training(monkeypatch):
    """Train networks for a tenth of the steps, where a test asks for a contract and not for quality."""
    monkeypatch.setattr(_auxiliary, "FAST", replace(_auxiliary.FAST, epochs=1, least_steps=150))
