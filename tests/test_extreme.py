"""Extreme inputs are fitted, or refused in a sentence; what is wrong with a fit is said, in every thread."""

import json
import struct
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import auxcal
from auxcal import CALIBRATORS, ConvergenceWarning, Dirichlet, InvalidInputError, MatrixScaling, VectorScaling
from auxcal.tables import read_predictions

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(60, 3))
Y = (LOGITS + RNG.gumbel(size=LOGITS.shape)).argmax(axis=1)
QUICK = [name for name, kind in CALIBRATORS.items() if not kind.starts_at_random]


@pytest.mark.parametrize("method", QUICK)
@pytest.mark.parametrize("scale", [1e-320, 1e-45, 1e-30, 1e-16])
def test_differences_that_float32_can_not_tell_are_refused(method, scale):
    with pytest.raises(InvalidInputError, match="differ by more than float32 resolves"):
        CALIBRATORS[method]().fit(LOGITS * scale, Y)


@pytest.mark.filterwarnings("ignore::auxcal.ConvergenceWarning")
@pytest.mark.parametrize("method", QUICK)
def test_two_classes_of_equal_logits_are_no_division_by_zero(method):
    fitted = CALIBRATORS[method]().fit(np.full((120, 2), 3.3), np.arange(120) % 2)
    assert 0.4 < fitted.predict_confidence([[3.3, 3.3]])[0] < 0.6


@pytest.mark.parametrize("kind", [VectorScaling, MatrixScaling, lambda: Dirichlet(0.0, 0.0)])
def test_rows_that_can_be_separated_are_said_to_be(kind):
    with pytest.warns(ConvergenceWarning, match="can be separated"):
        assert not kind().fit(5 * np.eye(3)[Y] + 0.1 * LOGITS, Y).converged_


def test_no_problem_is_missed_and_no_filter_changed_in_threads():
    data = auxcal.Predictions(LOGITS, LOGITS.argmax(axis=1))
    before = list(warnings.filters)
    with ThreadPoolExecutor(8) as pool:
        run = pool.map(lambda _: auxcal.compare(data, methods=["temperature"], bootstrap=0), range(24))
        assert all("lower bound" in comparison.entries[1].problem for comparison in run)
    assert list(warnings.filters) == before


def test_bfloat16_is_read(tmp_path):
    halves = (LOGITS.astype(np.float32).view(np.uint32) >> 16).astype("<u2")
    y = Y.astype("<i8")
    header = {
        "logits": {"dtype": "BF16", "shape": list(halves.shape), "data_offsets": [0, halves.nbytes]},
        "y": {"dtype": "I64", "shape": [len(y)], "data_offsets": [halves.nbytes, halves.nbytes + y.nbytes]},
    }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (tmp_path / "b.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + halves.tobytes() + y.tobytes())
    assert np.allclose(read_predictions(tmp_path / "b.safetensors").logits, LOGITS, rtol=0.01)


def test_scores_of_a_binary_classifier_are_told_what_to_become():
    with pytest.raises(InvalidInputError, match=r"reshape\(-1, 1\)"):
        VectorScaling().fit(LOGITS[:, 0], Y)


@pytest.mark.parametrize("method", QUICK)
def test_few_rows_are_said_to_be_few_once(method):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(12, 10))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CALIBRATORS[method]().fit(logits, np.arange(12) % 10)
    said = [str(each.message) for each in caught if "rows are few" in str(each.message)]
    assert len(said) == (method != "uncalibrated")
    assert all(message.startswith("12 rows") and "100" in message for message in said)
    assert all(each.filename == __file__ for each in caught if "rows are few" in str(each.message))


def test_a_comparison_says_once_that_rows_are_few():
    data = auxcal.Predictions(LOGITS, Y)
    with pytest.warns(auxcal.InputWarning, match="45 rows are few") as caught:
        auxcal.compare(data, methods=["temperature", "platt", "beta"], bootstrap=0)
    assert len(caught) == 1


def test_enough_rows_are_not_said_to_be_few():
    rng = np.random.default_rng(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        auxcal.BetaCalibration().fit(rng.normal(size=(100, 3)), rng.integers(3, size=100))
    assert not [each for each in caught if "few" in str(each.message)]


def test_a_few_rows_of_many_classes_need_no_matrix_for_each_class():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(20, 3000)).astype(np.float32)
    y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    auxcal.CCACX(random_state=0).fit(logits[:, :3], y % 3)  # what is imported at the first fit is not counted
    tracemalloc.start()
    try:
        auxcal.CCACX(random_state=0).fit(logits, y)
        assert tracemalloc.get_traced_memory()[1] < 40e6  # a matrix for each class would be 10 MB, several times
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("method", ["matrix", "dirichlet", "structured-matrix"])
def test_more_memory_than_there_is_is_refused_before_it_is_taken(method, monkeypatch):
    monkeypatch.setattr("auxcal._core.memory._of_process", lambda: 10**6)
    logits = np.random.default_rng(0).normal(size=(50, 1000))
    with pytest.raises(InvalidInputError, match=r"1,000 classes takes some 0.08 GB of memory, and there are 0.001 GB"):
        CALIBRATORS[method]().fit(logits, np.arange(50))


@pytest.mark.parametrize("method", ["ccac", "ccac-s"])
def test_networks_that_can_not_be_held_are_refused_before_they_are_made(method, monkeypatch):
    monkeypatch.setattr("auxcal._core.memory._of_process", lambda: 10**6)
    with pytest.raises(InvalidInputError, match=r"training takes some .* GB of memory.*Use smaller hidden_sizes"):
        CALIBRATORS[method](hidden_sizes=(10_000,)).fit(LOGITS, Y)
