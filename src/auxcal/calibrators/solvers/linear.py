"""Convex fits of softmax(W x + b): vector, matrix and Dirichlet calibration."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from auxcal._core.arrays import Floats, Ints, Weight
from auxcal._core.threads import cached_property
from auxcal.calibrators.solvers.newton import Blocks, minimise

BYTES_PER_WEIGHT = 80  # of a K × K map: the fit keeps about ten such matrices
MOST_BLOCKS = 200  # classes beyond which a matrix of curvature for each would take more than 65 MB
_NOISE = 1e-11  # of the variance of the logits: far above what the rounding of float32 leaves, and below all else
_SEPARATED = 1e-3  # nats for each row: a penalty that leaves less does not hold the weights
_FAINT = 2e-2  # of the largest: what a row must add to a class' matrix of curvature to be counted


@dataclass(frozen=True)
class LinearMap:
    """W and b with the loss they reach, and what is wrong with them, if anything."""

    weight: Floats
    bias: Floats
    loss: float
    problem: str | None


@dataclass(frozen=True)
class Penalty:
    """ODIR: λ · mean of the squared off-diagonal weights + μ · mean of the squared biases, of [W, b] when `centred`.

    `ridge` / 2 · the sum of all squared weights is added to it.
    """

    off_diagonal: float = 0.0
    intercept: float = 0.0
    ridge: float = 0.0

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Return the penalty of θ = [W, b] and its gradient."""
        rest, weight = centred(theta), theta[:, :-1]
        np.fill_diagonal(rest, 0)
        gradient = self._odir(len(theta)) * rest
        value = float(np.vdot(gradient, rest) + self.ridge * np.vdot(weight, weight)) / 2
        gradient[:, :-1] += self.ridge * weight
        return value, gradient

    def along(self, direction: Floats) -> Floats:
        """Return the change of the gradient along a direction."""
        return self(direction)[1]  # the centre is 0, so the gradient is linear

    def strength(self, theta: Floats) -> Floats:
        """Return the curvature of the penalty along an element of each column."""
        strength = self._odir(len(theta))
        strength[:-1] += self.ridge
        return strength

    def _odir(self, k: int) -> Floats:
        return np.append(np.full(k, 2 * self.off_diagonal / (k * (k - 1))), 2 * self.intercept / k)


@dataclass(frozen=True)
class Ridge:
    """Σ strengths · (θ − centre)², with a strength for each element."""

    centre: Floats
    strengths: Floats

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Return the penalty of θ and its gradient."""
        gradient = self.along(theta - self.centre)
        return float(np.vdot(gradient, theta - self.centre)) / 2, gradient

    def along(self, direction: Floats) -> Floats:
        """Return the change of the gradient along a direction."""
        return 2 * self.strengths * direction

    def strength(self, theta: Floats) -> Floats:
        """Return the mean curvature of each column."""
        return np.asarray(2 * self.strengths.mean(axis=0))


def centred(theta: Floats) -> Floats:
    """Return the θ = [W, b] with the least penalty among those that give the same probabilities.

    Softmax ignores a constant added to a whole column of W, or to all of b. Without this choice the loss is almost
    flat in these directions, and the search is slow.
    """
    k = len(theta)
    means = np.append((theta[:, :k].sum(axis=0) - np.diagonal(theta)) / (k - 1), theta[:, k].mean())
    return np.asarray(theta - means)


def weighted_gram(features: Floats, weight: Floats, sizes: Floats, sample_weight: Weight | None) -> Floats:
    """Return Σ_n weight_n φ_n φ_nᵀ; rows that add next to nothing are left out, however often they count."""
    curved = weight * sizes if sample_weight is None else weight * sizes / sample_weight
    rows = np.flatnonzero(curved > _FAINT * curved.max(initial=0.0))
    part = features[rows]
    return ((part * weight[rows, None]).T @ part).astype(np.float64)


@dataclass(frozen=True)
class Full:
    """Every score sees all of x: φ_nk = [x_n, 1]."""

    features: Floats

    @classmethod
    def of(cls, x: Floats) -> Full:
        """Return the design of inputs, in float32."""
        return cls(np.column_stack([x.astype(np.float32, copy=False), np.ones(len(x), dtype=np.float32)]))

    @cached_property
    def sizes(self) -> Floats:
        """Return the squared length of φ_n."""
        return np.einsum("nj,nj->n", self.features, self.features)

    def take(self, rows: Ints | slice) -> Full:
        """Return the design of some rows."""
        return Full(self.features[rows])

    def scores(self, theta: Floats) -> Floats:
        """Return W x + b for every row."""
        return self.features @ theta.T.astype(np.float32)

    def adjoint(self, residual: Floats) -> Floats:
        """Return Σ_n residual_nk φ_n, for residuals that sum to zero over the classes."""
        image = (residual.T @ self.features).astype(np.float64)
        return image - image.mean(axis=0)  # zero, except for rounding in a direction without a penalty

    def curvature(self, weight: Floats, sample_weight: Weight | None = None) -> Blocks:
        """Return Σ_n weight_nk φ_n φ_nᵀ; a class' faint rows are left out."""
        if weight.shape[1] > MOST_BLOCKS:
            weight = weight.mean(axis=1, keepdims=True)
        grams = np.stack([weighted_gram(self.features, column, self.sizes, sample_weight) for column in weight.T])
        return Blocks(grams).definite()


