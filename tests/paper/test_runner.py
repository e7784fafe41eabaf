"""A run measures every unit once, goes on where it was stopped, and gives the same numbers."""

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import auxcal
from auxcal import CALIBRATORS, Predictions, evaluate
from auxcal._core.errors import InvalidInputError, MissingDataError
from auxcal_paper import code, runner, units
from auxcal_paper.methods import METHODS, TRANSFER_SIZES, with_paper_recipe
from auxcal_paper.runner import fitted, run

QUICK = ["uncalibrated", "temperature", "platt"]


def same(one, two):
    """Compare all but the time that a fit takes."""
    return [replace(row, fit_seconds=0) for row in one] == [replace(row, fit_seconds=0) for row in two]


def test_every_calibrator_and_the_transfer_are_methods():
    leave_out = [name for name, kind in CALIBRATORS.items() if "no_class" in kind().get_params()]
    by_paper_recipe = {"ccac-paper", "ccac-s-paper", "ccac-t-paper"}
    assert set(METHODS) == {*CALIBRATORS, "ccac-t", *by_paper_recipe, *(f"{name}-uniform" for name in leave_out)}
    assert list(METHODS)[:12] == [
        "uncalibrated", "temperature", "temperature-uniform", "scaling-binning", "dirichlet", "dirichlet-uniform",
        "ccac", "ccac-paper", "ccac-s", "ccac-s-paper", "ccac-t", "ccac-t-paper",
    ]  # fmt: skip


def test_rows_of_no_class_are_left_out_or_uniform_where_there_are_any(toy_suite, tmp_path):
    methods = ["temperature", "temperature-uniform"]
    results = run([toy_suite], methods=methods, random_states=[0], cache_dir=tmp_path, jobs=1)
    assert results.where(shift="D1").distinct("method") == ("temperature",)
    left_out, uniform = (results.where(shift="OOD", method=name).spread("ece").mean for name in methods)
    assert uniform < left_out - 0.05  # a third of the rows is wrong, and only the second way learns that


def test_the_papers_recipe_is_a_method_of_its_own_which_runs_only_if_it_is_named():
    assert METHODS["ccac-paper"].make(0).recipe == METHODS["ccac-t-paper"].make(0).recipe == "paper"
    assert METHODS["ccac"].make(0).recipe == METHODS["ccac-t"].make(0).recipe == "fast"
    assert METHODS["ccac-t-paper"].source == "ccac-s-paper"
    assert METHODS["ccac-paper"].label_in_paper == METHODS["ccac"].label_in_paper == "CCAC"
    assert set(METHODS) - set(runner._checked_methods(None)) == {"ccac-paper", "ccac-s-paper", "ccac-t-paper"}
    assert runner._checked_methods(with_paper_recipe()) == list(METHODS)


def test_a_row_is_what_fit_and_evaluate_give(toy_suite, tmp_path):
    (row,) = run([replace(toy_suite, shifts=("D1",))], methods=["platt"], random_states=[7], cache_dir=tmp_path, jobs=1)
    fit, _, test = toy_suite.build("D1", tmp_path, print_nothing).split(*toy_suite.sizes, random_state=7)
    confidence = auxcal.PlattScaling().fit(fit.logits, fit.y).predict_confidence(test.logits)
    assert row.scores == evaluate(confidence, test.correct)
    assert (row.n_fit, row.n_select, row.n_test) == toy_suite.sizes
    assert row.accuracy == test.correct.mean()


def print_nothing(done):
    pass


def test_the_grid_is_complete_and_in_order_and_a_random_state_draws_its_own_parts(toy_suite, tmp_path):
    methods = ["vector", "uncalibrated", "matrix"]
    results = run([toy_suite], methods=methods, random_states=[0, 1], cache_dir=tmp_path, jobs=1)
    assert [(row.shift, row.method, row.random_state) for row in results] == [
        (shift, method, state) for shift in ("D1", "OOD") for method in ("uncalibrated", "vector") for state in (0, 1)
    ]
    assert len(set(results.where(shift="D1", method="uncalibrated").scores("brier").values())) == 2


def test_the_transfer_starts_from_d1_with_a_few_labels(toy_suite, tmp_path):
    results = run([toy_suite], methods=["ccac-t"], random_states=[0], cache_dir=tmp_path, jobs=1)
    (row,) = results
    assert (row.shift, row.n_fit, row.n_select) == ("OOD", *TRANSFER_SIZES)
    source = next((tmp_path / "results").glob("toy-net-D1-ccac-s-0-*.safetensors"))
    fit, select, test = toy_suite.build("OOD", tmp_path, print_nothing).split(*toy_suite.sizes, random_state=0)
    few = auxcal.load(source).transfer(fit.logits[:320], fit.y[:320], select=(select.logits[:200], select.y[:200]))
    assert row.scores["brier"] == evaluate(few.predict_confidence(test.logits), test.correct)["brier"]


def test_a_small_select_part_is_filled_up_from_the_fit_part():
    whole = Predictions([[float(i), 0.0] for i in range(600)], [0] * 600)
    fit, select = units._few_labels(whole.take(slice(500)), whole.take(slice(500, 600)))
    assert fit.logits[:, 0].tolist() == list(range(320))
    assert select.logits[:, 0].tolist() == [*range(500, 600), *range(320, 420)]


def test_a_finished_unit_is_not_computed_again(toy_suite, tmp_path, monkeypatch):
    first = run([toy_suite], methods=QUICK, random_states=[0], cache_dir=tmp_path, jobs=1)
    monkeypatch.setattr(runner, "compute", None)
    assert run([toy_suite], methods=QUICK, random_states=[0], cache_dir=tmp_path, jobs=1) == first


