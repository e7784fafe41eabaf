"""Trains networks that tell right predictions from wrong ones, one for each fold that it must not see, as one batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
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
    """

    inputs: Floats
    base: Floats
    prediction: Ints
    correct: Bools
    folds: Ints


@dataclass(frozen=True)
class Corrections:
    """Networks that add to the base: log-odds = network(inputs) + (1 + slope) base + offset of the prediction."""

    network: GridNetwork
    slope: torch.Tensor
    offsets: torch.Tensor

    @classmethod
    def initialised(cls, sizes: tuple[int, ...], n_classes: int, copies: int, rng: np.random.Generator) -> Corrections:
        """Return networks that add nothing yet."""
        slope, offsets = torch.zeros(copies, 1), torch.zeros(copies, n_classes)
        return cls(GridNetwork.initialised(sizes, copies, rng), slope.requires_grad_(), offsets.requires_grad_())

    @classmethod
    def copied(cls, weights: Sequence[Floats], biases: Sequence[Floats], slope: Floats, offsets: Floats) -> Corrections:
        """Return networks that go on from where others are."""
        tensors = [[torch.tensor(array, requires_grad=True) for array in arrays] for arrays in (weights, biases)]
        slope, offsets = (torch.tensor(array, requires_grad=True) for array in (slope, offsets))
        return cls(GridNetwork(*tensors), slope, offsets)

    def arrays(self) -> tuple[tuple[Floats, ...], tuple[Floats, ...], Floats, Floats]:
        """Return the weights, the biases, the slope and the offsets as NumPy."""
        weights, biases = (tuple(map(_to_numpy, layers)) for layers in (self.network.weights, self.network.biases))
        return weights, biases, _to_numpy(self.slope), _to_numpy(self.offsets)

    def __call__(self, inputs: torch.Tensor, base: torch.Tensor, prediction: torch.Tensor) -> torch.Tensor:
        """Return the log-odds, of shape (G, n)."""
        return self.network(inputs)[:, :, 0] + (1 + self.slope) * base + self.offsets[:, prediction]


def train_corrections(rows: Rows, corrections: Corrections, recipe: Recipe, rng: np.random.Generator) -> Floats:
    """Train the networks in place; return for each row the log-odds of the one that has not seen it."""
    inputs, base = torch.from_numpy(rows.inputs), torch.from_numpy(rows.base)
    prediction, folds = torch.from_numpy(rows.prediction), torch.from_numpy(rows.folds)
    correct = torch.from_numpy(rows.correct).float()
    seen = (folds != torch.arange(len(corrections.slope))[:, None]).float()

    def loss(batch: torch.Tensor) -> torch.Tensor:
        log_odds = corrections(inputs[batch], base[batch], prediction[batch])
        target = correct[batch].expand_as(log_odds)
        losses = binary_cross_entropy_with_logits(log_odds, target, weight=seen[:, batch], reduction="none")
        return losses.mean(dim=1)

    train([*corrections.network.parameters, corrections.slope, corrections.offsets], loss, len(folds), recipe, rng)
    with torch.no_grad():
        held_out = corrections(inputs, base, prediction)[folds, torch.arange(len(folds))]
    return held_out.numpy()


def _to_numpy(tensor: torch.Tensor) -> Floats:
    return tensor.detach().numpy().copy()
