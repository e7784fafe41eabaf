"""A scikit-learn classifier and its calibrator as one estimator, and a scorer of its confidence."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch, column_or_1d, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from auxcal._core.arrays import NO_CLASS, Bools, Floats, Ints
from auxcal._core.errors import InputWarning, InvalidInputError, NotFittedError
from auxcal._core.text import did_you_mean
from auxcal.calibrators import CALIBRATORS, Calibrator, method_named, seeded
from auxcal.metrics import METRICS
from auxcal.sklearn._estimators import (
    Labels,
    check_folds,
    check_labelled,
    class_proba,
    fitted,
    held_out_logits,
    indices_of,
    of_rows,
    predicted,
    routes,
    scored,
    threshold_of,
)


class CalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A scikit-learn classifier that gives how likely each of its predictions is right.

    The calibrator learns from rows that the estimator has not seen. By default these are the rows of `fit` themselves:
    each fold is scored by a copy of the estimator that was fitted on the other folds, then the estimator is fitted on
    all rows. In the end there is one estimator, and its predictions are the same as without a calibrator.

    An estimator that is already fitted is not changed, and all rows of `fit` are used for the calibrator. Wrap it in
    `sklearn.frozen.FrozenEstimator`, which `clone`, `cross_val_score` and `GridSearchCV` leave alone too, or pass
    ``cv="prefit"``. This is better if you have labelled rows of the data from production: a calibrator
    is reliable only on data like those it was fitted on.

    Parameters
    ----------
    estimator : classifier
        One with `decision_function`, `predict_log_proba` or `predict_proba`; the first that it has gives the logits. It
        may be a `Pipeline`.
    calibrator : Calibrator or str, optional
        The method, or its name in `CALIBRATORS`, such as "temperature", then with ``random_state=0``. By default
        CCAC-X, "ccac-x".
    cv : int, splitter, iterable or "prefit"
        The folds, as everywhere in scikit-learn: a number of stratified folds, or a splitter. Rows that no fold holds
        out are not used for the calibrator.
    no_class : label, optional
        The label in `y` of samples that belong to none of the classes. Only the calibrator is fitted on them. It is not
        a class of this classifier: `predict` never returns it.
    n_jobs : int, optional
        How many folds are fitted at a time.

    Attributes
    ----------
    classes_ : array of shape (K,)
        The classes, without `no_class`.
    estimator_ : classifier
        The fitted estimator.
    calibrator_ : Calibrator
        The calibrator of `predict_confidence`, fitted on all rows.
    offset_ : float
        What is taken off the score of the second of two classes, so that the estimator's prediction has the larger one:
        0 but for an estimator with a threshold of its own, such as scikit-learn's `TunedThresholdClassifierCV`.
    class_calibrator_ : Calibrator
        The calibrator of `predict_proba`, fitted on the rows that have a class; if all have one, the same object.
    n_features_in_ : int
        The columns of X, if the estimator knows.
    feature_names_in_ : array of str
        Their names, if the estimator knows.

    Notes
    -----
    The confidence is for the class that the estimator predicts, whatever its scores are. With a threshold of its own,
    the scores of two classes are shifted by it; where another class has the largest score all the same, as after a tie
    of votes, that of the prediction is put just above it. If that is so in more than a third of the rows, the scores
    are refused: those of pairs of classes, for instance, are none of classes.

    ``fit(X, y, sample_weight=…, groups=…)`` gives the weights to the estimator and the calibrator, the groups to the
    splitter and the calibrator, and other metadata to the estimator. With ``enable_metadata_routing`` their own
    requests decide; the default calibrator requests both.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from auxcal import CalibratedClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = CalibratedClassifier(LogisticRegression(max_iter=500)).fit(X, y)
    >>> classifier.predict(X[[0, 77]])
    array([0, 2])
    >>> classifier.predict_confidence(X[[0, 77]]).round(1)
    array([1. , 0.6])

    A classifier of two kinds meets a third:

    >>> import numpy as np
    >>> names = np.array(["other", "versicolor", "virginica"])[y]
    >>> classifier = CalibratedClassifier(LogisticRegression(), no_class="other").fit(X, names)
    >>> classifier.classes_
    array(['versicolor', 'virginica'], dtype='<U10')
    >>> classifier.predict_confidence(X[[0, 60]]).round(1)
    array([0. , 0.9])
    """

    def __init__(
        self,
        estimator: Any,
        calibrator: Calibrator | str | None = None,
        *,
        cv: Any = 5,
        no_class: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.calibrator = calibrator
        self.cv = cv
        self.no_class = no_class
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Fit the estimator, unless it is already fitted, and its calibrator.

        Parameters
        ----------
        X : array of shape (n, d)
            Whatever the estimator takes.
        y : array of shape (n,)
            The true class of each row, or the label that `no_class` names.
        **params
            Metadata, such as `sample_weight` and `groups`.

        Returns
        -------
        self
        """
        X, y = indexable(X, y)
        y = column_or_1d(y, warn=True)
        check_labelled(y)
        check_classification_targets(y)
        if self.no_class is not None and self._has_class(y).all():
            meant = did_you_mean(str(self.no_class), [str(label) for label in np.unique(y)])
            if meant:
                warnings.warn(
                    f"no row of y has the label no_class={self.no_class!r}{meant}: every label is a class. Write it as "
                    f"y does, or leave no_class out.",
                    InputWarning,
                    stacklevel=2,
                )
        routed = self._routed(params)
        estimator, logits, rows, offset = self._scored(X, y, routed)
        indices = indices_of(y[rows], estimator.classes_, self._has_class(y[rows]))
        calibrators = self._calibrators(logits, indices, of_rows(routed.calibrator.fit, rows, len(y)))
        fresh = copy.copy(self)
        fresh.estimator_, fresh.classes_ = estimator, estimator.classes_
        fresh.calibrator_, fresh.class_calibrator_ = calibrators
        fresh.offset_ = offset
        for name in ("n_features_in_", "feature_names_in_"):
            fresh.__dict__.pop(name, None)
            if hasattr(estimator, name):
                setattr(fresh, name, getattr(estimator, name))
        self.__dict__ = fresh.__dict__  # at once: other threads may be predicting with the fit before
        return self

    def predict(self, X: Any) -> Labels:
        """Return the estimator's prediction for each row.

        Parameters
        ----------
        X : array of shape (n, d)
            Whatever the estimator takes.

        Returns
        -------
        array of shape (n,)
        """
        now = copy.copy(self)
        check_is_fitted(now)
        return predicted(now.estimator_, X)

    def predict_confidence(self, X: Any) -> Floats:
        """Return the probability that `predict` is right, for each row.

        Parameters
        ----------
        X : array of shape (n, d)
            Whatever the estimator takes.

        Returns
        -------
        array of shape (n,)
        """
        now = copy.copy(self)
        return now.calibrator_.predict_confidence(now._logits(X))

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, given that the row has one of them.

        At the prediction it is the confidence. The rest is divided in proportion to the calibrator's distribution or,
        if it has none, the estimator's. scikit-learn requires that no class be more likely than the prediction: if the
        confidence is too low for that, the prediction and the more likely classes get the same probability.

        If the fit had samples of no class, a calibrator that was fitted without them is used here. So
        `predict_confidence` is lower than this at the prediction if the row looks like one of no class.

        Parameters
        ----------
        X : array of shape (n, d)
            Whatever the estimator takes.

        Returns
        -------
        array of shape (n, K)
            The columns are those of `classes_`, and rows sum to 1.
        """
        now = copy.copy(self)
        return class_proba(now.class_calibrator_, now._logits(X))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how metadata are routed: to `fit` of the estimator and the calibrator, and `split` of the splitter."""
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
            .add(calibrator=self._method(), method_mapping=MethodMapping().add(caller="fit", callee="fit"))
            .add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_estimator = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = of_estimator.sparse, of_estimator.allow_nan
        return tags

    def _routed(self, params: Mapping[str, Any]) -> Any:
        if routes():
            return process_routing(self, "fit", **params)
        of_calibrator = {name: params[name] for name in ("sample_weight", "groups") if name in params}
        return Bunch(
            estimator=Bunch(fit={name: value for name, value in params.items() if name != "groups"}),
            splitter=Bunch(split={"groups": params.get("groups")}),
            calibrator=Bunch(fit=of_calibrator),
        )

    def _has_class(self, y: Labels) -> Bools:
        return np.ones(len(y), dtype=bool) if self.no_class is None else np.asarray(y != self.no_class)

    def _method(self) -> Calibrator:
        if self.calibrator is None or isinstance(self.calibrator, str):
            method = seeded(CALIBRATORS[method_named(self.calibrator or "ccac-x")], 0)
            return method.set_fit_request(sample_weight=True, groups=True) if routes() else method
        if not isinstance(self.calibrator, Calibrator):
            raise InvalidInputError(
                f"calibrator must be one of auxcal's, such as auxcal.TemperatureScaling() or 'temperature'; got "
                f"{self.calibrator!r}."
            )
        return self.calibrator

    def _scored(self, X: Any, y: Labels, routed: Any) -> tuple[Any, Floats, Ints, float]:
        """Return the fitted estimator, out-of-fold logits, their row numbers, and the estimator's own threshold."""
        if isinstance(self.estimator, FrozenEstimator) or (isinstance(self.cv, str) and self.cv == "prefit"):
            logits, offset = scored(_already_fitted(self.estimator), X)
            return self.estimator, logits, np.arange(len(y)), offset
        return self._cross_fitted(X, y, routed)

    def _cross_fitted(self, X: Any, y: Labels, routed: Any) -> tuple[Any, Floats, Ints, float]:
        has_class, of_fit = self._has_class(y), routed.estimator.fit
        classes = np.unique(y[has_class])
        if len(classes) < 2:
            raise InvalidInputError(
                f"y must have at least 2 classes for the estimator; got {len(classes)} class"
                f"{'' if self.no_class is None else f' beside {self.no_class!r}'}. Give rows of the other classes."
            )
        # Samples of no class are a stratum of their own, so that the copy of each fold scores its share of them.
        folds = list(check_cv(self.cv, y, classifier=True).split(X, y, **routed.splitter.split))
        check_folds(folds, y, classes)
        estimator = fitted(clone(self.estimator), X, y, np.flatnonzero(has_class), of_fit)
        offset = threshold_of(estimator, X)
        logits = Parallel(n_jobs=self.n_jobs)(
            delayed(held_out_logits)(clone(self.estimator), X, y, train[has_class[train]], test, of_fit, offset)
            for train, test in folds
        )
        return estimator, np.concatenate(logits), np.concatenate([test for _, test in folds]), offset

    def _calibrators(self, logits: Floats, indices: Ints, params: Mapping[str, Any]) -> tuple[Calibrator, Calibrator]:
        """Return the calibrators of `predict_confidence` and of `predict_proba`."""
        method = self._method()
        has_class = indices != NO_CLASS
        if not has_class.any():
            raise InvalidInputError(
                f"y must have rows of the estimator's classes; got {self.no_class!r} alone. Give rows with a class too."
            )
        calibrator = clone(method).fit(logits, indices, **params)
        if has_class.all():
            return calibrator, calibrator
        return calibrator, clone(method).fit(
            logits[has_class], indices[has_class], **of_rows(params, has_class, len(has_class))
        )

    def _logits(self, X: Any) -> Floats:
        check_is_fitted(self)
        return scored(self.estimator_, X, self.offset_)[0]


def _already_fitted(estimator: Any) -> Any:
    if not hasattr(estimator, "classes_"):
        raise NotFittedError(
            f"a frozen estimator, or one with cv='prefit', must be a fitted classifier; {estimator!r} has no classes_. "
            f"Fit it first, or let CalibratedClassifier fit it with cv=5."
        )
    return estimator


def confidence_scorer(metric: str = "brier") -> Callable[..., float]:
    """Return a scorer of `predict_confidence` for `cross_val_score`, `GridSearchCV` and the like.

    Calibrators don't change predictions, so accuracy can't choose between them. The Brier score can.

    Parameters
    ----------
    metric : str
        A name in `auxcal.METRICS`. One where lower is better, such as "brier" or "ece", is negated, as in scikit-learn.

    Returns
    -------
    callable
        A function of a `CalibratedClassifier`, or of a `Pipeline` that ends in one, X and y.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from auxcal import CalibratedClassifier
    >>> from auxcal.sklearn import confidence_scorer
    >>> classifier = CalibratedClassifier(LogisticRegression(max_iter=500))
    >>> X, y = load_iris(return_X_y=True)
    >>> cross_val_score(classifier, X, y, scoring=confidence_scorer("brier")).round(2).max() <= 0
    np.True_
    """
    if metric not in METRICS:
        raise InvalidInputError(f"metric must be one of {', '.join(METRICS)}; got {metric!r}.")
    return partial(_confidence_score, metric)


def _confidence_score(metric: str, classifier: Any, X: Any, y: Any) -> float:
    if isinstance(classifier, Pipeline):
        return _confidence_score(metric, classifier[-1], classifier[:-1].transform(X), y)
    score = METRICS[metric].function(classifier.predict_confidence(X), classifier.predict(X) == np.asarray(y))
    return score if METRICS[metric].higher_is_better else -score
