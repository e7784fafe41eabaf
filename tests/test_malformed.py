"""Malformed inputs and files: each is refused by an error of the library's own tree, in a sentence that names it.

No refusal leaves a half-fitted calibrator, a half-written file or a leftover one.
"""

import json
import struct
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from safetensors.numpy import save as to_safetensors

import auxcal
from auxcal import (
    CALIBRATORS,
    CCAC,
    AuxcalError,
    Calibrator,
    Dirichlet,
    FileFormatError,
    HistogramBinning,
    InvalidInputError,
    MatrixScaling,
    NotFittedError,
    PlattScaling,
    Predictions,
    ScalingBinning,
    SimplifiedCCAC,
    TemperatureScaling,
    VectorScaling,
    evaluate,
)
from auxcal._core.extras import is_installed
from auxcal._core.state import digest
from auxcal.metrics import METRICS, ece, ece_noise_floor, fpr_at_tpr, mce, precision_at_recall

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(60, 3))
Y = (2 * LOGITS + RNG.gumbel(size=LOGITS.shape)).argmax(axis=1)
CONFIDENCE, CORRECT = [0.9, 0.8, 0.3, 0.2], [True, False, True, False]


@contextmanager
def refused(naming, error=InvalidInputError):
    """Expect an error of the library whose message is a sentence that names what is wrong."""
    with pytest.raises(error) as caught:
        yield
    message = str(caught.value)
    assert isinstance(caught.value, AuxcalError)
    assert naming in message
    assert len(message) > 40
    assert message.endswith(".")


def table(cases):
    """Parametrise over a dict of readable ids."""
    return pytest.mark.parametrize("case", cases.values(), ids=cases.keys())


def with_value(array, value):
    array = np.array(array)
    array[7, 1] = value
    return array


def ragged(rows):
    return [*rows.tolist()[:-1], [1.0]]


# Arrays ---------------------------------------------------------------------------------------------------------------

BAD_LOGITS = {
    "a NaN": with_value(LOGITS, np.nan),
    "an infinity": with_value(LOGITS, np.inf),
    "a minus infinity": with_value(LOGITS, -np.inf),
    "a NaN in float32": with_value(LOGITS.astype(np.float32), np.nan),
    "an infinity in half precision": with_value(LOGITS.astype(np.float16), np.inf),
    "numbers whose squares overflow": LOGITS * 1e300,
    "a number beyond float64": [[10**400, 1.0, 1.0]] * 60,
    "a number": 1.5,
    "one dimension": LOGITS[0],
    "three dimensions": LOGITS[None],
    "no rows": LOGITS[:0],
    "no columns": LOGITS[:, :0],
    "an empty list": [],
    "rows of other lengths": ragged(LOGITS),
    "strings": LOGITS.astype(str),
    "strings as objects": LOGITS.astype(str).astype(object),
    "complex numbers": LOGITS + 1j,
    "objects": np.full((60, 3), object()),
    "None in a row": [[None, 1.0, 2.0]] * 60,
    "dates": np.zeros((60, 3), dtype="datetime64[s]"),
    "records": np.zeros((60, 3), dtype=[("a", float)]),
    "masked entries": np.ma.masked_array(LOGITS, mask=LOGITS > 1),
    "rows with masked entries": [np.ma.masked_array(row, mask=row > 1) for row in LOGITS],
    "a sparse matrix": scipy.sparse.csr_array(LOGITS),
    "None": None,
    "a dict": {"logits": LOGITS},
    "a set": {1.0, 2.0},
    "a generator": (row for row in LOGITS),
    "a file name": "logits.npy",
}
if is_installed("torch"):
    import torch

    BAD_LOGITS |= {
        "a NaN in torch": torch.tensor(with_value(LOGITS, np.nan)),
        "complex numbers in torch": torch.tensor(LOGITS + 1j),
        "a sparse torch tensor": torch.tensor(LOGITS).to_sparse(),
        "a torch tensor without data": torch.empty(60, 3, device="meta"),
    }


@table(BAD_LOGITS)
def test_bad_logits_are_refused_by_fit_which_leaves_nothing_fitted(case):
    calibrator = TemperatureScaling().fit(LOGITS, Y)
    with refused("logits"):
        calibrator.fit(case, Y)
    with refused("not fitted", NotFittedError):
        calibrator.predict_confidence(LOGITS)


