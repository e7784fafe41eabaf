"""The base works without the extras; what needs one says so in one sentence with the command that installs it."""

import json
import subprocess
import sys

import numpy as np

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
    "a file of tensors": (
        "torch",
        "open('a.pt', 'w').close(); from auxcal.tables import read_predictions; read_predictions('a.pt')",
    ),
    "augmented images": ("torch", "from auxcal_paper.shifts.images import D1; D1(np.zeros((1, 3, 4, 4)), rng)"),
    "DeepFool": (
        "experiments",
        "from auxcal_paper.shifts import DeepFool; DeepFool(None, (0,), (1,))(np.ones((1, 3, 4, 4)), np.ones(1, int))",
    ),
    "reading parquet": (
        "tables",
        "open('a.parquet', 'w').close(); from auxcal.tables import read_predictions; read_predictions('a.parquet')",
    ),
    "writing parquet": (
        "tables",
        "import auxcal; from auxcal.tables import score_file; np.save('z.npy', z); "
        "score_file(auxcal.PlattScaling().fit(z, y), 'z.npy', out='scored.parquet')",
    ),
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
    assert {path.name for path in tmp_path.iterdir()} == {"a.pt", "a.parquet", "z.npy"}, "nothing is left behind"


def test_every_extra_is_tried():
    assert {extra for extra, _ in NEEDS.values()} == set(EXTRAS)


COMPARE = """
np.savez("logits.npz", logits=z, y=y)
sys.argv = ["auxcal", "compare", "logits.npz", *{arguments!r}]
from auxcal.cli import main
main()
"""


def test_without_extras_every_method_is_compared(tmp_path):
    code = """
import auxcal
auxcal.calibrators.auxiliary.FAST = auxcal.calibrators.auxiliary.FAST.__class__(1, 64, 0.01)
comparison = auxcal.compare(auxcal.Predictions(z, y), bootstrap=0, random_state=0)
print(*[entry.method for entry in comparison.entries if not entry.failed])
"""
    done = blocked(code, tmp_path)
    assert done.stdout.split() == list(CALIBRATORS), done.stderr


REPRODUCE = """
import sys
sys.argv = ["auxcal", "reproduce", "r8-dan", "--methods", "temperature,platt", "--random-states", "1", "--jobs", "1"]
from auxcal.cli import main
main()
"""


def test_without_extras_the_papers_tables_are_made(tmp_path):
    done = blocked(REPRODUCE, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "r8-dan D1, the paper's numbers below ours" in done.stdout
    assert done.stderr.startswith("No figures will be drawn: they need matplotlib.")
    assert {path.name for path in (tmp_path / "auxcal-results").glob("*.md")} == {"r8-dan.md", "index.md"}


def test_without_jinja2_a_comparison_gives_all_but_the_page_and_says_so(tmp_path):
    done = blocked(COMPARE.format(arguments=["--methods", "temperature,platt"]), tmp_path)
    assert done.returncode == 0, done.stderr
    assert "best" in done.stdout
    written = {path.suffix for path in (tmp_path / "report").iterdir()}
    assert written == {".csv", ".json", ".safetensors"}
    (sentence,) = done.stderr.strip().splitlines()
    assert sentence.startswith("auxcal: warning: report.html is left out: ")
    assert sentence.endswith("pip install '.[report]'")


def test_without_pyarrow_csv_is_read_and_written(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{i},{a},{b},{a < b:d}" for i, (a, b) in enumerate(rng.normal(size=(50, 2)).round(3))]
    (tmp_path / "new.csv").write_text("\n".join(["id,logit_0,logit_1,y", *rows]))
    code = """
import auxcal
from auxcal.tables import read_scored, score_file
score_file(auxcal.PlattScaling().fit(z[:, :2], y % 2), "new.csv", out="scored.csv")
print(read_scored("scored.csv").correct.sum())
"""
    done = blocked(code, tmp_path)
    assert done.stdout.strip() == "50", done.stderr
