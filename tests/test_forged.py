"""A file with a valid digest that no fit can have written is refused: every number of every method is changed."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save

import auxcal
from auxcal import CALIBRATORS, FileFormatError, InvalidInputError, TemperatureScaling
from auxcal._core.state import digest
from auxcal.thresholds.certificate import FoundOn

HERE = Path(__file__).parent / "golden"
NOT_SCORED = {"candidates_", "widths_", "effects_", "curve_"}  # the search, or parts that may be None
WRONG = [float("nan"), float("inf"), -float("inf"), "text", None, [1, 2, 3], {"a": 1}]


def forged(path, change):
    """Write the file of a calibrator once more, changed, with the digest that it should have."""
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["auxcal"])
        tensors = {name: file.get_tensor(name).copy() for name in file.keys()}  # noqa: SIM118
    change(header, tensors)
    header["digest"] = digest(header, tensors)
    return save(tensors, metadata={"auxcal": json.dumps(header)})


def refused(contents, path):
    path.write_bytes(contents)
    with pytest.raises(FileFormatError):
        auxcal.load(path)


@pytest.mark.parametrize("method", CALIBRATORS)
def test_no_number_of_a_method_may_be_missing_or_none(method, tmp_path):
    path = HERE / f"{method}.safetensors"
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["auxcal"])
        floats = [name for name in file.keys() if file.get_tensor(name).dtype.kind == "f"]  # noqa: SIM118
    names = [name for name in floats if not name.endswith(".score")]
    for name in names:
        for wrong in (np.nan, np.inf):

            def change(_, tensors, name=name, wrong=wrong):
                tensors[name].flat[-1] = wrong

            refused(forged(path, change), tmp_path / "forged.safetensors")
    for name in header["state"].keys() - NOT_SCORED:
        for wrong in WRONG:
            change = lambda header, _, name=name, wrong=wrong: header["state"].update({name: wrong})  # noqa: E731
            refused(forged(path, change), tmp_path / "forged.safetensors")
    for name in header["state"].keys() - {"n_further_features_"}:
        refused(forged(path, lambda header, _, name=name: header["state"].pop(name)), tmp_path / "forged.safetensors")
    refused(forged(path, lambda header, _: header["state"].update(fit="x")), tmp_path / "forged.safetensors")
    refused(forged(path, lambda header, _: header["state"].update(more_=1.0)), tmp_path / "forged.safetensors")
    refused(forged(path, lambda header, _: header["state"].update(n_features_in_=1)), tmp_path / "forged.safetensors")


@pytest.mark.parametrize(
    ("method", "change"),
    [
        ("temperature", lambda header, _: header["state"].update(temperature_=0.0)),
        ("ccac-x", lambda _, tensors: tensors.update(voices_=np.ones(4))),
        ("ccac", lambda header, _: header["state"].update(mean_="left")),
        ("vector", lambda _, tensors: tensors.update(weight_=tensors["weight_"][:1])),
        ("uncalibrated", lambda header, _: header.update(fitted_on={"n_rows": -5, "n_no_class": 0})),
        ("uncalibrated", lambda header, _: header.update(inputs={"label_name": 5})),
    ],
)
def test_what_no_fit_can_find_is_refused(method, change, tmp_path):
    refused(forged(HERE / f"{method}.safetensors", change), tmp_path / "forged.safetensors")


@pytest.mark.parametrize(("method", "name"), [("matrix", "weight_"), ("dirichlet", "weight_"), ("ccac", "weights_.0")])
def test_numbers_that_overflow_are_one_sentence(method, name, tmp_path):
    path = HERE / f"{method}.safetensors"
    change = forged(path, lambda _, tensors: tensors.update({name: np.full_like(tensors[name], 1e38)}))
    (tmp_path / "huge.safetensors").write_bytes(change)
    loaded = auxcal.load(tmp_path / "huge.safetensors")
    with pytest.raises(InvalidInputError, match="has no confidence"):
        loaded.predict_confidence(9 * np.eye(loaded.n_features_in_, dtype=np.float32))


def test_a_small_file_takes_little_memory(tmp_path):
    import tracemalloc

    contents = forged(
        HERE / "uncalibrated.safetensors", lambda header, _: header["state"].update(n_features_in_=200_000_000)
    )
    (tmp_path / "small.safetensors").write_bytes(contents)
    tracemalloc.start()
    auxcal.load(tmp_path / "small.safetensors")
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


@pytest.fixture
def calibrator():
    """Give a calibrator with a reference."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(200, 3))
    return TemperatureScaling().fit(logits, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1))


def rows():
    return np.random.default_rng(1).normal(size=(60, 3))


def replaced(name, value):
    """Change a tensor."""
    return lambda _, tensors: tensors.update({name: np.ascontiguousarray(value(tensors[name]))})


