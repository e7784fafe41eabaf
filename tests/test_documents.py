"""The numbers in the documents are those of the results that the repository makes, and their code runs."""

import csv
import importlib
import json
import re
import subprocess
import sys
import tomllib
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import typer.main

import auxcal
from auxcal import CALIBRATORS, METRICS
from auxcal.cli import app
from auxcal_paper import Results

ROOT = Path(__file__).parent.parent
with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(ROOT / "docs")
    outputs = importlib.import_module("outputs")


def table(path, **where):
    return Results.read(ROOT / "docs" / path).where(**where)


TRANSFERRED = {"ccac-t"}


def best(results, metric, but=TRANSFERRED):
    """Return the method with the best mean of a metric, of all but some."""
    sign = -1 if METRICS[metric].higher_is_better else 1
    methods = [method for method in results.distinct("method") if method not in but]
    return min(methods, key=lambda method: sign * results.where(method=method).spread(metric).mean)


def brier_of(results, method):
    return results.where(method=method).spread("brier").mean


SUITES = {path.stem: Results.read(path) for path in sorted((ROOT / "docs/results").glob("*.csv"))}


JUST_BEHIND = {("cifar100-vgg16", "D1")}  # with one random state, so without a standard error


@pytest.mark.parametrize(
    ("suite", "shift"), [(suite, shift) for suite, rows in SUITES.items() for shift in rows.distinct("shift")]
)
def test_which_method_is_right_about_the_default(suite, shift):
    here = SUITES[suite].where(shift=shift)
    ours = here.where(method="ccac-x").spread("brier")
    error = ours.deviation / np.sqrt(len(here.where(method="ccac-x")))
    behind = ours.mean - brier_of(here, best(here, "brier"))
    assert (behind > error) == ((suite, shift) in JUST_BEHIND)
    assert behind < error + 0.0002


BEYOND_THE_NOISE = {("imagenet-resnet50", "D1"), ("imagenet-resnet50", "OOD"), ("r8-dan", "D1")}  # as design.md says


@pytest.mark.parametrize(
    ("suite", "shift"), [(suite, shift) for suite, rows in SUITES.items() for shift in rows.distinct("shift")]
)
def test_the_default_never_ranks_worse_than_the_classifier_and_its_ece_is_within_the_noise(suite, shift):
    here = SUITES[suite].where(shift=shift)
    ours = here.where(method="ccac-x")
    assert ours.spread("auroc").mean >= here.where(method="uncalibrated").spread("auroc").mean - 0.001
    if all(row.n_fit >= 3_000 for row in ours):
        within = ours.spread("ece").mean <= ours.spread("ece_floor_p95").mean
        assert within == ((suite, shift) not in BEYOND_THE_NOISE)


def cells_in_bold(name):
    """Return where CCAC-X is worse by more than two standard errors, and by how many thousandths."""
    with (ROOT / f"docs/figures/{name}.csv").open() as file:
        rows = list(csv.DictReader(file))
    bold = [(row["labels"], bundle, cell) for row in rows for bundle, cell in row.items() if "**" in cell]
    return {(labels, bundle): float(re.search(r"\+([\d.]+)", cell)[1]) for labels, bundle, cell in bold}


def test_the_evidence_is_right_about_where_the_default_is_behind():
    shifted, clean = cells_in_bold("labels-verdict-brier"), cells_in_bold("labels-verdict-brier-clean")
    assert shifted.keys() == {("100", "CIFAR-10, D1"), ("200", "CIFAR-10, AD")}
    assert shifted["200", "CIFAR-10, AD"] < 0.5
    assert len(clean) == 3
    assert {bundle for _, bundle in clean} == {"ResNet-20, CIFAR-10", "LeNet-5, CIFAR-10"}
    assert max(clean.values()) < 1


