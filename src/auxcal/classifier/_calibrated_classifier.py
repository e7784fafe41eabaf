"""A scikit-learn classifier that says how likely each of its predictions is right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch, column_or_1d, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from auxcal._arrays import NO_CLASS, Bools, Floats, Ints
from auxcal._errors import InvalidInputError, NotFittedError
from auxcal.calibrators import Calibrator, CrossFittedCCAC
from auxcal.classifier._logits import Labels, check_folds, fitted, held_out_logits, logits_of
from auxcal.classifier._proba import class_proba


class CalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A scikit-learn classifier that says how likely each of its predictions is right.

    The calibrator learns from rows that the estimator has not seen. By default these are the rows of `fit` themselves:
    each fold is scored by a copy of the estimator that was fitted on the other folds, then the estimator is fitted on
    all rows. There is one estimator in the end, so that its predictions are those that it makes without a calibrator.

    An estimator that is fitted already stays as it is, and all rows of `fit` are for the calibrator. Wrap it in
    `sklearn.frozen.FrozenEstimator`, which `clone`, `cross_val_score` and `GridSearchCV` leave as it is too, or say
    ``cv="prefit"``. This is the better way if you have labelled rows of the data that the classifier really meets: a
    calibrator is only as honest as its rows are like those to come.

    Parameters
    ----------
    estimator : classifier
        One with `decision_function`, `predict_log_proba` or `predict_proba`, of which the first that it has gives the
        logits. It may be a `Pipeline`.
    calibrator : Calibrator, optional
        The method. By default CCAC-X, ``CrossFittedCCAC(random_state=0)``.
    cv : int, splitter, iterable or "prefit"
        The folds, as everywhere in scikit-learn: a number of stratified ones, or what splits the rows. Rows that no
        fold holds out are not for the calibrator.
    no_class : label, optional
        The label in `y` of samples that have none of the classes. The estimator is not fitted on them, but the
        calibrator is. It is no class of this classifier: `predict` never returns it.
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
    class_calibrator_ : Calibrator
        The calibrator of `predict_proba`, fitted on the rows that have a class; where all have one, the same object.
    n_features_in_ : int
        The columns of X, if the estimator knows.
    feature_names_in_ : array of str
        Their names, if the estimator knows.

    Notes
    -----
    Metadata go to the estimator and to the splitter: ``fit(X, y, sample_weight=…, groups=…)`` gives the groups to the
    splitter and the rest to the estimator, and with ``enable_metadata_routing`` their own requests decide. A calibrator
    counts every row once.

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
        calibrator: Calibrator | None = None,
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
        """Fit the estimator, unless it is fitted already, and its calibrator.

        Parameters
        ----------
        X : array of shape (n, d)
            Whatever the estimator takes.
        y : array of shape (n,)
            The true class of each row, or the label that `no_class` names.
        **params
            Metadata such as `sample_weight` for the estimator, and `groups` for the splitter.

        Returns
        -------
        self
        """
        X, y = indexable(X, y)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        estimator, logits, rows = self._scored(X, y, params)
        indices = _indices(y[rows], estimator.classes_, self._has_class(y[rows]))
        calibrators = self._calibrators(logits, indices)
        self.estimator_, self.classes_ = estimator, estimator.classes_
        self.calibrator_, self.class_calibrator_ = calibrators
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(estimator, name):
                setattr(self, name, getattr(estimator, name))
        return self

    def predict(self, X: Any) -> Labels:
        """Return the estimator's prediction for each row, the class with the largest logit.

        Parameters
        ----------
        X : array of shape (n, d)
            Whatever the estimator takes.

        Returns
        -------
        array of shape (n,)
        """
        top = self._logits(X).argmax(axis=1)
        return self.classes_[top]

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
        logits = self._logits(X)
        return self.calibrator_.predict_confidence(logits)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, given that the row has one of them.

        At the prediction it is the confidence, and what is left is shared out as the calibrator says, or if it says
        nothing of the other classes, as the estimator does. scikit-learn asks that no class be likelier than the
        prediction: where the confidence is too low for that, the prediction and the likelier classes get the same.

        Where the fit had samples of no class, this is the answer of a calibrator that was fitted without them. So
        `predict_confidence` is lower than this at the prediction, as far as the row looks like one of no class.

        Parameters
        ----------
        X : array of shape (n, d)
            Whatever the estimator takes.

        Returns
        -------
        array of shape (n, K)
            The columns are those of `classes_`, and rows sum to 1.
        """
        logits = self._logits(X)
        return class_proba(self.class_calibrator_, logits)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return where metadata go: to `fit` of the estimator and `split` of the splitter."""
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
            .add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_estimator = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = of_estimator.sparse, of_estimator.allow_nan
        return tags

    def _routed(self, params: Mapping[str, Any]) -> Any:
        if get_config()["enable_metadata_routing"]:
            return process_routing(self, "fit", **params)
        of_estimator = {name: value for name, value in params.items() if name != "groups"}
        return Bunch(estimator=Bunch(fit=of_estimator), splitter=Bunch(split={"groups": params.get("groups")}))

    def _has_class(self, y: Labels) -> Bools:
        return np.ones(len(y), dtype=bool) if self.no_class is None else np.asarray(y != self.no_class)

    def _scored(self, X: Any, y: Labels, params: Mapping[str, Any]) -> tuple[Any, Floats, Ints]:
        """Return the fitted estimator, the logits of rows that it has not seen, and which they are."""
        if isinstance(self.estimator, FrozenEstimator) or (isinstance(self.cv, str) and self.cv == "prefit"):
            return _already_fitted(self.estimator), logits_of(self.estimator, X), np.arange(len(y))
        return self._cross_fitted(X, y, self._routed(params))

    def _cross_fitted(self, X: Any, y: Labels, routed: Any) -> tuple[Any, Floats, Ints]:
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
        logits = Parallel(n_jobs=self.n_jobs)(
            delayed(held_out_logits)(clone(self.estimator), X, y, train[has_class[train]], test, of_fit)
            for train, test in folds
        )
        estimator = fitted(clone(self.estimator), X, y, np.flatnonzero(has_class), of_fit)
        return estimator, np.concatenate(logits), np.concatenate([test for _, test in folds])

    def _calibrators(self, logits: Floats, indices: Ints) -> tuple[Calibrator, Calibrator]:
        """Return the calibrators of `predict_confidence` and of `predict_proba`."""
        method = CrossFittedCCAC(random_state=0) if self.calibrator is None else self.calibrator
        if not isinstance(method, Calibrator):
            raise InvalidInputError(
                f"calibrator must be one of auxcal's, such as auxcal.TemperatureScaling(); got {method!r}."
            )
        known = indices != NO_CLASS
        if not known.any():
            raise InvalidInputError(
                f"y must have rows of the estimator's classes; got {self.no_class!r} alone. Give rows with a class too."
            )
        calibrator = clone(method).fit(logits, indices)
        return calibrator, calibrator if known.all() else clone(method).fit(logits[known], indices[known])

    def _logits(self, X: Any) -> Floats:
        check_is_fitted(self)
        return logits_of(self.estimator_, X)


def _already_fitted(estimator: Any) -> Any:
    if not hasattr(estimator, "classes_"):
        raise NotFittedError(
            f"a frozen estimator, or one with cv='prefit', must be a fitted classifier; {estimator!r} has no classes_. "
            f"Fit it first, or let CalibratedClassifier fit it with cv=5."
        )
    return estimator


def _indices(y: Labels, classes: Labels, has_class: Bools) -> Ints:
    """Return the index of each row's class, or `NO_CLASS`."""
    index = {label: i for i, label in enumerate(classes.tolist())}
    unknown = sorted({str(label) for label in y[has_class].tolist() if label not in index})
    if unknown:
        raise InvalidInputError(
            f"y must hold the estimator's classes, {', '.join(map(str, index))}; got {', '.join(unknown[:5])} too. If "
            f"these samples have none of the classes, give all of them one label, and that label as no_class."
        )
    return np.array([index[label] if known else NO_CLASS for label, known in zip(y.tolist(), has_class, strict=True)])
