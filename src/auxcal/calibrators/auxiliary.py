"""What CCAC and CCAC-S share: settings, selection and the confidence from μ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from auxcal._core.arrays import Floats, Weight, as_rng
from auxcal._core.errors import InvalidInputError
from auxcal._core.logits import at_prediction, softmax
from auxcal._core.memory import check_memory
from auxcal._core.state import Shape
from auxcal.calibrators.base import ProbaCalibrator
from auxcal.calibrators.fitting import SelectBy, as_candidates, check_select_by, select_score
from auxcal.calibrators.solvers.targets_and_weights import deviation, mean
from auxcal.predictions import Predictions
from auxcal.programs import Operations, Rows, Value

Mean = Literal["wrong", "right"]
RecipeName = Literal["fast", "paper"]

MEANS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "wrong": lambda at_prediction, auxiliary: 1 - np.sqrt((1 - at_prediction) * auxiliary),
    "right": lambda at_prediction, auxiliary: np.sqrt(at_prediction * (1 - auxiliary)),
}
"""Equation 3: the geometric mean of both probabilities of being wrong, or of both of being right."""


CHOSEN: dict[str, Shape] = {"mean_": None, "lambda1_": (), "lambda2_": (), "candidates_": None}
"""What the search leaves behind."""


@dataclass(frozen=True)
class Recipe:
    """The settings of the training loop.

    The learning rate is Adam's; with `one_cycle` it is the maximum of a rate that rises and falls once. With few rows,
    epochs are added up to `least_steps`. The weight decay is decoupled, as in AdamW, and proportional to the number of
    weights per row: the more rows, the less decay.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    least_steps: int = 0
    weight_decay: float = 0.0
    one_cycle: bool = False


FAST = Recipe(epochs=20, batch_size=256, learning_rate=2e-2, least_steps=1500, weight_decay=0.3, one_cycle=True)
"""The default: far fewer steps than the paper's, in larger batches, with a schedule and weight decay."""

PAPER_BATCH = 256
"""The paper has no batch size. Keras' default, 32, gives worse networks: see benchmarks/evidence/batch_sizes.py."""

TRANSFER = Recipe(epochs=0, batch_size=64, learning_rate=3e-2, least_steps=300, one_cycle=True)
"""For CCAC-T, which fine-tunes a few dozen parameters on a few hundred rows."""


class Architecture(NamedTuple):
    """The paper's choice for a number of classes: hidden layers, epochs and learning rate."""

    hidden_sizes: tuple[int, ...]
    epochs: int
    learning_rate: float


class Setting(NamedTuple):
    """One point of the grid of loss weights."""

    lambda1: float
    lambda2: float


class Network(NamedTuple):
    """A trained network in NumPy; `temperature` scales the K logits, if the method has one."""

    weights: tuple[Floats, ...]
    biases: tuple[Floats, ...]
    temperature: float | None = None

    def proba(self, logits: Floats) -> Floats:
        """Return μ, the distribution over the K classes and the auxiliary class."""
        z = logits.astype(np.float32, copy=False)
        out = forward(self.weights, self.biases, z)
        if self.temperature is not None:
            out = np.concatenate([z / np.float32(self.temperature), out], axis=1)
        return softmax(out).astype(logits.dtype, copy=False)


