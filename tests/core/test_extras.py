"""The base works without the extras; what needs one says so in one sentence with the command that installs it."""

import json
import subprocess
import sys

from auxcal import CALIBRATORS
from auxcal._core.extras import EXTRAS

BLOCKED = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {modules!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
import numpy as np
rng = np.random.default_rng(0)
z = rng.normal(size=(200, 3)).astype(np.float32)
y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
"""

TRIED = """
import json
said = {{}}
for name, code in {codes!r}.items():
    try:
        exec(code)
    except ImportError as error:
        said[name] = f"{{type(error).__name__}}: {{error}}"
print(json.dumps(said))
"""

NEEDS = {
    "auxcal.torch": ("torch", "from auxcal.torch import collect"),
    "auxcal.onnx": ("onnx", "from auxcal.onnx import to_onnx"),
    "augmented images": ("torch", "from auxcal_paper.shifts.images import D1; D1(np.zeros((1, 3, 4, 4)), rng)"),
    "DeepFool": (
        "experiments",
        "from auxcal_paper.shifts import DeepFool; DeepFool(None, (0,), (1,))(np.ones((1, 3, 4, 4)), np.ones(1, int))",
    ),
    "auxcal.tables": ("tables", "from auxcal.tables import read_predictions"),
    "auxcal.arrow": ("tables", "from auxcal.arrow import score"),
    "auxcal.spark": ("spark", "from auxcal.spark import score"),
    "auxcal.ray": ("ray", "from auxcal.ray import Score"),
    "the page": ("report", "from auxcal.report import save_report"),
    "a comparison's page": (
        "report",
        "import auxcal; auxcal.compare(auxcal.Predictions(z, y), methods=['platt']).save_report('report.html')",
    ),
    "a display": (
        "plots",
        "from auxcal.plots import RiskCoverageDisplay as Display; Display.from_predictions(z[:, 0] % 1, y > 0).plot()",
    ),
    "a classifier of the experiments": ("experiments", "import auxcal_paper.classifiers.cifar_resnet"),
}


def blocked(code, folder):
    """Run code in a fresh process in which the packages of all extras are missing."""
    program = BLOCKED.format(modules={module for modules in EXTRAS.values() for module in modules}) + code
    return subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)


def test_a_missing_extra_is_one_sentence_with_the_command_that_installs_it(tmp_path):
    done = blocked(TRIED.format(codes={name: code for name, (_, code) in NEEDS.items()}), tmp_path)
    said = json.loads(done.stdout.splitlines()[-1])
    for name, (extra, _) in NEEDS.items():
        assert said[name].startswith("MissingExtraError: "), name
        assert said[name].endswith(f"In a clone of auxcal: pip install '.[{extra}]'"), name
    assert not list(tmp_path.iterdir()), "nothing is left behind"


def test_every_extra_is_tried():
    assert {extra for extra, _ in NEEDS.values()} == set(EXTRAS) - {"cli"}


def test_without_extras_every_method_is_compared(tmp_path):
    code = """
import auxcal
auxcal.calibrators.auxiliary.FAST = auxcal.calibrators.auxiliary.FAST.__class__(1, 64, 0.01)
comparison = auxcal.compare(auxcal.Predictions(z, y), bootstrap=0, random_state=0)
print(*[entry.method for entry in comparison.entries if not entry.failed])
"""
    done = blocked(code, tmp_path)
    assert done.stdout.split() == list(CALIBRATORS), done.stderr


def test_without_extras_the_command_is_one_sentence(tmp_path):
    done = blocked("sys.argv = ['auxcal', 'methods']\nfrom auxcal.__main__ import main\nmain()", tmp_path)
    assert done.returncode == 1
    assert done.stderr == (
        "auxcal: the command line comes with the extra cli. In a clone of auxcal: pip install '.[cli]'\n"
    )


def test_without_extras_a_comparison_prints_itself_and_a_monitor_is_kept(tmp_path):
    code = """
import auxcal
comparison = auxcal.compare(auxcal.Predictions(z, y), methods=["platt", "temperature"], bootstrap=0, random_state=0)
print(comparison)
fitted = auxcal.PlattScaling().fit(z, y)
fitted.save("platt.safetensors")
monitor = auxcal.Monitor(auxcal.load("platt.safetensors"))
monitor.update(z, y=y)
monitor.save("monitor.safetensors")
"""
    done = blocked(code, tmp_path)
    assert "Platt" in done.stdout, done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"platt.safetensors", "monitor.safetensors"}
