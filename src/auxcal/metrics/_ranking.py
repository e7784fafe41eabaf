"""How well confidence ranks the wrong predictions below the right ones, and what accepting the confident ones costs.

Misclassified is the positive class and its score is low confidence, as in the paper. Rows are sorted once and counted
by distinct confidence (`Ties`); every metric of this file is made of these counts, for one sample or for many resamples
of it at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Bools, Floats, Weight
from auxcal._core.deferred_warnings import warn
from auxcal._core.errors import InvalidInputError
from auxcal.metrics.sample import checked_as_given

_BLOCK = 1 << 15  # rows whose counts fit into the CPU cache


@dataclass(frozen=True, eq=False)
class Thresholds:
    """The predictions that are rejected at or below each distinct confidence, in ascending order.

    Parameters
    ----------
    wrong, right : arrays of shape (m,), or (resamples, m) for many resamples of the same rows
        The misclassified and the correct predictions that each of the m thresholds rejects.
    """

    wrong: NDArray[Any]
    right: NDArray[Any]

    @cached_property
    def precision(self) -> Floats:
        """The share of the rejected predictions that are wrong."""
        return self.wrong / (self.wrong + self.right)

    @cached_property
    def recall(self) -> Floats:
        """The share of the wrong predictions that are rejected."""
        return self.wrong / self.wrong[..., -1:]

    def average_precision(self) -> Floats:
        """Return the area under the precision–recall curve."""
        return np.asarray(np.sum(np.diff(self.recall, prepend=0) * self.precision, axis=-1))

    def precision_at(self, recall: float) -> Floats:
        """Return the precision at the first threshold that reaches a recall."""
        return self._first(self.precision, recall)

    def false_alarms_at(self, recall: float) -> Floats:
        """Return the share of the correct predictions that are rejected, at the first threshold with this recall."""
        return self._first(self.right / self.right[..., -1:], recall)

    def _first(self, values: Floats, recall: float) -> Floats:
        place = np.argmax(self.recall >= recall, axis=-1, keepdims=True)
        return np.asarray(np.take_along_axis(values, place, axis=-1)[..., 0])


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """How many predictions each threshold accepts, and how many of them are wrong.

    Parameters
    ----------
    threshold : array of shape (m,)
        The distinct confidences, the highest first; every prediction at or above one is accepted, so that equal
        confidences are accepted together.
    accepted, errors : arrays of shape (m,), or (resamples, m) for many resamples of the same rows
        The predictions that each threshold accepts, and the wrong ones among them.
    """

    threshold: Floats
    accepted: NDArray[Any]
    errors: NDArray[Any]

    @property
    def coverage(self) -> Floats:
        """The share of all predictions that are accepted."""
        return self.accepted / self.accepted[..., -1:]

    @property
    def risk(self) -> Floats:
        """The share of accepted predictions that are wrong."""
        return self.errors / self.accepted


@dataclass(frozen=True, eq=False)
class Ties:
    """The number of rows with each distinct confidence, in ascending order.

    Parameters
    ----------
    confidence : array of shape (m,)
        The distinct confidences.
    right, wrong : arrays of shape (m,), or (resamples, m) for many resamples of the same rows
        The weighted numbers of correct and of wrong predictions with that confidence.
    """

    confidence: Floats
    right: NDArray[Any]
    wrong: NDArray[Any]

    @cached_property
    def thresholds(self) -> Thresholds:
        """The predictions at or below each confidence."""
        return Thresholds(np.cumsum(self.wrong, axis=-1), np.cumsum(self.right, axis=-1))

    @cached_property
    def curve(self) -> RiskCoverage:
        """The predictions at or above each confidence."""
        wrong, right = (np.cumsum(counts[..., ::-1], axis=-1) for counts in (self.wrong, self.right))
        return RiskCoverage(self.confidence[::-1], wrong + right, wrong)

    @cached_property
    def area(self) -> Floats:
        """The area under the risk–coverage curve; see `aurc`."""
        curve = self.curve
        # Coverage and errors before and after each tie.
        errors = np.diff(curve.errors, prepend=0)
        end = curve.coverage
        start = np.concatenate([np.zeros_like(end[..., :1]), end[..., :-1]], axis=-1)
        before = (curve.errors - errors) / curve.accepted[..., -1:]
        slope = errors / np.diff(curve.accepted, prepend=0)
        rest = before - slope * start
        with np.errstate(divide="ignore"):
            logs = np.where(start > 0, np.log(end) - np.log(start), 0)
        return np.asarray(np.sum(rest * logs + slope * (end - start), axis=-1))

    def aurc(self) -> Floats:
        """Return the area under the risk–coverage curve."""
        return self.area

    def excess_aurc(self) -> Floats:
        """Return how far that area exceeds the one of a perfect ranking."""
        error = self.curve.risk[..., -1]
        # A perfect ranking errs from a coverage of 1 − error on: the integral of (c − 1 + error) / c from there to 1.
        with np.errstate(divide="ignore", invalid="ignore"):
            perfect = np.where(error < 1, error + (1 - error) * np.log1p(-error), 1.0)
        return np.asarray(self.area - perfect)

    def auroc(self) -> Floats:
        """Return the area under the ROC curve."""
        at = self.thresholds
        pairs = np.einsum("...m,...m", self.right, at.wrong - self.wrong / 2)
        return np.asarray(pairs / at.wrong[..., -1] / at.right[..., -1])

    def aupr(self) -> Floats:
        """Return the area under the precision–recall curve."""
        return self.thresholds.average_precision()

    def p90(self) -> Floats:
        """Return the precision at a recall of 0.9."""
        return self.thresholds.precision_at(0.9)

    def fpr95(self) -> Floats:
        """Return the false positive rate at a recall of 0.95."""
        return self.thresholds.false_alarms_at(0.95)


# The metrics ---------------------------------------------------------------------------------------------------------


@checked_as_given
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
    for *_, right, wrong in _counts(*_ranked(confidence, correct, sample_weight)):
        doubled += np.dot(np.diff(right), wrong[1:] + wrong[:-1])
    if _undefined(wrong[-1], right[-1], "auroc", needs_right=True):
        return float("nan")
    return float(doubled / 2 / wrong[-1] / right[-1])


@checked_as_given
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
    return float(at.average_precision())


@checked_as_given
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
    return float(at.precision_at(recall))


@checked_as_given
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
    return float(at.false_alarms_at(tpr))


@checked_as_given
def risk_coverage(confidence: Floats, correct: Bools, *, sample_weight: Weight | None = None) -> RiskCoverage:
    """Return the risk and the coverage at every distinct confidence.

    Examples
    --------
    >>> from auxcal.metrics import risk_coverage
    >>> curve = risk_coverage([0.9, 0.8, 0.8, 0.2], [True, True, False, False])
    >>> curve.threshold.tolist(), curve.coverage.tolist(), curve.risk.round(2).tolist()
    ([0.9, 0.8, 0.2], [0.25, 0.75, 1.0], [0.0, 0.33, 0.5])
    """
    return ties(confidence, correct, sample_weight).curve


@checked_as_given
def aurc(confidence: Floats, correct: Bools, *, sample_weight: Weight | None = None) -> float:
    """Area under the risk–coverage curve: the error rate of accepted predictions, averaged over all coverages.

    Errors among equal confidences are spread evenly, so that neither the order of ties nor duplicating the whole sample
    changes the area. With E(c) the errors among the most confident share c, it is the integral of E(c) / c, in closed
    form between neighbouring thresholds.

    Examples
    --------
    >>> from auxcal.metrics import aurc
    >>> round(aurc([0.9, 0.8, 0.3, 0.2], [True, True, True, False]), 4)
    0.0342
    """
    return float(ties(confidence, correct, sample_weight).area)


@checked_as_given
def excess_aurc(confidence: Floats, correct: Bools, *, sample_weight: Weight | None = None) -> float:
    """Excess of the area under the risk–coverage curve over that of a perfect ranking at the same accuracy.

    Examples
    --------
    >>> from auxcal.metrics import excess_aurc
    >>> abs(round(excess_aurc([0.9, 0.8, 0.3, 0.2], [True, True, True, False]), 4))
    0.0
    """
    return float(ties(confidence, correct, sample_weight).excess_aurc())


def _check_share(value: float, name: str) -> None:
    if not (isinstance(value, Real) and 0 < value <= 1):
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


# Sorting and counting -------------------------------------------------------------------------------------------------


class Counts(NamedTuple):
    """Cumulative counts over a block of m ties; the arrays may be reused for the next block: copy what you keep."""

    start: int  # the row that `last` is counted from
    last: NDArray[Any]  # the last row of each tie, in ascending order of confidence
    right: NDArray[Any]  # the weighted number of correct predictions up to there, preceded by that before the block
    wrong: NDArray[Any]  # the same of wrong predictions


def ties(confidence: Floats, correct: Bools, sample_weight: Weight | None = None) -> Ties:
    """Count the rows of each distinct confidence."""
    key, weight = _ranked(confidence, correct, sample_weight)
    blocks = [
        ((key[at.start + at.last] >> 1).view(confidence.dtype), np.diff(at.right), np.diff(at.wrong))
        for at in _counts(key, weight)
    ]
    return Ties(*(np.concatenate(column) for column in zip(*blocks, strict=True)))


def _thresholds(confidence: Floats, correct: Bools, sample_weight: Weight | None) -> Thresholds:
    counts = _counts(*_ranked(confidence, correct, sample_weight))
    blocks = [(wrong[1:].copy(), right[1:].copy()) for *_, right, wrong in counts]
    return Thresholds(*(np.concatenate(column) for column in zip(*blocks, strict=True)))


def _ranked(confidence: Floats, correct: Bools, sample_weight: Weight | None) -> tuple[NDArray[Any], Weight | None]:
    """Return the keys of the rows with a weight, in ascending order of confidence, and their weights.

    A key is the bits of the confidence as an integer, with correctness as one more bit below them: non-negative floats
    sort like their bits, and up to 1 they leave two bits free. Sorting these integers is many times faster than an
    argsort and indexing. The sign bit of −0 is shifted out. Rows that are sorted already are not sorted again.
    """
    if sample_weight is not None and not sample_weight.all():
        counted = np.flatnonzero(sample_weight)
        confidence, correct, sample_weight = confidence[counted], correct[counted], sample_weight[counted]
    key: NDArray[Any] = np.left_shift(confidence.view(f"u{confidence.itemsize}"), 1)
    key |= correct
    key = key.view(f"i{confidence.itemsize}")  # as signed as the counts, which saves a cast
    if _in_order(confidence):
        return key, sample_weight
    if sample_weight is None:
        key.view(confidence.dtype).sort()  # in the same order; NumPy sorts float64 faster than int64
        return key, None
    order = np.argsort(key)
    return key[order], sample_weight[order]


def _in_order(values: Floats) -> bool:
    blocks = (values[start : start + _BLOCK + 1] for start in range(0, len(values), _BLOCK))
    return all((block[1:] >= block[:-1]).all() for block in blocks)


def _counts(key: NDArray[Any], sample_weight: Weight | None) -> Iterator[Counts]:
    """Yield the counts of all ties, block by block, so that only the rows take memory."""
    if sample_weight is None:
        yield from _unweighted_counts(key)
        return
    last = np.append(np.flatnonzero((key[1:] ^ key[:-1]) > 1), len(key) - 1)
    of_right = sample_weight * (key & 1).astype(sample_weight.dtype)
    sums = (np.cumsum(weight)[last] for weight in (of_right, sample_weight - of_right))
    yield Counts(0, last, *(np.append(0, total) for total in sums))


def _unweighted_counts(key: NDArray[Any]) -> Iterator[Counts]:
    """Yield the counts of all ties, in arrays that are allocated once and reused for every block."""
    bits, ends, position = np.empty(_BLOCK, key.dtype), np.ones(_BLOCK, np.bool_), np.arange(_BLOCK)
    running, right, wrong = np.zeros((3, _BLOCK + 1), dtype=np.intp)
    passed = 0
    for start in range(0, len(key), _BLOCK):
        block, following = key[start : start + _BLOCK], key[start + 1 : start + _BLOCK + 1]
        n, n_followed = len(block), len(following)
        ends[n - 1] = True  # stays True for the very last row, which no row follows
        np.greater(np.bitwise_xor(block[:n_followed], following, out=bits[:n_followed]), 1, out=ends[:n_followed])
        np.cumsum(np.bitwise_and(block, 1, out=bits[:n]), dtype=np.intp, out=running[:n])
        # If no two confidences are equal, every row is a tie of its own.
        last = position[:n] if ends[:n].all() else np.flatnonzero(ends[:n])
        m = len(last)
        np.take(running, last, out=right[1 : m + 1], mode="clip")
        right[1 : m + 1] += passed
        np.subtract(last, right[1 : m + 1], out=wrong[1 : m + 1])
        wrong[1 : m + 1] += start + 1
        yield Counts(start, last, right[: m + 1], wrong[: m + 1])
        right[0], wrong[0] = right[m], wrong[m]
        passed += running[n - 1]
