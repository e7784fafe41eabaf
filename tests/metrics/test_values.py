"""Every metric against a twin of plain loops, and against the numbers of independent libraries."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from sklearn import metrics as sklearn_metrics

from auxcal.metrics import METRICS, auroc, ece, fpr_at_tpr, mce, nll, precision_at_recall, risk_coverage
from auxcal.metrics._ranking import ties


def sample(confidence, seed=0):
    """Draw correctness from confidence, with at least one row of each kind."""
    confidence = np.asarray(confidence)
    correct = np.random.default_rng(seed).uniform(size=len(confidence)) < confidence
    correct[0], correct[1] = True, False
    return confidence, correct


def edges(dtype):
    return (np.repeat(np.arange(21), 4) / 20).astype(dtype)


RNG = np.random.default_rng(1)
UNIFORM = RNG.uniform(size=150)
SAMPLES = {
    "distinct float64": sample(UNIFORM),
    "distinct float32": sample(UNIFORM.astype(np.float32)),
    "ties": sample(RNG.uniform(size=150).round(1)),
    "on the edges float64": sample(edges(np.float64)),
    "on the edges float32": sample(edges(np.float32)),
    "beside the edges float32": sample(np.nextafter(edges(np.float32), np.float32(0.5))),
    "exactly 0 and 1": sample(RNG.choice([0.0, 1.0], size=60)),
    "saturated": sample(np.concatenate([RNG.uniform(size=40), np.zeros(20), np.ones(40)])),
    "high": sample(1 - RNG.exponential(1e-3, size=100).clip(max=1)),
    "two rows": sample([0.3, 0.8]),
}
of_every_sample = pytest.mark.parametrize(("confidence", "correct"), SAMPLES.values(), ids=SAMPLES.keys())


# The twins ------------------------------------------------------------------------------------------------------------


def twin_bins(confidence, n_bins, strategy):
    """The bin of every row: [m/M, (m+1)/M) in the array's own precision, or the M-quantile of its mean rank."""
    bins = []
    for value in confidence:
        if strategy == "width":
            lower_edges = [m for m in range(n_bins) if value >= confidence.dtype.type(m / n_bins)]
            bins.append(lower_edges[-1])
        else:
            below, equal = np.sum(confidence < value), np.sum(confidence == value)
            rank = Fraction(int(2 * below + equal), 2 * len(confidence))
            bins.append(math.floor(rank * n_bins))
    return bins


def twin_gaps(confidence, correct, n_bins, strategy):
    """The share and the gap of every bin that holds rows."""
    members = {}
    for row, m in enumerate(twin_bins(confidence, n_bins, strategy)):
        members.setdefault(m, []).append(row)
    for rows in members.values():
        mean_confidence = math.fsum(confidence[row] for row in rows) / len(rows)
        accuracy = sum(bool(correct[row]) for row in rows) / len(rows)
        yield len(rows) / len(confidence), abs(mean_confidence - accuracy)


def twin_ece(confidence, correct, n_bins=20, strategy="width"):
    return math.fsum(share * gap for share, gap in twin_gaps(confidence, correct, n_bins, strategy))


def twin_mce(confidence, correct, n_bins=20, strategy="width"):
    return max(gap for _, gap in twin_gaps(confidence, correct, n_bins, strategy))


def twin_rejections(confidence, correct):
    """The recall, precision and false alarms of rejecting all rows up to each confidence, from low to high."""
    wrong, right = sum(~correct), sum(correct)
    for threshold in sorted(set(confidence)):
        caught = sum(c <= threshold and not ok for c, ok in zip(confidence, correct, strict=True))
        lost = sum(c <= threshold and ok for c, ok in zip(confidence, correct, strict=True))
        yield caught / wrong, caught / (caught + lost), lost / right


def twin_precision_at_recall(confidence, correct, wanted=0.9):
    return next(precision for recall, precision, _ in twin_rejections(confidence, correct) if recall >= wanted)


def twin_fpr_at_tpr(confidence, correct, wanted=0.95):
    return next(alarms for recall, _, alarms in twin_rejections(confidence, correct) if recall >= wanted)


def twin_aupr(confidence, correct):
    area, before = 0.0, 0.0
    for recall, precision, _ in twin_rejections(confidence, correct):
        area, before = area + (recall - before) * precision, recall
    return area


