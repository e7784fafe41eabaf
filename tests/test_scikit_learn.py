"""scikit-learn's own checks of an estimator, and why some can't apply."""

import warnings

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from auxcal import CALIBRATORS, ConvergenceWarning, InvalidInputError, TemperatureScaling

pytestmark = pytest.mark.usefixtures("quick_training")

TWO_COLUMNS = "the check fits 2 columns with the labels 0, 1 and 2; y holds indices of the columns of logits"
FLOAT_LABELS = "the check's labels are floats; y holds indices of the columns of logits"
CANT_APPLY = {
    "check_estimators_overwrite_params": TWO_COLUMNS,
    "check_estimators_fit_returns_self": TWO_COLUMNS,
    "check_readonly_memmap_input": TWO_COLUMNS,
    "check_estimators_nan_inf": FLOAT_LABELS,
    "check_dtype_object": FLOAT_LABELS,
    "check_array_api_input": "asks for SCIPY_ARRAY_API in the environment of the whole process",
}

# It scores in float32, where a product of matrices may differ in the last digit with the place of a row; the check
# asks for 1e-7. The test below asks for what float32 can give.
LAST_DIGIT = {("ccac-x", "check_methods_sample_order_invariance")}


def checks():
    for name, kind in CALIBRATORS.items():
        fast = {"lambda1": 0, "lambda2": 1, "mean": "right", "hidden_sizes": (4,)} if name in ("ccac", "ccac-s") else {}
        for estimator, check in estimator_checks_generator(kind(**fast), mark=None):
            if check.func.__name__ not in CANT_APPLY and (name, check.func.__name__) not in LAST_DIGIT:
                yield pytest.param(estimator, check, id=f"{name}-{check.func.__name__}")


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_a_calibrator_is_an_estimator_of_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@pytest.mark.parametrize("name", [name for name, why in CANT_APPLY.items() if why in (TWO_COLUMNS, FLOAT_LABELS)])
def test_what_cant_apply_is_refused_for_the_reason_that_is_given(name):
    (check,) = (c for _, c in estimator_checks_generator(TemperatureScaling(), mark=None) if c.func.__name__ == name)
    with pytest.raises((InvalidInputError, AssertionError), match=r"class index|label type"):
        check(TemperatureScaling())


def test_the_order_of_rows_changes_the_last_digit_of_float32_at_most():
    rng = np.random.default_rng(0)
    logits = 3 * rng.normal(size=(40, 3))
    calibrator = CALIBRATORS["ccac-x"](random_state=0).fit(logits, rng.integers(3, size=40))
    order = rng.permutation(40)
    assert calibrator.predict_proba(logits[order]) == pytest.approx(calibrator.predict_proba(logits)[order], abs=1e-6)
