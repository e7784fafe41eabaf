"""What CalibratedClassifier does with rows, scores, labels and metadata."""

import pickle

import numpy as np
import pytest
import sklearn
from joblib import parallel_config
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import fbeta_score, make_scorer
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    GroupKFold,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    TunedThresholdClassifierCV,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from auxcal import (
    CALIBRATORS,
    NO_CLASS,
    CalibratedClassifier,
    Calibrator,
    InputWarning,
    InvalidInputError,
    IsotonicCalibration,
    NotFittedError,
    PlattScaling,
    TemperatureScaling,
    Uncalibrated,
    evaluate,
)

SCORERS = [LogisticRegression(), LinearSVC(), GaussianNB(), RandomForestClassifier(10), KNeighborsClassifier()]


class Remembering(Calibrator):
    """Keeps what it was fitted on."""

    abbreviation, reference, uses_weights = "R", "these tests", True

    def _fit(self, data):
        self.logits_, self.y_ = data.logits, data.y
        if data.sample_weight is not None:
            self.sample_weight_, self.groups_ = data.sample_weight, data.groups

    def _confidence(self, logits):
        return np.full(len(logits), 0.5)


class Recording(ClassifierMixin, BaseEstimator):
    """Scores at random, and keeps what it was fitted with."""

    def fit(self, X, y, sample_weight=None):  # noqa: N803
        self.x_, self.y_, self.sample_weight_, self.classes_ = X, y, sample_weight, np.unique(y)
        return self

    def predict_proba(self, X):  # noqa: N803
        return softmax(X[:, : len(self.classes_)], axis=1)

    def predict(self, X):  # noqa: N803
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class Costly(Recording):
    """Predicts what costs least, and so not always the likeliest class."""

    def predict(self, X):  # noqa: N803
        return self.classes_[(self.predict_proba(X) * [1, 1.5, 3]).argmax(axis=1)]


# The logits


@pytest.mark.parametrize("estimator", SCORERS, ids=lambda estimator: type(estimator).__name__)
def test_the_predictions_are_those_of_the_estimator_alone(estimator, three):
    estimator = estimator.set_params(**({"random_state": 0} if "random_state" in estimator.get_params() else {}))
    classifier = CalibratedClassifier(estimator, PlattScaling()).fit(*three)
    assert (classifier.predict(three[0]) == clone(estimator).fit(*three).predict(three[0])).all()
    assert list(classifier.classes_) == ["ant", "bee", "cow"]


FBETA = make_scorer(fbeta_score, beta=3, pos_label="yes")
WITH_THRESHOLDS = {
    "fixed": FixedThresholdClassifier(LogisticRegression(), threshold=0.2),
    "tuned": TunedThresholdClassifierCV(LogisticRegression(), scoring=FBETA, cv=3),
    "in a pipeline": make_pipeline(StandardScaler(), FixedThresholdClassifier(LogisticRegression(), threshold=0.85)),
}


@pytest.mark.parametrize("kind", WITH_THRESHOLDS)
@pytest.mark.parametrize("frozen", [False, True])
def test_an_estimator_with_a_threshold_keeps_its_predictions_and_their_confidence(kind, frozen):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6000, 4))
    y = np.where(x[:, 0] + rng.logistic(size=6000) > 0, "yes", "no")
    estimator = WITH_THRESHOLDS[kind]
    alone = clone(estimator).fit(x[:2000], y[:2000])
    classifier = CalibratedClassifier(FrozenEstimator(alone) if frozen else estimator).fit(x[:2000], y[:2000])
    prediction, new = classifier.predict(x[2000:]), y[2000:]
    assert (prediction == alone.predict(x[2000:])).all()
    assert (prediction != np.where(x[2000:, 0] > 0, "yes", "no")).mean() > 0.1
    confidence = classifier.predict_confidence(x[2000:])
    for each in ("yes", "no"):
        rows = prediction == each
        assert abs(confidence[rows].mean() - (new[rows] == each).mean()) < 0.06
    proba = classifier.predict_proba(x[2000:])
    assert (classifier.classes_[proba.argmax(axis=1)] == prediction).all()
    assert evaluate(confidence, new == prediction)["ece"] < 0.05


def test_a_prediction_that_is_not_the_likeliest_class_stays(three):
    classifier = CalibratedClassifier(Costly(), PlattScaling()).fit(*three)
    prediction = classifier.predict(three[0])
    likeliest = classifier.estimator_.predict_proba(three[0]).argmax(axis=1)
    assert (prediction == clone(classifier.estimator).fit(*three).predict(three[0])).all()
    assert 0.05 < (prediction != classifier.classes_[likeliest]).mean() < 1 / 3
    assert (classifier.classes_[classifier.predict_proba(three[0]).argmax(axis=1)] == prediction).all()
    assert classifier.score(*three) == (prediction == three[1]).mean()


