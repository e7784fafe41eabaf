"""The logits, classes and metadata of scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn import get_config
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params, _num_samples

from auxcal._core.arrays import NO_CLASS, Bools, Floats, Ints, is_missing
from auxcal._core.errors import InvalidInputError
from auxcal._core.float_errors import ignore_float_errors
from auxcal.calibrators import Calibrator, ProbaCalibrator

Labels: TypeAlias = NDArray[Any]

_LEAST = np.log(1e-12)
"""Floor of log-probabilities, a judgement: a forest's may be -inf, and naive Bayes' in the thousands dominate a fit."""


_ABOVE = 1e-6
"""How far a prediction is raised above the largest score, relative to it: what float32 still distinguishes."""

_LOOKED_AT = 10_000
"""The rows that show the threshold of an estimator: with so many, few new ones lie between it and the estimate."""

_MOST_RAISED = 1 / 3
"""The share of rows in which another class may have the largest score, a judgement.

Votes that are tied differ in a few; the scores of pairs of three classes differ in two thirds."""


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


def predicted(estimator: Any, X: Any) -> Labels:
    """Return the classes that a fitted classifier predicts."""
    with np.errstate(divide="ignore"):  # naive Bayes takes the logarithm of a class that has no weight
        return np.asarray(estimator.predict(X))


def scored(estimator: Any, X: Any, offset: float | None = None) -> tuple[Floats, float]:
    """Return logits in which the class that the estimator predicts is the largest, and the offset.

    The offset is taken off the score of the second of two classes. By default it is found in these rows, which then
    have to show that the scores are those of the classes.
    """
    logits = np.array(logits_of(estimator, X))
    prediction = indices_of(predicted(estimator, X), estimator.classes_, np.ones(len(logits), bool))
    is_given = offset is not None
    offset = _offset(logits, prediction) if offset is None else offset
    if offset:
        logits[:, 1] -= offset
    raised = logits.argmax(axis=1) != prediction
    if not is_given and raised.mean() > _MOST_RAISED:
        raise InvalidInputError(
            f"estimator must predict the class with the largest score in most rows; in {int(raised.sum()):,} of "
            f"{len(raised):,} rows it does not, so its scores belong to something else than its classes: {estimator!r}."
            f" A support vector machine has one for each class with decision_function_shape='ovr'."
        )
    largest = logits[raised].max(axis=1)
    logits[raised, prediction[raised]] = largest + _ABOVE * np.maximum(1, np.abs(largest))
    return logits, offset


def _offset(logits: Floats, prediction: Ints) -> float:
    """Return the number that parts the scores of two classes as the predictions are; 0 if the sign does so."""
    if logits.shape[1] != 2 or (logits.argmax(axis=1) == prediction).all():
        return 0.0
    score = logits[:, 1] - logits[:, 0]
    order = np.argsort(score)
    score, second = score[order], prediction[order] == 1
    below = np.concatenate([[0], np.cumsum(second)])  # predictions of the second class with a lower score
    above = np.concatenate([[0], np.cumsum(~second)])
    cut = int(np.argmin(below + (above[-1] - above)))
    edges = np.concatenate([score[:1] - 1, score, score[-1:] + 1])
    return float((edges[cut] + edges[cut + 1]) / 2)


def threshold_of(estimator: Any, X: Any) -> float:
    """Return the offset of a fitted estimator, by some of the rows."""
    rows = np.unique(np.linspace(0, _num_samples(X) - 1, _LOOKED_AT).astype(np.intp))
    return scored(estimator, _safe_indexing(X, rows))[1]


def held_out_logits(
    estimator: Any, X: Any, y: Labels, train: Ints, test: Ints, params: Mapping[str, Any], offset: float
) -> Floats:
    """Return the logits of the test rows by the estimator fitted on the train rows.

    Of two classes, the offset of the one estimator that is used in the end decides what is predicted: copies that are
    fitted on fewer rows may have found another threshold.
    """
    copy, part = fitted(estimator, X, y, train, params), _safe_indexing(X, test)
    if len(copy.classes_) > 2:
        return scored(copy, part, 0.0)[0]
    return logits_of(copy, part) - np.array([0, offset])


def fitted(estimator: Any, X: Any, y: Labels, rows: Ints, params: Mapping[str, Any]) -> Any:
    """Return the estimator fitted on some rows; metadata with a value for each row are subset too."""
    if len(rows) == len(y):
        return estimator.fit(X, y, **params)
    return estimator.fit(_safe_indexing(X, rows), y[rows], **_check_method_params(X, params, rows))


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


def check_labelled(y: Labels) -> None:
    """Reject rows without a label."""
    missing = [row for row, label in enumerate(y.tolist()) if is_missing(label)] if y.dtype.kind == "O" else []
    if missing:
        raise InvalidInputError(
            f"y must have a label in every row; got nothing in row {missing[0]} ({len(missing)} such rows). Leave "
            f"those rows out."
        )


def indices_of(y: Labels, classes: Labels, has_class: Bools) -> Ints:
    """Return the index of each row's class, or `NO_CLASS`."""
    index = {label: i for i, label in enumerate(classes.tolist())}
    unknown = sorted({str(label) for label in y[has_class].tolist() if label not in index})
    if unknown:
        raise InvalidInputError(
            f"y must hold the estimator's classes, {', '.join(map(str, index))}; got {', '.join(unknown[:5])} too. If "
            f"these samples have none of the classes, give all of them one label, and that label as no_class."
        )
    return np.array([index[label] if has else NO_CLASS for label, has in zip(y.tolist(), has_class, strict=True)])


def routes() -> bool:
    """Whether scikit-learn's metadata routing is on."""
    return bool(get_config()["enable_metadata_routing"])


def of_rows(params: Mapping[str, Any], rows: Ints | Bools, n: int) -> dict[str, Any]:
    """Return the metadata of some of n rows."""
    arrays = {name: np.asarray(value) for name, value in params.items() if value is not None}
    for name, array in arrays.items():
        if array.shape != (n,):
            raise InvalidInputError(f"{name} must have one value for each of the {n} rows; got shape {array.shape}.")
    return {name: array[rows] for name, array in arrays.items()}


@ignore_float_errors
def class_proba(calibrator: Calibrator, logits: Floats) -> Floats:
    """Put the confidence at the prediction, and divide the rest among the other classes."""
    top = logits.argmax(axis=1)[:, None]
    confidence = calibrator.predict_confidence(logits)[:, None]
    has_proba = isinstance(calibrator, ProbaCalibrator)
    shares = calibrator.predict_proba(logits)[:, : logits.shape[1]] if has_proba else softmax(logits, axis=1)
    shares = shares + np.finfo(shares.dtype).tiny  # evenly, where the others have no shares
    np.put_along_axis(shares, top, 0, axis=1)
    others = shares / shares.sum(axis=1, keepdims=True) * (1 - confidence)
    return _with_top(others, confidence, top)


def _with_top(others: Floats, confidence: Floats, top: Ints) -> Floats:
    """Put the confidence at the prediction; project onto the nearest distribution in which no class exceeds it."""
    largest_first = -np.sort(-np.concatenate([others, np.ones_like(confidence)], axis=1), axis=1)
    largest_first[:, :1] = confidence
    running_means = largest_first.cumsum(axis=1) / np.arange(1, largest_first.shape[1] + 1)
    level = running_means.max(axis=1, keepdims=True)
    proba = np.minimum(others, level * (1 - 1e-12))  # a hair less, for argmax
    np.put_along_axis(proba, top, level, axis=1)
    return proba
