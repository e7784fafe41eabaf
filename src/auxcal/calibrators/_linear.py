"""Convex fits of softmax(W x + b): vector, matrix and Dirichlet calibration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize

from auxcal._arrays import Floats, Ints
from auxcal.calibrators._softmax import log_softmax, softmax

_MAX_ITERATIONS = 2000


@dataclass(frozen=True)
class LinearMap:
    """W and b with the loss they reach, and what is wrong with them, if anything."""

    weight: Floats
    bias: Floats
    loss: float
    problem: str | None


@dataclass(frozen=True)
class Penalty:
    """ODIR: λ · mean of the squared off-diagonal weights + μ · mean of the squared biases."""

    off_diagonal: float = 0.0
    intercept: float = 0.0

    def __call__(self, weight: Floats, bias: Floats) -> tuple[float, Floats, Floats]:
        """Return the penalty of `centred(weight, bias)` and its gradients."""
        k = len(bias)
        weight, bias = centred(weight, bias)
        off = weight - np.diag(np.diagonal(weight))
        scale, bias_scale = self.off_diagonal / (k * (k - 1)), self.intercept / k
        value = scale * np.vdot(off, off) + bias_scale * np.vdot(bias, bias)
        return float(value), 2 * scale * off, 2 * bias_scale * bias


def centred(weight: Floats, bias: Floats) -> tuple[Floats, Floats]:
    """Return the W and b with the least penalty among those that give the same probabilities.

    Softmax does not see what is added to a whole column of W, or to all of b. Without this choice the loss is all but
    flat there, and a search crawls.
    """
    off_mean = (weight.sum(axis=0) - np.diagonal(weight)) / (len(bias) - 1)
    return weight - off_mean, bias - bias.mean()


def fit_full(x: Floats, y: Ints, start: LinearMap, penalty: Penalty) -> LinearMap:
    """Fit a full K × K weight and a bias.

    The search runs over Φ = [W, b] Rᵀ, where RᵀR is about the curvature of one row of [W, b]: logits are so correlated,
    and weights and biases on such different scales, that in W and b themselves it takes many times the steps.
    """
    k = x.shape[1]
    features = np.column_stack([x, np.ones(len(x))])
    root = _curvature_root(features, start, penalty)
    white = solve_triangular(root, features.T, trans="T").T

    def unpack(phi: Floats) -> tuple[Floats, Floats]:
        theta = solve_triangular(root, phi.reshape(k, k + 1).T).T
        return theta[:, :k], theta[:, k]

    def objective(phi: Floats) -> tuple[float, Floats]:
        loss, residual = _cross_entropy(white @ phi.reshape(k, k + 1).T, y)
        extra, by_weight, by_bias = penalty(*unpack(phi))
        by_theta = np.column_stack([by_weight, by_bias])
        return loss + extra, (residual.T @ white + solve_triangular(root, by_theta.T, trans="T").T).ravel()

    found = _minimise(objective, (np.column_stack([start.weight, start.bias]) @ root.T).ravel())
    return LinearMap(*centred(*unpack(found.x)), float(found.fun), _problem(found))


def fit_diagonal(x: Floats, y: Ints, start: LinearMap) -> LinearMap:
    """Fit a weight for each class and a bias; `weight` is the diagonal."""
    k = x.shape[1]
    size = _typical_size(x)

    def objective(theta: Floats) -> tuple[float, Floats]:
        weight, bias = theta[:k] / size, theta[k:]
        loss, residual = _cross_entropy(x * weight + bias, y)
        return loss, np.concatenate([np.einsum("nk,nk->k", residual, x) / size, residual.sum(0)])

    found = _minimise(objective, np.concatenate([start.weight * size, start.bias]))
    return LinearMap(found.x[:k] / size, found.x[k:], float(found.fun), _problem(found))


def _curvature_root(features: Floats, start: LinearMap, penalty: Penalty) -> Floats:
    """Return the triangular R with RᵀR near the curvature of the loss in one row of [W, b]."""
    k = len(start.bias)
    p = softmax(features[:, :k] @ start.weight.T + start.bias)
    curvature = features.T @ features * (np.mean(p * (1 - p)) / len(features))
    strengths = np.full(k + 1, 2 * penalty.off_diagonal / (k * (k - 1)))
    strengths[k] = 2 * penalty.intercept / k
    floor = 1e-8 * max(float(np.trace(curvature)), np.finfo(np.float64).tiny)  # where x does not span its space
    return np.asarray(cholesky(curvature + np.diag(strengths + floor)))


def _typical_size(x: Floats) -> float:
    return float(np.sqrt(np.mean(np.square(x)))) or 1.0


def _cross_entropy(scores: Floats, y: Ints) -> tuple[float, Floats]:
    """Return the mean of −log p_y and its gradient by the scores."""
    rows = np.arange(len(y))
    log_p = log_softmax(scores)
    loss = -float(np.mean(log_p[rows, y]))
    residual = np.exp(log_p, out=log_p)
    residual[rows, y] -= 1
    residual /= len(y)
    return loss, residual


def _minimise(objective, start: Floats):  # type: ignore[no-untyped-def]
    options = {
        "maxiter": _MAX_ITERATIONS,
        "maxfun": 2 * _MAX_ITERATIONS,
        "ftol": 1e-11,
        "gtol": 1e-6,
        "maxcor": 20,
    }
    return minimize(objective, start, jac=True, method="L-BFGS-B", options=options)


def _problem(found) -> str | None:  # type: ignore[no-untyped-def]
    return None if found.success else f"the fit stopped short of its optimum: {found.message}"