def twin_auroc(confidence, correct):
    pairs = [(wrong, right) for wrong in confidence[~correct] for right in confidence[correct]]
    return sum(1.0 if wrong < right else 0.5 if wrong == right else 0.0 for wrong, right in pairs) / len(pairs)


def twin_aurc(confidence, correct):
    """Integrate the error rate of the accepted over coverage, the errors of a tie being spread evenly in it."""
    area, accepted, errors, n = 0.0, 0, 0, len(confidence)
    for value in sorted(set(confidence), reverse=True):
        size = sum(confidence == value)
        slope = sum(~correct[confidence == value]) / size

        def risk(coverage, accepted=accepted, errors=errors, slope=slope):
            return (errors + slope * (coverage - accepted)) / coverage if coverage else slope

        area += quad(risk, accepted, accepted + size, epsabs=1e-12)[0]
        accepted, errors = accepted + size, errors + slope * size
    return area / n


TWINS = {
    "auroc": twin_auroc,
    "aupr": twin_aupr,
    "p90": twin_precision_at_recall,
    "ece": twin_ece,
    "brier": lambda c, ok: math.fsum((float(p) - bool(hit)) ** 2 for p, hit in zip(c, ok, strict=True)) / len(c),
    "ece_mass": lambda c, ok: twin_ece(c, ok, strategy="mass"),
    "mce": twin_mce,
    "nll": lambda c, ok: (
        -math.fsum(
            math.log(max(float(p if hit else 1 - p), np.finfo(c.dtype).eps / 2)) for p, hit in zip(c, ok, strict=True)
        )
        / len(c)
    ),
    "fpr95": twin_fpr_at_tpr,
    "aurc": twin_aurc,
    "excess_aurc": lambda c, ok: twin_aurc(c, ok) - twin_aurc(ok.astype(float), ok),
}


@pytest.mark.parametrize("name", METRICS)
@of_every_sample
def test_metric_equals_its_twin(name, confidence, correct):
    tolerance = 1e-6 if confidence.dtype == np.float32 else 1e-10
    assert METRICS[name].function(confidence, correct) == pytest.approx(TWINS[name](confidence, correct), abs=tolerance)


@pytest.mark.parametrize("strategy", ["width", "mass"])
@pytest.mark.parametrize("n_bins", [1, 7, 10, 49, 1000])
@of_every_sample
def test_calibration_errors_equal_their_twins_for_any_bins(confidence, correct, n_bins, strategy):
    expected = twin_ece(confidence, correct, n_bins, strategy), twin_mce(confidence, correct, n_bins, strategy)
    got = [metric(confidence, correct, n_bins=n_bins, strategy=strategy) for metric in (ece, mce)]
    assert got == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_bins", [1, 10, 15, 20, 49, 100])
def test_a_confidence_on_an_edge_belongs_to_the_bin_above_it(n_bins, dtype):
    # One row on each lower edge: a row that slipped into the bin below would share it, and lower the error.
    lower_edges = (np.arange(n_bins) / n_bins).astype(dtype)
    wrong_and_right = np.arange(n_bins) % 2 == 0
    apart = np.mean(np.abs(lower_edges.astype(np.float64) - wrong_and_right))
    assert ece(lower_edges, wrong_and_right, n_bins=n_bins) == pytest.approx(apart, abs=1e-12)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9, 1.0])
@of_every_sample
def test_thresholds_equal_their_twins_for_any_share(confidence, correct, share):
    precision = precision_at_recall(confidence, correct, recall=share)
    false_alarms = fpr_at_tpr(confidence, correct, tpr=share)
    assert precision == pytest.approx(twin_precision_at_recall(confidence, correct, share))
    assert false_alarms == pytest.approx(twin_fpr_at_tpr(confidence, correct, share))


# Independent libraries ------------------------------------------------------------------------------------------------


def sklearn_precision_at_recall(wrong, score):
    precision, recall, _ = sklearn_metrics.precision_recall_curve(wrong, score)
    return precision[np.flatnonzero(recall >= 0.9)[-1]]


def sklearn_fpr_at_tpr(wrong, score):
    fpr, tpr, _ = sklearn_metrics.roc_curve(wrong, score, drop_intermediate=False)
    return fpr[np.flatnonzero(tpr >= 0.95)[0]]