@table(BAD_LOGITS)
def test_bad_logits_are_refused_when_scored_and_the_calibrator_stays_fitted(case):
    calibrator = TemperatureScaling().fit(LOGITS, Y)
    before = calibrator.predict_proba(LOGITS)
    for predict in (calibrator.predict_confidence, calibrator.predict_proba):
        with refused("logits"):
            predict(case)
    assert np.array_equal(calibrator.predict_proba(LOGITS), before)


@pytest.mark.parametrize("k", [2, 4, 1000])
def test_logits_of_another_number_of_classes_are_refused(k):
    with refused("the 3 columns"):
        TemperatureScaling().fit(LOGITS, Y).predict_confidence(np.zeros((5, k)))


BAD_Y = {
    "floats": Y.astype(float),
    "a NaN": np.where(Y == 0, np.nan, Y),
    "a class too many": np.where(Y == 2, 3, Y),
    "a class below NO_CLASS": np.where(Y == 2, -2, Y),
    "a huge unsigned class": np.full(60, 2**64 - 1, dtype=np.uint64),
    "a class beyond 64 bits": [2**70] * 60,
    "booleans": Y == 0,
    "strings": Y.astype(str),
    "names": np.array(["cat", "dog"])[Y % 2],
    "objects": Y.astype(object),
    "complex numbers": Y + 0j,
    "dates": Y.astype("datetime64[s]"),
    "masked entries": np.ma.masked_array(Y, mask=Y > 1),
    "one row too few": Y[:-1],
    "one row too many": np.append(Y, 0),
    "no rows": Y[:0],
    "one-hot rows": np.eye(3, dtype=int)[Y],
    "a column": Y[:, None],
    "a number": 1,
    "None": None,
    "a dict": {"y": Y},
    "rows of other lengths": [[0], [1, 2]],
    "a sparse matrix": scipy.sparse.csr_array(Y[None]),
}
if is_installed("torch"):
    BAD_Y["a torch tensor of floats"] = torch.tensor(Y).float()


@table(BAD_Y)
def test_a_bad_y_is_refused_by_fit_which_leaves_nothing_fitted(case):
    calibrator = PlattScaling().fit(LOGITS, Y)
    with refused("y must"):
        calibrator.fit(LOGITS, case)
    with refused("not fitted", NotFittedError):
        calibrator.predict_confidence(LOGITS)


BAD_SELECT = {
    "not a pair": (LOGITS, Y, Y),
    "logits alone": LOGITS,
    "a dict": {"logits": LOGITS, "y": Y},
    "a string": "ab",
    "a share": 0.2,
    "an empty pair": (),
    "logits of another classifier": (LOGITS[:, :2], Y % 2),
    "more labels than rows": (LOGITS[:10], Y),
    "a NaN": (with_value(LOGITS, np.nan), Y),
    "no rows": (LOGITS[:0], Y[:0]),
    "float labels": (LOGITS, Y.astype(float)),
    "labels and logits swapped": (Y, LOGITS),
}


@table(BAD_SELECT)
@pytest.mark.parametrize("kind", [TemperatureScaling, Dirichlet], ids=["which has no use for it", "which searches"])
def test_a_bad_select_part_is_refused_by_a_method(kind, case):
    calibrator = kind().fit(LOGITS, Y)
    with refused("select"):
        calibrator.fit(LOGITS, Y, select=case)
    with refused("not fitted", NotFittedError):
        calibrator.predict_confidence(LOGITS)


def test_one_row_is_too_few_to_search_on():
    with refused("at least 2 rows"):
        Dirichlet().fit(LOGITS[:1], Y[:1])


# Hyper-parameters -----------------------------------------------------------------------------------------------------

