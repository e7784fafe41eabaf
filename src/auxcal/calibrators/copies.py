"""Units of rows: a group, copies of a row, or rows that are nearly equal; and how much information they hold.

In other folds, a copy of a row would reveal its answer, so the rows of a unit stay together. And m rows of a unit hold
less information than m rows that were drawn apart. The variance of what a regression learns from them grows by the
design effect 1 + (m − 1) ρ σ, where ρ is the correlation of their errors and σ that of their inputs (Moulton). Each of
them counts as one row divided by that: copies as one row in all, and rows that share no more than a name as rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import NO_CLASS, Bools, Floats, Groups, Ints
from auxcal._core.deferred_warnings import warn
from auxcal._core.equal_rows import EqualRows, are_copies, in_equal_numbers
from auxcal._core.errors import InputWarning
from auxcal._core.logits import expit, top_scores
from auxcal._core.text import percent
from auxcal.calibrators.fitting import MOST_REPEATED
from auxcal.calibrators.repeated_samples import repeated_samples
from auxcal.calibrators.solvers.logistic import fit_logistic
from auxcal.predictions import Predictions
from auxcal.splits import row_hashes

_FEWEST_VALUES = 10  # different rows, below which copies are not looked for: fewer are too few for a fit
_ENOUGH_WRONG = 7  # values of draws that are wrong have one label half of the time at most: all 7 once in 128 times
# Rows that look alike are one sample if the nearest row of a wrong prediction has its label nearly always. Of views it
# has in at least .8. Labels with errors are less clear; then it is enough that rows are right or wrong together, beyond
# chance, and look like more samples than there are classes. Plain choices.
_SAME_LABEL = 0.75
_SAME_ANSWER, _BEYOND_CHANCE = 0.4, 5.0  # the correlation of errors, and its distance from 0 in standard errors
_SAMPLES_OF_CLASS = 1.5
_PARTS = 2.0**20  # of a weight, in whole numbers: sums are then exact, and folds don't hang on how a processor rounds


def with_units(data: Predictions, *, stacklevel: int = 1) -> Predictions:
    """Return rows with their units as groups: those that are given, or copies and nearly equal rows, if any are there.

    Rows that look alike can be different samples, of a classifier that gives few values or that was saved in few
    digits. Samples that were seen several times have one label each.
    """
    if data.groups is not None:
        return data
    hashes = row_hashes(data.logits, data.features)
    n_values = _n_values(hashes)
    if n_values < _FEWEST_VALUES:
        return data
    copies = _copies(data, hashes, n_values)
    if copies is not None:
        return data._with(groups=copies)
    if data.n_classes == 1:  # signals are often equal by themselves, and have no distance
        return data
    samples = repeated_samples(data)
    if samples is None or (samples.same_label < _SAME_LABEL and not _have_one_answer(data, samples.of_row)):
        return data
    warn(
        f"these {len(data):,} rows look like {len(np.unique(samples.of_row)):,} samples, some seen several times, like "
        f"the frames of a video: rows near each other have the same label even where the classifier is wrong. "
        f"Such rows stay together, and count as less than a row each. Say which rows belong together with groups "
        f"(--group): a group for each, if none do.",
        InputWarning,
        stacklevel=stacklevel + 1,
    )
    return data._with(groups=samples.of_row)


def parts_with_units(
    data: Predictions, select: Predictions | None, *, stacklevel: int
) -> tuple[Predictions, Predictions | None]:
    """Return both parts with units that they share, unless they have groups."""
    if select is None:
        return with_units(data, stacklevel=stacklevel + 1), None
    if data.groups is not None or select.groups is not None:
        return data, select
    units = with_units(data.joined(select), stacklevel=stacklevel + 1).groups
    if units is None:
        return data, select
    return data._with(groups=units[: len(data)]), select._with(groups=units[len(data) :])


def warn_of_same_rows(data: Predictions, part: Predictions, what: str, *, stacklevel: int) -> None:
    """Warn if rows of another part are among those that methods are fitted on.

    Where rows repeat, equal rows need not be the same ones; then only parts that are equal as a whole are noticed.
    """
    ours, theirs = (np.sort(row_hashes(rows.logits, rows.features)) for rows in (data, part))
    distinct = len(np.unique(ours)) >= (1 - MOST_REPEATED) * len(ours)
    share = float(np.isin(theirs, ours, kind="sort").mean()) if distinct else float(np.array_equal(ours, theirs))
    if share > MOST_REPEATED:
        warn(
            f"{percent(share)} of the rows of the {what} part are among those of the fit, on which every method looks "
            f"better than on new rows. Give other rows, or leave the {what} part out: then a share of the rows is held "
            f"out.",
            InputWarning,
            stacklevel=stacklevel + 1,
        )


def merge_copies(data: Predictions) -> tuple[Predictions, Ints | slice]:
    """Return the rows with one of all copies that a unit has, and which of these each row is.

    Copies count as one row, with the mean of their weights. Without units, no row is a copy.
    """
    if data.groups is None:
        return data, slice(None)
    hashes = row_hashes(data.logits, data.features)
    copies = _copies(data, hashes, _n_values(hashes))
    if copies is None:
        return data, slice(None)
    unit, copy = (np.unique(labels, return_inverse=True)[1] for labels in (data.groups, copies))
    _, first, at, counts = np.unique(
        unit * len(data) + copy, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first)
    place, left = np.argsort(order)[at], data.take(first[order])
    if data.sample_weight is None:
        return left, place
    return left._with(sample_weight=np.bincount(place, data.sample_weight) / counts[order]), place


def weigh_units(data: Predictions) -> Predictions:
    """Return the rows with weights by which a unit counts as it is worth: from one row to all of its rows."""
    if data.groups is None or data.n_units == len(data):
        return data
    units = _Grouped.of(data.groups)
    both = units.of_errors(data).shrunken() * units.of_inputs(_numbers(data))
    if both == 0:
        return data
    weight = np.ones(len(data)) if data.sample_weight is None else data.sample_weight
    sizes = np.bincount(units.of_row, weight) ** 2 / np.bincount(units.of_row, weight**2)  # Kish's, where weights vary
    counted = weight / (1 + (sizes - 1) * both)[units.of_row]
    return data._with(sample_weight=np.maximum(np.rint(counted * _PARTS), 1) / _PARTS)


def _n_values(hashes: NDArray[np.uint64]) -> int:
    """Return how many differ; `np.unique` is several times slower."""
    return 1 + int(np.count_nonzero(np.diff(np.sort(hashes))))


def _copies(data: Predictions, hashes: NDArray[np.uint64], n_values: int) -> Ints | None:
    """Return the same number for all copies of a row, or None where rows were not copied.

    Where a classifier has few outputs, rows are equal by themselves, and each is a draw: `EqualRows.times` is how often
    every draw was copied. Where rows were copied unevenly, copies are those with one label.
    """
    if not _FEWEST_VALUES <= n_values < (1 - MOST_REPEATED) * len(data):
        return None
    equal = EqualRows.of(hashes, data.y)
    times = equal.times
    if len(equal.counts) == n_values and _show_copies(equal.counts // times, data.correct[equal.first]):
        return equal.of_row
    return None if times == 1 else equal.of_row * len(data) + equal.rank() // times


def _show_copies(counts: Ints, correct: Bools) -> bool:
    """Return whether rows that occur so often, always with one label, were copied.

    Draws vary in how many there are of each value, and not all that are equal are right, or all wrong.
    """
    several = counts > 1
    if not are_copies(counts[several]):
        return False
    return bool(np.sum(~correct[several]) >= _ENOUGH_WRONG) or in_equal_numbers(counts, int(counts.max()))


def _have_one_answer(data: Predictions, units: Ints) -> bool:
    """Return whether the rows of a unit are right or wrong together, more than chance and their scores explain.

    Rows of no class show nothing: all of them are wrong.
    """
    if len(np.unique(units)) < _SAMPLES_OF_CLASS * len(np.unique(data.prediction)):
        return False
    known = data.y != NO_CLASS
    correlation = _Grouped.of(units[known]).of_errors(data.take(known))
    return correlation.value >= max(_SAME_ANSWER, _BEYOND_CHANCE * correlation.error)


class _Correlation(NamedTuple):
    """A correlation within units, and its standard error if there were none."""

    value: float
    error: float

    def shrunken(self) -> float:
        """Return it from 0 to 1, and closer to 0 the less certain it is."""
        value = min(max(self.value, 0.0), 1.0)
        return value and value**3 / (value**2 + self.error**2)


class _Grouped(NamedTuple):
    """The unit of each row, and how many rows each unit has."""

    of_row: Ints
    counts: Ints

    @classmethod
    def of(cls, groups: Groups) -> _Grouped:
        _, of_row, counts = np.unique(groups, return_inverse=True, return_counts=True)
        return cls(of_row, counts)

    def pairs(self, x: Floats) -> Floats:
        """Return, for each unit of several rows, the mean over the rows of their products with the others."""
        sums = np.bincount(self.of_row, x) ** 2 - np.bincount(self.of_row, x**2)
        several = self.counts > 1
        return np.asarray(sums[several] / (self.counts[several] - 1))

    def of_errors(self, data: Predictions) -> _Correlation:
        """Return the correlation of right and wrong within units, beyond what a map of the score explains."""
        p = _by_score(data)
        pairs = self.pairs(np.sqrt(p * (1 - p))).sum()
        if not pairs > 0:
            return _Correlation(0.0, 1.0)
        several = self.counts > 1
        variance = 2 * self.pairs(p * (1 - p)) / (self.counts[several] - 1)
        return _Correlation(float(self.pairs(data.correct - p).sum() / pairs), float(np.sqrt(variance.sum()) / pairs))

    def of_inputs(self, logits: Floats) -> float:
        """Return the share of the variance of the logits that units share."""
        several = (self.counts > 1)[self.of_row]
        shared = total = 0.0
        for column in logits.T:
            x = column.astype(np.float64) - column.mean(dtype=np.float64)
            shared, total = shared + float(self.pairs(x).sum()), total + float(np.sum(x[several] ** 2))
        return min(max(shared / total, 0.0), 1.0) if total > 0 else 1.0


def _numbers(data: Predictions) -> Floats:
    """Return what rows are known by: the logits, or the signals, each divided by its deviation, gaps at their mean."""
    if data.n_classes > 1 or data.features is None:
        return data.logits
    gaps = np.isnan(data.features)
    known = np.maximum((~gaps).sum(axis=0), 1)
    x = np.where(gaps, 0, data.features - np.where(gaps, 0, data.features).sum(axis=0) / known)
    return np.asarray(x / np.maximum(x.std(axis=0), np.finfo(float).tiny))


def _by_score(data: Predictions) -> Floats:
    """Return how likely each prediction is right, by a logistic regression of the classifier's own log-odds of it."""
    if data.n_classes == 1:
        return np.full(len(data), data.accuracy)
    scores = np.asarray(top_scores(data.logits), dtype=np.float64)
    (slope, offset), _ = fit_logistic(np.sort(scores)[None], scores[data.correct][None])
    return np.asarray(expit(slope * scores + offset))
