"""All metrics at once: the keys, the intervals, and that nothing outside is touched."""

import warnings

import numpy as np
import pytest

from auxcal import InvalidInputError, UndefinedMetricWarning, evaluate
from auxcal._core import arrays
from auxcal.metrics import METRICS, ece_noise_floor
from auxcal.metrics._bootstrap import _draws, one_by_one
from auxcal.metrics.sample import Sample


def calibrated(n, seed):
    rng = np.random.default_rng(seed)
    confidence = rng.uniform(size=n)
    return confidence, rng.uniform(size=n) < confidence


CONFIDENCE, CORRECT = calibrated(400, seed=0)


def test_every_metric_and_the_noise_floor_are_there():
    scores = evaluate(CONFIDENCE, CORRECT)
    assert list(scores) == [*METRICS, "ece_floor", "ece_floor_p95"]
    alone = {name: metric.function(CONFIDENCE, CORRECT) for name, metric in METRICS.items()}
    assert {name: scores[name] for name in METRICS} == pytest.approx(alone, rel=1e-12)
    assert (scores["ece_floor"], scores["ece_floor_p95"]) == ece_noise_floor(CONFIDENCE)


def test_with_bootstrap_every_metric_but_the_largest_gap_has_an_interval():
    added = set(evaluate(CONFIDENCE, CORRECT, bootstrap=2)) - set(evaluate(CONFIDENCE, CORRECT))
    assert added == {f"{name}_{end}" for name in set(METRICS) - {"mce"} for end in ("low", "high")}


@pytest.mark.parametrize("name", sorted(set(METRICS) - {"mce"}))
def test_the_interval_brackets_the_value(name):
    scores = evaluate(CONFIDENCE, CORRECT, bootstrap=60)
    assert scores[f"{name}_low"] <= scores[name] <= scores[f"{name}_high"]
    assert scores[f"{name}_low"] < scores[f"{name}_high"]


def test_a_higher_level_gives_a_wider_interval():
    narrow, wide = (evaluate(CONFIDENCE, CORRECT, bootstrap=60, level=level) for level in (0.5, 0.95))
    assert all(
        wide[f"{name}_low"] <= narrow[f"{name}_low"] < narrow[f"{name}_high"] < wide[f"{name}_high"]
        for name in ("auroc", "brier", "nll", "aurc", "ece")
    )


def share_held(draw, truth, n):
    """Return how often the intervals of n rows hold the truth of each metric; where there is one."""
    held = {name: [] for name in truth}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        for seed in range(100):
            found = evaluate(*draw(n, seed), metrics=list(truth), bootstrap=80, random_state=seed)
            for name, value in truth.items():
                if not np.isnan(found[name]):
                    held[name].append(found[f"{name}_low"] <= value <= found[f"{name}_high"])
    return {name: np.mean(each) for name, each in held.items()}


@pytest.mark.parametrize("n", [50, 200])
def test_intervals_hold_the_truth(n):
    # Uniform confidences that are right: the integrals over [0, 1] give the truth.
    truth = {"brier": 1 / 6, "nll": 1 / 2, "auroc": 5 / 6, "ece": 0.0, "ece_mass": 0.0}
    assert min(share_held(calibrated, truth, n).values()) >= 0.92


@pytest.mark.parametrize("n", [50, 200])
def test_intervals_hold_the_truth_of_a_classifier_that_is_seldom_wrong_and_always_sure(n):
    def draw(n, seed):
        rng = np.random.default_rng(seed)
        return np.full(n, 0.999) - 1e-6 * rng.random(n), rng.random(n) < 0.98

    truth = {"brier": 0.98 * 0.001**2 + 0.02 * 0.999**2, "auroc": 0.5, "fpr95": 0.95, "p90": 0.02, "ece": 0.019}
    assert min(share_held(draw, truth, n).values()) >= 0.92


def test_the_interval_of_ece_holds_a_true_error_of_six_points():
    def draw(n, seed):
        rng = np.random.default_rng(seed)
        confidence = rng.uniform(0.5, 1, size=n)
        return confidence, rng.random(n) < confidence - 0.06

    assert share_held(draw, {"ece": 0.06}, 50)["ece"] >= 0.92
    found = evaluate(*draw(10_000, 0), metrics=["ece"], bootstrap=1)
    assert 0.04 < found["ece_low"] < 0.06 < found["ece_high"] < 0.08


