"""The reference: what a calibrator keeps of the rows that it was fitted on, to compare later rows with."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import NO_CLASS, Bools, Floats, Groups, Ints, Weight
from auxcal._core.chunks import OfFeatures
from auxcal._core.logits import at_prediction, relative
from auxcal._core.state import Shape, check_learned

if TYPE_CHECKING:
    from auxcal.predictions import Predictions

READINGS = ("log-odds", "margin", "entropy", "energy", "mean logit", "spread", "third logit", "least logit")
"""What is read from the logits of a row, whatever the calibrator; see `read_logits`."""

MOST_ROWS = 5000
"""Rows that a reference keeps; the standard error of a share of one half is then 0.7 percentage points."""

MOST_BYTES = 1_000_000
"""The size of a reference in a file, which bounds the rows too where strata are many."""

MOST_CLASSES = 128
"""Up to which every class has a share of its own in the mix; of more, the rows would be too few for that."""

FEWEST_IN_GROUP = 20
"""Rows of a group that is a slice of its own: as many as a check needs. Smaller ones only keep rows together."""

FEWEST_GROUPS = 3
"""From which to estimate how groups differ: a variance of two is next to nothing."""

MOST_GROUPS = 1000
"""That a reference describes: the error of a standard deviation is then 2 %, and they take a third of its size."""

KNOTS = (0.02, 0.2, 0.8, 0.98)
"""Quantiles between which a reading counts: the tails, and what lies between. Set on random states that are not
reported; benchmarks/without_labels measures the false alarms with them."""

_FARTHEST = 6e4  # float16 ends at 65,504
_AGAIN = 0.02  # of the rows may be drawn again, or weights could not be followed; no script chose it
_EXCESS = 0.1  # of a variance, which rows of one group may cause: 5 % of a standard error


class Reference(NamedTuple):
    """Some of the rows that a calibrator was fitted on, as readings of their logits; float16 keeps the file small.

    Parameters
    ----------
    readings : array of shape (n, r)
        The `READINGS` of each row, or its signals as `SignalCalibrator.read` gives them.
    strata : array of shape (n, s)
        The calibrator's probability that each row belongs to each stratum: see `Calibrator.strata`.
    y : array of shape (n,)
        The true class of each row, or `NO_CLASS`.
    prediction : array of shape (n,)
        The class that the classifier predicted.
    counts : array of shape (K + 1,)
        The weighted number of rows of the fit in each class, and last of no class.
    hits : array of shape (K + 1,)
        The number of these with a correct prediction.
    hashes : array of shape (n,)
        A hash of each row, equal for equal rows.
    group_facts : array of shape (g, 3) or None
        Of each group of the fit the effective number of rows, the gap (mean confidence less accuracy, when the group
        was held out) and the variance that chance gives it; None without groups that are large enough.
    group_ramps, group_strata : arrays of shape (g, 24) and (g, s) or None
        The means of the `ramps` of each group's readings, and of its strata.

    Examples
    --------
    >>> import auxcal
    >>> fitted = auxcal.PlattScaling().fit([[2.0, 0.0], [0.0, 1.0], [3.0, 0.0]], [0, 1, auxcal.NO_CLASS])
    >>> fitted.reference_.counts, fitted.reference_.correct
    (array([1., 1., 1.]), array([ True,  True, False]))
    """

    readings: Floats
    strata: Floats
    y: Ints
    prediction: Ints
    counts: Floats
    hits: Floats
    hashes: NDArray[np.uint64]
    group_facts: Floats | None = None
    group_ramps: Floats | None = None
    group_strata: Floats | None = None

    @classmethod
    def of(
        cls, data: Predictions, kept: Predictions, readings: Floats, strata: Floats, hashes: NDArray[np.uint64]
    ) -> Reference:
        """Return the reference of the rows of a fit, with readings, strata and hashes of those that are kept."""
        k, weight = data.n_classes, data.sample_weight
        labels = np.where(data.y == NO_CLASS, k, data.y)
        counted = np.ones(len(data)) if weight is None else weight
        return cls(
            readings,
            strata,
            kept.y.astype(_label_type(k)),
            kept.prediction.astype(_label_type(k)),
            np.bincount(labels, counted, minlength=k + 1).astype(np.float64),
            np.bincount(labels, counted * data.correct, minlength=k + 1).astype(np.float64),
            hashes,
        )

    def take(self, rows: Ints) -> Reference:
        """Return some of the rows, with the counts of all."""
        per_row = ("readings", "strata", "y", "prediction", "hashes")
        return self._replace(**{name: getattr(self, name)[rows] for name in per_row})

    @property
    def correct(self) -> Bools:
        """Whether each prediction was right."""
        return self.prediction == self.y

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.counts) - 1

    def check(self, n_classes: int, n_readings: int = len(READINGS)) -> None:
        """Reject arrays that don't fit each other."""
        shapes: dict[str, Shape] = {
            "readings": ("n", n_readings),
            "strata": ("n", "s"),
            "y": ("n",),
            "prediction": ("n",),
            "counts": (n_classes + 1,),
            "hits": (n_classes + 1,),
            "hashes": ("n",),
        }
        if self.group_facts is not None:
            n_ramps = n_readings * (len(KNOTS) - 1)
            shapes |= {"group_facts": ("g", 3), "group_ramps": ("g", n_ramps), "group_strata": ("g", "s")}
        check_learned(shapes, {name: value for name, value in self._asdict().items() if value is not None}, {})


