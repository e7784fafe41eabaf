"""From a scikit-learn classifier to logits: of any rows, and of rows that it was not fitted on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from auxcal._core.arrays import Floats, Ints
from auxcal._core.errors import InvalidInputError

Labels: TypeAlias = NDArray[Any]

_LEAST = np.log(1e-12)
"""Of log-probabilities: a forest's may be -inf, and a few of naive Bayes' in the thousands would rule a fit."""


def logits_of(estimator: Any, X: Any) -> Floats:
    """Return the scores of a fitted classifier as logits of shape (n, K), in the order of its `classes_`."""
    if hasattr(estimator, "decision_function"):
        scores = np.asarray(estimator.decision_function(X), dtype=np.float64)
        logits: Floats = np.column_stack([np.zeros_like(scores), scores]) if scores.ndim == 1 else scores
    elif hasattr(estimator, "predict_log_proba"):
        with np.errstate(divide="ignore"):
            logits = np.maximum(np.asarray(estimator.predict_log_proba(X), dtype=np.float64), _LEAST)
    elif hasattr(estimator, "predict_proba"):
        logits = np.log(np.maximum(np.asarray(estimator.predict_proba(X), dtype=np.float64), np.exp(_LEAST)))
    else:
        raise InvalidInputError(
            f"estimator must be a classifier with decision_function, predict_log_proba or predict_proba; got "
            f"{estimator!r}. Choose one that gives a score for each class."
        )
    if logits.shape[1] != len(estimator.classes_):
        raise InvalidInputError(
            f"estimator must give a score for each of its {len(estimator.classes_)} classes; got {logits.shape[1]} "
            f"columns from {estimator!r}. A support vector machine does with decision_function_shape='ovr'."
        )
    return logits


def held_out_logits(estimator: Any, X: Any, y: Labels, train: Ints, test: Ints, params: Mapping[str, Any]) -> Floats:
    """Return the logits of the test rows by the estimator fitted on the train rows."""
    return logits_of(fitted(estimator, X, y, train, params), _safe_indexing(X, test))


def fitted(estimator: Any, X: Any, y: Labels, rows: Ints, params: Mapping[str, Any]) -> Any:
    """Return the estimator fitted on some rows; metadata with a value for each row are subset too."""
    whole = len(rows) == len(y)

    def part(value: Any) -> Any:
        per_row = not isinstance(value, str) and hasattr(value, "__len__") and len(value) == len(y)
        return _safe_indexing(value, rows) if per_row else value

    of_fit = {name: value if whole else part(value) for name, value in params.items()}
    return estimator.fit(X if whole else _safe_indexing(X, rows), y[rows], **of_fit)


def check_folds(folds: list[tuple[Ints, Ints]], y: Labels, classes: Labels) -> None:
    """Check that no row is held out twice, and that every class remains wherever a fold is held out."""
    held_out = np.concatenate([test for _, test in folds])
    if len(np.unique(held_out)) < len(held_out):
        raise InvalidInputError(
            f"cv must hold each row out at most once; got {len(held_out)} rows for {len(y)}. Use folds without "
            f"repetition, such as cv=5."
        )
    for train, _ in folds:
        lacking = np.setdiff1d(classes, y[train])
        if len(lacking):
            raise InvalidInputError(
                f"every class must be among the rows that remain when a fold is held out; got a fold that leaves none "
                f"of class {lacking[0]}. Give more rows of this class, or other folds."
            )