def test_scores_of_pairs_of_three_classes_are_refused(three):
    pairs = SVC(decision_function_shape="ovo")
    with pytest.raises(InvalidInputError, match="must predict the class with the largest score in most rows"):
        CalibratedClassifier(pairs, PlattScaling()).fit(*three)
    with pytest.raises(InvalidInputError, match="decision_function_shape='ovr'"):
        CalibratedClassifier(FrozenEstimator(pairs.fit(*three)), PlattScaling()).fit(*three)
    one_for_each = CalibratedClassifier(SVC(decision_function_shape="ovr"), PlattScaling()).fit(*three)
    assert (one_for_each.predict(three[0]) == SVC().fit(*three).predict(three[0])).all()


@pytest.mark.parametrize("method", CALIBRATORS)
@pytest.mark.usefixtures("quick_training")
def test_every_calibrator_takes_the_one_column_of_two_classes(method, two):
    estimator = LinearSVC().fit(*two)
    classifier = CalibratedClassifier(FrozenEstimator(estimator), CALIBRATORS[method]()).fit(*two)
    scores = estimator.decision_function(two[0])
    expected = classifier.calibrator_.predict_confidence(np.column_stack([0 * scores, scores]))
    assert classifier.predict_confidence(two[0]) == pytest.approx(expected)
    proba = classifier.predict_proba(two[0])
    assert proba.shape == (200, 2)
    assert (classifier.classes_[proba.argmax(axis=1)] == classifier.predict(two[0])).all()


def test_the_logits_are_log_probabilities_where_there_is_no_decision_function(three):
    classifier = CalibratedClassifier(FrozenEstimator(GaussianNB().fit(*three)), Remembering()).fit(*three)
    log_proba = classifier.estimator_.predict_log_proba(three[0])
    assert classifier.calibrator_.logits_ == pytest.approx(np.maximum(log_proba, np.log(1e-12)))
    only_proba = CalibratedClassifier(FrozenEstimator(Recording().fit(*three)), Remembering()).fit(*three)
    assert only_proba.calibrator_.logits_ == pytest.approx(log_softmax(three[0][:, :3], axis=1))


def test_a_few_log_probabilities_in_the_thousands_do_not_rule_the_fit(three):
    classifier = CalibratedClassifier(FrozenEstimator(GaussianNB().fit(*three)), Remembering())
    far = np.concatenate([three[0], np.full((1, 4), 1e3) * [1, -1, 1, -1]])
    assert GaussianNB().fit(*three).predict_log_proba(far).min() < -1000
    logits = classifier.fit(far, np.append(three[1], "ant")).calibrator_.logits_
    assert logits.min() == pytest.approx(np.log(1e-12))


@pytest.mark.parametrize("estimator", [RandomForestClassifier(5, random_state=0), KNeighborsClassifier(3)])
def test_a_probability_of_zero_is_a_small_one(estimator, three):
    classifier = CalibratedClassifier(FrozenEstimator(estimator.fit(*three)), Remembering()).fit(*three)
    proba, logits = estimator.predict_proba(three[0]), classifier.calibrator_.logits_
    assert (proba == 0).any()
    assert np.exp(logits) == pytest.approx(proba, abs=1e-11)


# The rows


def test_the_calibrator_learns_from_rows_that_the_estimator_has_not_seen(three):
    x, y = three
    classifier = CalibratedClassifier(LogisticRegression(), Remembering(), cv=3).fit(x, y)
    folds = list(StratifiedKFold(3).split(x, y))
    for (train, test), logits in zip(folds, np.split(classifier.calibrator_.logits_, 3), strict=True):
        assert logits == pytest.approx(LogisticRegression().fit(x[train], y[train]).decision_function(x[test]))
    held_out = np.concatenate([test for _, test in folds])
    assert (classifier.classes_[classifier.calibrator_.y_] == y[held_out]).all()


def test_rows_that_no_fold_holds_out_are_not_for_the_calibrator(three):
    classifier = CalibratedClassifier(LogisticRegression(), Remembering(), cv=TimeSeriesSplit(5)).fit(*three)
    assert len(classifier.calibrator_.y_) == 250