SKLEARN = {
    "auroc": lambda c, ok: sklearn_metrics.roc_auc_score(~ok, -c),
    "aupr": lambda c, ok: sklearn_metrics.average_precision_score(~ok, -c),
    "p90": lambda c, ok: sklearn_precision_at_recall(~ok, -c),
    "fpr95": lambda c, ok: sklearn_fpr_at_tpr(~ok, -c),
    "brier": lambda c, ok: sklearn_metrics.brier_score_loss(ok, c),
}


@pytest.mark.parametrize("name", SKLEARN)
@of_every_sample
def test_metric_equals_that_of_scikit_learn(name, confidence, correct):
    expected = SKLEARN[name](confidence, correct)
    assert METRICS[name].function(confidence, correct) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", ["distinct float64", "distinct float32", "ties", "exactly 0 and 1", "saturated"])
def test_nll_equals_the_log_loss_of_scikit_learn_also_where_it_saturates(name):
    confidence, correct = SAMPLES[name]
    step = np.finfo(confidence.dtype).eps / 2
    # scikit-learn moves away from 0 and 1 by twice as much as float64 needs.
    expected = sklearn_metrics.log_loss(correct, np.clip(confidence.astype(np.float64), step, 1 - step))
    assert nll(confidence, correct) == pytest.approx(expected, rel=2e-2 if name == "exactly 0 and 1" else 1e-5)


@pytest.mark.parametrize("strategy", ["width", "mass"])
@pytest.mark.parametrize("n_bins", [10, 15, 20])
def test_ece_equals_that_of_uncertainty_calibration(n_bins, strategy):
    calibration = pytest.importorskip("calibration")
    scheme = {"width": calibration.get_equal_prob_bins, "mass": calibration.get_equal_bins}[strategy]
    confidence, correct = sample(np.random.default_rng(2).uniform(size=n_bins * 60))
    expected = calibration.lower_bound_scaling_ce(
        confidence, correct.astype(int), p=1, debias=False, num_bins=n_bins, binning_scheme=scheme
    )
    assert ece(confidence, correct, n_bins=n_bins, strategy=strategy) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n_bins", [10, 15, 20])
def test_ece_and_mce_equal_those_of_netcal(n_bins):
    netcal = pytest.importorskip("netcal.metrics")
    confidence, correct = SAMPLES["saturated"]
    expected = [metric(n_bins).measure(confidence, correct.astype(int)) for metric in (netcal.ECE, netcal.MCE)]
    got = [metric(confidence, correct, n_bins=n_bins) for metric in (ece, mce)]
    assert got == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("steps", [1, 5, 1000])
@pytest.mark.parametrize("block", [1, 2, 7])
def test_ties_that_cross_blocks_are_counted_whole(monkeypatch, dtype, steps, block):
    rng = np.random.default_rng(block)
    confidence = (rng.integers(0, steps + 1, 40) / steps).astype(dtype)
    confidence[confidence == 0] = -0.0
    correct = rng.random(40) < 0.6
    monkeypatch.setattr("auxcal.metrics._ranking._BLOCK", block)
    found = ties(confidence, correct)
    assert found.confidence.tolist() == np.unique(confidence).tolist()
    assert found.right.tolist() == [correct[confidence == c].sum() for c in found.confidence]
    assert found.wrong.tolist() == [(~correct)[confidence == c].sum() for c in found.confidence]
    above = confidence[correct][:, None] - confidence[~correct]
    assert auroc(confidence, correct) == pytest.approx(((above > 0) + (above == 0) / 2).mean(), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_curve_is_what_accepting_at_or_above_each_confidence_gives(seed):
    rng = np.random.default_rng(seed)
    confidence = rng.integers(0, 41, size=400) / 40
    correct = rng.uniform(size=400) < confidence
    curve = risk_coverage(confidence, correct)
    assert curve.threshold.tolist() == sorted(set(confidence.tolist()), reverse=True)
    for threshold, coverage, risk in zip(curve.threshold, curve.coverage, curve.risk, strict=True):
        accepted = confidence >= threshold
        assert coverage == accepted.mean()
        assert risk == pytest.approx(1 - correct[accepted].mean())