def sample_rows(data: Predictions, n_strata: int, read: OfFeatures) -> Ints:
    """Return the rows of a fit that its reference keeps.

    Too many are subsampled with a fixed random state: a file must not depend on chance.
    """
    per_row = 2 * (len(READINGS) + n_strata + _label_type(data.n_classes).itemsize + 4)
    n_groups = len(large_groups(data.groups))
    rows, weight = _few_of_each_group(data, read, keep_all=n_groups > 0)
    per_group = 4 * 3 + 2 * (len(READINGS) * (len(KNOTS) - 1) + n_strata)
    most = min(MOST_ROWS, (MOST_BYTES - per_group * n_groups) // per_row)
    return np.asarray(rows[drawn_by_weight(len(rows), weight, most)])


def large_groups(groups: Groups | None) -> list[Ints]:
    """Return the rows of each group of a fit that is a slice of its own, such as a day; none if most groups are small.

    Groups of fewer than `FEWEST_IN_GROUP` rows, such as the visits of a patient, only keep rows together.
    Too many groups are subsampled with a fixed random state.
    """
    if groups is None:
        return []
    _, of_row, counts = np.unique(groups, return_inverse=True, return_counts=True)
    large = np.flatnonzero(counts >= FEWEST_IN_GROUP)
    if len(large) < FEWEST_GROUPS or counts[large].sum() < len(of_row) / 2:
        return []
    if len(large) > MOST_GROUPS:
        large = np.sort(np.random.default_rng(0).choice(large, MOST_GROUPS, replace=False))
    rows, ends = np.argsort(of_row, kind="stable"), np.cumsum(counts)
    return [rows[ends[group] - counts[group] : ends[group]] for group in large]


def describe_groups(
    reference: Reference, groups: list[Ints], data: Predictions, readings: Floats, confidence: Floats, strata: Floats
) -> Reference:
    """Return a reference that describes groups of the fit too, as `large_groups` gives their rows.

    The readings (n, r), confidence (n,) and strata (n, s) are those of all rows of the fit, when they were held out.
    """
    of_rows, facts, means, shares = ramps(reference, readings), [], [], []
    weight = np.ones(len(data)) if data.sample_weight is None else data.sample_weight.astype(np.float64)
    confidence = confidence.astype(np.float64)
    for rows in groups:
        share = weight[rows] / max(weight[rows].sum(), np.finfo(float).tiny)
        held_out, n = confidence[rows], 1 / max(float(share @ share), np.finfo(float).tiny)
        variance = max(float(share @ (held_out * (1 - held_out))), 1 / n) / n  # one error is the least
        facts.append([n, share @ (held_out - data.correct[rows]), variance])
        means.append(share @ of_rows[rows])
        shares.append(share @ strata[rows])
    return reference._replace(
        group_facts=np.array(facts, np.float32),
        group_ramps=np.clip(means, 0, 1).astype(np.float16),
        group_strata=np.clip(shares, 0, 1).astype(np.float16),
    )


def ramps(reference: Reference, readings: Floats) -> Floats:
    """Return where each reading of rows lies between each two `KNOTS` of the reference, from 0 to 1."""
    return between_knots(knots_of(reference), readings)


def knots_of(reference: Reference) -> Floats:
    """Return the `KNOTS` of each reading."""
    return np.quantile(reference.readings.astype(np.float64), KNOTS, axis=0)


def between_knots(knots: Floats, readings: Floats) -> Floats:
    """Return where each reading lies between each two knots, from 0 to 1."""
    lower, upper = knots[:-1], knots[1:]
    width = np.where(upper > lower, upper - lower, np.inf)
    return np.clip((readings.astype(np.float64)[:, None] - lower) / width, 0, 1).reshape(len(readings), -1)


def _label_type(n_classes: int) -> np.dtype[Any]:
    """Return the smallest type of integers for K classes and `NO_CLASS`."""
    return np.min_scalar_type(-n_classes - 1)


def repeated(hashes: NDArray[np.uint64]) -> Bools:
    """Return which rows occur several times."""
    _, at, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    return np.asarray(counts[at] > 1)


def _few_of_each_group(data: Predictions, read: OfFeatures, *, keep_all: bool) -> tuple[Ints, Weight | None]:
    """Return rows that are nearly independent, and how many rows each stands for.

    Rows of a group that are alike hold less information than as many others: c of them, with the correlation r, have a
    mean with 1 + (c - 1) r times the variance. So of each group only so many are kept that this is at most 1 +
    `_EXCESS`.
    """
    rows, weight, groups = np.arange(len(data)), data.sample_weight, data.groups
    if groups is None or keep_all:  # a check compares rows with the means of large groups
        return rows, weight
    _, of_row, counts = np.unique(groups, return_inverse=True, return_counts=True)
    readings = np.column_stack([read(data.logits, data.features), data.correct])
    most = 1 + _EXCESS / max(_correlation(readings, of_row, counts), _EXCESS / len(data))
    order = np.random.default_rng(0).permutation(len(data))
    order = order[np.argsort(of_row[order], kind="stable")]
    place = np.arange(len(data)) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = np.sort(order[place < np.floor(most)])
    stands_for = (counts / np.minimum(counts, np.floor(most)))[of_row[rows]]
    return rows, stands_for if weight is None else stands_for * weight[rows]


def _correlation(values: Floats, of_row: Ints, counts: Ints) -> float:
    """Return the largest correlation of numbers within groups, less two standard errors, by analysis of variance."""
    n, g = len(of_row), len(counts)
    if g in (1, n):
        return 0.0
    values = values.astype(np.float64)
    sums = np.zeros((g, values.shape[1]))
    np.add.at(sums, of_row, values)
    means = sums / counts[:, None]
    within = ((values - means[of_row]) ** 2).sum(axis=0) / (n - g)
    between = counts @ (means - values.mean(axis=0)) ** 2 / (g - 1)
    size = (n - float(counts @ counts) / n) / (g - 1)
    total = between + (size - 1) * within
    correlations = (between - within)[total > 0] / total[total > 0]
    error = math.sqrt(2 / (size * max(size - 1, 1.0) * (g - 1)))
    return max(float(correlations.max(initial=0.0)) - 2 * error, 0.0)


def drawn_by_weight(n: int, weight: Weight | None, most: int) -> Ints:
    """Return the rows to keep: all, or a random sample; a row of weight 2 is twice as likely to be kept."""
    if weight is None:
        if n <= most:
            return np.arange(n)
        return np.sort(np.random.default_rng(0).choice(n, most, replace=False))
    ends = np.cumsum(weight, dtype=np.float64)
    size = min(_number_of_others(weight), max(round(ends[-1]), 1), most)  # their sum is the effective sample size
    return np.searchsorted(ends, (np.arange(size) + 0.5) * ends[-1] / size, side="right").clip(max=n - 1)


def _number_of_others(weight: Weight) -> int:
    """Return how many rows can be drawn by their weights so that few are drawn again.

    A test counts rows as independent draws. A row that occurs ten times would pass for ten of them, and chance
    for a change.
    """
    heaviest = np.sort(weight[weight > 0].astype(np.float64))[::-1]
    share, k = np.cumsum(heaviest) / heaviest.sum(), np.arange(1, len(heaviest) + 1)
    # Of m draws, m · share fall on the k heaviest rows, and only k of those can be first draws: m · share − k or more
    # are repeats. We allow m · _AGAIN repeats, so for every k it must hold that m ≤ k / (share − _AGAIN).
    limits = (k / np.maximum(share - _AGAIN, np.finfo(float).tiny))[share > _AGAIN]
    return max(int(min(limits.min(), len(heaviest))), 1)


def read_logits(logits: Floats) -> Floats:
    """Return readings that distinguish one kind of data from another, of shape (n, 8), as float16.

    They are the log-odds of the prediction, how far the second logit is behind it, the entropy of the softmax, the
    energy log Σ eᶻ less the mean logit, the mean logit, the standard deviation of the logits, and the third and the
    least of them less the mean. None depends on what a calibrator learned, so a row of the fit reads as a new one does.
    """
    near = relative(logits)
    k = logits.shape[1]
    mean = near.z.mean(axis=1)
    total = 1 + near.others
    entropy = np.log(total) - np.einsum("nk,nk->n", near.e, near.z) / total
    top = np.partition(near.z, sorted({k - 2, k - min(3, k)}), axis=1)
    columns = (
        near.top_scores,
        -top[:, k - 2],
        entropy,
        np.log(total) - mean,
        logits.mean(axis=1),
        near.z.std(axis=1),
        top[:, k - min(3, k)] - mean,
        near.z.min(axis=1) - mean,
    )
    return np.clip(np.stack(columns, axis=1), -_FARTHEST, _FARTHEST).astype(np.float16)


def n_strata(n_classes: int, has_ood_column: bool) -> int:
    """Return the number of strata of the mix: see `Calibrator.strata`."""
    if not has_ood_column:
        return 2
    return n_classes + 1 if n_classes <= MOST_CLASSES else 3


def strata_of_proba(proba: Floats, logits: Floats) -> Floats:
    """Return the strata, given the probabilities of the K classes and of none, which is last."""
    if proba.shape[1] == n_strata(logits.shape[1], has_ood_column=True):
        return proba
    right, none = at_prediction(proba, logits), proba[:, -1]
    return np.stack([right, np.maximum(1 - right - none, 0), none], axis=1)


def confidence_of_strata(strata: Floats, prediction: Ints, n_classes: int) -> Floats:
    """Return how likely each prediction is right, given the strata."""
    return strata[np.arange(len(strata)), prediction] if strata.shape[1] == n_classes + 1 else strata[:, 0]


def stratum_of(reference: Reference) -> Ints:
    """Return the stratum of each row of a reference."""
    return stratum_of_rows(reference.y, reference.correct, reference.n_classes, reference.strata.shape[1])


def stratum_of_rows(y: Ints, correct: Bools, n_classes: int, n_strata: int) -> Ints:
    """Return the stratum of labelled rows."""
    none = y == NO_CLASS
    if n_strata == n_classes + 1:
        return np.where(none, n_classes, y).astype(np.intp)
    return np.where(correct, 0, np.where(none & (n_strata == 3), 2, 1))