@pytest.mark.parametrize("how", ["frozen", "prefit"])
def test_a_fitted_estimator_stays_as_it_is(how, three):
    x, y = three
    estimator = LogisticRegression().fit(x[:150], y[:150])
    before = estimator.coef_.copy()
    if how == "frozen":
        classifier = clone(CalibratedClassifier(FrozenEstimator(estimator), Remembering()))
    else:
        classifier = CalibratedClassifier(estimator, Remembering(), cv="prefit")
    classifier.fit(x[150:], y[150:])
    assert (classifier.estimator_.coef_ == before).all()
    assert classifier.calibrator_.logits_ == pytest.approx(estimator.decision_function(x[150:]))


def test_an_estimator_that_should_be_fitted_and_is_not_is_refused(three):
    with pytest.raises(NotFittedError, match="Fit it first"):
        CalibratedClassifier(LogisticRegression(), cv="prefit").fit(*three)


def test_folds_that_are_fitted_at_a_time_give_the_same(three):
    alone = CalibratedClassifier(LogisticRegression()).fit(*three)
    with parallel_config(backend="threading"):
        two_jobs = CalibratedClassifier(LogisticRegression(), n_jobs=2).fit(*three)
    assert (alone.predict_confidence(three[0]) == two_jobs.predict_confidence(three[0])).all()


# Samples of no class


def test_only_the_calibrator_learns_from_samples_of_no_class(with_others):
    x, y = with_others
    classifier = CalibratedClassifier(Recording(), Remembering(), no_class="other").fit(x, y)
    assert len(classifier.estimator_.y_) == 300
    assert "other" not in [*classifier.estimator_.y_, *classifier.classes_, *classifier.predict(x)]
    assert (classifier.calibrator_.y_ == NO_CLASS).sum() == 100
    assert len(classifier.class_calibrator_.y_) == 300


def test_every_fold_scores_its_share_of_them(with_others):
    x, y = with_others
    classifier = CalibratedClassifier(LogisticRegression(), Remembering(), no_class="other", cv=4).fit(x, y)
    assert [(part == NO_CLASS).sum() for part in np.split(classifier.calibrator_.y_, 4)] == [25] * 4


def test_they_lower_the_confidence_and_leave_the_classes_alone(with_others):
    x, y = with_others
    classifier = CalibratedClassifier(LogisticRegression(), no_class="other").fit(x, y)
    confidence, proba = classifier.predict_confidence(x), classifier.predict_proba(x)
    assert confidence.mean() == pytest.approx((classifier.predict(x) == y).mean(), abs=0.03)
    known = y != "other"
    assert proba[known].max(axis=1).mean() == pytest.approx((classifier.predict(x) == y)[known].mean(), abs=0.03)


def test_without_them_there_is_one_calibrator(three):
    classifier = CalibratedClassifier(LogisticRegression(), no_class="other").fit(*three)
    assert classifier.calibrator_ is classifier.class_calibrator_


def test_a_number_can_be_the_label_of_no_class(with_others):
    x, y = with_others
    numbers = np.array([{"ant": 3, "bee": 5, "cow": 7, "other": -1}[name] for name in y])
    by_number = CalibratedClassifier(LogisticRegression(), no_class=-1).fit(x, numbers)
    by_name = CalibratedClassifier(LogisticRegression(), no_class="other").fit(x, y)
    assert list(by_number.classes_) == [3, 5, 7]
    assert (by_number.predict_confidence(x) == by_name.predict_confidence(x)).all()


def test_a_label_that_a_fitted_estimator_does_not_know_is_refused(three, with_others):
    frozen = FrozenEstimator(LogisticRegression().fit(*three))
    with pytest.raises(InvalidInputError, match=r"ant, bee, cow; got other too.*no_class"):
        CalibratedClassifier(frozen).fit(*with_others)
    assert list(CalibratedClassifier(frozen, no_class="other").fit(*with_others).classes_) == ["ant", "bee", "cow"]


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_row_without_a_label_is_one_clear_sentence(missing):
    y = np.array(["ant", "bee", missing, "ant"], dtype=object)
    with pytest.raises(InvalidInputError, match=r"a label in every row; got nothing in row 2 \(1 such rows\)"):
        CalibratedClassifier(LogisticRegression()).fit(np.eye(4), y)


# The distribution


@pytest.mark.parametrize("calibrator", [None, TemperatureScaling(), IsotonicCalibration()])
def test_at_the_prediction_it_is_the_confidence_unless_another_class_would_be_likelier(calibrator, three):
    classifier = CalibratedClassifier(LogisticRegression(), calibrator).fit(*three)
    proba, confidence = classifier.predict_proba(three[0]), classifier.predict_confidence(three[0])
    sure = confidence > 0.5
    assert proba.max(axis=1)[sure] == pytest.approx(confidence[sure])
    assert (proba.max(axis=1) >= confidence - 1e-9).all()
    assert (classifier.classes_[proba.argmax(axis=1)] == classifier.predict(three[0])).all()


