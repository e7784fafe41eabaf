"""Every entry of the lists against every check of the conformance suite, and the checks against broken entries."""

import numpy as np
import pytest

from auxcal import CALIBRATORS, METRICS, ConformanceError, Predictions, SignalCalibrator, TemperatureScaling
from auxcal.metrics import Metric, ece
from auxcal.testing import CALIBRATOR_CHECKS, METRIC_CHECKS, SIGNAL_CHECKS, check_calibrator, check_metric
from auxcal.testing._calibrator_checks import features_are_used_or_refused

pytestmark = pytest.mark.usefixtures("quick_training")

# One setting of the losses, of which only the mean is searched, keeps the tests quick.
QUICK = {
    "ccac": {"hidden_sizes": (8,), "lambda1": 0, "lambda2": 1, "random_state": 0},
    "ccac-x": {"random_state": 0},
    "ccac-s": {"hidden_sizes": (8,), "lambda1": 0, "lambda2": 1, "random_state": 0},
    "dirichlet": {"random_state": 0},
}


@pytest.mark.parametrize("name", CALIBRATORS)
@pytest.mark.parametrize("check", CALIBRATOR_CHECKS, ids=lambda check: check.__name__)
def test_every_calibrator_keeps_every_promise(name, check):
    check(CALIBRATORS[name](**QUICK.get(name, {})))


@pytest.mark.parametrize("check", METRIC_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", METRICS)
def test_every_metric_keeps_every_promise(name, check):
    check(METRICS[name])


class RememberingScaling(TemperatureScaling):
    """Starts from the last temperature, as one library does."""

    def _proba(self, logits):
        proba = super()._proba(logits)
        self.temperature_ *= 1.1
        return proba


class GuessingScaling(TemperatureScaling):
    """Guesses from the values of all rows whether they are probabilities."""

    def _proba(self, logits):
        return super()._proba(logits if (logits < 0).any() else np.log(logits + 1))


class RandomScaling(TemperatureScaling):
    """Draws from NumPy's global state."""

    def _fit(self, data):
        np.random.rand()  # noqa: NPY002
        return super()._fit(data)


class IdleScaling(TemperatureScaling):
    """A fit that makes things worse and does not say so."""

    def _fit(self, data):
        self.temperature_ = 0.1


def test_one_that_uses_features_keeps_every_promise(featured_platt):
    check_calibrator(featured_platt())


def test_the_suite_finds_features_that_change_nothing(featured_platt):
    class Deaf(featured_platt):
        def _fit(self, data):
            return super()._fit(Predictions(data.logits, data.y))

        def _confidence(self, logits, features=None):
            return super()._confidence(logits)

    with pytest.raises(ConformanceError, match="other features change nothing"):
        features_are_used_or_refused(Deaf())


@pytest.mark.parametrize("broken", [RememberingScaling, GuessingScaling, RandomScaling, IdleScaling])
def test_the_suite_finds_what_is_broken(broken):
    with pytest.raises(ConformanceError):
        check_calibrator(broken())


def test_the_suite_finds_a_metric_that_depends_on_the_order():
    with pytest.raises(ConformanceError, match="order"):
        check_metric(Metric(lambda c, r: ece(c, r) + float(c[0]), "first", higher_is_better=False))


@pytest.mark.parametrize("check", SIGNAL_CHECKS, ids=lambda check: check.__name__)
def test_a_calibrator_of_signals_keeps_its_promises(check):
    check(SignalCalibrator())


def test_a_calibrator_of_signals_is_checked_as_such():
    class Careless(SignalCalibrator):
        def _confidence(self, logits, features=None):
            return np.full(len(logits), np.arange(len(logits)).mean() % 1)

    with pytest.raises(ConformanceError):
        check_calibrator(Careless())