def bold_of_scikit_learn(metric):
    """Return where another method is better than CCAC-X by more than two standard errors."""
    with (ROOT / f"docs/figures/scikit-learn-{metric}.csv").open() as file:
        rows = list(csv.DictReader(file))
    return {(row[""], method) for row in rows for method, cell in row.items() if "**" in cell}


def test_the_quickstart_is_right_about_calibrated_classifier_cv():
    assert bold_of_scikit_learn("brier") == {("breast cancer, random forest", "CV, temperature")}
    assert len(bold_of_scikit_learn("ece")) == 4
    assert {row for row, _ in bold_of_scikit_learn("auroc")} == {"breast cancer, naive Bayes"}
    everything = table("figures/scikit-learn.csv")
    best_ranking = 0
    for data, classifier in product(("digits-rotated", "digits-unseen"), everything.distinct("suite")):
        here = everything.where(shift=data, suite=classifier)
        assert best(here, "brier") == "ccac-x"
        best_ranking += best(here, "auroc") == "ccac-x"
    assert best_ranking == 5


@pytest.mark.parametrize("suite", SUITES)
def test_which_method_is_right_about_foreign_classes(suite):
    here = SUITES[suite].where(shift="OOD")
    others = TRANSFERRED | {"ccac-x"}
    exceptions = {"cifar100-vgg16": {"dirichlet-uniform"}}
    expected = exceptions.get(suite, {"ccac", "ccac-s", "ccac-s-paper"})
    assert {best(here, "brier", others), best(here, "auroc", others)} <= expected


def labels(shift, number):
    return table("figures/labels.csv", suite="cifar10-resnet20", shift=shift, n_fit=number)


@pytest.mark.parametrize("number", [100, 200, 500, 1_000, 3_000, 10_000])
def test_which_method_is_right_about_the_number_of_labels(number):
    foreign, known = labels("OOD", number), labels("D1", number)
    assert (best(foreign, "brier") == "ccac-x") == (number >= 200)
    assert (brier_of(foreign, "ccac") < brier_of(foreign, "isotonic")) == (number >= 10_000)
    assert (brier_of(known, "matrix") < brier_of(known, "temperature")) == (number >= 500)
    ours = brier_of(known, "ccac-x")
    assert ours < min(brier_of(known, method) for method in ("temperature", "isotonic", "ccac")) - 0.005
    if number == 100:
        assert best(known, "brier") == "structured-matrix"
    else:
        assert ours == pytest.approx(brier_of(known, "structured-matrix"), abs=0.001)


def test_the_readme_is_right_about_the_same_labels():
    curves = table("figures/labels.csv")
    for row in curves.where(method="ccac"):
        here = curves.where(suite=row.suite, shift=row.shift, n_fit=row.n_fit)
        assert brier_of(here, "ccac-x") < min(brier_of(here, method) for method in ("ccac", "ccac-s"))


def test_which_method_is_right_about_attacks():
    few, many = labels("AD", 200), labels("AD", 3_000)
    assert best(few, "brier") == "beta"
    assert brier_of(many, "ccac-x") < brier_of(many, "beta") + 0.0005


RELEASED = [kind for kind in CALIBRATORS.values() if kind.__name__ in auxcal.__all__]


@pytest.mark.parametrize("kind", RELEASED, ids=lambda kind: kind.__name__)
def test_which_method_lists_every_method(kind):
    link = f"[`{kind.__name__}`](../reference/calibrators.md#auxcal.{kind.__name__})"
    assert link in (ROOT / "docs/explain/which-method.md").read_text()


DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md")),
    *(path for path in sorted((ROOT / "docs").rglob("*.md")) if "results" not in path.parts),
]