def test_it_is_that_of_a_calibrator_which_has_one(three):
    classifier = CalibratedClassifier(LogisticRegression(), TemperatureScaling()).fit(*three)
    logits = classifier.estimator_.decision_function(three[0])
    assert classifier.predict_proba(three[0]) == pytest.approx(classifier.calibrator_.predict_proba(logits))


def test_else_the_rest_is_shared_out_as_the_estimator_has_it(three):
    classifier = CalibratedClassifier(LogisticRegression(), PlattScaling()).fit(*three)
    proba, own = classifier.predict_proba(three[0]), classifier.estimator_.predict_proba(three[0])
    sure = classifier.predict_confidence(three[0]) > 0.6
    others = np.sort(proba[sure])[:, :2], np.sort(own[sure])[:, :2]
    assert others[0][:, 0] / others[0][:, 1] == pytest.approx(others[1][:, 0] / others[1][:, 1])


def test_likelier_classes_share_evenly_with_the_prediction():
    class Doubtful(Uncalibrated):
        def _confidence(self, logits):
            return np.full(len(logits), 0.1)

    x = np.log([[0.5, 0.4, 0.1], [0.9, 0.05, 0.05]])
    estimator = FrozenEstimator(Recording().fit(x, ["ant", "bee"]))
    estimator.classes_ = np.array(["ant", "bee", "cow"])
    estimator.estimator.classes_ = estimator.classes_
    classifier = CalibratedClassifier(estimator, Doubtful()).fit(x, ["ant", "bee"])
    # 0.1 for the ant leaves 0.72 and 0.18: the ant and the bee share 0.82.
    assert classifier.predict_proba(x) == pytest.approx(np.array([[0.41, 0.41, 0.18], [1 / 3, 1 / 3, 1 / 3]]))
    assert list(classifier.predict(x)) == ["ant", "ant"]


# Metadata


def test_weights_go_to_the_estimator_groups_to_the_folds_and_both_to_the_calibrator(three):
    x, y = three
    weights, groups = np.arange(1, 301.0), np.arange(300) % 6
    classifier = CalibratedClassifier(Recording(), Remembering(), cv=GroupKFold(3), no_class="cow")
    classifier.fit(x, y, sample_weight=weights, groups=groups)
    assert (classifier.estimator_.sample_weight_ == weights[y != "cow"]).all()
    first = next(GroupKFold(3).split(x, y, groups))[1]
    assert classifier.calibrator_.logits_[: len(first)] == pytest.approx(log_softmax(x[first, :2], axis=1))
    assert (classifier.calibrator_.sample_weight_[: len(first)] == weights[first]).all()
    assert (classifier.calibrator_.groups_[: len(first)] == groups[first]).all()
    known = first[y[first] != "cow"]
    assert (classifier.class_calibrator_.sample_weight_[: len(known)] == weights[known]).all()


def test_weights_count_rows_in_the_calibrator_of_a_fitted_classifier(three):
    x, y = three
    estimator = LogisticRegression().fit(x, y)
    weights = np.arange(300) % 3
    rows = np.repeat(np.arange(300), weights)
    classifier = CalibratedClassifier(estimator, TemperatureScaling(), cv="prefit")
    weighted = classifier.fit(x, y, sample_weight=weights).predict_confidence(x)
    assert weighted == pytest.approx(classifier.fit(x[rows], y[rows]).predict_confidence(x), abs=1e-6)
    with pytest.raises(InvalidInputError, match="one value for each of the 300 rows"):
        classifier.fit(x, y, sample_weight=weights[1:])


def test_with_routing_their_own_requests_decide(three):
    x, y = three
    weights, groups = np.arange(300.0), np.arange(300) % 6
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = Recording().set_fit_request(sample_weight=True)
        unweighted = Remembering().set_fit_request(sample_weight=False, groups=False)
        classifier = CalibratedClassifier(estimator, unweighted, cv=GroupKFold(3))
        classifier.fit(x, y, sample_weight=weights, groups=groups)
        assert (classifier.estimator_.sample_weight_ == weights).all()
        assert not hasattr(classifier.calibrator_, "sample_weight_")
        default = CalibratedClassifier(Recording().set_fit_request(sample_weight=False), cv=GroupKFold(3))
        plain = default.fit(x, y, groups=groups).predict_confidence(x)
        assert (default.fit(x, y, groups=groups, sample_weight=weights).predict_confidence(x) != plain).any()
        classifier.set_params(estimator=Recording().set_fit_request(sample_weight=False), cv=GroupKFold(3))
        with pytest.raises(TypeError, match="sample_weight"):
            classifier.fit(x, y, sample_weight=weights, groups=groups)
        with pytest.raises(ValueError, match="not explicitly set as requested"):
            classifier.set_params(estimator=Recording()).fit(x, y, sample_weight=weights, groups=groups)


