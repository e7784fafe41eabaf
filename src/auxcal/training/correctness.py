"""Trains networks that tell right predictions from wrong ones, one for each fold that it must not see, as one batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from auxcal._arrays import Bools, Floats, Ints
from auxcal.training.loop import train
from auxcal.training.networks import GridNetwork
from auxcal.training.recipes import Recipe


@dataclass(frozen=True)
class Rows:
    """What the networks learn from.

    Parameters
    ----------
    inputs : array of shape (n, d)
    base : array of shape (n,)
        Log-odds of the prediction, to which the networks add.
    prediction : array of shape (n,)
    correct : array of shape (n,)
    folds : array of shape (n,)
        The network that must not see the row.
    n_classes : int
    """

    inputs: Floats
    base: Floats
    prediction: Ints
    correct: Bools
    folds: Ints
    n_classes: int


class Trained(NamedTuple):
    """The mean of networks with one hidden layer, which is one network with all their hidden units.

    Its log-odds are network(inputs) + slope · base + the offset of the prediction.
    """

    weights: tuple[Floats, ...]
    biases: tuple[Floats, ...]
    slope: float
    offsets: Floats


def train_committee(rows: Rows, hidden_size: int, recipe: Recipe, rng: np.random.Generator) -> tuple[Trained, Floats]:
    """Train a network for each fold; return their mean, and for each row the log-odds of the one that has not seen it.

    Weight decay draws a network to nothing: with few rows it adds little to the base.
    """
    copies = int(rows.folds.max()) + 1
    network = GridNetwork.initialised((rows.inputs.shape[1], hidden_size, 1), copies, rng)
    more_slope = torch.zeros(copies, 1, requires_grad=True)
    offsets = torch.zeros(copies, rows.n_classes, requires_grad=True)
    inputs, base = torch.from_numpy(rows.inputs), torch.from_numpy(rows.base)
    prediction, folds = torch.from_numpy(rows.prediction), torch.from_numpy(rows.folds)
    correct = torch.from_numpy(rows.correct).float()
    seen = (folds != torch.arange(copies)[:, None]).float()

    def log_odds(batch: Tensor | slice) -> Tensor:
        return network(inputs[batch])[:, :, 0] + (1 + more_slope) * base[batch] + offsets[:, prediction[batch]]

    def loss(batch: Tensor) -> Tensor:
        found = log_odds(batch)
        target = correct[batch].expand_as(found)
        return binary_cross_entropy_with_logits(found, target, weight=seen[:, batch], reduction="none").mean(dim=1)

    train([*network.parameters, more_slope, offsets], loss, len(folds), recipe, rng)
    with torch.no_grad():
        held_out = log_odds(slice(None))[folds, torch.arange(len(folds))].numpy()
    slope = 1 + float(more_slope.detach().mean())
    return Trained(*_mean(network), slope, offsets.detach().mean(dim=0).numpy()), held_out


def _mean(network: GridNetwork) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
    """Return the layers of the one network that gives the mean of all."""
    (into, out), (at_hidden, at_end) = network.weights, network.biases
    copies, inputs, width = into.shape
    weights = into.transpose(0, 1).reshape(inputs, copies * width), out.reshape(copies * width, 1) / copies
    biases = at_hidden.reshape(copies * width), at_end.mean(dim=0)[0]
    return tuple(w.detach().numpy().copy() for w in weights), tuple(b.detach().numpy().copy() for b in biases)
