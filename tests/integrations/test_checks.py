"""scikit-learn's own checks of an estimator hold for the classifier with its calibrator."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import estimator_checks_generator

from auxcal import CalibratedClassifier, ConvergenceWarning, IsotonicCalibration, TemperatureScaling

CANT_RUN = "check_array_api_input", "check_classifier_data_not_an_array"  # without SCIPY_ARRAY_API, and without pandas

CLASSIFIERS = {
    "decision_function, CCAC-X": CalibratedClassifier(LogisticRegression()),
    "predict_log_proba, temperature": CalibratedClassifier(GaussianNB(), TemperatureScaling()),
    "decision_function, isotonic": CalibratedClassifier(LogisticRegression(), IsotonicCalibration()),
}


def checks():
    for name, classifier in CLASSIFIERS.items():
        for number, (estimator, check) in enumerate(estimator_checks_generator(classifier, mark=None)):
            if check.func.__name__ not in CANT_RUN:
                yield pytest.param(estimator, check, id=f"{name}: {number} {check.func.__name__}")


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_a_calibrated_classifier_is_an_estimator_of_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the data of the checks are easy, or noise
        warnings.filterwarnings("ignore", "invalid value encountered in cast")  # scikit-learn's, of labels that are inf
        warnings.filterwarnings("ignore", "The least populated class")  # of the data of the checks up to 1.7
        check(estimator)


def test_the_place_of_a_row_makes_no_difference_where_they_are_few():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(90, 3)), rng.integers(3, size=90)
    classifier = CalibratedClassifier(LogisticRegression()).fit(x, y)
    together, order = classifier.predict_proba(x), rng.permutation(90)
    assert classifier.predict_proba(x[order]) == pytest.approx(together[order], abs=1e-9)
    one_by_one = np.concatenate([classifier.predict_proba(row[None]) for row in x])
    assert one_by_one == pytest.approx(together, abs=1e-9)
