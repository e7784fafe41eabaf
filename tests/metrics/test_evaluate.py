"""All metrics at once: the keys, the intervals, and that nothing outside is touched."""

import warnings

import numpy as np
import pytest

from auxcal import InvalidInputError, UndefinedMetricWarning, _arrays, _conversion, evaluate
from auxcal.metrics import METRICS, ece_noise_floor
from auxcal.metrics._bootstrap import _resamples

BINNED = {"ece", "ece_mass", "mce"}  # resampling adds noise of its own to every bin


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


def test_everything_is_a_plain_float():
    assert {type(score) for score in evaluate(CONFIDENCE, CORRECT, bootstrap=3).values()} == {float}


def test_with_bootstrap_every_metric_has_an_interval():
    added = set(evaluate(CONFIDENCE, CORRECT, bootstrap=2)) - set(evaluate(CONFIDENCE, CORRECT))
    assert added == {f"{name}_{end}" for name in METRICS for end in ("low", "high")}


@pytest.mark.parametrize("name", sorted(set(METRICS) - BINNED))
def test_the_interval_brackets_the_value(name):
    scores = evaluate(CONFIDENCE, CORRECT, bootstrap=60)
    assert scores[f"{name}_low"] < scores[name] < scores[f"{name}_high"]


def test_a_higher_level_gives_a_wider_interval():
    narrow, wide = (evaluate(CONFIDENCE, CORRECT, bootstrap=60, level=level) for level in (0.5, 0.95))
    assert all(
        wide[f"{name}_low"] < narrow[f"{name}_low"] < narrow[f"{name}_high"] < wide[f"{name}_high"]
        for name in ("auroc", "brier", "nll", "aurc")
    )


def test_intervals_hold_the_truth_in_about_95_cases_of_100():
    # Uniform confidences that are right: the integrals over [0, 1] give the truth of these metrics.
    truth = {"brier": 1 / 6, "nll": 1 / 2, "auroc": 5 / 6}
    runs = [evaluate(*calibrated(150, seed), bootstrap=100, random_state=seed) for seed in range(40)]
    held = [run[f"{name}_low"] <= truth[name] <= run[f"{name}_high"] for run in runs for name in truth]
    assert 0.88 <= np.mean(held) <= 0.99


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
    assert {name for name in METRICS if np.isnan(scores[f"{name}_low"])} == undefined
    assert sorted(str(warning.message).split()[0] for warning in caught) == sorted(undefined)


def test_a_resample_without_errors_is_left_out_of_the_interval_in_silence():
    confidence, correct = np.linspace(0.1, 0.9, 8), np.arange(8) > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = evaluate(confidence, correct, bootstrap=40)
    assert np.isfinite([scores["auroc_low"], scores["auroc_high"]]).all()


def test_lists_and_zeros_and_ones_are_fine():
    assert evaluate([0.9, 0.2], [1, 0]) == evaluate(np.array([0.9, 0.2]), np.array([True, False]))


def test_only_the_named_metrics_are_computed():
    scores = evaluate(CONFIDENCE, CORRECT, metrics=["ece", "brier"], bootstrap=2)
    assert {name.split("_")[0] for name in scores} == {"ece", "brier"}
    assert scores["brier_low"] == evaluate(CONFIDENCE, CORRECT, bootstrap=2)["brier_low"]
    with pytest.raises(InvalidInputError, match="metrics must be among auroc"):
        evaluate(CONFIDENCE, CORRECT, metrics=["beauty"])


def test_progress_is_reported_after_every_resample():
    shares = []
    evaluate([0.9, 0.4, 0.7], [True, False, False], bootstrap=4, report=shares.append)
    assert shares == [0.25, 0.5, 0.75, 1.0]


@pytest.mark.parametrize("count", [[1, 2, 1, 4], [100, 200, 100, 400]], ids=["rows are drawn", "cells are drawn"])
def test_a_resample_has_all_rows_and_each_cell_its_share(count):
    draws = np.array(list(_resamples(np.array(count), 4000, np.random.default_rng(0))))
    assert (draws.sum(axis=1) == sum(count)).all()
    share = np.array(count) / sum(count)
    assert draws.mean(axis=0) == pytest.approx(count, rel=0.05)
    assert draws.var(axis=0) == pytest.approx(sum(count) * share * (1 - share), rel=0.1)


def test_a_sample_is_checked_once_however_many_resamples_there_are(monkeypatch):
    counted, check = [], _arrays.to_numpy
    for module in (_arrays, _conversion):
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