@pytest.mark.parametrize(
    "change",
    [
        lambda header, _: header["fit_rows"].update(more=1),
        lambda header, _: header.update(fit_rows=None),
        lambda header, _: header.update(fit_rows={"hashes": 1}),
        lambda header, _: header["certificate"].update(found_on={}),
        lambda header, _: header["certificate"].update(found_on="text"),
        lambda header, _: header["certificate"].update(found_on={"confidence": 0.5, "predicted": None}),
        replaced("fit_rows.hashes", lambda hashes: hashes[:, None]),
        replaced("reference.hashes", lambda hashes: hashes[1:]),
        replaced("certificate.found_on.confidence", lambda confidence: confidence * np.nan),
        replaced("certificate.found_on.predicted", lambda predicted: predicted * np.inf),
        replaced("certificate.found_on.predicted", lambda predicted: predicted[:2]),
    ],
)
def test_rows_that_no_fit_and_no_promise_can_have_had_are_refused(change, calibrator, tmp_path):
    path, confidence = tmp_path / "promised.safetensors", calibrator.predict_confidence(rows())
    promise = auxcal.thresholds.threshold_at_risk(confidence, np.ones(60, dtype=bool), 0.1)
    found_on = FoundOn.of(confidence, rows().argmax(axis=1), 3)
    calibrator.certificate_ = auxcal.Certificate.of(promise, n_rows=60, found_on=found_on)
    calibrator.save(path)
    assert auxcal.load(path).certificate_.holds_for(confidence, rows().argmax(axis=1))
    refused(forged(path, change), path)


@pytest.mark.parametrize(
    "change",
    [
        lambda header, _: header["monitor"].update(keep=10**9),
        lambda header, _: header["monitor"].update(level="text"),
        lambda header, _: header["state"]["evidence"].__setitem__(0, float("nan")),
        lambda header, _: header["state"]["evidence"].__setitem__(0, 5),
        lambda header, _: header["state"]["_rows"]["_rng"]["state"].update(state=-1),
        lambda header, _: header["state"]["_rows"]["wealth"].update(n_rows=10**12),
        lambda header, _: header["state"]["_rows"].pop("_sums"),
        lambda header, _: header["state"].update(_alarms=[["data", "text", 3]]),
        lambda _, tensors: tensors["state._labels.wealth.staked"].fill(np.nan),
        lambda _, tensors: tensors.update({"state._rows._sums": tensors["state._rows._sums"][:-1]}),
        lambda _, tensors: tensors.pop("state._waiting._confidence"),
    ],
)
def test_a_monitor_that_no_rows_can_have_made_is_refused(change, calibrator, tmp_path):
    path = tmp_path / "monitor.safetensors"
    monitor = auxcal.Monitor(calibrator, keep=10)
    monitor.update(rows())
    monitor.save(path)
    assert auxcal.Monitor.load(path, calibrator).evidence == monitor.evidence
    path.write_bytes(forged(path, change))
    with pytest.raises((FileFormatError, InvalidInputError)):
        auxcal.Monitor.load(path, calibrator)


@pytest.mark.needs("tables")
@pytest.mark.parametrize(
    "wrong", [b"[1]", b"3", b"{}", b'{"made_with": 1, "parts": {}}', b'{"made_with": {}, "parts": [1]}']
)
def test_a_record_that_no_run_can_have_written_is_refused(wrong, calibrator, tmp_path):
    from auxcal.tables import score_table

    (tmp_path / "parts").mkdir()
    text = "".join(f"{a},{b},{c}\n" for a, b, c in rows())
    (tmp_path / "parts" / "a.csv").write_text("logit_0,logit_1,logit_2\n" + text)
    score_table(calibrator, tmp_path / "parts", out=tmp_path / "scored")
    (tmp_path / "scored" / "_auxcal.json").write_bytes(wrong)
    with pytest.raises(FileFormatError, match="record of what was scored is damaged"):
        score_table(calibrator, tmp_path / "parts", out=tmp_path / "scored")


def test_a_class_of_your_own_is_not_saved_as_one_of_the_library(tmp_path):
    own = type("TemperatureScaling", (TemperatureScaling,), {})
    fitted = own().fit([[2.0, 0.0], [0.0, 1.0], [3.0, 0.0]] * 2, [0, 1, 0, 0, 1, 1])
    with pytest.raises(InvalidInputError, match="another name"):
        fitted.save(tmp_path / "own.safetensors")


def test_no_confidence_is_an_error_not_a_number():
    fitted = TemperatureScaling().fit([[2.0, 0.0], [0.0, 1.0], [3.0, 0.0]] * 2, [0, 1, 0, 0, 1, 1])
    fitted.temperature_ = float("nan")
    with pytest.raises(InvalidInputError, match="row 0 has no confidence"):
        fitted.predict_confidence([[1.0, 2.0]])
