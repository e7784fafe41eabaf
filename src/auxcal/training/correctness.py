"""Trains networks that tell right predictions from wrong ones, one for each fold that it must not see, as one batch."""

from __future__ import annotations

from collections.abc import Sequence
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


_SLOPE_WIDTH, _OFFSET_WIDTH = 0.1, 0.2
_CHUNK = 2**16  # rows


class Trained(NamedTuple):
    """A network with one hidden layer: log-odds = network(inputs) + slope · base + the offset of the prediction."""

    weights: tuple[Floats, ...]
    biases: tuple[Floats, ...]
    slope: float
    offsets: Floats


@dataclass(frozen=True)
class Networks:
    """A network for each width of the prior and each fold, in this order.

    Parameters
    ----------
    network : GridNetwork
    more_slope : tensor of shape (G, 1)
        What is added to a slope of 1.
    offsets : tensor of shape (G, K)
    """

    network: GridNetwork
    more_slope: Tensor
    offsets: Tensor

    @property
    def parameters(self) -> list[Tensor]:
        """Everything that is trained."""
        return [*self.network.parameters, self.more_slope, self.offsets]

    def log_odds(self, inputs: Tensor, base: Tensor, prediction: Tensor) -> Tensor:
        """Return the log-odds of each network for each row, of shape (G, n)."""
        return self.network(inputs)[:, :, 0] + (1 + self.more_slope) * base + self.offsets[:, prediction]

    def far(self, widths: Tensor) -> Tensor:
        """Return how unlikely each network is, in nats; likely ones have an output about as large as the width."""
        (into, out), biases = self.network.weights, self.network.biases
        layers = _far(into, widths * into.shape[1] ** -0.5) + _far(out, out.shape[1] ** -0.5)
        return (
            layers
            + sum(_far(bias, 1.0) for bias in biases)
            + _far(self.more_slope, _SLOPE_WIDTH)
            + _far(self.offsets, _OFFSET_WIDTH)
        )

    def mean(self, shares: Floats) -> Trained:
        """Return the one network that gives the weighted mean of all: it has the hidden units of those with a share."""
        kept = np.flatnonzero(shares)
        share = torch.from_numpy(shares[kept].astype(np.float32))
        (into, out), (at_hidden, at_end) = (
            [part.detach()[kept] for part in parts] for parts in (self.network.weights, self.network.biases)
        )
        weights = into.transpose(0, 1).flatten(1), (share[:, None, None] * out).flatten(0, 1)
        biases = at_hidden.flatten(), share @ at_end[:, 0]
        slope, offsets = 1 + share @ self.more_slope.detach()[kept, 0], share @ self.offsets.detach()[kept]
        return Trained(
            tuple(w.numpy().copy() for w in weights), tuple(b.numpy() for b in biases), float(slope), offsets.numpy()
        )


def train_committee(
    rows: Rows, hidden_size: int, widths: Sequence[float], recipe: Recipe, rng: np.random.Generator
) -> tuple[Networks, Floats]:
    """Train a network for each width of a prior and each fold, which it must not see.

    The prior draws a network to nothing: with few rows it adds little to the base.

    Returns
    -------
    networks : Networks
    held_out : array of shape (n, len(widths))
        For each row the log-odds of the network that has not seen it.
    """
    n_folds, n = int(rows.folds.max()) + 1, len(rows.folds)
    copies = n_folds * len(widths)
    networks = Networks(
        GridNetwork.initialised((rows.inputs.shape[1], hidden_size, 1), copies, rng),
        torch.zeros(copies, 1, requires_grad=True),
        torch.zeros(copies, rows.n_classes, requires_grad=True),
    )
    given = [torch.from_numpy(part) for part in (rows.inputs, rows.base, rows.prediction)]
    folds, correct = torch.from_numpy(rows.folds), torch.from_numpy(rows.correct).float()
    seen = (folds != torch.arange(n_folds)[:, None]).float().repeat(len(widths), 1)
    width = torch.tensor(widths).repeat_interleave(n_folds)

    def loss(batch: Tensor) -> Tensor:
        log_odds = networks.log_odds(*(part[batch] for part in given))
        target = correct[batch].expand_as(log_odds)
        data = binary_cross_entropy_with_logits(log_odds, target, weight=seen[:, batch], reduction="none")
        return data.mean(dim=1) + networks.far(width) / n

    train(networks.parameters, loss, n, recipe, rng)
    held_out = torch.empty(n, len(widths))
    with torch.no_grad():
        for batch in torch.arange(n).split(_CHUNK):
            log_odds = networks.log_odds(*(part[batch] for part in given)).unflatten(0, (len(widths), n_folds))
            held_out[batch] = log_odds[:, folds[batch], torch.arange(len(batch))].T
    return networks, held_out.numpy()


def _far(numbers: Tensor, width: Tensor | float) -> Tensor:
    """Return how far the numbers of each network are from 0: −log of a Gaussian of that deviation."""
    return numbers.flatten(1).square().sum(dim=1) / (2 * width**2)
