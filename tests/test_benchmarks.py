"""What the benchmarks decide by: who is faster, and whether both give the same answer. No time is taken here."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT))  # the benchmarks are run from the root, and are no part of the package

from benchmarks.evidence import ablation, how_many_labels  # noqa: E402
from benchmarks.speed import answers, fits, libraries, page, tables  # noqa: E402
from benchmarks.speed.libraries import METHODS_OF, OURS, PEERS, Failure  # noqa: E402
from benchmarks.speed.measure import Measured, in_turns  # noqa: E402

from auxcal import CCACX, Predictions  # noqa: E402
from auxcal.calibrators.ccac_x import evidence  # noqa: E402
from auxcal_paper.results import SCORES, Results, Row  # noqa: E402

SCRIPTS = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in sorted((ROOT / "benchmarks").rglob("*.py"))
    if path.parent.name != "peers" and not path.stem.endswith("worker")  # those run when they are imported
]


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_a_script_imports_is_there(name):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name.partition(".")[0] in ("auxcal", "benchmarks"):
            raise
        pytest.skip(f"it needs {error.name}")


def taken(wall, loss):
    return Measured(wall, 2 * wall, 0), loss


def judge(ours, target=3.0, method="temperature", **peers):
    return fits.judged(method, {OURS: ours, **peers}, target)


def test_a_faster_wrong_answer_is_a_failure():
    row = judge(taken(0.1, 0.90), netcal=taken(1.0, 0.80))
    assert row["verdict"] == "wrong answer: a higher loss than netcal"


@pytest.mark.parametrize("loss", [0.80, 0.8005, 0.5])
def test_the_same_or_a_lower_loss_is_the_same_answer(loss):
    assert judge(taken(0.1, loss), netcal=taken(1.0, 0.80))["verdict"] in ("met", "no peer finishes near the optimum")
    assert answers.same_answer(loss, 0.80)


def test_a_peer_with_a_richer_model_may_have_a_lower_loss():
    row = judge(taken(0.1, 0.14), method="beta", **{"netcal, jointly": taken(9.0, 0.13)})
    assert row["verdict"] == "met"


def test_the_ratio_is_that_to_the_fastest_peer():
    row = judge(
        taken(0.5, 0.8), netcal=taken(2.0, 0.8), probmetrics=taken(1.0, 0.8), scikit_learn=Failure("over 120 s")
    )
    assert (row["peer"], row["ratio"], row["verdict"]) == ("probmetrics", 2.0, "missed")
    assert judge(taken(0.5, 0.8), 2.0, probmetrics=taken(1.0, 0.8))["verdict"] == "met"


def test_a_peer_that_is_far_from_the_optimum_does_not_count():
    row = judge(taken(0.5, 0.8), netcal=taken(0.01, 2.0), probmetrics=taken(1.0, 0.8))
    assert row["peer"] == "probmetrics"
    assert judge(taken(0.5, 0.8), netcal=taken(0.01, 2.0))["verdict"] == "no peer finishes near the optimum"


def test_our_own_failure_is_told():
    assert judge(Failure("over 360 s"), netcal=taken(1.0, 0.8))["verdict"] == "failed: over 360 s"


def test_the_losses_are_those_of_their_definitions():
    logits, y = np.log([[0.7, 0.3], [0.4, 0.6]]), np.array([0, 0])
    proba = np.array([[0.7, 0.3], [0.4, 0.6]])
    assert answers.nll(proba, logits, y) == pytest.approx(-(np.log(0.7) + np.log(0.4)) / 2)
    assert answers.brier(proba, logits, y) == pytest.approx((0.3**2 + 0.6**2) / 2)
    assert answers.brier(np.array([0.7, 0.6]), logits, y) == answers.brier(proba, logits, y)
    # What is added to a whole column of W, or to all of b, changes neither the probabilities nor the penalty.
    weight, bias = np.eye(2), np.array([0.1, -0.1])
    expected = answers.nll(answers.softmax(logits + bias), logits, y) + answers.ODIR * 0.01
    assert answers.odir((weight, bias), logits, y) == pytest.approx(expected)
    assert answers.odir((weight + np.array([3.0, -2.0]), bias + 5), logits, y) == pytest.approx(expected)


def test_calls_take_turns_until_they_have_taken_enough():
    order = []
    found = in_turns({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, most_runs=2, seconds=np.inf)
    assert order == ["a", "b"] * 2
    assert found["a"].runs == 2
    assert Measured(2, 1, 7).best(Measured(1, 3, 5)) == Measured(1, 1, 7, 2)


def test_every_method_has_targets_a_loss_and_peers_that_exist():
    assert set(fits.TARGETS) == set(answers.LOSSES) == set(METHODS_OF)
    assert {name.partition(",")[0] for names in METHODS_OF.values() for name in names} <= set(PEERS)
    assert all((ROOT / "benchmarks/speed/peers" / f"{file}.py").exists() for file in (OURS, *PEERS))


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.00123, "1.2 ms"), (0.0503, "50 ms"), (0.25, "250 ms"), (4.26, "4.3 s"), (1234.5, "1,234 s")],
)
def test_times_are_written_with_two_digits(value, written):
    assert tables.seconds(value) == written


def test_a_miss_is_seen_in_a_table():
    assert tables.table(("a", "b"), [("x", tables.mark("missed"))]).splitlines()[-1] == "| x | **missed** |"
    assert tables.times(0.585) == "0.58×"


def test_what_is_not_installed_has_no_version(monkeypatch):
    monkeypatch.setattr(libraries, "PEERS", {"none": "no-such-library"})
    found = libraries.versions()
    assert "no-such-library" not in found
    assert found["numpy"] == np.__version__


def test_the_page_is_what_the_results_make(tmp_path, monkeypatch):
    results, committed = page.read(), page.PAGE.read_text()
    for name in ("PAGE", "DATA", "FIGURE"):
        monkeypatch.setattr(page, name, tmp_path / getattr(page, name).name)
    page.write(results)
    assert page.PAGE.read_text() == committed
    assert page.read() == results


def test_a_topic_that_was_measured_without_the_peers_leaves_those_of_the_others_on_the_page():
    before = page.read()
    alone = {"date": "2100-01-01", "versions": {"auxcal": "9.9.9"}, "left_out": {"netcal": "it is not installed"}}
    default = before["default"] | {"circumstances": before["default"]["circumstances"] | alone}
    text = page.environment(before | {"default": default})
    old = before["fits"]["circumstances"]["versions"]
    assert f"netcal {old['netcal']}" in text
    assert f"auxcal {old['auxcal']} and 9.9.9" in text
    assert "- netcal" not in text


def label_results(**briers):
    return Results(
        tuple(
            Row("s", "D1", method.replace("_", "-"), state, 100, 0, 50, 0.9, 0.1, True, dict.fromkeys(SCORES, value))
            for method, values in briers.items()
            for state, value in enumerate(values)
        )
    )


@pytest.mark.parametrize(
    ("ours", "written"),
    [
        ([0.111, 0.121, 0.131], "**TS +1.0±0.0**"),
        ([0.109, 0.119, 0.129], "TS -1.0±0.0"),
        ([0.100, 0.130, 0.140], "TS +3.3±6.7"),
    ],
)
def test_ccac_x_is_worse_where_the_paired_differences_say_so(ours, written):
    results = label_results(ccac_x=ours, temperature=[0.11, 0.12, 0.13], isotonic=[0.2] * 3, ccac_t=[0.01] * 3)
    assert how_many_labels.verdict(results, "brier") == written


@pytest.fixture(scope="module")
def open_data():
    rng = np.random.default_rng(0)
    y = rng.integers(-1, 3, size=400)
    return Predictions(2 * np.eye(3)[y] * (y >= 0)[:, None] + rng.normal(size=(400, 3)), y)


@pytest.mark.parametrize("name", [name for name in ablation.VARIANTS if name != ablation.WHOLE])
def test_a_variant_is_another_method(name, open_data, monkeypatch):
    monkeypatch.setattr(evidence, "_DOUBT", 100.0)  # so that every base calibrator has a weight

    def confidence():
        calibrator = CCACX(random_state=0).fit(open_data.logits, open_data.y)
        return calibrator.predict_confidence(open_data.logits)

    with ablation.replaced(ablation.VARIANTS[name]):
        without = confidence()
    assert np.abs(without - confidence()).max() > 1e-4
