"""Intervals of metrics that hold for few rows too: the Bayesian bootstrap, with one row that the sample lacks.

Every draw weighs the rows, or whole groups of them, at random. A few rows may hold none of those that matter most, such
as sure ones that are wrong, so each draw has one row more: wrong or right, at the highest or the lowest confidence. Of
the four intervals that this gives the farthest ends count. For a share they are those of Clopper and Pearson, for a
quantile those of its binomial test, and for a mean of bounded numbers those of Gaffke.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Floats, Ints, as_rng, check_total
from auxcal._core.progress import Report
from auxcal.metrics._ranking import Ties
from auxcal.metrics.sample import Sample

_LEVELS = 4_000  # distinct confidences that are kept apart, so that the cost does not grow with the rows
_BLOCK = 1 << 18  # weights that are drawn at once, which fit into the CPU cache
_TINY = 1e-300  # a weight that rounds to 0 would leave a share of nothing
_MISSING = (False, -1), (False, 0), (True, -1), (True, 0)  # what the sample may lack: whether right, and where

OfTies: TypeAlias = Callable[[Ties], Floats]
"""A metric of many draws at once: `Ties` whose counts have the shape (draws, m) in, an array of shape (draws,) out."""


def intervals(
    metrics: Mapping[str, OfTies],
    rows: Sample,
    bootstrap: int,
    level: float,
    random_state: int | None,
    report: Report,
) -> dict[str, tuple[float, float]]:
    """Return the ends of the interval of each metric; all are defined for these rows.

    Every resample is drawn and counted once: `Ties` keeps what several metrics need of it.
    """
    if rows.sample_weight is not None and rows.groups is None:
        check_total(rows.sample_weight)
    rng, done = as_rng(random_state), 0
    values = np.empty((len(metrics), len(_MISSING), bootstrap))
    for drawn, missing in _draws(rows, bootstrap, rng):
        now = slice(done, done + len(missing))
        for way, (is_right, place) in enumerate(_MISSING):
            right, wrong = drawn.right.copy(), drawn.wrong.copy()
            (right if is_right else wrong)[:, place] += missing
            sample = Ties(drawn.confidence, right, wrong)
            for number, metric in enumerate(metrics.values()):
                values[number, way, now] = metric(sample)
        done = now.stop
        report(done / bootstrap)
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=2, method="weibull")
    ends = zip(low.min(axis=1), high.max(axis=1), strict=True)
    return {name: (float(first), float(last)) for name, (first, last) in zip(metrics, ends, strict=True)}


def one_by_one(kernel: Callable[..., float]) -> OfTies:
    """Return a metric of many draws for one that takes a single sample."""

    def of_ties(drawn: Ties) -> Floats:
        correct = np.arange(2 * len(drawn.confidence)) % 2 == 1
        weights = np.stack([drawn.wrong, drawn.right], axis=2).reshape(len(drawn.wrong), -1)
        counted = (weights > 0).all(axis=0)  # the same rows in every draw
        sample = drawn.confidence.repeat(2)[counted], correct[counted]
        return np.array([kernel(*sample, sample_weight=weight[counted]) for weight in weights])

    return of_ties


def _draws(rows: Sample, number: int, rng: np.random.Generator) -> Iterator[tuple[Ties, Floats]]:
    """Yield blocks of draws: the weights of the right and the wrong rows of each level, and of the row that is missing.

    A row of weight w is drawn as w rows are, each with an exponential weight; a group with all its rows at once.
    """
    confidence, of_row = _levels(rows)
    cell = 2 * of_row + rows.correct
    count = np.bincount(cell, rows.weight, minlength=2 * len(confidence))
    used = np.flatnonzero(count)
    labels, group = (None, None) if rows.groups is None else np.unique(rows.groups, return_inverse=True)
    one = 1.0 if labels is None else float(rows.weight.sum()) / len(labels)
    step = max(1, _BLOCK // len(count))
    for start in range(0, number, step):
        shape = min(step, number - start)
        weight = np.zeros((shape, len(count)))
        if labels is None:
            weight[:, used] = np.maximum(rng.standard_gamma(count[used], (shape, len(used))), _TINY)
        else:
            for draw, of_group in zip(weight, rng.standard_exponential((shape, len(labels))), strict=True):
                draw[:] = np.bincount(cell, rows.weight * of_group[group], minlength=len(count))
        yield Ties(confidence, right=weight[:, 1::2], wrong=weight[:, ::2]), one * rng.standard_exponential(shape)


def _levels(rows: Sample) -> tuple[Floats, Ints]:
    """Return the distinct confidences in ascending order, and which of them each row has.

    Where there are too many, neighbours are merged, with their mean.
    """
    _, of_row = np.unique(rows.confidence, return_inverse=True)
    count: NDArray[Any] = np.bincount(of_row, rows.weight)
    if len(count) > _LEVELS:
        middle = np.cumsum(count) - count / 2
        _, merged = np.unique((middle * (_LEVELS / count.sum())).astype(np.intp), return_inverse=True)
        of_row = merged[of_row]
        count = np.bincount(of_row, rows.weight)
    mean = np.bincount(of_row, rows.weight * rows.confidence) / count
    return mean.astype(rows.confidence.dtype), of_row
