"""Saved calibrators: the same bits in a fresh process without torch, in a file that can't run code."""

import json
import pickletools
import subprocess
import sys

import numpy as np
import pytest
from safetensors import safe_open

import auxcal
from auxcal import CALIBRATORS, NO_CLASS, Calibrator, Dirichlet, HistogramBinning

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(300, 10), scale=2).astype(np.float32)
Y = (LOGITS / 2 + RNG.gumbel(size=LOGITS.shape)).argmax(axis=1)
Y[::10] = NO_CLASS
QUICK = {"hidden_sizes": (6, 5), "lambda1": 0.5, "lambda2": (1.0,), "random_state": 0}
PARAMETERS = {
    "dirichlet": {"off_diagonal": (1e-2, 1.0), "intercept": 0.1, "random_state": 3},
    "ccac": QUICK,
    "ccac-s": QUICK | {"mean": "right"},
    "histogram": {"n_bins": 7, "strategy": "width", "scheme": "per-class"},
    "isotonic": {"scheme": "per-class"},
}
SCORED = {"float32": LOGITS[:50], "float64": LOGITS[:50].astype(np.float64), "extreme": 1e4 * np.eye(10) - 5e3}

pytestmark = pytest.mark.xdist_group("persistence")
of_every_calibrator = pytest.mark.parametrize("name", CALIBRATORS)

LOAD_WITHOUT_TORCH = """
import sys
from pathlib import Path

class NoTorch:
    def find_spec(self, name, *_):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")

sys.meta_path.insert(0, NoTorch())
import numpy as np
import auxcal

folder = Path(sys.argv[1])
scored = dict(np.load(folder / "scored.npz"))
out = {}
for path in folder.glob("*.safetensors"):
    calibrator = auxcal.load(path)
    for kind, logits in scored.items():
        out[f"{path.stem}/confidence/{kind}"] = calibrator.predict_confidence(logits)
        if hasattr(calibrator, "predict_proba"):
            out[f"{path.stem}/proba/{kind}"] = calibrator.predict_proba(logits)
assert "torch" not in sys.modules
np.savez(folder / "out.npz", **out)
"""


@pytest.fixture(scope="module")
def fitted():
    return {name: kind(**PARAMETERS.get(name, {})).fit(LOGITS, Y) for name, kind in CALIBRATORS.items()}


@pytest.fixture(scope="module")
def folder(fitted, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    for name, calibrator in fitted.items():
        calibrator.save(folder / f"{name}.safetensors")
    return folder


@pytest.fixture(scope="module")
def elsewhere(folder):
    """What a fresh process in which torch can't be imported makes of the files."""
    np.savez(folder / "scored.npz", **SCORED)
    subprocess.run([sys.executable, "-W", "error", "-c", LOAD_WITHOUT_TORCH, str(folder)], check=True)
    with np.load(folder / "out.npz") as out:
        return dict(out)


def header_of(path):
    with safe_open(path, framework="numpy") as file:
        return json.loads(file.metadata()["auxcal"])


@of_every_calibrator
@pytest.mark.parametrize("kind", SCORED)
def test_a_fresh_process_without_torch_gives_the_same_bits(name, kind, fitted, elsewhere):
    confidence = fitted[name].predict_confidence(SCORED[kind])
    got = elsewhere[f"{name}/confidence/{kind}"]
    assert got.dtype == confidence.dtype
    assert got.tobytes() == confidence.tobytes()
    if hasattr(fitted[name], "predict_proba"):
        assert elsewhere[f"{name}/proba/{kind}"].tobytes() == fitted[name].predict_proba(SCORED[kind]).tobytes()


@of_every_calibrator
def test_the_header_says_what_the_file_is(name, fitted, folder):
    header = header_of(folder / f"{name}.safetensors")
    assert header["format"] == 1
    assert header["library"] == auxcal.__version__
    assert header["class"] == CALIBRATORS[name].__name__
    assert header["params"].keys() == fitted[name].get_params().keys()
    assert header["state"]["n_features_in_"] == 10


@of_every_calibrator
@pytest.mark.filterwarnings("ignore:invalid escape sequence:DeprecationWarning")  # what pickletools takes for text
def test_the_file_holds_no_pickle(name, folder):
    contents = (folder / f"{name}.safetensors").read_bytes()
    assert contents[8:9] == b"{"
    with pytest.raises(ValueError, match=r"opcode|pickle|exhausted|newline|literal|codec"):
        list(pickletools.genops(contents))


@of_every_calibrator
def test_saving_twice_gives_the_same_bytes_also_after_loading(name, fitted, folder, tmp_path):
    first = (folder / f"{name}.safetensors").read_bytes()
    fitted[name].save(tmp_path / "again")
    auxcal.load(folder / f"{name}.safetensors").save(tmp_path / "loaded")
    assert (tmp_path / "again").read_bytes() == first
    assert (tmp_path / "loaded").read_bytes() == first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "loaded"]