@dataclass(frozen=True)
class Diagonal:
    """Every score sees its own x: φ_nk = [x_nk, 1]."""

    x: Floats

    @cached_property
    def sizes(self) -> Floats:
        """Return the mean squared length of φ_nk over the classes."""
        return np.einsum("nk,nk->n", self.x, self.x) / self.x.shape[1] + 1

    def take(self, rows: Ints | slice) -> Diagonal:
        """Return the design of some rows."""
        return Diagonal(self.x[rows])

    def scores(self, theta: Floats) -> Floats:
        """Return v ∘ x + b for every row."""
        slopes, offsets = theta.T.astype(np.float32)
        scores = self.x * slopes
        scores += offsets
        return scores

    def adjoint(self, residual: Floats) -> Floats:
        """Return Σ_n residual_nk φ_nk."""
        return np.stack([np.einsum("nk,nk->k", residual, self.x), residual.sum(axis=0)], axis=1, dtype=np.float64)

    def curvature(self, weight: Floats, sample_weight: Weight | None = None) -> Blocks:
        """Return Σ_n weight_nk φ_nk φ_nkᵀ."""
        by_x = weight * self.x
        entries = np.einsum("nk,nk->k", by_x, self.x), by_x.sum(axis=0), weight.sum(axis=0)
        square, cross, total = (np.broadcast_to(entry, self.x.shape[1]) for entry in entries)
        blocks = np.stack([square, cross, cross, total], axis=1, dtype=np.float64).reshape(-1, 2, 2)
        # A column that is the same in all rows, such as the 0 of [0, z], leaves them singular.
        return Blocks(blocks).definite()


def fit_full(x: Floats, y: Ints, start: LinearMap, penalty: Penalty, sample_weight: Weight | None = None) -> LinearMap:
    """Fit a full K × K weight and a bias."""
    k, design = x.shape[1], Full.of(x)
    # Logits of more classes than the classifier has features span a part of their space only. Beyond it lies rounding
    # noise, which can separate any rows, with weights of any size.
    penalty = replace(penalty, ridge=_NOISE * float(np.mean(x.var(axis=0))))
    first = np.column_stack([start.weight, start.bias])
    theta, loss, problem = minimise(design, y, first, penalty, sample_weight=sample_weight)
    theta = centred(theta)
    bound = penalty.off_diagonal > 0 and loss > _SEPARATED
    return LinearMap(theta[:, :k], theta[:, k], loss, problem or (None if bound else _separated(design, y, theta)))


def fit_diagonal(x: Floats, y: Ints, start: LinearMap, sample_weight: Weight | None = None) -> LinearMap:
    """Fit a weight for each class and a bias; `weight` is the diagonal."""
    design = Diagonal(x.astype(np.float32, copy=False))
    first = np.column_stack([start.weight, start.bias])
    no_penalty = Ridge(first, np.zeros_like(first))
    theta, loss, problem = minimise(design, y, first, no_penalty, sample_weight=sample_weight)
    return LinearMap(theta[:, 0], theta[:, 1] - theta[:, 1].mean(), loss, problem or _separated(design, y, theta))


def _separated(design: Full | Diagonal, y: Ints, theta: Floats) -> str | None:
    """Return a message if the map has every row right: the likelihood then grows with the weights without bound."""
    if not (design.scores(theta).argmax(axis=1) == y).all():
        return None
    return (
        "the rows can be separated, so that the likelihood grows with the weights without end; they stopped somewhere. "
        "Give more rows, or use a method that needs fewer, such as structured scaling or CCAC-X."
    )
