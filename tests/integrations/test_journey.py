"""The journey of a user of scikit-learn: a pipeline, its confidence, cross-validation, a search, and metrics."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import auxcal
from auxcal import CALIBRATORS, CCACX, CalibratedClassifier, InvalidInputError, TemperatureScaling
from auxcal.sklearn import confidence_scorer


@pytest.fixture(scope="module")
def digits():
    """Give the digits 0 to 7 by name, and 8 and 9 as samples of no class, in two halves."""
    x, y = load_digits(return_X_y=True)
    names = np.array("zero one two three four five six seven other other".split())[y]  # noqa: SIM905
    return train_test_split(x, names, test_size=0.5, stratify=names, random_state=0)


def test_from_a_pipeline_to_an_honest_confidence(digits):
    x, x_new, y, y_new = digits
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    classifier = CalibratedClassifier(pipeline, CCACX(random_state=0), no_class="other", cv=3)

    accuracy = cross_val_score(classifier, x, y, cv=2)
    assert accuracy.mean() == pytest.approx(0.77, abs=0.03)

    grid = [{"estimator__logisticregression__C": [0.001, 1]}, {"calibrator__n_folds": [3]}]
    search = GridSearchCV(classifier, grid, scoring=confidence_scorer("brier"), cv=2).fit(x, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.get_params()["estimator__logisticregression__C"] == 1

    best = search.best_estimator_
    confidence, correct = best.predict_confidence(x_new), best.predict(x_new) == y_new
    before = pipeline.fit(x[y != "other"], y[y != "other"]).predict_proba(x_new).max(axis=1)
    after = auxcal.metrics.evaluate(confidence, correct)
    assert after["ece"] < 0.05 < auxcal.metrics.evaluate(before, correct)["ece"]
    assert after["brier"] == pytest.approx(-confidence_scorer()(best, x_new, y_new))


def test_as_the_last_step_of_a_pipeline(digits):
    x, _, y, _ = digits
    last = CalibratedClassifier(GaussianNB(), TemperatureScaling())
    pipeline = make_pipeline(StandardScaler(), last).fit(x, y)
    assert pipeline.predict_proba(x).sum(axis=1) == pytest.approx(1)
    inside = last.predict_confidence(pipeline[:-1].transform(x))
    expected = auxcal.metrics.brier(inside, pipeline.predict(x) == y)
    assert confidence_scorer("brier")(pipeline, x, y) == pytest.approx(-expected)
    search = GridSearchCV(pipeline, {"calibratedclassifier__cv": [3, 4]}, scoring=confidence_scorer("auroc"), cv=3)
    assert search.fit(x, y).best_score_ > 0.5


def test_an_unknown_metric_is_refused():
    with pytest.raises(InvalidInputError, match="one of auroc, "):
        confidence_scorer("accuracy")


@pytest.mark.parametrize("name", CALIBRATORS)
def test_a_calibrator_alone_is_cross_validated_by_its_brier_score(name, quick_training):
    rng = np.random.default_rng(0)
    y = rng.integers(-1, 3, size=300)
    logits = 2 * np.eye(4)[y][:, :3] + rng.normal(size=(300, 3))
    scores = cross_val_score(CALIBRATORS[name](), logits, y, cv=3)
    assert ((scores > -0.3) & (scores < 0)).all()
    fitted = CALIBRATORS[name]().fit(logits, y)
    brier = auxcal.metrics.brier(fitted.predict_confidence(logits), logits.argmax(axis=1) == y)
    assert fitted.score(logits, y) == pytest.approx(-brier)


def test_a_search_over_a_calibrator_alone():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=300)
    logits = 2 * np.eye(3)[y] + rng.normal(size=(300, 3))
    y[200:] = auxcal.NO_CLASS
    search = GridSearchCV(TemperatureScaling(), {"no_class": ["leave-out", "uniform"]}, cv=3).fit(logits[::-1], y[::-1])
    assert search.best_estimator_.predict_confidence(logits).shape == (300,)
