"""The committee of CCAC-X: small networks that see what means the same for all classes, and so want few rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from auxcal._arrays import Floats, Ints, as_rng
from auxcal.calibrators._auxiliary import forward
from auxcal.calibrators._binary import Relative
from auxcal.calibrators._open_map import N_READINGS
from auxcal.calibrators._stack import by_evidence, log_losses
from auxcal.predictions import Predictions
from auxcal.training.recipes import CORRECTIONS

if TYPE_CHECKING:
    from auxcal.training.correctness import Trained

WIDTHS = (0.7, 1.4, 2.8)
"""How large the output of a network may be: the deviations of the prior that are tried."""

_MOST_RANKS = 10
_MOST_COORDINATES = 32  # of few classes; many give a network too much to learn, and the open map has seen them
_KNOTS = 33
_LENIENT = 0.5  # the prior of a width beside that of the stricter one before it
_LEAST_SHARE = 0.2  # of a width, to be worth its hidden units
_IDLE = 1e-4  # log-odds: a hidden unit that never adds more is left out
_CHUNK = 2**14  # rows
_FARTHEST = 15.0  # log-odds
_REACH = 6.0  # deviations; beyond, an input says no more
_SPREAD = 1.7  # a uniform input from −1.7 to 1.7 has deviation 1
_MARGIN = N_READINGS + 1  # where it is among the numbers


class Seen(NamedTuple):
    """What the committee sees of each sample, in float32."""

    near: Relative
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
        network = forward(self.weights, self.biases, self.inputs(_describe(seen)).T)[:, 0]
        _, prediction = seen.near.top
        return np.asarray(network + np.float32(self.slope) * seen.base + self.offsets[prediction])


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
    rows = Rows(
        np.ascontiguousarray(inputs(numbers).T), seen.base, data.prediction, data.correct, folds, data.n_classes
    )
    trained, held_out = train_committee(rows, hidden_size, WIDTHS, CORRECTIONS, as_rng(random_state))
    said = np.column_stack([seen.base, held_out])  # a width of 0 is no network at all
    shares = by_evidence(log_losses(said, data.correct), (1.0, *_LENIENT ** np.arange(len(WIDTHS))))
    shares[shares < _LEAST_SHARE] = 0
    shares /= shares.sum()
    mean = trained.mean(shares[1:].repeat(n_folds) / n_folds)
    return Committee(inputs, *_without_idle_units(mean, rows.inputs)), said @ shares


def _without_idle_units(network: Trained, inputs: Floats) -> Trained:
    """Leave out the hidden units that add next to nothing to any row: the prior draws many there, and all cost time."""
    (into, out), (at_hidden, at_end) = network.weights, network.biases
    chunks = np.array_split(inputs, 1 + len(inputs) // _CHUNK)
    peaks = np.max([(chunk @ into).max(axis=0) for chunk in chunks], axis=0) + at_hidden
    busy = np.maximum(peaks, 0) * np.abs(out[:, 0]) > _IDLE
    return network._replace(weights=(into[:, busy], out[busy]), biases=(at_hidden[busy], at_end))


def within_reason(log_odds: Floats) -> Floats:
    """Return log-odds beyond which nothing is added to the certainty of a voice."""
    return np.clip(log_odds, -_FARTHEST, _FARTHEST).astype(np.float32, copy=False)


class Inputs(NamedTuple):
    """How numbers become inputs of a network: standardised, and the margin by its quantile as well.

    By its quantile a number is seen as finely as the rows are dense there, such as the near-equal logits of attacks.
    """

    centre: Floats
    scale: Floats
    knots: Floats

    def __call__(self, numbers: Floats) -> Floats:
        """Return the inputs, a row for each, given the numbers likewise."""
        d, n = numbers.shape
        x = np.empty((d + 1, n), dtype=np.float32)
        np.subtract(numbers, self.centre[:, None], out=x[:d])
        x[:d] /= self.scale[:, None]
        np.clip(x[:d], -_REACH, _REACH, out=x[:d])
        x[d] = np.interp(numbers[_MARGIN], *self.knots)
        return x


def _learn_inputs(numbers: Floats) -> Inputs:
    """Return the inputs that suit these rows."""
    centre, scale = numbers.mean(axis=1, dtype=np.float64), numbers.std(axis=1, dtype=np.float64)
    scale[scale < 1e-6 * np.abs(centre).max()] = 1
    scale[scale == 0] = 1
    quantiles = np.unique(np.quantile(numbers[_MARGIN], np.linspace(0, 1, _KNOTS)))
    spread = np.linspace(-_SPREAD, _SPREAD, len(quantiles)) if len(quantiles) > 1 else [0.0]
    return Inputs(centre.astype(np.float32), scale.astype(np.float32), np.stack([quantiles, spread]))


def _describe(seen: Seen) -> Floats:
    """Return numbers that mean the same for all classes and, where classes are few, the coordinates; a row for each.

    The former are the open map's readings, the score, the margin, the entropy, the energy, and the largest logits in
    order, the latter two less the mean logit.
    """
    _, z, e, others = seen.near
    k = z.shape[1]
    total = 1 + others
    log_total = np.log(total)
    entropy = log_total - np.vecdot(e, z) / total
    mean = z @ np.full(k, 1 / k, dtype=np.float32)
    top = _largest(z)
    coordinates = seen.coordinates[:, : _MOST_COORDINATES if k <= _MOST_COORDINATES else 0]
    alone = np.stack([seen.near.top_scores(), -top[:, 1], entropy, log_total - mean])
    return np.concatenate([seen.readings.T, alone, top.T - mean, coordinates.T])


def _largest(z: Floats) -> Floats:
    """Return the largest logits of each row in descending order."""
    k = z.shape[1]
    if k > 2 * _MOST_RANKS:
        z = np.partition(z, k - _MOST_RANKS, axis=1)[:, k - _MOST_RANKS :]
    return np.sort(z, axis=1)[:, : -_MOST_RANKS - 1 : -1]
