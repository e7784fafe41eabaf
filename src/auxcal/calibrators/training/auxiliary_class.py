"""Train a network with an auxiliary class for every setting of λ1 and λ2, all of them as one batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from auxcal._core.arrays import Floats, Ints, Weight
from auxcal.calibrators.training.loop import train
from auxcal.calibrators.training.losses import auxiliary_class_loss
from auxcal.calibrators.training.networks import GridNetwork
from auxcal.calibrators.training.recipes import Recipe
from auxcal.calibrators.training.surroundings import as_in_a_fresh_process


@dataclass(frozen=True)
class Problem:
    """What the networks learn from.

    Parameters
    ----------
    inputs : array of shape (n, d)
        The inputs of the network.
    w : array of shape (n,)
        The extended label: the class where the prediction is correct, else K.
    logits : array of shape (n, K), optional
        For CCAC-S: the logits, which are scaled by a temperature; the network's one output is the auxiliary logit.
    sample_weight : array of shape (n,), optional
        How often each row counts in the loss.
    """

    inputs: Floats
    w: Ints
    logits: Floats | None = None
    sample_weight: Weight | None = None

    @property
    def total_weight(self) -> float:
        """How many rows these are worth."""
        return float(len(self.w) if self.sample_weight is None else self.sample_weight.sum())


@dataclass(frozen=True)
class TrainedNetwork:
    """One trained network as NumPy."""

    weights: tuple[Floats, ...]
    biases: tuple[Floats, ...]
    temperature: float | None


@as_in_a_fresh_process
def train_networks(
    problem: Problem,
    settings: Sequence[tuple[float, float]],
    start: GridNetwork,
    recipe: Recipe,
    rng: np.random.Generator,
    temperature: float | None = None,
) -> list[TrainedNetwork]:
    """Train the networks of `start`, one for each (λ1, λ2); for CCAC-S from the given temperature."""
    x, w = torch.from_numpy(problem.inputs), torch.from_numpy(problem.w)
    lambda1, lambda2 = torch.tensor(settings, dtype=torch.float32, device="cpu").T[:, :, None]
    parameters = list(start.parameters)
    if problem.logits is None or temperature is None:

        def outputs(rows: torch.Tensor) -> torch.Tensor:
            return start(x[rows])
    else:
        # z / T starts at z / T₀. The factor T₀ / T is trained: it starts at 1, whatever the scale of the logits.
        scaled = torch.from_numpy((problem.logits / temperature).astype(np.float32))
        log_factor = torch.zeros(len(settings), 1, 1, dtype=torch.float32, device="cpu", requires_grad=True)
        parameters.append(log_factor)

        def outputs(rows: torch.Tensor) -> torch.Tensor:
            return torch.cat([scaled[rows] * log_factor.exp(), start(x[rows])], dim=2)

    # Relative to the mean weight, so that the loss of a batch is that of all rows on average.
    share = problem.sample_weight
    weight = None if share is None else torch.from_numpy((share / share.mean()).astype(np.float32))

    def loss(rows: torch.Tensor) -> torch.Tensor:
        times = None if weight is None else weight[rows]
        return auxiliary_class_loss(outputs(rows), w[rows], lambda1, lambda2, times)

    train(parameters, loss, len(w), recipe, rng, problem.total_weight)
    temperatures: Sequence[float | None] = [None] * len(settings)
    if problem.logits is not None and temperature is not None:
        temperatures = (temperature / log_factor.detach().exp().flatten().double().numpy()).tolist()
    return [TrainedNetwork(*start.arrays(g), temperature=temperatures[g]) for g in range(len(settings))]
