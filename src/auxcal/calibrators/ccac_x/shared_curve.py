"""The base calibrator of CCAC-X that bends the logits: one curve for all of them, then softmax.

Where logits have heavy tails, the largest is often an outlier, and how sure a prediction is does not rise with it. No
linear map can express that, and no sum of curves of ranked logits: a curve within the softmax can, with a few numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auxcal._core.arrays import NO_CLASS, Floats, Ints, Weight
from auxcal._core.logits import RelativeLogits
from auxcal.calibrators.ccac_x.evidence import WIDTHS, log_marginal_likelihood, width_by_evidence
from auxcal.calibrators.solvers.newton import damped_newton
from auxcal.calibrators.solvers.targets_and_weights import deviation, mean, quantiles
from auxcal.calibrators.temperature_scaling import fit_temperature
from auxcal.predictions import Predictions
from auxcal.programs import Operations, Rows, Value, without

# Chosen on other random states than those reported; benchmarks/evidence/ablation.py leaves the curve out.
_KNOTS = (0.1, 0.5, 0.9)  # quantiles of all logits and of the largest ones: these are few, and matter most
_NONE_LEAST = 1.0  # the least width of the score of "none", which starts from nothing, as in the open map
_MOST_ROWS, _MOST_LOGITS = 5000, 10**6  # to learn eight numbers from; more take longer, and change nothing
_MAX_STEPS = 50  # a safeguard
_WORTHWHILE = 1e-6  # nats over all rows that a step must promise for another to follow it


class SharedCurve(NamedTuple):
    """K + 1 scores: the curve w₀ x + Σ_q w_q max(x, knot_q) of each logit less the centre, and one number for "none".

    At level 1 the median of the row is taken off first. Outside the range of the fit the curve is constant.
    """

    level: int
    centre: float
    least: float
    most: float
    knots: Floats
    weights: Floats
    none: float

    def log_odds(self, logits: Floats, prediction: Ints, dtype: type[np.floating] = np.float32) -> Floats:
        """Return the log-odds of the prediction; with a column for each row, which is faster with few classes."""
        z = _levelled(logits, self.level)
        x = np.ascontiguousarray((z - z.dtype.type(self.centre)).T, dtype=dtype).clip(self.least, self.most)
        scores, part = x * self.weights[0], np.empty_like(x)
        for knot, weight in zip(self.knots, self.weights[1:], strict=True):
            np.clip(x, knot, self.most, out=x)  # in order, so that x serves all; at two bounds, NumPy is faster
            scores += np.multiply(x, weight, out=part)
        at = prediction * len(prediction) + np.arange(len(prediction))
        own = scores.take(at)
        scores.put(at, -np.inf)
        most = np.maximum(scores.max(axis=0), dtype(self.none))
        scores -= most
        return np.asarray(own - most - np.log(np.exp(scores, out=scores).sum(axis=0) + np.exp(dtype(self.none) - most)))

    def program(self, ops: Operations, rows: Rows, n_classes: int) -> Value:
        """Write `log_odds` as a program for torch and ONNX."""
        x = rows.logits - float(self.centre)
        if self.level:
            middle = ops.largest(rows.logits, n_classes // 2 + 1)
            first, last = (n_classes - 1) // 2, n_classes // 2
            x = x - (ops.columns(middle, first, first + 1) + ops.columns(middle, last, last + 1)) * 0.5
        x = ops.minimum(ops.maximum(x, float(self.least)), float(self.most))
        scores = x * float(self.weights[0])
        for knot, weight in zip(self.knots, self.weights[1:], strict=True):
            scores = scores + ops.maximum(x, float(knot)) * float(weight)
        own = ops.at(scores, rows.prediction)
        others = without(ops, scores, rows.prediction, n_classes)
        return own - ops.logsumexp(ops.concatenate([others, own * 0.0 + float(self.none)]))


def cross_fit_curve(data: Predictions, near: RelativeLogits, folds: Ints) -> tuple[SharedCurve, Floats]:
    """Return the curve of all rows, and the out-of-fold log-odds of each row."""
    few = data.spread_rows(min(_MOST_ROWS, _MOST_LOGITS // data.n_classes + 1))
    part = data.take(few)
    bends, whole, (_, width, theta) = max(
        (_prepared(part, level) for level in (0, 1)), key=lambda prepared: prepared[2][0]
    )
    held_out = np.empty(len(data), np.float32)
    for fold in range(folds.max() + 1):
        rows = np.flatnonzero(folds == fold)
        others = whole.take(np.flatnonzero(folds[few] != fold))
        curve = bends.curve(others.minimise(width, theta))
        held_out[rows] = curve.log_odds(data.logits[rows], near.top[1][rows])
    return bends.curve(whole.minimise(width, theta)), held_out


def _prepared(data: Predictions, level: int) -> tuple[_Bends, _Problem, tuple[float, float, Floats]]:
    """Return what is to be fitted at one level, with its evidence, the width of the prior and where to start."""
    bends = _Bends.of(data, level)
    problem = _Problem.of(data, bends)
    return bends, problem, problem.best_width()


class _Bends(NamedTuple):
    """Where the curve may bend, and the mean and deviation of each number that it is a sum of."""

    level: int
    centre: float
    ends: tuple[float, float]
    knots: Floats
    means: Floats
    scales: Floats

    @classmethod
    def of(cls, data: Predictions, level: int) -> _Bends:
        weight = data.sample_weight
        of_logits = None if weight is None else weight.repeat(data.n_classes)
        z = _levelled(data.logits.astype(np.float64), level)
        centre = float(mean(z.mean(axis=1), weight))
        z = z - centre
        both = quantiles(z.reshape(1, -1), _KNOTS, of_logits), quantiles(z.max(axis=1)[None], _KNOTS, weight)
        knots = np.sort(np.concatenate(both), axis=0)[:, 0]
        bent = _bent(z.reshape(-1, 1), knots)
        scales = deviation(bent, of_logits)
        scales[scales <= np.finfo(np.float32).eps * np.abs(z).max()] = np.inf  # what is constant is no curve
        return cls(level, centre, (float(z.min()), float(z.max())), knots, mean(bent, of_logits), scales)

    def design(self, logits: Floats) -> Floats:
        """Return the standardised numbers of each class, and of "none", which has one of its own: (n, K + 1, d)."""
        n, k = logits.shape
        design = np.zeros((n, k + 1, len(self.means) + 1))
        z = _levelled(logits.astype(np.float64), self.level) - self.centre
        bent = _bent(z[:, :, None], self.knots)
        design[:, :k, :-1] = (bent - self.means) / self.scales
        design[:, k, -1] = 1
        return design

    def curve(self, theta: Floats) -> SharedCurve:
        """Return the curve of logits as they are."""
        weights = theta[:-1] / self.scales
        none = float(theta[-1] + weights @ self.means)
        knots = self.knots.astype(np.float32)
        return SharedCurve(self.level, self.centre, *self.ends, knots, weights.astype(np.float32), none)


def _levelled(logits: Floats, level: int) -> Floats:
    """Return the logits as they are, or less the median of the row, which outliers do not move."""
    return logits - np.median(logits, axis=1, keepdims=True) if level else logits


def _bent(z: Floats, knots: Floats) -> Floats:
    """Return the numbers that the curve is a sum of, along the last axis."""
    return np.concatenate([z, np.maximum(z, knots)], axis=-1)


class _Point(NamedTuple):
    """The loss and its derivatives, those of the prior included."""

    loss: float
    gradient: Floats
    curvature: Floats


class _Problem(NamedTuple):
    """A softmax of what all classes weigh alike, with a Gaussian prior around temperature scaling.

    The score of "none" starts where its share of an average row would be that of all rows.
    """

    design: Floats
    y: Ints
    centre: Floats
    weight: Weight

    @classmethod
    def of(cls, data: Predictions, bends: _Bends) -> _Problem:
        design, k, none = bends.design(data.logits), data.n_classes, data.y == NO_CLASS
        weight = np.ones(len(data)) if data.sample_weight is None else data.sample_weight
        centre = np.zeros(design.shape[2])
        centre[0] = np.nan_to_num(bends.scales[0], posinf=0.0) / fit_temperature(data.with_class())[0]
        share = np.log((weight[none].sum() + 0.5) / (weight.sum() + 1))
        centre[-1] = share + np.average(_log_sum_exp(design[:, :k] @ centre), weights=weight)
        return cls(design, np.where(none, k, data.y), centre, weight)

    def take(self, rows: Ints) -> _Problem:
        return self._replace(design=self.design[rows], y=self.y[rows], weight=self.weight[rows])

    def best_width(self) -> tuple[float, float, Floats]:
        """Return the evidence of the best width, the width by evidence, and θ of the widest."""
        theta, evidence = self.centre, np.empty(len(WIDTHS))
        for i, width in enumerate(WIDTHS):
            theta = self.minimise(width, theta)
            point, widths = self.at(theta, width), self.widths(width)
            evidence[i] = log_marginal_likelihood(point.loss, point.curvature - np.diag(widths**-2.0), widths)
        return float(evidence.max()), width_by_evidence(evidence), theta

    def widths(self, width: float) -> Floats:
        """Return the prior's standard deviations."""
        return np.append(np.full(len(self.centre) - 1, width), max(width, _NONE_LEAST))

    def minimise(self, width: float, theta: Floats) -> Floats:
        """Return the optimum by Newton's method."""
        return damped_newton(
            theta,
            lambda theta: self.at(theta, width),
            lambda _, point: np.linalg.solve(point.curvature, point.gradient),
            lambda before, after, _: after.loss > before.loss,
            worthwhile=_WORTHWHILE,
            max_steps=_MAX_STEPS,
        )[0]

    def at(self, theta: Floats, width: float) -> _Point:
        """Return the loss and its derivatives."""
        scores = self.design @ theta
        scores -= scores.max(axis=1, keepdims=True)
        p = np.exp(scores)
        sizes = p.sum(axis=1)
        p /= sizes[:, None]
        rows, d = np.arange(len(p)), len(theta)
        away = (theta - self.centre) / self.widths(width)
        loss = self.weight @ (np.log(sizes) - scores[rows, self.y]) + away @ away / 2
        means = np.einsum("nk,nkd->nd", p, self.design)
        gradient = self.weight @ (means - self.design[rows, self.y]) + away / self.widths(width)
        weighted = self.design * (p * self.weight[:, None])[:, :, None]
        curvature = weighted.reshape(-1, d).T @ self.design.reshape(-1, d) - (means.T * self.weight) @ means
        return _Point(float(loss), gradient, curvature + np.diag(self.widths(width) ** -2.0))


def _log_sum_exp(scores: Floats) -> Floats:
    most = scores.max(axis=1)
    return np.asarray(most + np.log(np.exp(scores - most[:, None]).sum(axis=1)))
