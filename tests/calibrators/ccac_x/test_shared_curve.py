"""The base calibrator that bends all logits by one curve, and what CCAC-X makes of it."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logsumexp

from auxcal import CCACX, NO_CLASS, Predictions, TemperatureScaling, load
from auxcal._core.logits import relative
from auxcal.calibrators.ccac_x import shared_curve
from auxcal.calibrators.ccac_x.shared_curve import SharedCurve, cross_fit_curve
from auxcal.metrics import brier


def heavy_tails(n, seed=0, none=0):
    """Draw logits with noise of Student's t, of which the largest is often an outlier; the last rows have no class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(6, size=n)
    logits = 4 * np.eye(6)[y] + rng.standard_t(2, size=(n, 6))
    if none:
        logits[-none:], y[-none:] = rng.normal(size=(none, 6)), NO_CLASS
    return Predictions(logits.astype(np.float32), y)


def log_probabilities(data):
    """Return the same rows with logits that know nothing of their level."""
    return Predictions(log_softmax(data.logits, axis=1), data.y)


def fit(data, folds=None):
    return cross_fit_curve(data, relative(data.logits), np.arange(len(data)) % 5 if folds is None else folds)


def test_it_tells_outliers_from_sure_predictions():
    labelled, test = heavy_tails(400), heavy_tails(4000, seed=1)
    curve, _ = fit(labelled)
    found = expit(curve.log_odds(test.logits, test.prediction))
    theirs = TemperatureScaling().fit(labelled.logits, labelled.y).predict_confidence(test.logits)
    assert brier(found, test.correct) < brier(theirs, test.correct) - 0.05
    sure, outlier = (np.array([[top, 0, 0, 0, 0, 0]], np.float32) for top in (5.0, 50.0))
    assert curve.log_odds(sure, np.array([0])) > curve.log_odds(outlier, np.array([0])) + 1


def test_it_is_the_optimum_of_its_loss():
    """A general solver finds the same, with the width that was chosen."""
    data = heavy_tails(300, none=60)
    curve, _ = fit(data)
    bends, problem, (_, width, _) = shared_curve._prepared(data, curve.level)

    def loss(theta):
        scores = problem.design @ theta
        away = (theta - problem.centre) / problem.widths(width)
        return (logsumexp(scores, axis=1) - scores[np.arange(300), problem.y]).sum() + away @ away / 2

    expected = bends.curve(minimize(loss, problem.centre, method="BFGS", options={"gtol": 1e-6}).x)
    found = (each.log_odds(data.logits, data.prediction) for each in (curve, expected))
    np.testing.assert_allclose(*found, atol=2e-3)


def test_the_level_of_logits_counts_unless_they_have_none():
    """An outlier shifts all log-probabilities of its row; less their median, they tell nearly as much."""
    labelled, test = heavy_tails(400), heavy_tails(4000, seed=1)
    known, unknown = (fit(each)[0] for each in (labelled, log_probabilities(labelled)))
    assert (known.level, unknown.level) == (0, 1)
    by_level, by_median = (
        brier(expit(curve.log_odds(rows.logits, rows.prediction)), rows.correct)
        for curve, rows in ((known, test), (unknown, log_probabilities(test)))
    )
    assert by_level < by_median < by_level + 0.02


def test_each_fold_is_read_by_a_curve_of_the_others():
    """Other labels in a fold leave what is said of it nearly as it was: only the width knows of them."""
    data, folds = heavy_tails(300), np.arange(300) % 3
    y = np.where(folds == 0, 0, data.y)
    _, held_out = fit(data, folds)
    _, changed = fit(Predictions(data.logits, y), folds)
    assert np.abs(changed - held_out)[folds == 0].max() < np.abs(changed - held_out)[folds != 0].max() / 2


def test_its_log_odds_can_be_written_down():
    curve = SharedCurve(
        0, 1.0, -2.0, 3.0, np.array([0.0, 2.0], np.float32), np.array([1.0, 1.0, -2.0], np.float32), -4.0
    )
    logits = np.array([[3.5, 0.0, -9.0]])
    # Less the centre, within the range: 2.5, -1, -2.
    scores = [2.5 + 2.5 - 5, -1 + 0 - 4, -2 + 0 - 4]
    expected = scores[0] - logsumexp([scores[1], scores[2], -4.0])
    assert curve.log_odds(logits, np.array([0]), np.float64) == pytest.approx(expected)


@pytest.mark.parametrize("logits", [np.zeros((60, 3)), np.full((60, 3), 1e15), np.eye(3)[np.arange(60) % 3]])
def test_logits_that_hardly_vary_give_finite_log_odds(logits):
    data = Predictions(logits.astype(np.float32), np.arange(60) % 3)
    curve, held_out = fit(data)
    assert np.isfinite(held_out).all()
    assert np.isfinite(curve.log_odds(data.logits, data.prediction)).all()


def test_a_weight_is_a_number_of_rows():
    data, times = heavy_tails(200), np.random.default_rng(0).integers(1, 4, size=200)
    folds = np.arange(200) % 5
    weighted, _ = fit(Predictions(data.logits, data.y, sample_weight=times), folds)
    repeated, _ = fit(data.take(np.arange(200).repeat(times)), folds.repeat(times))
    found = (each.log_odds(data.logits, data.prediction) for each in (weighted, repeated))
    np.testing.assert_allclose(*found, atol=0.02)


def test_ccac_x_uses_it_where_tails_are_heavy_and_nowhere_else(calibrated):
    heavy, plain = heavy_tails(400), calibrated.take(slice(2000))
    share, *curve = CCACX(random_state=0).fit(heavy.logits, heavy.y).curve_
    assert share > 0.9
    assert len(curve) == len(SharedCurve._fields)
    assert (CCACX(random_state=0).fit(plain.logits, plain.y).curve_ or [0])[0] < 0.2


@pytest.mark.parametrize("kind", [heavy_tails, lambda n: log_probabilities(heavy_tails(n))])
def test_a_saved_curve_scores_as_before_and_in_torch(tmp_path, kind):
    torch = pytest.importorskip("torch")
    from auxcal.torch import as_module

    data = kind(400)
    calibrator = CCACX(random_state=0).fit(data.logits, data.y)
    calibrator.save(tmp_path / "calibrator")
    expected = calibrator.predict_confidence(data.logits)
    np.testing.assert_array_equal(load(tmp_path / "calibrator").predict_confidence(data.logits), expected)
    np.testing.assert_allclose(as_module(calibrator)(torch.tensor(data.logits)).numpy(), expected, atol=1e-5)


@pytest.mark.parametrize("kind", [heavy_tails, lambda n: log_probabilities(heavy_tails(n))])
def test_a_curve_scores_the_same_in_onnx(kind):
    runtime = pytest.importorskip("onnxruntime")
    from auxcal.onnx import to_onnx

    data = kind(400)
    calibrator = CCACX(random_state=0).fit(data.logits, data.y)
    session = runtime.InferenceSession(to_onnx(calibrator).SerializeToString())
    _, found = session.run(None, {"logits": data.logits})
    np.testing.assert_allclose(found, calibrator.predict_confidence(data.logits), atol=1e-5)
