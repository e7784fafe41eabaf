"""The pages hold the tables, the paper's numbers, the verdicts and the figures."""

import re
from dataclasses import replace

import pytest

from auxcal_paper.pages import _notes, writing
from auxcal_paper.pages.figures import FIGURES, figure_methods, write_figures
from auxcal_paper.pages.tables import table
from auxcal_paper.pages.writing import write_pages
from auxcal_paper.results import Results
from auxcal_paper.runner import fitted, run

METHODS = ["uncalibrated", "temperature", "scaling-binning", "platt"]


@pytest.fixture
def results(toy_suite, tmp_path):
    return run([toy_suite], methods=METHODS, random_states=[0, 1], cache_dir=tmp_path / "cache", jobs=1)


def test_the_best_of_a_column_is_marked_and_the_papers_number_stands_beside(toy_suite, results):
    made = table(toy_suite, "D1", results)
    assert [line.label for line in made.lines] == ["MP", "TS", "SB", "Platt"]
    here = results.where(shift="D1")
    for column, metric in enumerate(made.metrics):
        means = {line.label: line.cells[column] for line in made.lines}
        pick = min if metric in ("ece", "brier") else max
        best = pick(METHODS, key=lambda name, metric=metric: here.where(method=name).spread(metric).mean)
        label = {"uncalibrated": "MP", "temperature": "TS", "scaling-binning": "SB", "platt": "Platt"}[best]
        assert means[label].best
    assert made.lines[0].cells[0].paper == "0.885"
    assert made.lines[3].cells[0].paper == ""


def test_two_experiments_and_a_misprint_stand_beside(toy_suite, results):
    double = replace(toy_suite, stands_for=(("VGG16", "CIFAR-10"), ("ResNet-50", "CIFAR-10")))
    assert table(double, "D1", results).lines[0].cells[3].paper == "13.9 % / 16.8 %"
    moved = Results(tuple(replace(row, shift="D2", method="ccac") for row in results.where(shift="D1", method="platt")))
    assert table(double, "D2", moved).lines[0].cells[4].paper == "0.137 / misprint"


def test_the_pages_are_written(toy_suite, results, tmp_path):
    written = write_pages([toy_suite], results, tmp_path / "out")
    assert [path.name for path in written] == ["toy-net.md", "index.md"]
    page = written[0].read_text()
    assert "This suite stands for the paper's DAN on R8." in page
    assert "It is a toy." in page
    assert "Left out here: MS: it is left out." in page
    assert "random states 0, 1" in page
    assert re.search(r"Not run for this page: TS \(NULL uniform\), Dirichlet, .*, Spline\.", page)
    assert not re.search(r"Not run for this page: .*\bMS\b", page)
    assert Results.read(tmp_path / "out" / "toy-net.csv") == results
    assert "[toy-net](toy-net.md)" in written[1].read_text()
    assert same_width(page)
    assert same_width(written[1].read_text())


def same_width(page):
    """Every line of a table has as many columns as its head."""
    for block in re.findall(r"(?:^\|.*\n)+", page, flags=re.MULTILINE):
        assert len({line.count("|") for line in block.splitlines()}) == 1
    return True


def test_the_index_keeps_the_suites_of_earlier_runs(toy_suite, results, tmp_path):
    write_pages([toy_suite], results, tmp_path)
    other = Results(tuple(replace(row, suite="r8-dan") for row in results))
    r8 = replace(toy_suite, name="r8-dan")
    write_pages([r8, toy_suite], Results(results.rows + other.rows), tmp_path)
    write_pages([r8], other, tmp_path)
    assert "[r8-dan](r8-dan.md)" in (tmp_path / "index.md").read_text()


def test_the_index_counts_the_random_states(toy_suite, results):
    single = [replace(row, suite="single") for row in results if row.random_state == 0]
    index = writing.index_page([toy_suite, replace(toy_suite, name="single")], Results((*results, *single)))
    assert "1 or 2 random states" in index


def test_a_table_of_the_paper_stands_on_the_nearest_suite_and_counts_once(toy_suite, results):
    """The trained network is nearer than another one; where it has no results, the other one stands."""
    experiment = (("VGG16", "CIFAR-10"),)
    near = replace(toy_suite, name="near", stands_for=experiment, basis="layout")
    far = replace(toy_suite, name="far", stands_for=experiment, basis="network")
    rows = [replace(row, suite="far", method="ccac") for row in results.where(method="platt")]
    rows += [replace(row, suite="far") for row in results]
    rows += [replace(row, suite="near") for row in rows if row.shift == "D1"]
    index = writing.index_page([far, near], Results(tuple(rows)))
    assert "2 stand here" in index
    assert "1 with its network's layout trained by us, and 1 with another network" in index
    line = next(line for line in index.splitlines() if line.startswith("| VGG16 on CIFAR-10"))
    assert "layout trained by us (D1)" in line
    assert "another network (OOD)" in line
    counts = next(line for line in index.splitlines() if line.startswith("| CCAC or CCAC-S has the best ECE"))
    assert sum(int(count) for count in counts.split("|")[5:-1]) == 2


def test_why_a_claim_fails_stands_where_it_fails(toy_suite, results, tmp_path, monkeypatch):
    about = {"suites": ["toy-net"], "shifts": ["D1"]}
    notes = [
        about | {"claims": ["brier", "auroc"], "text": "It is too small."},
        about | {"claims": ["ece"], "text": "Never shown."},
    ]
    monkeypatch.setattr(_notes, "all_notes", lambda: notes)
    rows = [replace(row, method="ccac") for row in results.where(method="uncalibrated")]
    worse = [replace(row, scores=dict(row.scores) | {"brier": 0.9, "ece": 0.0}) for row in rows]
    page = writing.suite_page(toy_suite, Results(results.rows + tuple(worse)), tmp_path)
    assert page.count("Why: It is too small.") == 1
    assert "Never shown" not in page


def test_every_note_is_of_a_suite_a_shift_and_a_claim():
    from auxcal_paper.pages.claims import CLAIMS
    from auxcal_paper.suites import suite

    for note in _notes.all_notes():
        for name in note["suites"]:
            assert not set(note["shifts"]).isdisjoint(suite(name).shifts)
        assert set(note["claims"]) <= {claim.name for claim in CLAIMS}


def test_the_stronger_way_with_rows_of_no_class_is_drawn(results):
    here = results.where(shift="OOD")
    better = [
        replace(row, method="temperature-uniform", scores=dict(row.scores) | {"brier": 0.01})
        for row in here.where(method="temperature")
    ]
    ours = [replace(row, method="ccac-s") for row in here.where(method="platt")]
    names = figure_methods(Results((*here, *better, *ours)))
    assert names == ["uncalibrated", "temperature-uniform", "scaling-binning", "ccac-s"]


def test_the_figures_are_drawn_and_shown(toy_suite, results, tmp_path):
    names = figure_methods(results.where(shift="OOD"))
    assert names == ["uncalibrated", "temperature", "scaling-binning"]
    calibrators, test = fitted(toy_suite, "OOD", names, cache_dir=tmp_path / "cache")
    paths = write_figures(toy_suite, calibrators, test, tmp_path / "out")
    assert len(paths) == len(FIGURES) == 4
    assert all(0 < path.stat().st_size < 150_000 for path in paths)
    page = write_pages([toy_suite], results, tmp_path / "out")[0].read_text()
    for path in paths:
        assert f"(figures/{path.name})" in page