# As one of scikit-learn's


def test_it_is_cloned_pickled_and_shown_with_what_is_in_it(three):
    classifier = CalibratedClassifier(LogisticRegression(C=3), TemperatureScaling())
    assert clone(classifier).get_params()["estimator__C"] == 3
    assert classifier.set_params(calibrator__no_class="uniform").calibrator.no_class == "uniform"
    fitted = classifier.fit(*three)
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.predict_confidence(three[0]) == fitted.predict_confidence(three[0])).all()
    for html in (fitted._repr_html_(), clone(fitted)._repr_html_()):
        assert "LogisticRegression" in html
        assert "TemperatureScaling" in html


def test_the_score_is_the_accuracy_and_samples_of_no_class_are_mistakes(with_others):
    x, y = with_others
    classifier = CalibratedClassifier(LogisticRegression(), no_class="other").fit(x, y)
    assert classifier.score(x, y) == (classifier.predict(x) == y).mean()
    assert classifier.score(x, y) < 0.75


FOLDS_BY_CLASS = [(np.flatnonzero(np.arange(80) % 4 != k), np.flatnonzero(np.arange(80) % 4 == k)) for k in range(4)]


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        ({"estimator": Ridge()}, np.arange(80) % 4, "must be a classifier"),
        ({"calibrator": "temprature"}, np.arange(80) % 4, "did you mean 'temperature'"),
        ({"estimator": SVC(decision_function_shape="ovo")}, np.arange(80) % 4, "decision_function_shape='ovr'"),
        ({"no_class": "other"}, ["ant"] * 80, r"at least 2 classes.*got 1 class beside 'other'"),
        ({"cv": RepeatedStratifiedKFold(n_splits=5, n_repeats=2)}, np.arange(80) % 4, "at most once; got 160 rows for"),
        ({"cv": FOLDS_BY_CLASS}, np.arange(80) % 4, "leaves none of class 0"),
    ],
    ids=["a regressor", "a name that is none", "pairs of classes", "one class", "repeated folds", "folds by class"],
)
def test_what_it_cant_use_is_refused_with_what_to_do(options, y, message):
    x = np.random.default_rng(0).normal(size=(80, 2))
    with pytest.raises(InvalidInputError, match=message):
        CalibratedClassifier(**{"estimator": LogisticRegression()} | options).fit(x, y)


def test_samples_of_no_class_alone_are_refused(three):
    frozen = FrozenEstimator(LogisticRegression().fit(*three))
    with pytest.raises(InvalidInputError, match="got 'other' alone"):
        CalibratedClassifier(frozen, no_class="other").fit(three[0], np.full(300, "other"))


def test_a_no_class_that_y_does_not_have_is_named():
    x = np.random.default_rng(0).normal(size=(150, 2))
    y = np.array(["cat", "dog", "other"] * 50)
    classifier = CalibratedClassifier(LogisticRegression(), TemperatureScaling(), no_class="Other")
    with pytest.warns(InputWarning, match=r"no_class='Other' \(did you mean 'other'\?\)"):
        classifier.fit(x, y)


def test_a_calibrator_may_be_given_by_its_name():
    rows, y = load_iris(return_X_y=True)
    named = CalibratedClassifier(GaussianNB(), calibrator="temperature").fit(rows, y)
    meant = CalibratedClassifier(GaussianNB(), calibrator=TemperatureScaling()).fit(rows, y)
    np.testing.assert_array_equal(named.predict_confidence(rows), meant.predict_confidence(rows))
    assert clone(named).calibrator == "temperature"
    search = GridSearchCV(clone(named), {"calibrator": ["temperature", "ccac-x"]}, cv=3).fit(rows, y)
    assert search.best_estimator_.calibrator in ("temperature", "ccac-x")
    with sklearn.config_context(enable_metadata_routing=True):
        weighed = CalibratedClassifier(GaussianNB().set_fit_request(sample_weight=True), "platt")
        weighed.fit(rows, y, sample_weight=np.ones(len(y)))