QUICK = {"hidden_sizes": (), "lambda1": 0, "lambda2": 1, "mean": "wrong", "random_state": 0}
BAD_PARAMETERS = {
    "lambda1": [-1, np.nan, np.inf, "0.5", None, True, (), [0.5, -1], [[0.5]], [0.5, [1]], ["a"], 1j, 1e300],
    "lambda2": [-1e-9, np.nan, "all", None, (), [1, np.nan], {1: 2}, 1e300],
    "mean": ["geometric", "", None, 3, (), ["wrong", "left"], [["wrong"]]],
    "select_by": ["auroc", "ECE", None, 1, ["ece"]],
    "recipe": ["slow", None, 30, ["fast"]],
    "hidden_sizes": [0, -1, 2.5, (10, 0), (10, -1), (10, 2.5), "ab", (None,), [[3]], True, np.nan],
    "random_state": ["a", -1, 1.5],
}
NETWORK_CASES = {
    f"{name}={value!r}": (kind, QUICK | {name: value}, name)
    for name, values in BAD_PARAMETERS.items()
    for value in values
    for kind in [CCAC if name != "mean" else SimplifiedCCAC]
}
BAD_STRENGTHS = [-1, np.nan, np.inf, "strong", None]
OTHER_CASES = {
    f"{kind.__name__}({name}={value!r})": (kind, {name: value}, name)
    for kind, name, values in [
        (Dirichlet, "off_diagonal", [*BAD_STRENGTHS, (), [1.0, -1.0]]),
        (Dirichlet, "intercept", [*BAD_STRENGTHS, ()]),
        (Dirichlet, "select_by", ["auroc", None]),
        (Dirichlet, "random_state", ["a", -1]),
        (MatrixScaling, "off_diagonal", [*BAD_STRENGTHS, (1.0, 2.0)]),
        (MatrixScaling, "intercept", [*BAD_STRENGTHS, (1.0, 2.0)]),
        (PlattScaling, "scheme", ["one-vs-rest", None, ["top-label"]]),
        (HistogramBinning, "n_bins", [0, -3, 1.5, True, "20", None, np.nan]),
        (HistogramBinning, "strategy", ["quantile", None, ["mass"]]),
        (HistogramBinning, "scheme", ["top"]),
        (ScalingBinning, "n_bins", [0, 2.0, None]),
        (ScalingBinning, "scheme", ["marginal"]),
        (ScalingBinning, "bins_of", ["top", None]),
    ]
    for value in values
}


@table(NETWORK_CASES | OTHER_CASES)
def test_a_bad_hyper_parameter_is_refused_by_fit_which_leaves_nothing_fitted(case):
    kind, parameters, name = case
    calibrator = kind(**parameters)
    with refused(name):
        calibrator.fit(LOGITS, Y)
    with refused("not fitted", NotFittedError):
        calibrator.predict_confidence(LOGITS)


def test_a_hyper_parameter_is_checked_also_where_nothing_is_searched():
    with refused("select_by"):
        Dirichlet(off_diagonal=1.0, intercept=1.0, select_by="auroc").fit(LOGITS, Y)


@pytest.fixture(scope="module")
def simplified():
    return SimplifiedCCAC(**QUICK).fit(LOGITS, Y)


BAD_TRANSFERS = {
    "another number of classes": ((LOGITS[:, :2], Y % 2), "logits"),
    "a NaN": ((with_value(LOGITS, np.nan), Y), "logits"),
    "float labels": ((LOGITS, Y.astype(float)), "y"),
    "a bad select part": ((LOGITS, Y, LOGITS), "select"),
}


@table(BAD_TRANSFERS)
def test_a_bad_transfer_is_refused_and_the_calibrator_stays_as_it_was(case, simplified):
    arguments, name = case
    before = simplified.predict_confidence(LOGITS)
    with refused(name):
        simplified.transfer(*arguments)
    assert np.array_equal(simplified.predict_confidence(LOGITS), before)


def test_an_unfitted_calibrator_can_not_be_transferred():
    with refused("not fitted", NotFittedError):
        SimplifiedCCAC().transfer(LOGITS, Y)


@pytest.mark.parametrize("name", CALIBRATORS)
def test_an_unfitted_calibrator_says_so_before_it_looks_at_the_logits(name):
    with refused("not fitted", NotFittedError):
        CALIBRATORS[name]().predict_confidence(None)


# Metrics --------------------------------------------------------------------------------------------------------------

