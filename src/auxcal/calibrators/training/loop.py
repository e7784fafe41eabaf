"""The training loop: Adam over shuffled batches, for all settings of a grid at once."""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from auxcal._core.progress import report_progress
from auxcal._core.threads import one_thread
from auxcal.calibrators.training.recipes import Recipe


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
        How many rows they are worth, if not one each; the more, the less the weights of the networks decay.
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
