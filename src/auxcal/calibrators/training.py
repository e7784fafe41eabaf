"""Training of the networks of CCAC and CCAC-S; the only part of the library that fits with torch.

The networks of a whole grid of λ1 and λ2 are trained as one batch: every array has a leading axis for the settings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from itertools import pairwise
from typing import ParamSpec, TypeVar

import numpy as np
import torch
from torch import Tensor

from auxcal._core.arrays import Floats, Ints, Weight
from auxcal._core.progress import report_progress
from auxcal._core.threads import one_thread
from auxcal.calibrators.auxiliary import Network, Recipe

_P = ParamSpec("_P")
_R = TypeVar("_R")


def as_in_a_fresh_process(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorate what makes or trains networks: gradients are on, inference mode and autocast off.

    The default dtype and device belong to all threads, so they stay; every tensor here names its own.
    """

    @wraps(function)
    def freshly(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with torch.inference_mode(False), torch.enable_grad(), torch.autocast("cpu", enabled=False):
            return function(*args, **kwargs)

    return freshly


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
        """The effective sample size."""
        return float(len(self.w) if self.sample_weight is None else self.sample_weight.sum())


@as_in_a_fresh_process
def train_networks(
    problem: Problem,
    settings: Sequence[tuple[float, float]],
    start: GridNetwork,
    recipe: Recipe,
    rng: np.random.Generator,
    temperature: float | None = None,
) -> list[Network]:
    """Train the networks of `start`, one for each (λ1, λ2); for CCAC-S from the given temperature."""
    x, w = torch.from_numpy(problem.inputs), torch.from_numpy(problem.w)
    lambda1, lambda2 = torch.tensor(settings, dtype=torch.float32, device="cpu").T[:, :, None]
    parameters = list(start.parameters)
    if problem.logits is None or temperature is None:

        def outputs(rows: Tensor) -> Tensor:
            return start(x[rows])
    else:
        # z / T starts at z / T₀. The factor T₀ / T is trained: it starts at 1, whatever the scale of the logits.
        scaled = torch.from_numpy((problem.logits / temperature).astype(np.float32))
        log_factor = torch.zeros(len(settings), 1, 1, dtype=torch.float32, device="cpu", requires_grad=True)
        parameters.append(log_factor)

        def outputs(rows: Tensor) -> Tensor:
            return torch.cat([scaled[rows] * log_factor.exp(), start(x[rows])], dim=2)

    # Relative to the mean weight, so that the loss of a batch is that of all rows on average.
    share = problem.sample_weight
    weight = None if share is None else torch.from_numpy((share / share.mean()).astype(np.float32))

    def loss(rows: Tensor) -> Tensor:
        times = None if weight is None else weight[rows]
        return auxiliary_class_loss(outputs(rows), w[rows], lambda1, lambda2, times)

    train(parameters, loss, len(w), recipe, rng, problem.total_weight)
    temperatures: Sequence[float | None] = [None] * len(settings)
    if problem.logits is not None and temperature is not None:
        temperatures = (temperature / log_factor.detach().exp().flatten().double().numpy()).tolist()
    return [Network(*start.arrays(g), temperature=temperatures[g]) for g in range(len(settings))]


def auxiliary_class_loss(
    logits: Tensor, w: Tensor, lambda1: Tensor, lambda2: Tensor, sample_weight: Tensor | None = None
) -> Tensor:
    """Return −Σ_{k≤K} w_k log μ_k − λ1 (1 − w_{K+1}) log(1 − μ_{K+1}) − λ2 w_{K+1} log μ_{K+1}.

    Parameters
    ----------
    logits : tensor of shape (G, n, K + 1)
        The outputs of G networks, the auxiliary class last.
    w : tensor of shape (n,)
        The extended label: the class where the prediction is correct, else K.
    lambda1, lambda2 : tensors of shape (G, 1)
        The settings of the networks.
    sample_weight : tensor of shape (n,), optional
        How often each row counts, relative to the mean row.

    Returns
    -------
    tensor of shape (G,)
        The mean loss of each network.
    """
    wrong = w == logits.shape[2] - 1
    log_total = torch.logsumexp(logits, dim=2)
    at_w = torch.gather(logits, 2, w.expand(logits.shape[0], -1)[:, :, None])[:, :, 0]
    loss = (log_total - at_w) * torch.where(wrong, lambda2, 1.0)
    if bool((lambda1 > 0).any()):
        # 1 − μ_{K+1} is the sum of the others: as a logsumexp it stays exact where μ_{K+1} is near 1.
        log_classes = torch.logsumexp(logits[:, :, :-1], dim=2)
        loss = loss + (log_total - log_classes) * torch.where(wrong, 0.0, lambda1)
    return loss.mean(dim=1) if sample_weight is None else (loss * sample_weight).mean(dim=1)


def train(
    parameters: list[Tensor],
    loss: Callable[[Tensor], Tensor],
    n_rows: int,
    recipe: Recipe,
    rng: np.random.Generator,
    total_weight: float | None = None,
) -> None:
    """Minimise the loss of every network of the grid.

    Parameters
    ----------
    parameters : list of tensors
        Leaves that require a gradient; they are changed in place.
    loss : callable
        ``loss(rows)`` gives the loss of each network on the given rows, shape (G,). The networks share no parameters,
        so the gradient of the sum is the gradient of each.
    n_rows : int
        The rows of the fit part.
    recipe : Recipe
    rng : numpy.random.Generator
        Shuffles the rows.
    total_weight : float, optional
        The effective sample size, if not n_rows; the larger, the less the weights of the networks decay.
    """
    batch = min(recipe.batch_size, n_rows)
    per_epoch = math.ceil(n_rows / batch)
    epochs = max(recipe.epochs, math.ceil(recipe.least_steps / per_epoch))
    weights_per_row = sum(parameter[0].numel() for parameter in parameters) / (total_weight or n_rows)
    with one_thread():  # for such small networks, threads cost more than they save
        # Capped so that a step shrinks a weight to zero at most.
        weight_decay = min(recipe.weight_decay * weights_per_row, 1 / recipe.learning_rate)
        optimiser = torch.optim.AdamW(parameters, lr=recipe.learning_rate, weight_decay=weight_decay, fused=True)
        step = 0
        for _ in range(epochs):
            for rows in torch.from_numpy(rng.permutation(n_rows)).split(batch):
                if recipe.one_cycle:
                    rate = recipe.learning_rate * _one_cycle(step / (epochs * per_epoch))
                    optimiser.param_groups[0]["lr"] = rate
                optimiser.zero_grad(set_to_none=True)
                loss(rows).sum().backward()
                optimiser.step()
                step += 1
            report_progress(step / (epochs * per_epoch))


def _one_cycle(done: float, warm_up: float = 0.2) -> float:
    """Return the share of the maximum learning rate: linear warm-up, then cosine decay to zero."""
    if done < warm_up:
        return 0.1 + 0.9 * done / warm_up
    return 0.5 * (1 + math.cos(math.pi * (done - warm_up) / (1 - warm_up)))
