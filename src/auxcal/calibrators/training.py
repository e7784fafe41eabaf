"""Training of the networks of CCAC and CCAC-S.

The networks of a whole grid of λ1 and λ2 are trained as one batch: an array has the shape (settings, features, rows).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from auxcal._core.arrays import Floats, Ints, Weight
from auxcal._core.progress import report_progress
from auxcal._core.threads import one_thread
from auxcal.calibrators.auxiliary import Network, Recipe


@dataclass(frozen=True)
class GridNetwork:
    """G fully connected networks with ReLU between the layers.

    A layer is an array of shape (G, outputs, inputs + 1): the weights, and the biases in the last column.
    """

    layers: list[Floats]

    @classmethod
    def initialised(cls, sizes: tuple[int, ...], copies: int, rng: np.random.Generator) -> GridNetwork:
        """Draw one network (He's uniform for the weights, zeros for the biases) and copy it for every setting."""
        layers = []
        for inputs, outputs in pairwise(sizes):
            bound = np.sqrt(6 / inputs)
            weight = rng.uniform(-bound, bound, (inputs, outputs)).astype(np.float32)
            layers.append(_layer(weight, np.zeros(outputs, np.float32), copies))
        return cls(layers)

    @classmethod
    def copied(cls, weight: Floats, bias: Floats, copies: int) -> GridNetwork:
        """Copy one layer, weight (inputs, outputs) and bias (outputs,), for every setting."""
        return cls([_layer(weight, bias, copies)])

    def arrays(self, setting: int) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
        """Return the weights and biases of one network, each weight as (inputs, outputs)."""
        layers = [layer[setting] for layer in self.layers]
        return tuple(layer[:, :-1].T.copy() for layer in layers), tuple(layer[:, -1].copy() for layer in layers)


def _layer(weight: Floats, bias: Floats, copies: int) -> Floats:
    return np.repeat(np.column_stack([weight.T, bias])[None], copies, axis=0)


@dataclass(frozen=True)
class Problem:
    """What the networks learn from: inputs (n, d), the extended label w, and how often each row counts in the loss.

    For CCAC-S there are also the logits (n, K), which are scaled by a temperature; the network's one output is then the
    auxiliary logit.
    """

    inputs: Floats
    w: Ints
    logits: Floats | None = None
    sample_weight: Weight | None = None

    @property
    def total_weight(self) -> float:
        """The effective sample size."""
        return float(len(self.w) if self.sample_weight is None else self.sample_weight.sum())


def train_networks(
    problem: Problem,
    settings: Sequence[tuple[float, float]],
    start: GridNetwork,
    recipe: Recipe,
    rng: np.random.Generator,
    temperature: float | None = None,
) -> list[Network]:
    """Train the networks of `start`, one for each (λ1, λ2); for CCAC-S from the given temperature."""
    objective = Objective(problem, settings, start, temperature)
    train(objective, len(problem.w), recipe, rng, problem.total_weight)
    trained, temperatures = GridNetwork(objective.layers), objective.temperatures()
    return [Network(*trained.arrays(g), temperature=temperatures[g]) for g in range(len(settings))]


def auxiliary_class_loss(
    outputs: Floats, w: Ints, lambda1: Floats, lambda2: Floats, sample_weight: Weight | None = None
) -> Floats:
    """Return −Σ_{k≤K} w_k log μ_k − λ1 (1 − w_{K+1}) log(1 − μ_{K+1}) − λ2 w_{K+1} log μ_{K+1}, the mean over the rows.

    The outputs (G, K + 1, n) are those of G networks, the auxiliary class last, and λ1 and λ2 of shape (G, 1). The
    weight of a row is relative to that of the mean row.
    """
    k = outputs.shape[1] - 1
    highest = outputs[:, :k].max(axis=1)
    log_classes = highest + np.log(np.exp(outputs[:, :k] - highest[:, None]).sum(axis=1))
    log_odds = outputs[:, k] - log_classes
    among_classes = log_classes - outputs[:, np.minimum(w, k - 1), np.arange(len(w))]
    right = among_classes + (1 + lambda1) * np.logaddexp(0, log_odds)
    loss = np.where(w == k, lambda2 * np.logaddexp(0, -log_odds), right)
    return np.asarray((loss if sample_weight is None else loss * sample_weight).mean(axis=1))


class Objective:
    """The loss of G networks and its gradient, on any of the rows of a problem.

    All that is trained is in `theta`; `layers` are views of it. `differentiate` writes `gradient`.
    """

    def __init__(
        self,
        problem: Problem,
        settings: Sequence[tuple[float, float]],
        start: GridNetwork,
        temperature: float | None = None,
        dtype: type[np.floating[Any]] = np.float32,
    ) -> None:
        n, shapes = len(problem.w), [layer.shape for layer in start.layers]
        if temperature is not None:
            shapes.append((len(settings), 1, 1))
        self.theta = np.zeros(sum(map(math.prod, shapes)), dtype)
        self.gradient = np.zeros_like(self.theta)
        self.layers, self._slopes = _views(self.theta, shapes), _views(self.gradient, shapes)
        for layer, initial in zip(self.layers, start.layers, strict=False):
            layer[:] = initial
        self._lambda1, self._lambda2 = np.asarray(settings, dtype).T[:, :, None]
        self._w, self._inputs = problem.w, _with_column(problem.inputs, 1, dtype)  # a one for the biases
        self._temperature = temperature
        if temperature is not None:
            # z / T starts at z / T₀. The factor T₀ / T is trained: it starts at 1, whatever the scale of the logits.
            self._log_factor, self._factor_slope = self.layers.pop(), self._slopes.pop()
            self._scaled = _with_column(np.asarray(problem.logits) / temperature, 0, dtype)
        # Relative to the mean weight, so that the loss of a batch is that of all rows on average.
        share = np.ones(n) if problem.sample_weight is None else problem.sample_weight / problem.sample_weight.mean()
        self._share = share.astype(dtype)
        self._spaces: dict[int, _Space] = {}

    def temperatures(self) -> Sequence[float | None]:
        """Return the temperature of every network, if there is one."""
        if self._temperature is None:
            return [None] * len(self._lambda1)
        return (self._temperature / np.exp(self._log_factor.astype(np.float64)).ravel()).tolist()

    def loss(self, rows: Ints) -> Floats:
        """Return the mean loss of each network on the given rows."""
        outputs = self._forward(rows, self._space(len(rows)))
        return auxiliary_class_loss(outputs, self._w[rows], self._lambda1, self._lambda2, self._share[rows])

    def differentiate(self, rows: Ints) -> None:
        """Write the gradient of the mean loss on the given rows.

        The networks share no parameters, so the gradient of the sum of their losses is the gradient of each.
        """
        space = self._space(len(rows))
        self._forward(rows, space)
        self._differentiate_loss(rows, space)
        self._backward(space)

    def _space(self, n_rows: int) -> _Space:
        if n_rows not in self._spaces:
            n_outputs = self.layers[-1].shape[1] if self._temperature is None else self._scaled.shape[1]
            self._spaces[n_rows] = _Space.for_rows(n_rows, self.layers, n_outputs)
        return self._spaces[n_rows]

    def _forward(self, rows: Ints, space: _Space) -> Floats:
        """Return the outputs (G, K + 1, n); the space keeps what the gradient needs of the way there."""
        np.take(self._inputs, rows, axis=0, out=space.inputs, mode="clip")
        x = space.inputs.T
        for layer, hidden in zip(self.layers, space.hidden, strict=False):
            inner = hidden[:, :-1]
            np.matmul(layer, x, out=inner)
            np.maximum(inner, 0, out=inner)
            x = hidden
        if self._temperature is None:
            np.matmul(self.layers[-1], x, out=space.outputs)
        else:
            space.scaled[:] = self._scaled[rows].T
            np.multiply(space.scaled, np.exp(self._log_factor), out=space.outputs)
            np.matmul(self.layers[-1], x, out=space.outputs[:, -1:])
        return space.outputs

    def _differentiate_loss(self, rows: Ints, space: _Space) -> None:
        """Replace the outputs by the gradient of the loss with respect to them.

        1 − μ_{K+1} is the sum of the other classes, whose logarithm is taken by itself: so it stays exact where
        μ_{K+1} is near 1.
        """
        outputs, w, share = space.outputs, self._w[rows], self._share[rows] / self._share.dtype.type(len(rows))
        classes, auxiliary = outputs[:, :-1], outputs[:, -1]
        highest = classes.max(axis=1)
        classes -= highest[:, None]
        np.exp(classes, out=classes)
        total = classes.sum(axis=1)
        odds = np.exp(auxiliary - highest - np.log(total))
        among_classes, wrong = 1 / (1 + odds), w == classes.shape[1]
        in_auxiliary = 1 / (1 + 1 / odds)
        of_right, of_wrong = np.where(wrong, 0, share), self._lambda2 * np.where(wrong, share, 0)
        punished = self._lambda1 * of_right
        classes *= ((among_classes * (of_right + of_wrong) - in_auxiliary * punished) / total)[:, None]
        np.subtract(in_auxiliary * (of_right + punished), among_classes * of_wrong, out=auxiliary)
        at_w = w * len(rows) + np.arange(len(rows))
        outputs.reshape(len(outputs), -1)[:, at_w] -= of_right

    def _backward(self, space: _Space) -> None:
        slope = space.outputs
        if self._temperature is not None:
            by_factor = slope.reshape(len(slope), -1) @ space.scaled.ravel()
            np.multiply(by_factor[:, None, None], np.exp(self._log_factor), out=self._factor_slope)
            slope = slope[:, -1:]
        for depth in reversed(range(len(self.layers))):
            x = space.hidden[depth - 1].transpose(0, 2, 1) if depth else space.inputs
            np.matmul(slope, x, out=self._slopes[depth])
            if depth:
                weight, below = self.layers[depth][:, :, :-1], space.slopes[depth - 1]
                np.matmul(weight.transpose(0, 2, 1), slope, out=below)
                below *= space.hidden[depth - 1][:, :-1] > 0
                slope = below


@dataclass(frozen=True)
class _Space:
    """The arrays of one batch, which every batch of its size uses again."""

    inputs: Floats
    hidden: list[Floats]
    outputs: Floats
    slopes: list[Floats]
    scaled: Floats

    @classmethod
    def for_rows(cls, n: int, layers: list[Floats], n_outputs: int) -> _Space:
        copies, dtype = len(layers[0]), layers[0].dtype
        widths = [layer.shape[1] for layer in layers[:-1]]
        return cls(
            np.empty((n, layers[0].shape[2]), dtype),
            [np.ones((copies, width + 1, n), dtype) for width in widths],  # the last is the one of the biases
            np.empty((copies, n_outputs, n), dtype),
            [np.empty((copies, width, n), dtype) for width in widths],
            np.empty((n_outputs, n), dtype),
        )


def _views(flat: Floats, shapes: Sequence[tuple[int, ...]]) -> list[Floats]:
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    return [part.reshape(shape) for part, shape in zip(np.split(flat, ends[:-1]), shapes, strict=True)]


def _with_column(x: Floats, value: float, dtype: type[np.floating[Any]]) -> Floats:
    wider = np.full((len(x), x.shape[1] + 1), value, dtype)
    wider[:, :-1] = x
    return wider


def train(
    objective: Objective, n_rows: int, recipe: Recipe, rng: np.random.Generator, total_weight: float | None = None
) -> None:
    """Minimise the loss of every network of the grid, in place, by AdamW; the generator shuffles the rows.

    The larger the effective sample size, `total_weight`, the less the weights of the networks decay.
    """
    batch = min(recipe.batch_size, n_rows)
    per_epoch = math.ceil(n_rows / batch)
    epochs = max(recipe.epochs, math.ceil(recipe.least_steps / per_epoch))
    weights_per_row = objective.theta.size / len(objective.layers[0]) / (total_weight or n_rows)
    # Capped so that a step shrinks a weight to zero at most.
    optimiser = AdamW(objective, min(recipe.weight_decay * weights_per_row, 1 / recipe.learning_rate))
    step, rate = 0, recipe.learning_rate
    # For such small networks, threads cost more than they save. An overflow of the odds is a probability of 0 or 1.
    with one_thread(), np.errstate(over="ignore", divide="ignore"):
        for _ in range(epochs):
            order = rng.permutation(n_rows)
            for first in range(0, n_rows, batch):
                if recipe.one_cycle:
                    rate = recipe.learning_rate * _one_cycle(step / (epochs * per_epoch))
                objective.differentiate(order[first : first + batch])
                optimiser.step(rate)
                step += 1
            report_progress(step / (epochs * per_epoch))


class AdamW:
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019), with the constants of Adam's paper."""

    def __init__(self, objective: Objective, weight_decay: float) -> None:
        self._objective, self._weight_decay, self._steps = objective, weight_decay, 0
        # Σ β^(t−i) g_i: the moments but for a factor 1 − β, which goes into the rate.
        self._first, self._second = np.zeros_like(objective.theta), np.zeros_like(objective.theta)

    def step(self, rate: float, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8) -> None:
        """Move theta against the gradient, which is overwritten."""
        self._steps += 1
        theta, slope = self._objective.theta, self._objective.gradient
        self._first *= beta1
        self._first += slope
        self._second *= beta2
        slope *= slope
        self._second += slope
        np.sqrt(self._second, out=slope)
        scale = math.sqrt((1 - beta2) / (1 - beta2**self._steps))
        slope += epsilon / scale
        np.divide(self._first, slope, out=slope)
        slope *= rate * (1 - beta1) / (1 - beta1**self._steps) / scale
        theta *= 1 - rate * self._weight_decay
        theta -= slope


def _one_cycle(done: float, warm_up: float = 0.2) -> float:
    """Return the share of the maximum learning rate: linear warm-up, then cosine decay to zero."""
    if done < warm_up:
        return 0.1 + 0.9 * done / warm_up
    return 0.5 * (1 + math.cos(math.pi * (done - warm_up) / (1 - warm_up)))