class AuxiliaryClassCalibrator(ProbaCalibrator):
    """Learns μ over K + 1 classes, where the auxiliary class K means that the prediction is wrong.

    A method supplies `paper`, the paper's choices by number of classes, and `scales_logits`.
    """

    paper: ClassVar[dict[int, Architecture]]
    scales_logits: ClassVar[bool] = False
    """Whether a temperature scales the K logits, and the network gives the auxiliary one alone."""
    starts_at_random = True

    def __init__(
        self,
        hidden_sizes: Sequence[int] | None = None,
        lambda1: float | Sequence[float] = (0.0, 0.5),
        lambda2: float | Sequence[float] = (0.4, 0.6, 0.8, 1.0, 1.2, 1.5),
        mean: Mean | Sequence[Mean] = ("wrong", "right"),
        select_by: SelectBy = "ece",
        recipe: RecipeName = "fast",
        random_state: int | None = None,
    ) -> None:
        self.hidden_sizes = hidden_sizes
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.mean = mean
        self.select_by = select_by
        self.recipe = recipe
        self.random_state = random_state

    def _train(self, data: Predictions, settings: list[Setting]) -> list[Network]:
        """Return a trained network for every setting of the grid."""
        from auxcal.calibrators.training import GridNetwork, Problem, train_networks

        rng, k = as_rng(self.random_state), data.n_classes
        x = standardised(data.logits, data.sample_weight)
        scaled, n_outputs = (data.logits, 1) if self.scales_logits else (None, k + 1)
        sizes = k, *self._architecture(k).hidden_sizes, n_outputs
        n_weights = len(settings) * sum(a * b for a, b in pairwise(sizes))
        # Every weight, its gradient, and two numbers of its past, in float32.
        check_memory(16 * n_weights, "training", instead="Use smaller hidden_sizes, or fix lambda1 and lambda2.")
        start = GridNetwork.initialised(sizes, len(settings), rng)
        problem = Problem(x.values, data.w, scaled, data.sample_weight)
        temperature = None if scaled is None else _spread(scaled)
        trained = train_networks(problem, settings, start, self._recipe(k), rng, temperature)
        return [Network(*x.fold(network.weights, network.biases), network.temperature) for network in trained]

    def _architecture(self, n_classes: int) -> Architecture:
        """Return the paper's choice for the nearest number of classes, with the user's hidden sizes if given."""
        nearest = min(self.paper, key=lambda k: abs(np.log(k / n_classes)))
        if self.hidden_sizes is None:
            return self.paper[nearest]
        sizes = tuple(self.hidden_sizes) if np.iterable(self.hidden_sizes) else (self.hidden_sizes,)
        if not all(isinstance(size, int | np.integer) and not isinstance(size, bool) and size > 0 for size in sizes):
            raise InvalidInputError(
                f"hidden_sizes must be whole numbers above 0, one for each hidden layer, or () for none; got "
                f"{self.hidden_sizes!r}."
            )
        return self.paper[nearest]._replace(hidden_sizes=tuple(int(size) for size in sizes))

    def _recipe(self, n_classes: int) -> Recipe:
        if self.recipe == "fast":
            return FAST
        if self.recipe == "paper":
            _, epochs, learning_rate = self._architecture(n_classes)
            return Recipe(epochs=epochs, batch_size=PAPER_BATCH, learning_rate=learning_rate)
        raise InvalidInputError(f"recipe must be 'fast' or 'paper'; got {self.recipe!r}.")

    def _settings(self) -> list[Setting]:
        pairs = product(as_candidates(self.lambda1, "lambda1"), as_candidates(self.lambda2, "lambda2"))
        return [Setting(*pair) for pair in pairs]

    def _means(self) -> tuple[str, ...]:
        means = tuple(self.mean) if isinstance(self.mean, tuple | list) else (self.mean,)
        if not means or not all(isinstance(mean, str) and mean in MEANS for mean in means):
            raise InvalidInputError(
                f"mean must be 'wrong' or 'right', which fixes it, or a sequence of them to choose from; got "
                f"{self.mean!r}."
            )
        return means

    def _searches(self, n_classes: int) -> bool:
        check_select_by(self.select_by)
        return len(self._settings()) * len(self._means()) > 1

    def _fit(self, data: Predictions) -> str | None:
        return self._search(data, None)

    def _search(self, data: Predictions, select: Predictions | None) -> str | None:
        self._choose(self._settings(), self._train(data, self._settings()), select)
        return None

    def _choose(self, settings: list[Setting], networks: list[Network], select: Predictions | None) -> None:
        """Keep the network and the mean with the best score on the select part."""
        candidates = []
        for (setting, network), name in product(zip(settings, networks, strict=True), self._means()):
            score = np.nan
            if select is not None:
                score = select_score(self.select_by, _combine(network, name, select.logits), select)
            candidates.append((setting, network, name, score))
        scores = np.array([score for *_, score in candidates])
        setting, network, self.mean_, _ = candidates[0 if select is None else int(scores.argmin())]
        self.lambda1_, self.lambda2_ = setting
        self.weights_, self.biases_, temperature = network
        if temperature is not None:
            self.temperature_ = temperature
        self.candidates_ = {
            "lambda1": np.array([setting.lambda1 for setting, *_ in candidates]),
            "lambda2": np.array([setting.lambda2 for setting, *_ in candidates]),
            "mean": tuple(name for _, _, name, _ in candidates),
            "score": scores,
        }

    def _network(self) -> Network:
        return Network(self.weights_, self.biases_, getattr(self, "temperature_", None))

    def _proba(self, logits: Floats) -> Floats:
        return self._network().proba(logits)

    def _confidence(self, logits: Floats) -> Floats:
        return _combine(self._network(), self.mean_, logits)

    def _program(self, ops: Operations, rows: Rows) -> Value:
        network, k = self._network(), self.n_features_in_
        x = rows.logits
        for layer, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
            x = ops.maximum(x, 0.0) if layer else x
            x = ops.matmul(x, ops.constant(weight, "weight")) + ops.constant(bias, "bias")
        if network.temperature is not None:
            x = ops.concatenate([rows.logits / ops.constant(network.temperature, "temperature"), x])
        log_mu = ops.log_softmax(x)
        mu = ops.exp(ops.concatenate([ops.at(log_mu, rows.prediction), ops.columns(log_mu, k, k + 1)]))
        right, wrong = ops.columns(mu, 0, 1), ops.columns(mu, 1, 2)
        if self.mean_ == "wrong":
            return 1.0 - ops.sqrt((1.0 - right) * wrong)
        return ops.sqrt(right * (1.0 - wrong))


