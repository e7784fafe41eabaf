"""scikit-learn's own checks of an estimator, and why some can't apply."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn import config_context, exceptions
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import check_is_fitted

from auxcal import (
    CALIBRATORS,
    CCACX,
    ConvergenceWarning,
    HistogramBinning,
    InvalidInputError,
    NotFittedError,
    PlattScaling,
    TemperatureScaling,
    UndefinedMetricWarning,
)

pytestmark = pytest.mark.usefixtures("quick_training")

TWO_COLUMNS = "the check fits 2 columns with the labels 0, 1 and 2; y holds indices of the columns of logits"
FLOAT_LABELS = "the check's labels are floats; y holds indices of the columns of logits"
CANT_APPLY = {
    "check_estimators_overwrite_params": TWO_COLUMNS,
    "check_estimators_fit_returns_self": TWO_COLUMNS,
    "check_readonly_memmap_input": TWO_COLUMNS,
    "check_sample_weights_not_an_array": TWO_COLUMNS,
    "check_sample_weights_not_overwritten": TWO_COLUMNS,
    "check_sample_weights_shape": TWO_COLUMNS,
    "check_sample_weights_pandas_series": f"{TWO_COLUMNS}; the check hides the reason",
    "check_fit2d_1feature": "one column is of two classes; the check has more labels than these",
    "check_estimators_nan_inf": FLOAT_LABELS,
    "check_dtype_object": FLOAT_LABELS,
    "check_array_api_input": "asks for SCIPY_ARRAY_API in the environment of the whole process",
}
# The check asks for 1e-7 in 15 rows. These stop within 1e-5 nats of their optimum and compute in float32, or they hold
# rows out, and copies of a row would have to be a group. What holds of them is a check of auxcal.testing.
NEARLY_EQUIVALENT = {
    "ccac", "ccac-s", "ccac-x", "dirichlet", "matrix", "structured-matrix", "structured-vector", "vector"
}  # fmt: skip


def checks_of(estimator):
    """Return scikit-learn's checks; that it is no `BaseEstimator`, which would have to be imported, is known."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* does not inherit from `sklearn.base.BaseEstimator`")
        return list(estimator_checks_generator(estimator, mark=None))


def checks():
    for name, kind in CALIBRATORS.items():
        fast = {"lambda1": 0, "lambda2": 1, "mean": "right", "hidden_sizes": (4,)} if name in ("ccac", "ccac-s") else {}
        for estimator, check in checks_of(kind(**fast)):
            nearly = name in NEARLY_EQUIVALENT and "weight_equivalence" in check.func.__name__
            refused = not kind.uses_weights and "sample_weight" in check.func.__name__
            if check.func.__name__ not in CANT_APPLY and not nearly and not refused:
                yield pytest.param(estimator, check, id=f"{name}-{check.func.__name__}")


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_a_calibrator_is_an_estimator_of_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@pytest.mark.parametrize("name", [name for name, why in CANT_APPLY.items() if why in (TWO_COLUMNS, FLOAT_LABELS)])
def test_what_cant_apply_is_refused_for_the_reason_that_is_given(name):
    (check,) = (c for _, c in checks_of(TemperatureScaling()) if c.func.__name__ == name)
    with pytest.raises((InvalidInputError, AssertionError), match=r"class index|label type"):
        check(TemperatureScaling())


def test_the_order_of_rows_changes_nothing_where_they_are_few():
    rng = np.random.default_rng(0)
    logits = 3 * rng.normal(size=(40, 3))
    calibrator = CALIBRATORS["ccac-x"](random_state=0).fit(logits, rng.integers(3, size=40))
    order = rng.permutation(40)
    assert calibrator.predict_proba(logits[order]) == pytest.approx(calibrator.predict_proba(logits)[order], abs=1e-12)


LOGITS = np.random.default_rng(0).normal(size=(200, 3), scale=3)
Y = (LOGITS / 2 + np.random.default_rng(1).gumbel(size=LOGITS.shape)).argmax(axis=1)


def brier(calibrator, logits, y):
    """Return a score of the kind that scikit-learn takes: more is better."""
    return -np.mean((calibrator.predict_confidence(logits) - (logits.argmax(axis=1) == y)) ** 2)


def test_errors_are_also_those_of_scikit_learn():
    for ours in (NotFittedError, ConvergenceWarning, UndefinedMetricWarning):
        assert issubclass(ours, getattr(exceptions, ours.__name__))
    with pytest.raises(exceptions.NotFittedError):
        PlattScaling().predict_confidence(LOGITS)


@pytest.mark.parametrize("kind", CALIBRATORS.values())
def test_tags_and_the_fitted_state_can_be_asked_for(kind):
    assert get_tags(kind()).requires_fit
    with pytest.raises(exceptions.NotFittedError):
        check_is_fitted(kind())


def test_a_calibrator_is_cloned_and_pickled():
    fitted = HistogramBinning(n_bins=7).fit(LOGITS, Y)
    assert not hasattr(clone(fitted), "values_")
    assert clone(fitted).get_params() == fitted.get_params() == {"n_bins": 7, "scheme": "top-label", "strategy": "mass"}
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_confidence(LOGITS), fitted.predict_confidence(LOGITS))


def test_a_grid_is_searched_over_a_pipeline():
    pipeline = make_pipeline(FunctionTransformer(), HistogramBinning())
    grid = {"histogrambinning__n_bins": [1, 5]}

    def last_step(fitted, logits, y):
        return brier(fitted[-1], logits, y)

    search = GridSearchCV(pipeline, grid, scoring=last_step, cv=3).fit(LOGITS, Y)
    assert search.best_params_ == {"histogrambinning__n_bins": 5}
    assert search.best_estimator_[-1].n_bins == 5
    assert "HistogramBinning" in repr(search)
    assert "HistogramBinning" in search._repr_html_()


def test_features_are_routed_to_the_rows_of_each_fold():
    features = np.column_stack([LOGITS.argmax(axis=1) == Y, np.ones(len(Y))]).astype(float)
    seen = []

    def scored(fitted, logits, y):
        seen.append(fitted.n_further_features_)
        return 0.0

    with config_context(enable_metadata_routing=True):
        calibrator = CCACX(random_state=0).set_fit_request(features=True, select=False)
        GridSearchCV(calibrator, {"n_folds": [2, 3]}, scoring=scored, cv=2).fit(LOGITS, Y, features=features)
        with pytest.raises(TypeError, match="Unexpected args"):
            calibrator.set_fit_request(weight=True)
    assert seen == [2] * 4


class Around(TemperatureScaling):
    """A calibrator with another one among its parameters."""

    def __init__(self, inner=None, more=()):
        self.inner = inner
        self.more = more


def test_parameters_of_parameters_have_two_underscores():
    outer = Around(HistogramBinning(n_bins=3))
    assert outer.get_params()["inner__n_bins"] == 3
    assert "inner__n_bins" not in outer.get_params(deep=False)
    assert outer.set_params(inner__n_bins=4, more=(1,)) is outer
    assert repr(outer) == "Around(inner=HistogramBinning(n_bins=4), more=(1,))"
    with pytest.raises(ValueError, match="Invalid parameter 'bins' for estimator HistogramBinning"):
        outer.set_params(inner__bins=4)


def test_what_a_calibrator_does_not_have_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'PlattScaling' object has no attribute 'transform'"):
        PlattScaling().transform  # noqa: B018
    assert not hasattr(PlattScaling(), "set_transform_request")
