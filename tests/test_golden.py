"""Files that earlier versions saved: this one gives the same confidences, or says what to do."""

from pathlib import Path

import numpy as np
import pytest

import auxcal
from auxcal import CALIBRATORS, FileFormatError

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="module")
def said():
    with np.load(GOLDEN / "confidences.npz") as file:
        return dict(file)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.safetensors")), ids=lambda path: path.stem)
def test_a_saved_calibrator_says_what_it_said_when_it_was_saved(path, said):
    calibrator = auxcal.load(path)
    assert type(calibrator) is CALIBRATORS[path.stem]
    np.testing.assert_allclose(calibrator.predict_confidence(said["logits"]), said[path.stem], rtol=0, atol=1e-6)


def test_every_calibrator_has_a_golden_file(said):
    assert {path.stem for path in GOLDEN.glob("*.safetensors")} == set(CALIBRATORS)
    assert set(said) == {"logits", *CALIBRATORS}


def test_a_file_of_the_first_design_of_ccac_x_says_what_to_do():
    with pytest.raises(FileFormatError) as caught:
        auxcal.load(GOLDEN / "former/ccac-x-1.safetensors")
    message = str(caught.value)
    assert "ccac-x-1.safetensors: was saved by the first design of CCAC-X" in message
    assert message.endswith("fit it again with auxcal fit.")
    assert message.count(". ") == 0  # one sentence


def test_what_a_method_writes_is_of_no_former_design(said):
    for name, kind in CALIBRATORS.items():
        assert not set(kind.former_designs) & set(vars(auxcal.load(GOLDEN / f"{name}.safetensors")))