@pytest.mark.parametrize(
    "parameters",
    [{"off_diagonal": np.array([0.1, 1.0])}, {"off_diagonal": np.float32(0.5)}, {"intercept": np.geomspace(0.1, 1, 3)}],
    ids=["an array", "a NumPy number", "a grid from NumPy"],
)
def test_parameters_may_come_from_numpy(parameters, tmp_path):
    calibrator = Dirichlet(**({"off_diagonal": 1.0, "intercept": 1.0} | parameters), random_state=0).fit(LOGITS, Y)
    calibrator.save(tmp_path / "dirichlet")
    loaded = auxcal.load(tmp_path / "dirichlet")
    np.testing.assert_equal(loaded.get_params(), calibrator.get_params())
    assert np.array_equal(loaded.predict_proba(LOGITS), calibrator.predict_proba(LOGITS))


@pytest.mark.parametrize("path_type", [str, lambda path: path], ids=["a string", "a Path"])
def test_a_path_is_a_string_or_a_path(path_type, fitted, tmp_path):
    path = path_type(tmp_path / "any name")
    auxcal.save(fitted["temperature"], path)
    assert auxcal.load(path).temperature_ == fitted["temperature"].temperature_


def test_saving_replaces_what_was_there(fitted, tmp_path):
    path = tmp_path / "calibrator"
    fitted["platt"].save(path)
    fitted["beta"].save(path)
    assert type(auxcal.load(path)).__name__ == "BetaCalibration"
    assert list(tmp_path.iterdir()) == [path]


def test_others_may_read_the_file_as_they_may_read_any_new_file(fitted, tmp_path):
    fitted["platt"].save(tmp_path / "calibrator")
    (tmp_path / "any").touch()
    assert (tmp_path / "calibrator").stat().st_mode == (tmp_path / "any").stat().st_mode


class ClassAccuracy(Calibrator):
    """A user's own calibrator: how often each prediction was right."""

    def __init__(self, prior=(1, 2), options=None):
        self.prior = prior
        self.options = options

    def _fit(self, data):
        right, all_ = self.prior
        rows = [data.prediction == k for k in range(data.n_classes)]
        self.accuracy_ = np.array([(data.correct[of_k].sum() + right) / (of_k.sum() + all_) for of_k in rows])
        self.notes_ = {"empty": np.zeros((0, 3)), "nested": ({"flag": True}, None, float("inf")), "text": "λ ≥ 0"}

    def _confidence(self, logits):
        return self.accuracy_[logits.argmax(axis=1)]


def test_a_user_s_own_calibrator_is_saved_and_loaded(tmp_path):
    own = ClassAccuracy(prior=(2, 3), options={"a": (1, 2)}).fit(LOGITS, Y)
    own.save(tmp_path / "own")
    loaded = auxcal.load(tmp_path / "own")
    assert type(loaded) is ClassAccuracy
    assert loaded.get_params() == own.get_params()
    assert np.array_equal(loaded.predict_confidence(LOGITS), own.predict_confidence(LOGITS))
    np.testing.assert_equal(loaded.notes_, own.notes_)


def test_bins_that_are_numpy_numbers_survive(tmp_path):
    HistogramBinning(n_bins=np.int64(5)).fit(LOGITS, Y).save(tmp_path / "histogram")
    assert auxcal.load(tmp_path / "histogram").n_bins == 5
