"""Files that are kept in the repository: every version gives the same confidences."""

from pathlib import Path

import numpy as np
import pytest

import auxcal
from auxcal import CALIBRATORS

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="module")
def said():
    with np.load(GOLDEN / "confidences.npz") as file:
        return dict(file)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.safetensors")), ids=lambda path: path.stem)
def test_a_saved_calibrator_says_what_it_said_when_it_was_saved(path, said):
    calibrator = auxcal.load(path)
    assert type(calibrator) is CALIBRATORS[path.stem]
    # A step of isotonic regression is steep, and multiplies the last bit of a score, which not all processors share.
    np.testing.assert_allclose(calibrator.predict_confidence(said["logits"]), said[path.stem], rtol=0, atol=1e-5)


def test_every_calibrator_has_a_golden_file(said):
    assert {path.stem for path in GOLDEN.glob("*.safetensors")} == set(CALIBRATORS)
    assert set(said) == {"logits", *CALIBRATORS}
