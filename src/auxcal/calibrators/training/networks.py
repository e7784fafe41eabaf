"""Networks of one shape as one batched network: every array has a leading axis for the settings."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from auxcal._core.arrays import Floats
from auxcal.calibrators.training.surroundings import as_in_a_fresh_process


@dataclass(frozen=True)
class GridNetwork:
    """G fully connected networks with ReLU between the layers.

    Parameters
    ----------
    weights : list of tensors of shape (G, inputs, outputs)
    biases : list of tensors of shape (G, 1, outputs)
    """

    weights: list[Tensor]
    biases: list[Tensor]

    @classmethod
    @as_in_a_fresh_process
    def initialised(cls, sizes: tuple[int, ...], copies: int, rng: np.random.Generator) -> GridNetwork:
        """Draw one network (He's uniform for the weights, zeros for the biases) and copy it for every setting."""
        weights, biases = [], []
        for inputs, outputs in pairwise(sizes):
            bound = np.sqrt(6 / inputs)
            weight = torch.from_numpy(rng.uniform(-bound, bound, (1, inputs, outputs)).astype(np.float32))
            weights.append(weight.repeat(copies, 1, 1).requires_grad_())
            biases.append(torch.zeros(copies, 1, outputs, dtype=torch.float32, device="cpu", requires_grad=True))
        return cls(weights, biases)

    @classmethod
    @as_in_a_fresh_process
    def copied(cls, weight: Floats, bias: Floats, copies: int) -> GridNetwork:
        """Copy one layer, weight (inputs, outputs) and bias (outputs,), for every setting."""
        layer, offset = torch.from_numpy(weight)[None], torch.from_numpy(bias)[None, None]
        return cls([layer.repeat(copies, 1, 1).requires_grad_()], [offset.repeat(copies, 1, 1).requires_grad_()])

    @property
    def parameters(self) -> list[Tensor]:
        """Everything that is trained."""
        return [*self.weights, *self.biases]

    def __call__(self, x: Tensor) -> Tensor:
        """Return the outputs (G, n, outputs) for the inputs (n, inputs) that all networks share."""
        hidden = x.expand(len(self.weights[0]), -1, -1)
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            hidden = torch.baddbmm(bias, hidden, weight)
            if layer < len(self.weights) - 1:
                hidden = torch.relu(hidden)
        return hidden

    def arrays(self, setting: int) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
        """Return the weights and biases of one network as NumPy."""
        return (
            tuple(weight[setting].detach().numpy().copy() for weight in self.weights),
            tuple(bias[setting, 0].detach().numpy().copy() for bias in self.biases),
        )
