"""The effect of each signal: how much worse the confidence is without it, and how it goes with being right."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Floats, as_rng
from auxcal._core.logits import expit
from auxcal.calibrators import Calibrator
from auxcal.metrics.intervals import wilson
from auxcal.predictions import Predictions
from auxcal.report.comparison._answer import mean_and_error, shares
from auxcal.signals import SignalColumns, SignalKind

MISSING = "missing"
"""The bin of answers that lack a signal."""

# What is legible; judged by eye, no script chose these numbers.
_BINS = 10  # of a number, each with as many answers, where it has more values than that
_MOST_LEVELS = 20  # of a category, the most frequent ones; all others are one bin
_Z_95 = 1.96
_ENOUGH = 3000  # answers to shuffle, so that many signals take seconds
_SHUFFLES = 3


@dataclass(frozen=True)
class Bin:
    """Answers with one value of a signal, or values near each other.

    Parameters
    ----------
    name : str
        The value, or the median of the values.
    rows : int
        How many test answers it has.
    confidence, right : float
        Their mean confidence, and the share that is right.
    low, high : float
        The 95 % interval of that share, by Wilson.
    """

    name: str
    rows: int
    confidence: float
    right: float
    low: float
    high: float


@dataclass(frozen=True)
class SignalEffect:
    """The effect of one signal, on the test part.

    Parameters
    ----------
    name, kind : str
        The signal, and whether it is a number, a probability or a category.
    counts, error : float
        How much the Brier score rises when the signal is shuffled among the answers, and its standard error.
    bins : tuple of Bin
        The answers by its value: in ascending order, of a category the most frequent first; gaps are last.
    """

    name: str
    kind: SignalKind
    counts: float
    error: float
    bins: tuple[Bin, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return all numbers, for JSON."""
        return asdict(self) | {"bins": [asdict(part) for part in self.bins]}


def signal_effects(
    calibrator: Calibrator, test: Predictions, confidence: Floats, random_state: int
) -> tuple[SignalEffect, ...]:
    """Return the effect of each signal, those that count most first."""
    columns, x = test.inputs.signal_columns, np.asarray(test.features)
    effects = []
    for j, (name, kind) in enumerate(zip(columns.names, columns.kinds, strict=True)):
        counts, error = _shuffled(calibrator, test, confidence, j, random_state)
        effects.append(SignalEffect(name, kind, counts, error, tuple(_bins(x[:, j], columns, j, confidence, test))))
    return tuple(sorted(effects, key=lambda effect: -effect.counts))


def _shuffled(
    calibrator: Calibrator, test: Predictions, confidence: Floats, j: int, random_state: int
) -> tuple[float, float]:
    """Return how much the Brier score rises without the information of a signal, and its standard error."""
    rows = test.spread_rows(_ENOUGH)
    part, whole = test.take(rows), confidence[rows]
    rng, rises = as_rng(random_state), np.zeros(len(part))
    for _ in range(_SHUFFLES):
        x = np.array(part.features)
        x[:, j] = rng.permutation(x[:, j])
        without = calibrator.score_validated(part.logits, x)
        rises += ((without - part.correct) ** 2 - (whole - part.correct) ** 2) / _SHUFFLES
    return mean_and_error(rises, shares(len(part), part.sample_weight), part.groups)


def _bins(x: Floats, columns: SignalColumns, j: int, confidence: Floats, test: Predictions) -> list[Bin]:
    at, names = _levels(x, columns.levels[j]) if columns.levels[j] else _quantiles(x, columns.kinds[j])
    at = np.where(np.isnan(x), len(names), at)
    bins = []
    for place, name in enumerate((*names, MISSING)):
        here = at == place
        weight = here.astype(float) if test.sample_weight is None else here * test.sample_weight
        if weight.sum() > 0:
            mean, right = (float(np.average(column, weights=weight)) for column in (confidence, test.correct))
            rows = int(here.sum())
            bins.append(Bin(name, rows, mean, right, *map(float, wilson(right, rows, _Z_95))))
    return bins


def _levels(codes: Floats, levels: tuple[str, ...]) -> tuple[NDArray[np.intp], list[str]]:
    """Return the place of each answer's level by how frequent it is, and the names; rare and new ones are others."""
    known = np.where(codes >= 0, codes, len(levels)).astype(np.intp)
    counts = np.bincount(known, minlength=len(levels) + 1)[:-1]
    order = np.argsort(-counts, kind="stable")[:_MOST_LEVELS]
    places = np.full(len(levels) + 1, len(order))
    places[order] = np.arange(len(order))
    return places[known], [*(levels[k] for k in order), "others"]


def _quantiles(x: Floats, kind: SignalKind) -> tuple[NDArray[np.intp], list[str]]:
    """Return the bin of each answer, and the medians: values of their own if they are few."""
    known = x[~np.isnan(x)]
    if not len(known):
        return np.zeros(len(x), np.intp), []
    values = np.unique(known)
    if len(values) > _BINS:
        values = np.unique(np.quantile(known, np.arange(1, _BINS + 1) / _BINS, method="inverted_cdf"))
    at = np.searchsorted(values, np.nan_to_num(x)).clip(0, len(values) - 1)
    medians = (np.median(x[(at == k) & ~np.isnan(x)]) for k in range(len(values)))
    return at, [f"{expit(median) if kind == 'probability' else median:.3g}" for median in medians]
