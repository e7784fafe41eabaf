"""Metrics of the confidence as scikit-learn's scorers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from auxcal._core.errors import InvalidInputError
from auxcal.metrics import METRICS


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
    >>> from auxcal.classifier import confidence_scorer
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