def test_the_same_random_state_gives_the_same_scores():
    same = [evaluate(CONFIDENCE, CORRECT, bootstrap=10, random_state=3) for _ in range(2)]
    other = evaluate(CONFIDENCE, CORRECT, bootstrap=10, random_state=4)
    assert same[0] == same[1]
    assert other["brier_low"] != same[0]["brier_low"]
    assert other["ece_floor"] != same[0]["ece_floor"]


def test_the_global_random_state_and_the_inputs_are_untouched():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    confidence, correct = CONFIDENCE.copy(), CORRECT.copy()
    evaluate(confidence, correct, bootstrap=5, random_state=None)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002
    assert (confidence == CONFIDENCE).all()
    assert (correct == CORRECT).all()


def test_what_is_undefined_is_nan_with_a_warning_and_the_rest_is_there():
    with pytest.warns(UndefinedMetricWarning) as caught:
        scores = evaluate([0.9, 0.8], [True, True], bootstrap=5)
    undefined = {"auroc", "aupr", "p90", "fpr95"}
    assert {name for name in METRICS if np.isnan(scores[name])} == undefined
    assert {name for name in METRICS if np.isnan(scores.get(f"{name}_low", 0))} == undefined
    assert sorted(str(warning.message).split()[0] for warning in caught) == sorted(undefined)


def test_a_single_error_tells_little_and_warns_of_nothing():
    confidence, correct = np.linspace(0.1, 0.9, 8), np.arange(8) > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = evaluate(confidence, correct, bootstrap=40)
    assert scores["auroc_low"] < 0.3
    assert scores["auroc_high"] == pytest.approx(1)


def test_only_the_named_metrics_are_computed():
    scores = evaluate(CONFIDENCE, CORRECT, metrics=["ece", "brier"], bootstrap=2)
    assert {name.split("_")[0] for name in scores} == {"ece", "brier"}
    assert scores["brier_low"] == evaluate(CONFIDENCE, CORRECT, bootstrap=2)["brier_low"]
    with pytest.raises(InvalidInputError, match=r"metrics must be among auroc, .*; got 'beauty'"):
        evaluate(CONFIDENCE, CORRECT, metrics=["beauty"])


def test_progress_is_reported(monkeypatch):
    monkeypatch.setattr("auxcal.metrics._bootstrap._BLOCK", 1)
    shares = []
    evaluate([0.9, 0.4, 0.7], [True, False, False], bootstrap=4, report=shares.append)
    assert shares == [0.25, 0.5, 0.75, 1.0]


def test_draws_weigh_each_row_by_as_many_exponential_numbers_as_it_counts():
    rows = Sample(np.array([0.2, 0.2, 0.8]), np.array([True, False, True]), np.array([1.0, 2.0, 40.0]))
    drawn, missing = next(_draws(rows, 10_000, np.random.default_rng(0)))
    weight = np.column_stack([drawn.right[:, 0], drawn.wrong[:, 0], drawn.right[:, 1], missing])
    assert weight.mean(axis=0) == pytest.approx([1, 2, 40, 1], rel=0.05)
    assert weight.var(axis=0) == pytest.approx([1, 2, 40, 1], rel=0.1)
    assert not drawn.wrong[:, 1].any()


@pytest.mark.parametrize("name", [name for name, metric in METRICS.items() if metric.of_ties])
def test_many_draws_at_once_are_what_the_metric_says_of_each(name):
    rows = Sample(np.sort(CONFIDENCE.round(2)), CORRECT)
    drawn, _ = next(_draws(rows, 5, np.random.default_rng(0)))
    assert METRICS[name].of_ties(drawn) == pytest.approx(one_by_one(METRICS[name].kernel)(drawn), rel=1e-12)


def test_a_sample_is_checked_once_however_many_resamples_there_are(monkeypatch):
    counted, check = [], arrays.to_numpy
    for module in (arrays,):
        monkeypatch.setattr(module, "to_numpy", lambda array, name: (counted.append(name), check(array, name))[1])
    evaluate(CONFIDENCE, CORRECT, bootstrap=20)
    assert counted == ["confidence", "correct"]


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_checks_and_its_kernel_trusts(name):
    metric = METRICS[name]
    assert metric.kernel is not metric.function
    assert metric.kernel(CONFIDENCE, CORRECT) == metric.function(CONFIDENCE.tolist(), CORRECT.tolist())
    with pytest.raises(InvalidInputError, match="confidence must be a probability"):
        metric.function([1.5, 0.5], [True, False])
    with pytest.raises(InvalidInputError, match="sample_weight must be finite"):
        metric.function([0.5, 0.5], [True, False], sample_weight=[-1, 1])
