"""Samples that were seen several times, such as the frames of a video, where nothing names them.

Views of one sample have one label, whatever the classifier makes of them. So where a prediction is wrong, the nearest
rows have its label; rows a little further away are other samples, and have others. Where rows were drawn apart, labels
of wrong predictions rarely agree, or they agree over a whole region, as far as one looks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from auxcal._core.arrays import NO_CLASS, Bools, Floats, Ints
from auxcal.predictions import Predictions
from auxcal.splits import ordered_rows

# Chosen on random states that are not reported: 450 draws of 19 bundles without views, and some 900 with them.
_FEWEST_WRONG = 10  # predictions whose neighbours are looked at
_FEWEST_SAMPLES = 20  # a region in which predictions are wrong makes rows look like up to 17 samples
_MOST_NEIGHBOURS = 100  # so views of a sample are found where there are up to about 50
# By how much the nearest agree more often than the further half, and what share of its disagreement they may have.
_MORE, _LESS = 0.3, 0.5
_BEYOND_CHANCE = 4.0  # standard errors by which they agree more often, too
_MOST_DISTANCES = 5 * 10**6  # so that a million rows take half a second; at least 50 wrong predictions are looked at
_WRONG = 50, 500
_TINY = 1e-9  # what rounding does to a distance, relative to that of the farthest of the nearest
_LOOKED_AT = 20_000  # distances that are sorted to find the nearest of more
_DIMENSIONS = 32  # of more, as many random directions keep the ratios of distances
_CELL = 2048  # rows that are joined to samples at once
_ABOUT = 1.5  # how far their number may be from what neighbours suggest, so that joined rows are farther apart


class RepeatedSamples(NamedTuple):
    """The sample of each row, and how often the nearest row of a wrong prediction has its label."""

    of_row: Ints
    same_label: float


def repeated_samples(data: Predictions) -> RepeatedSamples | None:
    """Return which sample each row shows, or None where no sample seems to have been seen several times.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal import Predictions
    >>> from auxcal.calibrators.repeated_samples import repeated_samples
    >>> rng = np.random.default_rng(0)
    >>> logits, y = rng.normal(size=(60, 5)), rng.integers(5, size=60)
    >>> repeated_samples(Predictions(logits, y)) is None
    True
    >>> views = np.arange(60).repeat(4)
    >>> repeated = repeated_samples(Predictions(logits[views] + 0.01 * rng.normal(size=(240, 5)), y[views]))
    >>> len(np.unique(repeated.of_row))
    60
    """
    of_class = data.y != NO_CLASS  # rows of none are all wrong, and all of one label
    most = min(_MOST_NEIGHBOURS, int(of_class.sum()) // 3)
    if np.sum(of_class & ~data.correct) < _FEWEST_WRONG or most < 2:
        return None
    known = data if of_class.all() else data.take(of_class)
    agreement, error = _agreement(known, most)
    near, far = float(agreement[0]), float(agreement[most // 2 :].mean())
    if near - far < max(_MORE, _BEYOND_CHANCE * error) or 1 - near > _LESS * (1 - far):
        return None
    views = 1 + np.maximum(agreement - far, 0).sum() / (near - far)
    if len(known) / views < _FEWEST_SAMPLES:
        return None
    return RepeatedSamples(_joined(data, views), near)


def _agreement(data: Predictions, most: int) -> tuple[Floats, float]:
    """Return how often the first, second, … nearest row of a wrong prediction has its label, and the standard error."""
    wrong = np.flatnonzero(~data.correct)
    least, enough = _WRONG
    wrong = wrong[data.take(wrong).spread_rows(int(np.clip(_MOST_DISTANCES // len(data), least, enough)))]
    x = _few_dimensions(data.logits)
    lengths = np.vecdot(x, x)
    same = np.empty((len(wrong), most))
    for i, row in enumerate(wrong):
        distances = lengths - 2 * (x @ x[row])  # squared, but for what all rows share
        distances[row] = np.inf
        near = _near(distances, most)
        same[i] = _with_ties(data.y[near] == data.y[row], distances[near])[:most]
    share = same.mean()
    return same.mean(axis=0), float(np.sqrt(share * (1 - share) / len(wrong)))


def _near(distances: Floats, most: int) -> Ints:
    """Return rows in order of their distance, the nearest among them: those nearer than a few of every so many."""
    every = max(1, len(distances) // _LOOKED_AT)
    few = distances[::every]
    rank = min(2 * most // every + 8, len(few) - 2)  # not the last: the row itself is infinitely far away
    bound = np.partition(few, rank)[rank]
    if np.count_nonzero(distances <= bound) < most:
        bound = np.partition(distances, most)[most]
    near = np.flatnonzero(distances <= bound)
    return near[np.argsort(distances[near], kind="stable")]


def _with_ties(same: Bools, distances: Floats) -> Floats:
    """Return the mean of what is equally near, but for rounding: the order of equal rows is arbitrary."""
    begin = np.flatnonzero(np.diff(distances, prepend=-np.inf) > _TINY * (distances[-1] - distances[0]))
    counts = np.diff(begin, append=len(same))
    return np.asarray((np.add.reduceat(same.astype(float), begin) / counts).repeat(counts))


def _few_dimensions(x: Floats) -> Floats:
    x = x.astype(np.float64) - x.mean(axis=0, dtype=np.float64)
    if x.shape[1] <= _DIMENSIONS:
        return np.asarray(x)
    return np.asarray(x @ np.random.default_rng(0).normal(size=(x.shape[1], _DIMENSIONS)))


def _joined(data: Predictions, views: float) -> Ints:
    """Join rows to samples of about so many views, by Ward's method: cell by cell, since it compares all pairs."""
    from scipy.cluster.hierarchy import fcluster, linkage

    order = ordered_rows(data.logits, data.y, data.w, data.features)  # so that theirs makes no difference
    x = _few_dimensions(data.logits[order])
    samples, n_samples = np.empty(len(x), dtype=np.intp), 0
    for cell in _cells(x):
        tree = linkage(x[cell], "ward")
        numbers = fcluster(tree, _n_samples(tree[:, 2], len(cell) / views), "maxclust")
        samples[order[cell]] = n_samples + numbers
        n_samples += numbers.max()
    return samples


def _n_samples(heights: Floats, about: float) -> int:
    """Return the number of samples near `about` for which the next two to be joined are the farthest apart."""
    n = len(heights) + 1
    numbers = np.arange(max(int(about / _ABOUT), 1), min(int(about * _ABOUT), n - 1) + 1)
    if len(numbers) < 2:
        return max(int(about), 1)
    log_heights = np.log(np.maximum(heights, np.finfo(float).eps * max(heights[-1], 1e-300)))
    gaps = log_heights[n - numbers] - log_heights[n - numbers - 1]
    return int(numbers[gaps.argmax()])


def _cells(x: Floats) -> Iterator[Ints]:
    """Yield rows near each other: all of them, or halves of halves."""
    waiting = [np.arange(len(x))]
    while waiting:
        rows = waiting.pop()
        if len(rows) <= _CELL:
            yield rows
            continue
        column = x[rows, x[rows].var(axis=0).argmax()]
        order = np.argpartition(column, len(rows) // 2)
        waiting += [rows[order[: len(rows) // 2]], rows[order[len(rows) // 2 :]]]
