"""What holds for the repository as a whole: the public names, the imports, the cost of starting."""

import ast
import inspect
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import auxcal
from auxcal import CALIBRATORS, METRICS
from auxcal.calibrators import base

ROOT = Path(__file__).parent.parent

PUBLIC = sorted(
    """
    AuxcalError AuxcalWarning BetaCalibration CALIBRATORS CCAC CalibratedClassifier Calibrator Certificate
    Comparison
    ConformanceError ConvergenceWarning CCACX Dirichlet DistributionCalibrator
    EnsembleTemperatureScaling FileFormatError FileWriteError FittedOn HistogramBinning InputWarning Inputs
    InvalidInputError
    IsotonicCalibration METRICS MatrixScaling MissingDataError MissingExtraError Monitor NO_CLASS NotFittedError
    PlattScaling Predictions ProbaCalibrator ScalingBinning SignalCalibrator SimplifiedCCAC SplineCalibration
    StructuredMatrixScaling StructuredVectorScaling TemperatureScaling Uncalibrated UndefinedMetricWarning
    VectorScaling check compare evaluate evaluate_by floor_logits load save
    """.split()  # noqa: SIM905
)

NEEDS = {"arrow", "cli", "onnx", "ray", "spark", "tables", "torch"}
PACKAGE = ROOT / "src/auxcal"
MODULES = sorted(path.stem for path in PACKAGE.iterdir() if path.suffix in ("", ".py") and path.stem[0] not in "._")
DOCUMENTS = "".join(page.read_text() for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
DOCUMENTED = sorted(set(re.findall(r"\bauxcal(?:\.[A-Za-z]\w*)+", DOCUMENTS)))


@cache
def trees():
    """Return the syntax trees of all modules by their paths."""
    return {path: ast.parse(path.read_text()) for path in sorted((ROOT / "src").rglob("*.py"))}


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_the_public_names_are_these_and_no_others():
    assert sorted(auxcal.__all__) == sorted(PUBLIC)
    assert sorted(dir(auxcal)) == sorted(PUBLIC + MODULES)


def test_public_modules_and_documented_names_are_there_after_importing_the_library_alone():
    """Asking for a module is what imports it: another that has imported it before makes no difference."""
    assert "auxcal.metrics.auroc" in DOCUMENTED
    code = f"""
import auxcal
for name in {MODULES}:
    try: assert auxcal.__getattr__(name).__name__ == f"auxcal.{{name}}", name
    except auxcal.MissingExtraError: assert name in {NEEDS}, name
for name in {DOCUMENTED}:
    try: eval(name)
    except auxcal.MissingExtraError: pass
    except AttributeError as error: print(error)
"""
    assert run(code) == ""


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_there_and_documented(name):
    value = getattr(auxcal, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert inspect.getdoc(value)


def test_a_wrong_name_is_an_attribute_error_that_lists_the_right_ones():
    with pytest.raises(AttributeError, match="TemperatureScaling"):
        auxcal.TemperaturScaling  # noqa: B018


def test_types_are_declared_for_the_same_names_as_are_exported():
    tree = ast.parse((ROOT / "src/auxcal/__init__.py").read_text())
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    assert sorted(alias.asname for node in guarded.body for alias in node.names) == sorted(PUBLIC)


@pytest.mark.needs("torch")  # which could be imported
def test_importing_the_library_imports_nothing_heavy():
    heavy = "{'torch', 'sklearn', 'scipy', 'numpy', 'matplotlib', 'pandas', 'pyarrow'}"
    assert run(f"import sys, auxcal; print(sorted({heavy} & set(sys.modules)))") == "[]"


@pytest.mark.needs("torch")  # which could be imported
def test_printing_a_comparison_loads_neither_the_experiments_nor_torch():
    code = """
import sys, numpy as np, auxcal
from rich.console import Console
from auxcal.cli.compare import print_comparisons
rng = np.random.default_rng(0)
found = auxcal.compare(auxcal.Predictions(rng.normal(size=(200, 3)), rng.integers(3, size=200)), methods=["platt"])
print_comparisons(Console(quiet=True), [found])
print([name for name in sys.modules if name.startswith("auxcal_paper.") or name.split(".")[0] == "torch"])
"""
    assert run(code) in ("[]", "['auxcal_paper.reproduce']")  # the command alone, whose options --help shows


def test_imports_go_only_upward_in_the_tree():
    pytest.importorskip("importlinter")
    check = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run([sys.executable, "-c", check], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_private_modules_stay_in_their_room():
    strangers = []
    for path, tree in trees().items():
        room = path.relative_to(ROOT / "src").with_suffix("").parts[:2]
        names = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        private = [name for name in names if re.match(r"auxcal\.\w+\._", name)]
        strangers += [(path.name, name) for name in private if tuple(name.split(".")[:2]) != room]
    assert strangers == []


def test_no_file_name_occurs_twice():
    names = Counter(path.name for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")
    assert [name for name, times in names.items() if times > 1] == []


@pytest.mark.parametrize("kind", CALIBRATORS.values())
def test_a_calibrator_is_final_and_can_be_made(kind):
    assert not kind.__subclasses__() or all(child.__module__.startswith("tests") for child in kind.__subclasses__())
    assert not inspect.isabstract(kind)


@pytest.mark.parametrize("kind", CALIBRATORS.values())
def test_a_calibrator_says_where_it_comes_from_and_shows_how_it_is_used(kind):
    assert kind.abbreviation
    assert kind.reference
    assert ">>>" in kind.__doc__
    for name in inspect.signature(kind).parameters:
        assert name in kind.__doc__, f"{kind.__name__} does not document {name}"


def test_labels_of_methods_and_metrics_are_unique():
    assert len({kind.abbreviation for kind in CALIBRATORS.values()}) == len(CALIBRATORS)
    assert len({metric.label for metric in METRICS.values()}) == len(METRICS)


def test_the_library_neither_pickles_nor_asserts():
    for path, tree in trees().items():
        assert not any(isinstance(node, ast.Assert) for node in ast.walk(tree)), path
        assert not pickling(tree), path


PICKLING = {"pickle", "dill", "cloudpickle", "shelve", "joblib"}
PROCESSES = {"Parallel", "cpu_count", "delayed", "parallel_config"}  # what else joblib is for


def pickling(tree):
    """Return what a module imports to pickle with, in whichever way it does."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] in PICKLING]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in PICKLING:
            found += [alias.name for alias in node.names if node.module != "joblib" or alias.name not in PROCESSES]
    return found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("import pickle", ["pickle"]),
        ("from pickle import loads", ["loads"]),
        ("import joblib", ["joblib"]),
        ("from joblib import Parallel, dump", ["dump"]),
        ("from joblib.numpy_pickle import load", ["load"]),
        ("from joblib import Parallel, delayed", []),
        ("from auxcal.persistence import load", []),
    ],
)
def test_no_way_to_import_what_pickles_is_missed(line, found):
    assert pickling(ast.parse(line)) == found


def test_only_the_base_validates():
    assert "self.inputs_.rows(" in inspect.getsource(base)
    for kind in CALIBRATORS.values():
        assert "as_logits" not in inspect.getsource(sys.modules[kind.__module__])


def constants(text):
    """Yield the line and the name of each constant with a number in it, and whether something is said about it."""
    lines, body = text.splitlines(), ast.parse(text).body
    for node, after in zip(body, [*body[1:], None], strict=True):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        target = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
        values = [each.value for each in ast.walk(node.value) if isinstance(each, ast.Constant)]
        numbers = [value for value in values if type(value) in (int, float)]
        if not numbers or not re.fullmatch(r"[(]?_?[A-Z][A-Z0-9_, ]*[)]?", target):
            continue
        own = any("#" in line for line in lines[node.lineno - 1 : node.end_lineno])
        above = next((line for line in lines[: node.lineno - 1][::-1] if not re.match("_?[A-Z]", line)), "")
        below = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        yield node.lineno, target, own or above.startswith("#") or below


def test_every_constant_says_what_it_is_and_where_it_comes_from():
    bare = [
        f"{path.relative_to(PACKAGE)}:{line} {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, name, said in constants(path.read_text())
        if not said
    ]
    assert bare == []


def test_a_bare_constant_is_noticed():
    text = 'ROWS = 5\n\nLEVEL = 0.05\n"""By convention."""\n\n_A = 1  # why\n\n# Of a table.\n_B = 2\n_C = 3\n'
    assert [name for _, name, said in constants(text) if not said] == ["ROWS"]


def test_the_files_that_the_makefile_names_are_there():
    named = re.findall(r"(?<![\w/])(?:tests|docs|benchmarks|\.ci)/[\w/.-]+", (ROOT / "Makefile").read_text())
    assert [path for path in named if not (ROOT / path).exists()] == []