def test_a_damaged_unit_is_computed_again(toy_suite, tmp_path):
    first = run([toy_suite], methods=["platt"], random_states=[0], cache_dir=tmp_path, jobs=1)
    for path in (tmp_path / "results").glob("*.json"):
        path.write_text(path.read_text()[:40])
    assert same(run([toy_suite], methods=["platt"], random_states=[0], cache_dir=tmp_path, jobs=1), first)


def test_the_key_follows_the_whole_specification(monkeypatch):
    unit = units.Unit("toy-net", "OOD", "ccac-t", 0, (700, 200, 300), "abc", "lib")
    others = [
        replace(unit, suite="other"),
        replace(unit, shift="D2"),
        replace(unit, method="ccac-s"),
        replace(unit, random_state=1),
        replace(unit, sizes=(700, 200, 299)),
        replace(unit, digest="abd"),
        replace(unit, code="other"),
        replace(unit, source=replace(unit, shift="D1")),
    ]
    assert len({unit.key, *(other.key for other in others)}) == 9
    before = unit.key
    monkeypatch.setattr(units, "VERSION", "99")
    assert unit.key != before


def digest_with(monkeypatch, tmp_path, kind, module, text):
    """Return the digest of a calibrator as if a module of the library had another text."""
    (tmp_path / "other.py").write_text(text)
    source = code._source
    with monkeypatch.context() as patch:
        patch.setattr(code, "_source", lambda name: tmp_path / "other.py" if name == module else source(name))
        return code.code_digest.__wrapped__(kind)


def test_comments_and_docstrings_do_not_make_results_void_but_code_does(tmp_path, monkeypatch):
    texts = "x = 1", '"""One."""\nx = 1  # one\n\n', "x = 2"
    one, commented, two = (
        digest_with(monkeypatch, tmp_path, auxcal.CCAC, "auxcal.metrics._proper", text) for text in texts
    )
    assert one == commented != two


@pytest.mark.parametrize("module", ["auxcal.calibrators.solvers.linear", "auxcal.calibrators.dirichlet"])
def test_code_that_a_method_does_not_reach_leaves_its_results_valid(tmp_path, monkeypatch, module):
    void = {
        kind: digest_with(monkeypatch, tmp_path, kind, module, "x = 1") != code.code_digest(kind)
        for kind in (auxcal.CCAC, auxcal.Dirichlet)
    }
    assert void == {auxcal.CCAC: False, auxcal.Dirichlet: True}


def test_processes_give_the_same_numbers_and_the_progress_is_reported(toy_suite, tmp_path):
    seen = []
    methods = [*QUICK, "ccac-t"]
    several = run(
        [toy_suite], methods=methods, random_states=[0], cache_dir=tmp_path / "2", jobs=2,
        report=lambda what: lambda done: seen.append((what, done)),
    )  # fmt: skip
    assert same(several, run([toy_suite], methods=methods, random_states=[0], cache_dir=tmp_path / "1", jobs=1))
    assert {what for what, *_ in seen} == {"building toy-net D1", "building toy-net OOD", "fitting"}
    done = [done for what, done in seen if what == "fitting"]
    assert len(done) == len(several)
    assert done == sorted(done)
    assert done[-1] == pytest.approx(1)


# Runs a suite, and stops after the first fit.
KILLED = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("toy", sys.argv[1])
toy = importlib.util.module_from_spec(spec)
spec.loader.exec_module(toy)
from auxcal_paper import run
from auxcal_paper.suites import Suite
suite = Suite("toy-net", (), ("D1", "OOD"), (), (700, 200, 300), {}, toy.build_toy)

def report(what):
    return (lambda done: print(what, flush=True) or sys.stdin.read()) if what == "fitting" else (lambda done: None)

run([suite], methods=sys.argv[3].split(","), random_states=range(3), cache_dir=sys.argv[2], jobs=1, report=report)
"""


def test_a_killed_run_goes_on_with_the_same_numbers(toy_suite, tmp_path):
    conftest = Path(__file__).parent / "conftest.py"
    command = [sys.executable, "-c", KILLED, str(conftest), str(tmp_path / "killed"), ",".join(QUICK)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "fitting\n"
        process.kill()
    assert process.returncode == -signal.SIGKILL
    finished = list((tmp_path / "killed" / "results").glob("*.json"))
    assert 1 <= len(finished) < 18
    recomputed = []
    resumed = run(
        [toy_suite],
        methods=QUICK,
        cache_dir=tmp_path / "killed",
        jobs=1,
        report=lambda what: lambda done: recomputed.append(what),
    )
    assert recomputed.count("fitting") == 18 - len(finished)
    assert same(resumed, run([toy_suite], methods=QUICK, cache_dir=tmp_path / "whole", jobs=1))


def test_fitted_gives_the_calibrators_of_the_run(toy_suite, tmp_path):
    results = run([toy_suite], methods=["platt"], random_states=[0], cache_dir=tmp_path, jobs=1).where(shift="OOD")
    calibrators, test = fitted(toy_suite, "OOD", ["platt", "temperature"], cache_dir=tmp_path)
    assert list(calibrators) == ["platt", "temperature"]
    confidence = calibrators["platt"].predict_confidence(test.logits)
    assert evaluate(confidence, test.correct) == results.rows[0].scores


def test_bad_input_is_refused(toy_suite, tmp_path):
    with pytest.raises(InvalidInputError, match="the method must be one of uncalibrated"):
        run([toy_suite], methods=["magic"], cache_dir=tmp_path)
    with pytest.raises(InvalidInputError, match="one of cifar10-resnet20"):
        run(["toy-net"], cache_dir=tmp_path)
    with pytest.raises(MissingDataError, match="not found"):
        run([replace(toy_suite, needs=("cifar10",))], data_dir=tmp_path, cache_dir=tmp_path)
