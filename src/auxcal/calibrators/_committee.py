"""The committee of CCAC-X: small networks that see what means the same for all classes, and so want few rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auxcal._arrays import Floats, Ints, as_rng
from auxcal.calibrators._auxiliary import forward
from auxcal.calibrators._open_map import N_READINGS
from auxcal.calibrators._stack import by_evidence, strict_first
from auxcal.predictions import Predictions
from auxcal.training.recipes import CORRECTIONS

WIDTHS = (0.7, 1.4, 2.8)
"""How large the output of a network may be: the deviations of the prior that are tried."""

_MOST_RANKS = 10
_MOST_COORDINATES = 32  # of few classes; many give a network too much to learn, and the open map has seen them
_KNOTS = 33
_LEAST_SHARE = 0.2  # of a width, to be worth its hidden units
_FARTHEST = 15.0  # log-odds
_REACH = 6.0  # deviations; beyond, an input says no more
_SPREAD = 1.7  # a uniform input from −1.7 to 1.7 has deviation 1
_ON_QUANTILES = [0, N_READINGS, N_READINGS + 1]  # both log-odds of the prediction, and the margin


class Seen(NamedTuple):
    """What the committee sees of each sample, in float32."""

    logits: Floats
    prediction: Ints
    score: Floats  # the log-odds of the prediction
    readings: Floats  # what the open map says, first its log-odds of the prediction
    coordinates: Floats
    base: Floats  # the log-odds to which the committee adds


class Committee(NamedTuple):
    """A network and how its inputs are made; its log-odds are network + slope · base + offset of the prediction."""

    inputs: Inputs
    weights: tuple[Floats, ...]
    biases: tuple[Floats, ...]
    slope: float
    offsets: Floats

    def log_odds(self, seen: Seen) -> Floats:
        """Return the log-odds of the prediction of each row."""
        network = forward(self.weights, self.biases, self.inputs(_describe(seen)))[:, 0]
        return np.asarray(network + np.float32(self.slope) * seen.base + self.offsets[seen.prediction])


def cross_fit_committee(
    data: Predictions, seen: Seen, folds: Ints, hidden_size: int, random_state: int | None
) -> tuple[Committee, Floats]:
    """Train a network for each width without each fold; return their mean, and what those that had not seen a row say.

    Both are means over the widths, each weighed by its loss on rows not seen.
    """
    from auxcal.training.correctness import Rows, train_committee

    n_folds = int(folds.max()) + 1
    numbers = _describe(seen)
    inputs = _learn_inputs(numbers)
    rows = Rows(inputs(numbers), seen.base, data.prediction, data.correct, folds, data.n_classes)
    trained, held_out = train_committee(rows, hidden_size, WIDTHS, CORRECTIONS, as_rng(random_state))
    shares = by_evidence(held_out, data.correct, strict_first(len(WIDTHS)))
    shares[shares < _LEAST_SHARE] = 0
    shares /= shares.sum()
    return Committee(inputs, *trained.mean(shares.repeat(n_folds) / n_folds)), held_out @ shares


def within_reason(log_odds: Floats) -> Floats:
    """Return log-odds beyond which nothing is added to the certainty of a voice."""
    return np.clip(log_odds, -_FARTHEST, _FARTHEST).astype(np.float32, copy=False)


class Inputs(NamedTuple):
    """How numbers become inputs of a network: standardised, and some of them by their quantile as well.

    By its quantile a number is seen as finely as the rows are dense there, such as the near-equal logits of attacks.
    """

    centre: Floats
    scale: Floats
    knots: tuple[Floats, ...]

    def __call__(self, numbers: Floats) -> Floats:
        """Return the inputs of each row."""
        x = numbers - self.centre
        x /= self.scale
        np.clip(x, -_REACH, _REACH, out=x)
        pairs = zip(_ON_QUANTILES, self.knots, strict=True)
        quantiles = [np.interp(numbers[:, column], *knots).astype(np.float32) for column, knots in pairs]
        return np.column_stack([x, *quantiles])


def _learn_inputs(numbers: Floats) -> Inputs:
    """Return the inputs that suit these rows."""
    centre, scale = numbers.mean(axis=0, dtype=np.float64), numbers.std(axis=0, dtype=np.float64)
    scale[scale < 1e-6 * np.abs(centre).max()] = 1
    scale[scale == 0] = 1
    knots = tuple(_knots(numbers[:, j]) for j in _ON_QUANTILES)
    return Inputs(centre.astype(np.float32), scale.astype(np.float32), knots)


def _knots(column: Floats) -> Floats:
    quantiles = np.unique(np.quantile(column, np.linspace(0, 1, _KNOTS)))
    return np.stack([quantiles, np.linspace(-_SPREAD, _SPREAD, len(quantiles)) if len(quantiles) > 1 else [0.0]])


def _describe(seen: Seen) -> Floats:
    """Return numbers that mean the same for all classes and, where classes are few, the coordinates.

    The former are the open map's readings, the score, the margin, the entropy, the energy, and the largest logits in
    order.
    """
    z = seen.logits
    ones = np.ones(z.shape[1], dtype=np.float32)
    top = _largest(z)
    below = z - top[:, :1]
    e = np.exp(below)
    total = e @ ones
    log_total = np.log(total)
    entropy = log_total - np.vecdot(e, below) / total
    margin = top[:, 0] - top[:, 1]
    top -= (z @ ones / len(ones))[:, None]
    coordinates = seen.coordinates[:, : _MOST_COORDINATES if z.shape[1] <= _MOST_COORDINATES else 0]
    return np.column_stack([seen.readings, seen.score, margin, entropy, top[:, 0] + log_total, top, coordinates])


def _largest(z: Floats) -> Floats:
    """Return the largest logits of each row in descending order."""
    k = z.shape[1]
    if k > 2 * _MOST_RANKS:
        z = np.partition(z, k - _MOST_RANKS, axis=1)[:, k - _MOST_RANKS :]
    return np.sort(z, axis=1)[:, ::-1][:, :_MOST_RANKS].copy()
