"""How well confidence ranks the wrong predictions below the right ones.

Misclassified is the positive class and its score is low confidence, as in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Bools, Floats, Weight
from auxcal._core.deferred_warnings import warn
from auxcal._core.errors import InvalidInputError
from auxcal.metrics._checked import checked
from auxcal.metrics._ties import Ties, ranked


@dataclass(frozen=True)
class Thresholds:
    """The predictions that are rejected at or below each distinct confidence, in ascending order.

    Parameters
    ----------
    wrong, right : arrays of shape (m,), or (draws, m) for many draws of the same rows
        The misclassified and the correct predictions that each of the m thresholds rejects.
    """

    wrong: NDArray[Any]
    right: NDArray[Any]

    @property
    def precision(self) -> Floats:
        """The share of the rejected predictions that are wrong."""
        return self.wrong / (self.wrong + self.right)

    @property
    def recall(self) -> Floats:
        """The share of the wrong predictions that are rejected."""
        return self.wrong / self.wrong[..., -1:]

    @property
    def false_alarms(self) -> Floats:
        """The share of the correct predictions that are rejected."""
        return self.right / self.right[..., -1:]

    @classmethod
    def of(cls, drawn: Ties) -> Thresholds:
        """Return the thresholds of ties."""
        return cls(*drawn.up_to)

    def first(self, values: Floats, recall: float) -> Floats:
        """Return the value at the first threshold that reaches a recall."""
        place = np.argmax(self.recall >= recall, axis=-1, keepdims=True)
        return np.asarray(np.take_along_axis(values, place, axis=-1)[..., 0])


@checked
def auroc(confidence: Floats, correct: Bools, *, sample_weight: Weight | None = None) -> float:
    """Area under the ROC curve: the probability that a wrong prediction has a lower confidence than a correct one.

    Examples
    --------
    >>> from auxcal.metrics import auroc
    >>> auroc([0.9, 0.8, 0.3], [True, False, False])
    1.0
    """
    # Counts, not shares, are summed, so that the area is exact up to one division.
    doubled = 0
    for *_, right, wrong in ranked(confidence, correct, sample_weight).counts():
        doubled += np.dot(np.diff(right), wrong[1:] + wrong[:-1])
    if _undefined(wrong[-1], right[-1], "auroc", needs_right=True):
        return float("nan")
    return float(doubled / 2 / wrong[-1] / right[-1])


@checked
def aupr(confidence: Floats, correct: Bools, *, sample_weight: Weight | None = None) -> float:
    """Area under the precision–recall curve of misclassification, as average precision.

    Examples
    --------
    >>> from auxcal.metrics import aupr
    >>> round(aupr([0.9, 0.3, 0.8], [True, True, False]), 4)
    0.5
    """
    at = _thresholds(confidence, correct, sample_weight)
    if _undefined(at.wrong[-1], at.right[-1], "aupr"):
        return float("nan")
    return float(_average_precision(at))


@checked
def precision_at_recall(
    confidence: Floats, correct: Bools, *, recall: float = 0.9, sample_weight: Weight | None = None
) -> float:
    """Precision of detecting wrong predictions at the first threshold that reaches the given recall.

    The paper's p.9 has a recall of 0.9.

    Examples
    --------
    >>> from auxcal.metrics import precision_at_recall
    >>> round(precision_at_recall([0.9, 0.3, 0.8, 0.2], [True, True, False, False]), 4)
    0.6667
    """
    _check_share(recall, "recall")
    at = _thresholds(confidence, correct, sample_weight)
    if _undefined(at.wrong[-1], at.right[-1], "p90"):
        return float("nan")
    return float(at.first(at.precision, recall))


@checked
def fpr_at_tpr(confidence: Floats, correct: Bools, *, tpr: float = 0.95, sample_weight: Weight | None = None) -> float:
    """False positive rate: the share of correct predictions rejected when at least `tpr` of the wrong ones are.

    Examples
    --------
    >>> from auxcal.metrics import fpr_at_tpr
    >>> fpr_at_tpr([0.9, 0.3, 0.8, 0.2], [True, True, False, False])
    0.5
    """
    _check_share(tpr, "tpr")
    at = _thresholds(confidence, correct, sample_weight)
    if _undefined(at.wrong[-1], at.right[-1], "fpr95", needs_right=True):
        return float("nan")
    return float(at.first(at.false_alarms, tpr))


def auroc_of(drawn: Ties) -> Floats:
    """Return the AUROC of many draws."""
    wrong, right = drawn.up_to
    pairs = np.einsum("...m,...m", drawn.right, wrong - drawn.wrong / 2)
    return np.asarray(pairs / wrong[..., -1] / right[..., -1])


def aupr_of(drawn: Ties) -> Floats:
    """Return the AUPR of many draws."""
    return _average_precision(Thresholds.of(drawn))


def p90_of(drawn: Ties) -> Floats:
    """Return the precision at a recall of 0.9 of many draws."""
    at = Thresholds.of(drawn)
    return at.first(at.precision, 0.9)


def fpr95_of(drawn: Ties) -> Floats:
    """Return the false positive rate at a recall of 0.95 of many draws."""
    at = Thresholds.of(drawn)
    return at.first(at.false_alarms, 0.95)


def _average_precision(at: Thresholds) -> Floats:
    return np.asarray(np.sum(np.diff(at.recall, prepend=0) * at.precision, axis=-1))


def _thresholds(confidence: Floats, correct: Bools, sample_weight: Weight | None) -> Thresholds:
    found = [
        (wrong[1:].copy(), right[1:].copy()) for *_, right, wrong in ranked(confidence, correct, sample_weight).counts()
    ]
    return Thresholds(*(np.concatenate(column) for column in zip(*found, strict=True)))


def is_share(value: float) -> bool:
    """Whether a value is a number in (0, 1]."""
    return isinstance(value, Real) and bool(0 < value <= 1)


def _check_share(value: float, name: str) -> None:
    if not is_share(value):
        raise InvalidInputError(f"{name} must be a share in (0, 1]; got {value!r}. Use {name}=0.9.")


def _undefined(wrong: float, right: float, name: str, *, needs_right: bool = False) -> bool:
    missing = "wrong" if wrong == 0 else "correct" if needs_right and right == 0 else None
    if missing is None:
        return False
    from auxcal._core.errors import UndefinedMetricWarning

    warn(
        f"{name} is undefined (NaN): none of the {wrong + right:.12g} predictions is {missing}, and it "
        f"compares wrong predictions with correct ones. Evaluate on more rows.",
        UndefinedMetricWarning,
        stacklevel=4,
    )
    return True