BAD_CONFIDENCES = {
    "a NaN": [0.5, np.nan, 0.5, 0.5],
    "an infinity": [0.5, np.inf, 0.5, 0.5],
    "above 1": [0.5, 1.0000001, 0.5, 0.5],
    "below 0": [0.5, -1e-9, 0.5, 0.5],
    "percentages": [90, 80, 30, 20],
    "logits": [[0.5, 0.5]] * 4,
    "no rows": [],
    "a number": 0.5,
    "strings": ["0.5"] * 4,
    "complex numbers": [0.5 + 0.1j] * 4,
    "rows of other lengths": [[0.5], [0.5, 0.5], [0.5], [0.5]],
    "dates": np.zeros(4, dtype="datetime64[s]"),
    "None": None,
}
BAD_CORRECTS = {
    "one row too few": CORRECT[:-1],
    "one row too many": [*CORRECT, True],
    "two dimensions": [CORRECT] * 4,
    "class indices": [0, 1, 2, 0],
    "shares": [0.5, 0.5, 0.5, 0.5],
    "a NaN": [1, np.nan, 1, 0],
    "minus one": [1, -1, 1, 0],
    "strings": ["True", "False", "True", "False"],
    "None in a row": [True, None, True, False],
    "a number": True,
    "None": None,
}


@table(BAD_CONFIDENCES)
def test_a_bad_confidence_is_refused(case):
    with refused("confidence"):
        evaluate(case, CORRECT)
    with refused("confidence"):
        ece_noise_floor(case)


@table(BAD_CORRECTS)
def test_a_bad_correct_is_refused(case):
    with refused("correct"):
        evaluate(CONFIDENCE, case)


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_checks_for_itself(name):
    with refused("confidence"):
        METRICS[name].function([0.5, 2.0], [True, False])
    with refused("correct"):
        METRICS[name].function([0.5, 0.2], [True, False, False])


BAD_OPTIONS = {
    f"{function.__name__}({name}={value!r})": (function, name, value)
    for function, name, values in [
        (evaluate, "bootstrap", [-1, 1.5, "100", None, np.nan]),
        (evaluate, "level", [0, 1, 95, np.nan, "95%", None]),
        (evaluate, "random_state", ["a", -1, 1.5]),
        (ece, "n_bins", [0, -1, 1.5, True, "20", None]),
        (ece, "strategy", ["quantile", None, ["width"]]),
        (mce, "n_bins", [0]),
        (mce, "strategy", ["uniform"]),
        (precision_at_recall, "recall", [0, -0.1, 1.1, np.nan, "0.9", None]),
        (fpr_at_tpr, "tpr", [0, 2, np.nan, None]),
    ]
    for value in values
}


