"""Whatever a user has made of NumPy's floating-point errors, the library works and leaves it as it is."""

import warnings

import numpy as np
import pytest

import auxcal
from auxcal import AuxcalWarning, InputWarning, labelling, metrics, plots, thresholds
from auxcal._core.float_errors import ignore_float_errors, undecorated
from auxcal.sklearn._estimators import class_proba
from auxcal.testing._trials import sample

DATA = sample(n=300)
LOGITS, Y = 10 * DATA.logits, DATA.y  # far enough apart for exponentials to underflow
TINY = LOGITS.astype(np.float64) * 1e-40  # which are cast to float32
CONFIDENCE = np.linspace(0.01, 1, 300) ** 50
CORRECT = np.random.default_rng(0).random(300) < CONFIDENCE


@pytest.fixture(scope="module")
def fitted():
    return auxcal.CCACX(random_state=0).fit(LOGITS, Y)


def watch(calibrator, folder):
    monitor = auxcal.Monitor(calibrator, random_state=0)
    monitor.label(monitor.update(LOGITS[:100])[:20], Y[:20])
    monitor.save(folder / "monitor")
    return auxcal.Monitor.load(folder / "monitor", calibrator)


def load_again(calibrator, folder):
    calibrator.save(folder / "calibrator")
    return auxcal.load(folder / "calibrator").predict_confidence(LOGITS)


WORK = {
    "predict": lambda calibrator, _: calibrator.predict_confidence(TINY),
    "predict_proba": lambda calibrator, _: calibrator.predict_proba(LOGITS),
    "class_proba": lambda calibrator, _: class_proba(calibrator, LOGITS),
    "score": lambda calibrator, _: calibrator.score(LOGITS, Y),
    "probabilities": lambda *_: auxcal.PlattScaling().fit(np.eye(4)[Y], Y, probabilities=True),
    "save and load": load_again,
    "check": lambda calibrator, _: auxcal.check(calibrator, LOGITS[:200]),
    "adapt": lambda calibrator, _: calibrator.adapt(LOGITS[:200], if_new="warn"),
    "monitor": watch,
    "compare": lambda *_: auxcal.compare(auxcal.Predictions(LOGITS, Y), methods=["temperature"], bootstrap=5),
    "evaluate": lambda *_: auxcal.evaluate(CONFIDENCE, CORRECT, bootstrap=5),
    "evaluate_by": lambda *_: auxcal.evaluate_by(CONFIDENCE, CORRECT, np.arange(300) % 2),
    "threshold": lambda *_: thresholds.threshold_at_risk(CONFIDENCE, CORRECT, 0.95),
    "noise floor": lambda *_: metrics.ece_noise_floor(CONFIDENCE),
    "pick": lambda *_: labelling.pick(CONFIDENCE, 20, random_state=0),
    "plan": lambda *_: labelling.plan(CONFIDENCE, accuracy_within=0.05),
    "estimate": lambda *_: labelling.estimate(CONFIDENCE[:30], CORRECT[:30], CONFIDENCE[30:]),
    "plot": lambda *_: plots.RiskCoverageDisplay.from_predictions(CONFIDENCE, CORRECT),
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_errors_that_raise_stop_nothing(work, fitted, tmp_path):
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("ignore", AuxcalWarning)
        before = np.geterr()
        work(fitted, tmp_path)
        assert np.geterr() == before


@pytest.mark.needs("torch")
def test_a_module_is_built(fitted):
    from auxcal.torch import as_module

    with np.errstate(all="raise"):
        as_module(fitted)


@ignore_float_errors
@ignore_float_errors
def warn_of_the_caller():
    warnings.warn("here", InputWarning, stacklevel=undecorated(2))


def test_a_warning_points_at_the_caller_of_what_is_decorated():
    with pytest.warns(InputWarning) as caught:
        warn_of_the_caller()
    assert caught[0].filename == __file__


def test_scoring_points_at_the_caller(fitted):
    looks_wrong = np.full((50, 4), 0.25)
    for work in (fitted.predict_confidence, fitted.predict_proba, lambda rows: auxcal.check(fitted, rows)):
        with pytest.warns(InputWarning, match="looks like probabilities") as caught:
            work(looks_wrong)
        assert caught[0].filename == __file__
