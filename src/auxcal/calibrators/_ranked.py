"""What the networks of CCAC-X see of a sample: what is the same for all classes, and so wants few rows to learn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auxcal._arrays import Floats
from auxcal.calibrators._binary import top_scores
from auxcal.calibrators._open_map import N_READINGS

_MOST_RANKS = 10
_MOST_COORDINATES = 32  # beyond, a network has too much to learn from them, and the open map has seen them
_KNOTS = 33
_REACH = 6.0  # deviations; beyond, an input says no more
_SPREAD = 1.7  # a uniform input from −1.7 to 1.7 has deviation 1
_ON_QUANTILES = [0, N_READINGS, N_READINGS + 2]  # both log-odds of the prediction, and the margin


def describe(logits: Floats, readings: Floats, temperature: float) -> Floats:
    """Return the numbers of each row: the open map's readings, the log-odds of the prediction at temperatures 1 and T,
    the margin, the entropy, the energy, and the largest logits in order."""
    z = logits.astype(np.float32, copy=False)
    ranked = np.sort(z, axis=1)[:, ::-1]
    mean = z.mean(axis=1, keepdims=True)
    below = ranked - ranked[:, :1]
    e = np.exp(below)
    total = e.sum(axis=1, keepdims=True)
    log_total = np.log(total)
    entropy = log_total[:, 0] - np.vecdot(e, below) / total[:, 0]
    top = ranked[:, :_MOST_RANKS] - mean
    return np.column_stack(
        [
            readings,
            top_scores(z),
            top_scores(z / np.float32(temperature)),
            -below[:, 1],
            entropy,
            top[:, :1] + log_total,
            top,
        ]
    )


class Inputs(NamedTuple):
    """How numbers become inputs of a network: standardised, and some of them by their quantile as well.

    By its quantile a number is seen as finely as the rows are dense there, such as the near-equal logits of attacks.
    """

    centre: Floats
    scale: Floats
    knots: tuple[Floats, ...]

    def __call__(self, numbers: Floats, coordinates: Floats) -> Floats:
        """Return the inputs of each row."""
        if coordinates.shape[1] <= _MOST_COORDINATES:
            numbers = np.concatenate([numbers, coordinates], axis=1)
        x = np.clip((numbers - self.centre) / self.scale, -_REACH, _REACH)
        places = [np.interp(numbers[:, j], *knots) for j, knots in zip(_ON_QUANTILES, self.knots, strict=True)]
        return np.column_stack([x, *places]).astype(np.float32)


def learn_inputs(numbers: Floats, coordinates: Floats) -> Inputs:
    """Return the inputs that suit these rows."""
    columns = numbers
    if coordinates.shape[1] <= _MOST_COORDINATES:
        columns = np.concatenate([numbers, coordinates], axis=1)
    centre, scale = columns.mean(axis=0, dtype=np.float64), columns.std(axis=0, dtype=np.float64)
    scale[scale < 1e-6 * np.abs(centre).max()] = 1
    scale[scale == 0] = 1
    knots = tuple(_knots(numbers[:, j]) for j in _ON_QUANTILES)
    return Inputs(centre.astype(np.float32), scale.astype(np.float32), knots)


def _knots(column: Floats) -> Floats:
    quantiles = np.unique(np.quantile(column, np.linspace(0, 1, _KNOTS)))
    return np.stack([quantiles, np.linspace(-_SPREAD, _SPREAD, len(quantiles)) if len(quantiles) > 1 else [0.0]])