@table(BAD_OPTIONS)
def test_a_bad_option_of_a_metric_is_refused(case):
    function, name, value = case
    with refused(name):
        function(CONFIDENCE, CORRECT, **{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_draws", 0), ("n_draws", -1), ("n_draws", 1.5), ("n_bins", 0), ("strategy", "quantile"), ("random_state", "a")],
)
def test_a_bad_option_of_the_noise_floor_is_refused(name, value):
    with refused(name):
        ece_noise_floor(CONFIDENCE, **{name: value})


# Predictions and bundles ----------------------------------------------------------------------------------------------

WHOLE = Predictions(LOGITS, Y)
BAD_SIZES = {
    "none": (),
    "zero": (0,),
    "negative": (10, -1),
    "more than there are": (40, 21),
    "a share": (0.5,),
    "a fraction": (1.5,),
    "a string": ("10",),
    "a list": ([10, 20],),
    "a NaN": (np.nan,),
}


@table(BAD_SIZES)
def test_bad_sizes_of_a_split_are_refused(case):
    with refused("sizes"):
        WHOLE.split(*case)


@pytest.mark.parametrize("share", [0, 1, 1.5, -0.5, np.nan, "half", None, 1e-6])
def test_a_bad_share_of_a_stratified_split_is_refused(share):
    with refused("share"):
        WHOLE.split_stratified(share)


@pytest.mark.parametrize("random_state", ["a", -1, 1.5])
def test_a_bad_random_state_of_a_split_is_refused(random_state):
    with refused("random_state"):
        WHOLE.split(10, random_state=random_state)


def bundle_bytes(folder, **arrays):
    path = folder / "source.npz"
    np.savez(path, **arrays)
    contents = path.read_bytes()
    path.unlink()
    return contents


BAD_BUNDLES = {
    "empty": lambda folder: b"",
    "a text file": lambda folder: b"logits,y\n0.5,1\n",
    "cut in half": lambda folder: (whole := bundle_bytes(folder, logits=LOGITS, y=Y))[: len(whole) // 2],
    "cut by one byte": lambda folder: bundle_bytes(folder, logits=LOGITS, y=Y)[:-1],
    "a flipped byte": lambda folder: flipped(bundle_bytes(folder, logits=LOGITS, y=Y), 400),
    "without y": lambda folder: bundle_bytes(folder, logits=LOGITS),
    "without logits": lambda folder: bundle_bytes(folder, y=Y),
    "with other names": lambda folder: bundle_bytes(folder, scores=LOGITS, labels=Y),
    "with a pickled object": lambda folder: bundle_bytes(folder, logits=LOGITS.astype(object), y=Y),
    "with a NaN": lambda folder: bundle_bytes(folder, logits=with_value(LOGITS, np.nan), y=Y),
    "with float labels": lambda folder: bundle_bytes(folder, logits=LOGITS, y=Y.astype(float)),
    "with labels of other rows": lambda folder: bundle_bytes(folder, logits=LOGITS, y=Y[:-1]),
    "one array of NumPy": lambda folder: npy_bytes(folder, LOGITS),
    "a pickle": lambda folder: b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x07auxcal\x94.",
}


def npy_bytes(folder, array):
    path = folder / "source.npy"
    np.save(path, array)
    contents = path.read_bytes()
    path.unlink()
    return contents


def flipped(contents, position):
    changed = bytearray(contents)
    changed[position] ^= 0xFF
    return bytes(changed)


@table(BAD_BUNDLES)
def test_a_bad_bundle_is_refused_with_its_name(case, tmp_path):
    path = tmp_path / "bundle.npz"
    path.write_bytes(case(tmp_path))
    with refused("bundle.npz", AuxcalError):
        Predictions.load(path)


def test_a_folder_is_no_bundle(tmp_path):
    with refused(tmp_path.name):
        Predictions.load(tmp_path)


def test_an_absent_bundle_is_not_found(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent\.npz"):
        Predictions.load(tmp_path / "absent.npz")


def test_a_bundle_is_an_npz_file(tmp_path):
    with refused(".npz"):
        WHOLE.save(tmp_path / "bundle.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("size", [1e5, -1e6])
def test_logits_that_do_not_fit_into_half_are_refused(tmp_path, size):
    with refused("float16"):
        Predictions([[size, 0.0]], [0]).save(tmp_path / "bundle.npz", half=True)
    assert not list(tmp_path.iterdir())


# Saved calibrators ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    return VectorScaling().fit(LOGITS, Y)


@pytest.fixture(scope="module")
def saved(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "vector.safetensors"
    fitted.save(path)
    return path.read_bytes()


def unpacked(contents):
    """The JSON of auxcal, that of safetensors around it, and the bytes of the tensors."""
    (size,) = struct.unpack("<Q", contents[:8])
    outer = json.loads(contents[8 : 8 + size])
    return json.loads(outer["__metadata__"]["auxcal"]), outer, contents[8 + size :]


def packed(inner, outer, tensors):
    text = inner if isinstance(inner, str) else json.dumps(inner)
    header = json.dumps(outer | {"__metadata__": {"auxcal": text}}).encode()
    return struct.pack("<Q", len(header)) + header + tensors


def with_header(change):
    """Change the JSON of auxcal and leave the digest as it was."""

    def damaged(contents):
        inner, outer, tensors = unpacked(contents)
        change(inner)
        return packed(inner, outer, tensors)

    return damaged


def forged(change):
    """Change the JSON of auxcal and renew the digest, as somebody would who knows the format."""

    def damaged(contents):
        inner, _, _ = unpacked(contents)
        tensors = {"weight_": np.ones(3), "bias_": np.zeros(3)}
        change(inner)
        inner["digest"] = digest(inner, tensors)
        return to_safetensors(tensors, metadata={"auxcal": json.dumps(inner)})

    return damaged


def without_tensor(contents):
    inner, _, _ = unpacked(contents)
    return to_safetensors({"weight_": np.ones(3)}, metadata={"auxcal": json.dumps(inner)})


BAD_FILES = {
    "empty": lambda contents: b"",
    "one byte": lambda contents: contents[:1],
    "cut in the length": lambda contents: contents[:7],
    "cut in the header": lambda contents: contents[:100],
    "cut at the tensors": lambda contents: contents[: -6 * 8],
    "cut by one byte": lambda contents: contents[:-1],
    "one byte too long": lambda contents: contents + b"\0",
    "a text file": lambda contents: b"temperature = 1.5\n" * 10,
    "a pickle": lambda contents: b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x07auxcal\x94.",
    "an absurd length of the header": lambda contents: struct.pack("<Q", 2**60) + contents[8:],
    "safetensors of something else": lambda contents: to_safetensors({"weight_": np.ones(3)}),
    "safetensors with other metadata": lambda contents: to_safetensors({"w": np.ones(3)}, metadata={"format": "pt"}),
    "a flipped bit in a tensor": lambda contents: flipped(contents, -3),
    "a flipped bit in the header": lambda contents: flipped(contents, 60),
    "a header that is not JSON": lambda contents: packed("{format: 1}", *unpacked(contents)[1:]),
    "a header that is a list": lambda contents: packed("[]", *unpacked(contents)[1:]),
    "a header that is a number": lambda contents: packed("1", *unpacked(contents)[1:]),
    "a header without end": lambda contents: packed("[" * 100_000, *unpacked(contents)[1:]),
    "an empty header": lambda contents: packed("", *unpacked(contents)[1:]),
    "without its format": with_header(lambda header: header.pop("format")),
    "without its class": with_header(lambda header: header.pop("class")),
    "without its parameters": with_header(lambda header: header.pop("params")),
    "without its state": with_header(lambda header: header.pop("state")),
    "without its digest": with_header(lambda header: header.pop("digest")),
    "without its library": with_header(lambda header: header.pop("library")),
    "a newer format": with_header(lambda header: header.update(format=2)),
    "a format that is a string": with_header(lambda header: header.update(format="1")),
    "another class": with_header(lambda header: header.update({"class": "TemperatureScaling"})),
    "another parameter": with_header(lambda header: header["params"].update(n_bins=3)),
    "another number of classes": with_header(lambda header: header["state"].update(n_features_in_=4)),
    "another digest": with_header(lambda header: header.update(digest="0" * 64)),
    "without one of its tensors": without_tensor,
    "forged: an unknown class": forged(lambda header: header.update({"class": "Nobody"})),
    "forged: an abstract class": forged(lambda header: header.update({"class": "ProbaCalibrator"})),
    "forged: a class of Python": forged(lambda header: header.update({"class": "builtins.eval"})),
    "forged: a parameter that is unknown": forged(lambda header: header["params"].update(depth=3)),
    "forged: a state that lacks a part": forged(lambda header: header["state"].pop("bias_")),
    "forged: a state that is unfitted": forged(lambda header: header["state"].pop("n_features_in_")),
    "forged: a state of another shape": forged(lambda header: header["state"].update(n_features_in_=4)),
    "forged: a state of another kind": forged(lambda header: header["state"].update(weight_="heavy")),
    "forged: a tensor that is not there": forged(lambda header: header["state"].update(bias_={"tensor": "none"})),
    "forged: more classes than memory": forged(lambda header: header["state"].update(n_features_in_=10**15)),
    "forged: a state that hides a method": forged(lambda header: header["state"].update(predict_confidence=1)),
    "forged: names of other classes": forged(lambda header: header["inputs"].update(class_names=["cat"])),
    "forged: another kind of input": forged(lambda header: header["inputs"].update(kind="votes")),
    "forged: an input that is unknown": forged(lambda header: header["inputs"].update(colour="red")),
}


@table(BAD_FILES)
def test_a_bad_file_is_refused_with_its_name(case, saved, tmp_path):
    path = tmp_path / "calibrator.safetensors"
    path.write_bytes(case(saved))
    with refused("calibrator.safetensors", FileFormatError):
        auxcal.load(path)


def test_a_newer_file_says_how_to_upgrade(saved, tmp_path):
    path = tmp_path / "calibrator.safetensors"
    path.write_bytes(with_header(lambda header: header.update(format=99, library="9.9"))(saved))
    with refused("git pull && pip install .", FileFormatError):
        auxcal.load(path)


def test_a_folder_is_no_calibrator(tmp_path):
    with refused(tmp_path.name, FileFormatError):
        auxcal.load(tmp_path)


def test_an_absent_calibrator_is_not_found(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent\.safetensors"):
        auxcal.load(tmp_path / "absent.safetensors")


# Saving that fails ----------------------------------------------------------------------------------------------------


class Unstorable(Calibrator):
    """A user's calibrator whose fitted state can't be written."""

    def __init__(self, state):
        self.state = state

    def _fit(self, data):
        self.state_ = self.state

    def _confidence(self, logits):
        return np.full(len(logits), 0.5)


BAD_SAVES = {
    "an unfitted calibrator": (lambda: VectorScaling(), "not fitted"),
    "no calibrator": (lambda: LOGITS, "calibrator"),
    "a class in place of a calibrator": (lambda: VectorScaling, "calibrator"),
    "a random_state that is a generator": (
        lambda: Dirichlet(random_state=np.random.default_rng(0)).fit(LOGITS, Y),
        "random_state",
    ),
    "a state that is a function": (lambda: Unstorable(np.sin).fit(LOGITS, Y), "state"),
    "a state that is a set": (lambda: Unstorable({1, 2}).fit(LOGITS, Y), "state"),
    "a state of objects": (lambda: Unstorable(np.array([None, 1])).fit(LOGITS, Y), "state"),
    "a state of strings": (lambda: Unstorable(np.array(["a", "b"])).fit(LOGITS, Y), "state"),
    "a state with keys that are no strings": (lambda: Unstorable({(1, 2): 3}).fit(LOGITS, Y), "state"),
}


@table(BAD_SAVES)
def test_what_can_not_be_saved_is_refused_and_the_old_file_stays(case, saved, tmp_path):
    make, name = case
    path = tmp_path / "calibrator.safetensors"
    path.write_bytes(saved)
    with refused(name, AuxcalError):
        auxcal.save(make(), path)
    assert path.read_bytes() == saved
    assert list(tmp_path.iterdir()) == [path]


SAVERS = {
    "a calibrator": lambda path: VectorScaling().fit(LOGITS, Y).save(path),
    "a bundle": lambda path: WHOLE.save(path),
}
of_both_savers = pytest.mark.parametrize("save", SAVERS.values(), ids=SAVERS.keys())


@of_both_savers
def test_a_folder_that_does_not_exist_is_refused(save, tmp_path):
    with refused("folder", AuxcalError):
        save(tmp_path / "absent" / "file.npz")
    assert not list(tmp_path.iterdir())


@of_both_savers
def test_a_file_in_the_place_of_the_folder_is_refused(save, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with refused("folder", AuxcalError):
        save(tmp_path / "file" / "file.npz")


@of_both_savers
def test_a_folder_in_the_place_of_the_file_is_refused(save, tmp_path):
    (tmp_path / "folder.npz").mkdir()
    with refused("folder.npz", AuxcalError):
        save(tmp_path / "folder.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.npz"]


@of_both_savers
def test_a_folder_that_can_not_be_written_to_is_refused(save, tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(
        "auxcal._core.files.os.open", refuse
    )  # root may write everywhere, so a real folder would not do
    with refused(str(tmp_path), AuxcalError):
        save(tmp_path / "file.npz")


@pytest.mark.parametrize("path", [None, 3.5, []])
def test_what_is_no_path_is_refused(fitted, path):
    with refused("path"):
        fitted.save(path)
    with refused("path"):
        auxcal.load(path)
    with refused("path"):
        WHOLE.save(path)
    with refused("path", AuxcalError):
        Predictions.load(path)


@pytest.mark.parametrize("interruption", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("moment", ["while it writes", "when it has written"])
@of_both_savers
def test_an_interrupted_save_leaves_the_old_file_whole(save, moment, interruption, tmp_path, monkeypatch):
    path = tmp_path / "file.npz"
    save(path)
    before = path.read_bytes()

    def half_written(target, *contents, **arrays):
        if isinstance(target, Path):
            with target.open("wb") as file:
                file.write(contents[0][:50])
        else:
            target.write(b"half of it")
        raise interruption

    def interrupted(*_):
        raise interruption

    if moment == "while it writes":
        monkeypatch.setattr(Path, "write_bytes", half_written)
        monkeypatch.setattr(np, "savez_compressed", half_written)
    else:
        monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(type(interruption)):
        save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