def forward(weights: tuple[Floats, ...], biases: tuple[Floats, ...], x: Floats) -> Floats:
    """Return the outputs of a fully connected network with ReLU between its layers."""
    for layer, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        x = x @ weight
        x += bias
        if layer < len(weights) - 1:
            np.maximum(x, 0, out=x)
    return x


def _combine(network: Network, mean: str, logits: Floats) -> Floats:
    mu = network.proba(logits)
    return MEANS[mean](at_prediction(mu, logits), mu[:, -1])


def _spread(logits: Floats) -> float:
    """Return the initial temperature, at which the logits have a standard deviation of 1."""
    return float(logits.std(axis=1, dtype=np.float64).mean()) or 1.0


class Standardised(NamedTuple):
    """Inputs standardised by column, and how to undo it."""

    values: Floats
    centre: Floats
    scale: Floats

    def fold(
        self, weights: tuple[Floats, ...], biases: tuple[Floats, ...]
    ) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
        """Return the layers for raw inputs, given those for standardised ones."""
        weight, bias = weights[0].astype(np.float64) / self.scale[:, None], biases[0]
        bias = bias - self.centre @ weight
        return (weight.astype(np.float32), *weights[1:]), (bias.astype(np.float32), *biases[1:])

    def unfold(self, weight: Floats, bias: Floats) -> tuple[Floats, Floats]:
        """Return a layer for standardised inputs, given that for raw ones."""
        wide = weight.astype(np.float64)
        return (wide * self.scale[:, None]).astype(np.float32), (bias + self.centre @ wide).astype(np.float32)


def standardised(x: Floats, weight: Weight | None = None) -> Standardised:
    """Standardise the columns; a constant one is only centred."""
    centre, scale = mean(x, weight), deviation(x, weight)
    scale[scale == 0] = 1
    return Standardised(((x - centre) / scale).astype(np.float32), centre, scale)
