"""The correction of CCAC-X: a convex additive model of inputs that mean the same for all classes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auxcal._core.arrays import Bools, Floats, Weight
from auxcal._core.logits import RelativeLogits, expit
from auxcal.calibrators.ccac_x.evidence import WIDTHS, log_marginal_likelihood, width_by_evidence
from auxcal.calibrators.ccac_x.open_map import NearLogits
from auxcal.calibrators.solvers.newton import damped_newton
from auxcal.calibrators.solvers.targets_and_weights import deviation, mean, quantiles, times, total
from auxcal.programs import Operations, Value

# Chosen by hand on other random states than those reported; docs/ccac-x.md lists what else was tried, and
# benchmarks/evidence/ablation.py measures what inputs, knots, slope and offset bring.
_MOST_RANKS = 10  # of the largest logits
_MOST_COORDINATES = 32  # more would be too much to learn, and the open map has used them
FEW_ROWS = 200  # up to which calls take longer than arithmetic; fewer than a chunk of many rows has
_KNOTS = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95)  # quantiles of the rows at which the slope of a curve may change
_PRIOR = np.array([2.0, 2.0, 1.0, 1.0, 1.0])  # of each width: where nothing supports it, it adds next to nothing
_SLOPE, _OFFSET = 0.2, 0.6  # their widths, in units of that of the curves
_MAX_STEPS = 50  # a safeguard: a fit that reaches it warns
_WORTHWHILE = 1e-4  # nats over all rows that a step must promise for another to follow it


class Correction(NamedTuple):
    """log-odds = slope · base + Σ_j curve_j(input_j) + offset, with curves w₀ x + Σ_q w_q max(x, knot_q).

    Outside the range of the fit a curve is constant.
    """

    least: Floats
    most: Floats
    knots: Floats
    weights: Floats
    slope: float
    offset: float

    def log_odds(self, inputs: Floats, base: Floats) -> Floats:
        """Return the log-odds of the prediction, given the inputs of shape (d, n) and the log-odds to be corrected."""
        linear = np.float32(self.slope) * base + np.float32(self.offset)
        if len(base) <= FEW_ROWS:  # all at once takes fewer calls, and more memory
            bends = np.concatenate([self.least[None], self.knots])[:, :, None]
            bent = np.maximum(np.minimum(inputs, self.most[:, None]), bends)
            return np.asarray((self.weights[:, None] @ bent).sum(axis=(0, 1)) + linear)
        x = inputs.clip(self.least[:, None], self.most[:, None])
        log_odds = self.weights[0] @ x + linear
        for knots, weights in zip(self.knots, self.weights[1:], strict=True):
            log_odds += weights @ np.maximum(x, knots[:, None], out=x)  # in order, so that x serves all of them
        return np.asarray(log_odds)

    def program(self, ops: Operations, inputs: Value, base: Value) -> Value:
        """Write `log_odds` as a program for torch and ONNX, with a row for each sample."""
        x = ops.maximum(inputs, ops.constant(self.least, "least"))
        x = ops.minimum(x, ops.constant(self.most, "most"))
        log_odds = ops.matmul(x, ops.constant(self.weights[0][:, None], "weights")) + float(self.offset)
        log_odds = log_odds + base * float(self.slope)
        for knots, weights in zip(self.knots, self.weights[1:], strict=True):
            bent = ops.maximum(x, ops.constant(knots, "knots"))
            log_odds = log_odds + ops.matmul(bent, ops.constant(weights[:, None], "weights"))
        return log_odds


def describe(near: RelativeLogits, readings: Floats, coordinates: Floats) -> Floats:
    """Return the inputs, of shape (d, n).

    They are the open map's readings; the classifier's score, margin, entropy, energy and largest
    logits in order, the latter two less the mean logit; and, where classes are few, the coordinates.
    """
    z, k = near.z, near.z.shape[1]
    total = 1 + near.others
    log_total = np.log(total)
    entropy = log_total - np.einsum("nk,nk->n", near.e, z) / total
    mean = z @ np.full(k, 1 / k, dtype=np.float32)
    top = _largest(z)
    few = coordinates[:, : _MOST_COORDINATES if k <= _MOST_COORDINATES else 0]
    alone = (near.top_scores, -top[1], entropy, log_total - mean)
    inputs = np.concatenate([readings, *(each[None] for each in alone), top, few.T])
    ranked = len(readings) + len(alone)
    inputs[ranked : ranked + len(top)] -= mean
    return inputs


def describe_program(
    ops: Operations, near: NearLogits, readings: Value, coordinates: Value, n_coordinates: int, n_classes: int
) -> Value:
    """Write `describe` as a program for torch and ONNX, with a row for each sample."""
    total = near.others + 1.0
    log_total = ops.log(total)
    mean = ops.matmul(near.z, ops.constant(np.full((n_classes, 1), 1 / n_classes), "mean"))
    top = ops.largest(near.z, min(n_classes, _MOST_RANKS))
    margin = 0.0 - ops.columns(top, 1, 2)
    alone = [near.score, margin, log_total - near.weighted / total, log_total - mean]
    few = [ops.columns(coordinates, 0, min(n_coordinates, _MOST_COORDINATES))] if n_classes <= _MOST_COORDINATES else []
    return ops.concatenate([readings, *alone, top - mean, *few])


def fit_correction(
    inputs: Floats, base: Floats, correct: Bools, weight: Weight | None = None
) -> tuple[Correction, float, str | None]:
    """Return the correction, the width of its prior by evidence, and what is wrong with the fit, if anything."""
    least, most = inputs.min(axis=1), inputs.max(axis=1)
    knots = quantiles(inputs, _KNOTS, weight).astype(np.float32)
    features = np.concatenate([inputs, *(np.maximum(inputs, each[:, None]) for each in knots)])
    centre, scale = mean(features, weight, axis=1), deviation(features, weight, axis=1)
    scale[scale <= np.finfo(np.float32).eps * np.abs(centre)] = np.inf  # an input that does not vary adds nothing
    features -= centre.astype(np.float32)[:, None]
    features /= scale.astype(np.float32)[:, None]
    x = np.concatenate([features, np.ones((1, len(base)), np.float32), base[None]])
    regression = _Regression(x, base, correct, None if weight is None else weight.astype(np.float32))
    width, (theta, problem) = regression.by_evidence()
    weights = theta[:-2] / scale
    offset = theta[-2] - weights @ centre
    shaped = weights.reshape(len(_KNOTS) + 1, -1).astype(np.float32)
    return Correction(least, most, knots, shaped, 1 + float(theta[-1]), float(offset)), width, problem


class _Point(NamedTuple):
    loss: float
    gradient: Floats
    curvature: Floats


class _Regression(NamedTuple):
    """Logistic regression with an offset, the base, and a Gaussian prior around no correction.

    The last two rows of `x` are a one, for the offset, and the base, for the slope.
    """

    x: Floats
    base: Floats
    correct: Bools
    weight: Weight | None

    def by_evidence(self) -> tuple[float, tuple[Floats, str | None]]:
        """Return the width of the prior, and the optimum there."""
        theta: Floats = np.zeros(len(self.x))
        evidence = np.empty(len(WIDTHS))
        for i, width in enumerate(WIDTHS):
            widths = self.widths(width)
            theta, _ = self.minimise(widths, theta)
            loss, _, curvature = self.at(theta, widths)
            evidence[i] = log_marginal_likelihood(loss, curvature, widths)
        width = width_by_evidence(evidence, _PRIOR)
        return width, self.minimise(self.widths(width), theta)

    def widths(self, width: float) -> Floats:
        """Return the prior's standard deviations, so that the sum of the curves is about as large as the width."""
        d = len(self.x) - 2
        return np.append(np.full(d, width / np.sqrt(d)), [_OFFSET * width, _SLOPE * width])

    def minimise(self, widths: Floats, theta: Floats) -> tuple[Floats, str | None]:
        """Return the optimum by Newton's method, and what is wrong with it, if anything."""
        precision = np.diag(widths**-2.0)
        theta, converged = damped_newton(
            theta,
            lambda theta: self.at(theta, widths),
            lambda _, point: np.asarray(np.linalg.solve(point.curvature + precision, point.gradient)),
            lambda before, after, _: after.loss > before.loss,
            worthwhile=_WORTHWHILE,
            max_steps=_MAX_STEPS,
        )
        return theta, None if converged else "the correction stopped short of its optimum."

    def at(self, theta: Floats, widths: Floats) -> _Point:
        """Return the loss with that of the prior, its gradient, and the curvature without the prior's."""
        log_odds = theta.astype(np.float32) @ self.x + self.base
        p = expit(log_odds)
        loss = float(total(np.logaddexp(0, np.where(self.correct, -log_odds, log_odds)), self.weight))
        loss += float(np.sum((theta / widths) ** 2)) / 2
        gradient = (self.x @ times(p - self.correct, self.weight)).astype(np.float64) + theta / widths**2
        return _Point(loss, gradient, ((self.x * times(p * (1 - p), self.weight)) @ self.x.T).astype(np.float64))


def _largest(z: Floats) -> Floats:
    """Return the largest logits of each row in descending order, of shape (ranks, n)."""
    k = z.shape[1]
    if k > 2 * _MOST_RANKS:
        z = np.partition(z, k - _MOST_RANKS, axis=1)[:, k - _MOST_RANKS :]
    return np.sort(z, axis=1)[:, : -_MOST_RANKS - 1 : -1].T