def blocks(path, language):
    """Return the blocks of code of a language in a document."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", path.read_text(), re.DOTALL | re.MULTILINE)
    return [code for name, code in found if name == language]


def python_of(path):
    """Return the Python of a document, but for what comes from the examples, which are tested by themselves."""
    text = re.sub(r"^( *)<!-- code: .* -->\n\n\1```python\n(.*\n)*?\1```$", "", path.read_text(), flags=re.MULTILINE)
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))


# Those are run by docs/outputs.py; what CONTRIBUTING.md shows is written into a copy of the package.
ELSEWHERE = [ROOT / "CONTRIBUTING.md", *(ROOT / "docs" / page for page in outputs.PAGES)]
RUNNABLE = [path for path in DOCUMENTS if path not in ELSEWHERE and python_of(path)]


@pytest.mark.parametrize("path", RUNNABLE, ids=lambda path: path.stem)
def test_the_python_of_a_document_runs_in_a_fresh_process(path, tmp_path):
    code = f"{(ROOT / 'docs/snippets.py').read_text()}\ndel np, rng\n{python_of(path)}"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_guides_run_from_top_to_bottom_and_print_what_they_show():
    command = [sys.executable, ROOT / "docs/outputs.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_another_word_of_an_output_shows_and_another_number_does_not():
    assert outputs.words("accuracy 70.1 %, ± 2") == outputs.words("accuracy   69.85 %, ± 3")
    assert outputs.words("accuracy 70.1 %") != outputs.words("precision 70.1 %")


def test_the_notebook_runs_cell_by_cell(tmp_path):
    cells = json.loads(outputs.NOTEBOOK.read_text())["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    shown = "".join(line for cell in cells for each in cell.get("outputs", ()) for line in each.get("text", ()))
    assert outputs.words(done.stdout) == outputs.words(shown)


def test_the_notebook_is_the_first_page():
    cells = json.loads(outputs.NOTEBOOK.read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert code == [*(block.strip() for block in blocks(ROOT / "docs" / outputs.PAGES[0], "python")), "comparison"]
    assert "<table" in "".join(cells[-2]["outputs"][0]["data"]["text/html"])


GUIDES = [
    ROOT / "docs/index.md",
    *(page for kind in ("start", "how-to", "explain") for page in (ROOT / "docs" / kind).glob("*.md")),
]
MOST_WORDS = 18_000  # what a newcomer can find a way through; proofs and tables belong to the evidence


def test_the_guides_are_short():
    text = "\n".join(re.sub(r"<!--.*?-->", "", path.read_text()) for path in GUIDES)
    assert len(text.split()) <= MOST_WORDS


@pytest.mark.parametrize(
    "path", [path for path in DOCUMENTS if path.parent != ROOT / "docs"], ids=lambda path: path.stem
)
def test_the_links_of_a_document_lead_to_a_file(path):
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\((?!\w+:)([^)\s#]+)", text):
        assert (path.parent / target).exists(), target


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "docs/index.md"])
def test_the_first_pages_lead_to_pages_that_read_well_in_the_repository(name):
    path = ROOT / name
    for target in re.findall(r"\]\((?!\w+:)([^)\s#]+\.md)", path.read_text()):
        assert "\n:::" not in (path.parent / target).read_text(), f"{target} is readable on the site alone"


def test_the_architecture_lists_the_layers_that_import_linter_holds():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    layers = [re.findall(r"auxcal\.(\w+)", layer) for layer in contract["layers"][1:]]
    rows = re.findall(
        r"^\| (`\w+`(?:, `\w+`)*) \|", (ROOT / "docs/reference/architecture.md").read_text(), re.MULTILINE
    )
    assert [re.findall(r"\w+", row) for row in rows] == layers


def command_lines():
    for path in DOCUMENTS:
        for block in blocks(path, ""):
            for line in re.findall(r"^auxcal .*$", block.replace("\\\n", ""), re.MULTILINE):
                yield pytest.param(line.partition(" #")[0], id=f"{path.stem}: {line.partition(' #')[0].strip()}")


@pytest.mark.parametrize("line", list(command_lines()))
def test_the_commands_of_the_documents_exist(line):
    _, name, *arguments = line.split()
    command = typer.main.get_command(app).commands[name]
    options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    assert {argument for argument in arguments if re.match("--?[a-z]", argument)} <= options
