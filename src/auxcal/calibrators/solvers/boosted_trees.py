"""Boosted trees that correct log-odds: what is not additive in the inputs, as far as out-of-fold rows support it.

The trees are symmetric, as CatBoost's: all rows of a level answer one question, x_feature > cut, so that a tree is a
table of 2**depth values. That is quick to grow in NumPy, quick to score, and short to write as a program.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Bools, Floats, Ints, Weight
from auxcal._core.logits import expit
from auxcal.calibrators.ccac_x.evidence import log_likelihoods, weights_by_evidence
from auxcal.programs import Operations, Value

# Chosen on random states other than those reported, over the sets of benchmarks/evidence/signals.py.
_ROUNDS = 100  # trees; how many of them count is a matter of evidence
_DEPTH = 3  # questions: interactions of up to three inputs
_RATE = 0.1  # of what a tree would change: the usual one
_BINS = 32  # of each input; more take longer, and tell no more
_RIDGE = 3.0  # rows' worth of curvature that draw a leaf towards no change
_ROWS = 20_000  # that a tree looks at; of more, each tree draws its own
_SAME_GAIN = 1e-6  # relative difference of gains that may be rounding
_FAR = float(np.finfo(np.float32).max)  # beyond all numbers
_NEGLIGIBLE = 1e-6  # a tree that counts less makes no difference


class Trees(NamedTuple):
    """Trees whose values add up to a correction of log-odds.

    Parameters
    ----------
    features, cuts : arrays of shape (t, depth)
        The questions of each tree: is x[feature] > cut?
    gaps : array of shape (t, depth)
        The answer, 0 or 1, where x[feature] is missing.
    values : array of shape (t, 2**depth)
        What is added to the log-odds; the answers are the bits of the index, the first question the highest.
    """

    features: Ints
    cuts: Floats
    gaps: NDArray[np.uint8]
    values: Floats

    def log_odds(self, x: Floats) -> Floats:
        """Return the correction of each row, given inputs of shape (n, d), where NaN is a gap."""
        total = np.zeros(len(x))
        columns = np.ascontiguousarray(x.T)
        missing = np.isnan(columns)
        has_gaps = [bool(row.any()) for row in missing]
        for features, cuts, gaps, values in zip(*self, strict=True):
            leaf = np.zeros(len(x), dtype=np.uint8)
            for feature, cut, gap in zip(features, cuts, gaps, strict=True):
                leaf += leaf
                leaf += columns[feature] > cut
                if gap and has_gaps[feature]:
                    leaf += missing[feature]
            total += values[leaf]
        return total

    def program(self, ops: Operations, x: Value, n_inputs: int) -> Value:
        """Write `log_odds` as a program for torch and ONNX, for inputs without gaps."""
        (t, depth), leaves = self.features.shape, self.values.shape[1]
        pick = np.zeros((n_inputs, t * depth), np.float32)
        pick[self.features.ravel(), np.arange(t * depth)] = 1
        bits = np.kron(np.eye(t, dtype=np.float32), 2.0 ** np.arange(depth)[::-1, None])
        picked = ops.matmul(x, ops.constant(pick, "pick"))
        least = np.nextafter(self.cuts.ravel().astype(np.float32), np.float32(np.inf))  # above the cut
        leaf = ops.matmul(
            ops.where(picked >= ops.constant(least, "cuts"), 1.0, picked * 0.0), ops.constant(bits, "bits")
        )
        total: Value = 0.0
        for index in range(leaves):
            here = ops.where(ops.equal(leaf, ops.constant(np.full(t, index, np.float32), "leaf")), 1.0, leaf * 0.0)
            total = ops.matmul(here, ops.constant(self.values[:, [index]], "values")) + total
        return total


def cross_fit_trees(
    x: Floats,
    correct: Bools,
    start: Floats,
    folds: Ints,
    weight: Weight | None = None,
    *,
    increasing: Bools | None = None,
    random_state: int | None = None,
) -> tuple[Trees, Floats]:
    """Return the trees of all rows, and the out-of-fold log-odds of each row, `start` included.

    Parameters
    ----------
    x : array of shape (n, d)
        Inputs that mean the same for all rows; NaN is a gap.
    correct : array of shape (n,)
        What is to be predicted.
    start : array of shape (n,)
        Log-odds that the trees begin with; they must come from other rows than the row's own.
    folds : array of shape (n,)
        The fold of each row.
    weight : array of shape (n,), optional
        How often each row counts.
    increasing : array of shape (d,), optional
        Which inputs may only raise the log-odds.
    random_state : int or None
        The source of the rows that each tree draws, where there are many.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.calibrators.solvers.boosted_trees import cross_fit_trees
    >>> rng = np.random.default_rng(0)
    >>> x = rng.choice([-1.0, 1.0], size=(2000, 2))
    >>> correct = rng.random(2000) < np.where(x[:, 0] == x[:, 1], 0.9, 0.1)  # no sum of two curves tells
    >>> trees, held_out = cross_fit_trees(x, correct, np.zeros(2000), np.arange(2000) % 5, random_state=0)
    >>> (1 / (1 + np.exp(-trees.log_odds(np.array([[1.0, 1.0], [1.0, -1.0]]))))).round(1)
    array([0.9, 0.1])
    """
    grower = _Grower(x, increasing)
    counted = np.ones(len(x)) if weight is None else weight
    stages = np.empty((_ROUNDS + 1, len(x)), np.float32)
    stages[0] = start
    for fold in range(folds.max() + 1):
        held = np.flatnonzero(folds == fold)
        grown = grower.grow(np.flatnonzero(folds != fold), correct, start, counted, random_state)
        for i, tree in enumerate(zip(*grown, strict=True)):
            stages[i + 1, held] = stages[i, held] + _changes(grower.bins[held], *tree)
    support = weights_by_evidence(log_likelihoods(stages.T, correct, weight))
    # The mean over numbers of rounds, as one set of trees: a tree counts as much as all numbers that include it.
    shares = support[::-1].cumsum()[::-1][1:]
    features, cuts, gaps, values = grower.grow(np.arange(len(x)), correct, start, counted, random_state)
    kept = shares > _NEGLIGIBLE
    trees = Trees(features, grower.cut_points(features, cuts), gaps.astype(np.uint8), values * shares[:, None])
    return Trees._make(part[kept] for part in trees), support @ stages


class _Grown(NamedTuple):
    """Trees whose cuts are the last bins below; see `Trees`."""

    features: Ints
    cuts: Ints
    gaps: Ints
    values: Floats


class _Grower:
    """Inputs in bins, of which the first is for gaps."""

    def __init__(self, x: Floats, increasing: Bools | None) -> None:
        n, self.d = x.shape
        self.increasing = np.zeros(self.d, bool) if increasing is None else increasing
        self.cuts = [_cuts(column) for column in x.T]
        self.n_bins = max(map(len, self.cuts)) + 2
        self.bins = np.zeros((n, self.d), np.intp)
        for j, (column, cuts) in enumerate(zip(x.T, self.cuts, strict=True)):
            self.bins[:, j] = np.where(np.isnan(column), 0, 1 + np.searchsorted(cuts, column))

    def grow(self, rows: Ints, correct: Bools, start: Floats, weight: Weight, random_state: int | None) -> _Grown:
        """Return trees of these rows, by Newton's method."""
        rng = np.random.default_rng(random_state)
        bins, log_odds, correct, weight = self.bins[rows], start[rows].astype(np.float64), correct[rows], weight[rows]
        features, cuts, gaps = np.zeros((3, _ROUNDS, _DEPTH), np.intp)
        values = np.zeros((_ROUNDS, 2**_DEPTH))
        for i in range(_ROUNDS):
            drawn = slice(None) if len(rows) <= _ROWS else np.sort(rng.choice(len(rows), _ROWS, replace=False))
            p, few = expit(log_odds[drawn]), bins[drawn]
            slope, bend = weight[drawn] * (correct[drawn] - p), weight[drawn] * p * (1 - p)
            leaf = np.zeros(len(p), np.intp)
            for level in range(_DEPTH):
                question = self._question(few, leaf, 2**level, slope, bend)
                features[i, level], cuts[i, level], gaps[i, level] = question
                leaf = 2 * leaf + _answers(few, *question)
            slopes, bends = (np.bincount(leaf, part, minlength=2**_DEPTH) for part in (slope, bend))
            values[i] = self._rising(_RATE * slopes / (bends + _RIDGE), features[i])
            log_odds += _changes(bins, features[i], cuts[i], gaps[i], values[i])
        return _Grown(features, cuts, gaps, values)

    def _question(self, bins: Ints, leaf: Ints, n: int, slope: Floats, bend: Floats) -> tuple[int, int, int]:
        """Return the question that gains most over all leaves: the feature, its last bin below, and a gap's answer."""
        shape = n, self.d, self.n_bins
        at = ((leaf[:, None] * self.d + np.arange(self.d)) * self.n_bins + bins).ravel()
        slopes, bends = (
            np.bincount(at, np.repeat(part, self.d), minlength=n * self.d * self.n_bins).reshape(shape)
            for part in (slope, bend)
        )
        below = np.cumsum(slopes, axis=2), np.cumsum(bends, axis=2)
        gains = []
        for up in (0, 1):  # where gaps go
            (g, all_g), (h, all_h) = (
                (low - up * part[:, :, :1], low[:, :, -1:]) for low, part in zip(below, (slopes, bends), strict=True)
            )
            gains.append((g**2 / (h + _RIDGE) + (all_g - g) ** 2 / (all_h - h + _RIDGE)).sum(axis=0))
        # Questions that divide the rows alike gain the same, but for rounding: the first of them is asked.
        best = int(np.argmax(np.ravel(gains) >= np.max(gains) * (1 - _SAME_GAIN)))
        gap, feature, cut = np.unravel_index(best, (2, self.d, self.n_bins))
        return int(feature), int(cut), int(gap)

    def _rising(self, values: Floats, features: Ints) -> Floats:
        """Return values that rise with the inputs that must: midway between the least from above and from below."""
        low = high = values.reshape((2,) * _DEPTH)
        for axis in np.flatnonzero(self.increasing[features]).tolist():
            high = np.maximum.accumulate(high, axis=axis)
            low = np.flip(np.minimum.accumulate(np.flip(low, axis), axis=axis), axis)
        return ((low + high) / 2).ravel()

    def cut_points(self, features: Ints, cuts: Ints) -> Floats:
        """Return the number that each question compares with; one that only tells gaps is below or above all."""
        ends = [np.concatenate([[-_FAR], part, np.full(self.n_bins - len(part) - 1, _FAR)]) for part in self.cuts]
        return np.array(ends)[features, cuts]


def _cuts(column: Floats) -> Floats:
    """Return up to `_BINS` - 1 numbers midway between quantiles."""
    known = column[~np.isnan(column)]
    if not len(known):
        return known
    values = np.unique(np.quantile(known, np.linspace(0, 1, _BINS + 1), method="nearest"))
    return np.asarray((values[1:] + values[:-1]) / 2)


def _answers(bins: Ints, feature: int, cut: int, gap: int) -> Bools:
    above = bins[:, feature] > cut
    return above | (bins[:, feature] == 0) if gap else above


def _changes(bins: Ints, features: Ints, cuts: Ints, gaps: Ints, values: Floats) -> Floats:
    """Return what a tree adds to the log-odds of rows."""
    leaf = np.zeros(len(bins), np.intp)
    for question in zip(features, cuts, gaps, strict=True):
        leaf = 2 * leaf + _answers(bins, *question)
    return np.asarray(values[leaf])
