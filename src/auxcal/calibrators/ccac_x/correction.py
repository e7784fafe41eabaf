"""The correction of CCAC-X: a convex additive model of inputs that mean the same for all classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import count, takewhile
from typing import NamedTuple

import numpy as np

from auxcal._core.arrays import Bools, Floats, Ints, Weight
from auxcal._core.logits import RelativeLogits, expit
from auxcal.calibrators.ccac_x.evidence import WIDTHS, log_marginal_likelihood, width_by_evidence
from auxcal.calibrators.ccac_x.open_map import NearLogits
from auxcal.calibrators.solvers.newton import damped_newton
from auxcal.calibrators.solvers.targets_and_weights import deviation, mean, quantiles, times, total
from auxcal.programs import Operations, Value

# Chosen on other random states than those reported; docs/evidence/design.md lists what else was tried, and
# benchmarks/evidence/ablation.py measures what inputs, knots, slope and offset bring.
_MOST_RANKS = 10  # of the largest logits
_MOST_COORDINATES = 32  # more would be too much to learn, and the open map has used them
FEW_ROWS = 200  # up to which calls take longer than arithmetic; fewer than a chunk of many rows has
_KNOTS = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95)  # quantiles of the rows at which the slope of a curve may change
_LEAST_SCALE = 0.002  # of a bend, in deviations of its input: what varies less would get slopes that multiply rounding
_PRIOR = np.array([2.0, 2.0, 1.0, 1.0, 1.0])  # of each width: where nothing supports it, it adds next to nothing
_PRIOR_OF_EFFECTS = 1 / WIDTHS  # of the effects, one for each class
_DOUBT_OF_EFFECTS = 1.0  # Bayes' rule: one number for each class is a model that is rarely wrong
_BESIDE_EFFECTS = 0.3  # of the curves while that of the effects is chosen: those of coordinates separate classes
_SLOPE, _OFFSET = 0.2, 0.6  # their widths, in units of that of the curves
_LEAST_VARIANCE = 1e-12  # of the logits of a row, which may be equal
_MAX_STEPS = 50  # a safeguard: a fit that reaches it warns
_WORTHWHILE = 1e-4  # nats over all rows that a step must promise for another to follow it


class Correction(NamedTuple):
    """log-odds = slope · base + Σ_j curve_j(input_j) + offset; each curve is linear from knot to knot.

    A curve is 0 at its middle knot, so that no two numbers cancel, and constant outside the range of the fit.
    """

    least: Floats
    most: Floats
    knots: Floats
    slopes: Floats
    """Of the curves: below the first knot, from each knot to the next, and above the last."""
    slope: float
    offset: float

    def log_odds(self, inputs: Floats, base: Floats) -> Floats:
        """Return the log-odds of the prediction, given the inputs of shape (d, n) and the log-odds to be corrected."""
        middle, ends, passed = self._around_the_middle()
        offset = self.offset - float(np.vdot(self.slopes, passed))
        linear = np.float32(self.slope) * base + np.float32(offset)
        x = inputs - middle[:, None]
        if len(base) <= FEW_ROWS:  # all at once takes fewer calls, and more memory
            parts = np.minimum(np.maximum(x, ends[:-1, :, None]), ends[1:, :, None])
            return np.asarray((self.slopes[:, None] @ parts).sum(axis=(0, 1)) + linear)
        part = np.empty_like(x)
        for slopes, begin, end in zip(self.slopes, ends[:-1], ends[1:], strict=True):
            linear += slopes @ np.clip(x, begin[:, None], end[:, None], out=part)
        return np.asarray(linear)

    def program(self, ops: Operations, inputs: Value, base: Value) -> Value:
        """Write `log_odds` as a program for torch and ONNX, with a row for each sample."""
        middle, ends, passed = self._around_the_middle()
        x = inputs - ops.constant(middle, "middle")
        log_odds = base * float(self.slope) + float(self.offset)
        for slopes, begin, end, at in zip(self.slopes, ends[:-1], ends[1:], passed, strict=True):
            part = ops.minimum(ops.maximum(x, ops.constant(begin, "begin")), ops.constant(end, "end"))
            log_odds = log_odds + ops.matmul(part - ops.constant(at, "passed"), ops.constant(slopes[:, None], "slopes"))
        return log_odds

    @property
    def middle(self) -> Floats:
        """The middle knot of each curve."""
        return np.asarray(self._ends[(len(self.knots) + 2) // 2])

    @property
    def _ends(self) -> Floats:
        """The ends of the stretches with one slope."""
        return np.concatenate([self.least[None], self.knots, self.most[None]])

    def _around_the_middle(self) -> tuple[Floats, Floats, Floats]:
        """Return the middle knots, the ends of all stretches less these, and how much of each lies at the middle."""
        ends = self._ends - self.middle
        return self.middle, ends, np.clip(0, ends[:-1], ends[1:])


def describe(near: RelativeLogits, readings: Floats, coordinates: Floats) -> Floats:
    """Return the inputs, of shape (d, n).

    They are the open map's readings; the classifier's score, margin, entropy, energy and largest
    logits in order, the latter two less the mean logit; where classes are few, the coordinates; and the scale of the
    row: the logarithm of the logits' deviation and, from three classes, margin and largest logit in deviations.
    """
    z, k = near.z, near.z.shape[1]
    total = 1 + near.others
    log_total = np.log(total)
    entropy = log_total - np.einsum("nk,nk->n", near.e, z) / total
    mean = z @ np.full(k, 1 / k, dtype=np.float32)
    variance = np.einsum("nk,nk->n", z, z) / z.dtype.type(k) - mean**2
    deviation = np.sqrt(np.maximum(variance, _LEAST_VARIANCE, dtype=z.dtype))
    top = _largest(z)
    few = coordinates[:, : _MOST_COORDINATES if k <= _MOST_COORDINATES else 0]
    alone = (near.top_scores, -top[1], entropy, log_total - mean)
    scale = (np.log(deviation), -top[1] / deviation, -mean / deviation)[: 3 if k > 2 else 1]
    inputs = np.concatenate(
        [readings, *(column[None] for column in alone), top, few.T, *(column[None] for column in scale)]
    )
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
    deviation = ops.sqrt(ops.maximum(ops.sum(near.z * near.z) / float(n_classes) - mean * mean, _LEAST_VARIANCE))
    top = ops.largest(near.z, min(n_classes, _MOST_RANKS))
    margin = 0.0 - ops.columns(top, 1, 2)
    alone = [near.score, margin, log_total - near.weighted / total, log_total - mean]
    few = [ops.columns(coordinates, 0, min(n_coordinates, _MOST_COORDINATES))] if n_classes <= _MOST_COORDINATES else []
    scale = [ops.log(deviation), margin / deviation, (0.0 - mean) / deviation][: 3 if n_classes > 2 else 1]
    return ops.concatenate([readings, *alone, top - mean, *few, *scale])


class Corrected(NamedTuple):
    """The correction, the effect of each predicted class, the widths of both priors, and what is wrong, if anything."""

    correction: Correction
    effects: Floats
    widths: tuple[float, float]
    problem: str | None


def fit_correction(
    inputs: Floats, base: Floats, prediction: Ints, n_classes: int, correct: Bools, weight: Weight | None = None
) -> Corrected:
    """Fit the correction and the effects, which add up, with the widths of their priors by evidence."""
    least, most = inputs.min(axis=1), inputs.max(axis=1)
    knots = quantiles(inputs, _KNOTS, weight).astype(np.float32)
    features = _bent(inputs, knots)
    centre, scale = mean(features, weight, axis=1), deviation(features, weight, axis=1).reshape(-1, len(inputs))
    scale = np.maximum(scale, _LEAST_SCALE * scale[0]).ravel()
    scale[scale <= np.finfo(np.float32).eps * np.abs(centre)] = np.inf  # an input that does not vary adds nothing
    features -= centre.astype(np.float32)[:, None]
    features /= scale.astype(np.float32)[:, None]
    x = np.concatenate([features, np.ones((1, len(base)), np.float32), base[None]])
    regression = _Regression.of(x, base, prediction, correct, None if weight is None else weight.astype(np.float32))
    widths, (theta, problem) = regression.by_evidence()
    d = len(x) - 2
    weights = theta[:d] / scale
    slopes = np.cumsum(weights.reshape(-1, len(inputs)), axis=0).astype(np.float32)
    correction = Correction(least, most, knots, slopes, 1 + float(theta[d + 1]), 0.0)
    middle = correction.middle[:, None].astype(np.float64)
    offset = theta[d] + weights @ (_bent(middle, knots)[:, 0] - centre)
    effects = np.zeros(n_classes, np.float32)
    effects[np.unique(prediction)] = theta[d + 2 :]
    return Corrected(correction._replace(offset=float(offset)), effects, widths, problem)


def _bent(inputs: Floats, knots: Floats) -> Floats:
    """Return what the fit's curves are sums of: the inputs, and max(input, knot) for each of its knots."""
    return np.concatenate([inputs, *(np.maximum(inputs, knot[:, None]) for knot in knots)])


class _Point(NamedTuple):
    """The loss with that of the prior, its gradient, and the curvature without the prior's.

    The curvature has three blocks: of the numbers of the inputs, of them and the effects, and of the effects, which is
    diagonal, since a row has one class.
    """

    loss: float
    gradient: Floats
    curvature: Floats
    mixed: Floats
    of_effects: Floats

    def reduced(self, precision: Floats) -> Floats:
        """Return the curvature of the inputs' numbers with the effects at their best, given their prior's."""
        return np.asarray(self.curvature - (self.mixed / (self.of_effects + precision)) @ self.mixed.T)


class _Regression(NamedTuple):
    """Logistic regression with an offset, the base, and a Gaussian prior around no correction.

    The last two rows of `x` are a one, for the offset, and the base, for the slope. Then come the effects of the
    predicted classes. The rows are in the order of these, and `begin` is where each of them begins.
    """

    x: Floats
    base: Floats
    begin: Ints
    counts: Ints
    correct: Bools
    weight: Weight | None

    @classmethod
    def of(cls, x: Floats, base: Floats, prediction: Ints, correct: Bools, weight: Weight | None) -> _Regression:
        order = np.argsort(prediction, kind="stable")
        _, begin, counts = np.unique(prediction[order], return_index=True, return_counts=True)
        of_rows = None if weight is None else weight[order]
        return cls(np.ascontiguousarray(x[:, order]), base[order], begin, counts, correct[order], of_rows)

    def by_evidence(self) -> tuple[tuple[float, float], tuple[Floats, str | None]]:
        """Return the widths of the prior, of the curves and of the effects, and the optimum there."""
        theta: Floats = np.zeros(len(self.x) + len(self.begin))
        evidence, theta = self.evidence(lambda width: (_BESIDE_EFFECTS, width), theta)
        effects = width_by_evidence(evidence, _PRIOR_OF_EFFECTS, _DOUBT_OF_EFFECTS)
        evidence, theta = self.evidence(lambda width: (width, effects), theta)
        curves = width_by_evidence(evidence, _PRIOR)
        return (curves, effects), self.minimise(self.widths(curves, effects), theta)

    def evidence(self, widths_of: Callable[[float], tuple[float, float]], theta: Floats) -> tuple[Floats, Floats]:
        """Return the evidence of each candidate, and θ of the widest."""
        evidence = np.empty(len(WIDTHS))
        d = len(self.x)
        for i, width in enumerate(WIDTHS):
            widths = self.widths(*widths_of(width))
            theta, _ = self.minimise(widths, theta)
            point = self.at(theta, widths)
            loss = point.loss + np.log1p(point.of_effects * widths[d:] ** 2).sum() / 2
            evidence[i] = log_marginal_likelihood(loss, point.reduced(widths[d:] ** -2.0), widths[:d])
        return evidence, theta

    def widths(self, curves: float, effects: float) -> Floats:
        """Return the prior's standard deviations, so that the sum of the curves is about as large as the width."""
        d = len(self.x) - 2
        return np.concatenate(
            [np.full(d, curves / np.sqrt(d)), [_OFFSET * curves, _SLOPE * curves], np.full(len(self.begin), effects)]
        )

    def minimise(self, widths: Floats, theta: Floats) -> tuple[Floats, str | None]:
        """Return the optimum by Newton's method, and what is wrong with it, if anything."""
        d = len(self.x)
        precision = widths**-2.0

        def step(_: Floats, point: _Point) -> Floats:
            inverse = 1 / (point.of_effects + precision[d:])
            slopes, of_effects = point.gradient[:d], point.gradient[d:]
            matrix = point.reduced(precision[d:]) + np.diag(precision[:d])
            first = np.linalg.solve(matrix, slopes - point.mixed @ (of_effects * inverse))
            return np.append(first, (of_effects - first @ point.mixed) * inverse)

        theta, converged = damped_newton(
            theta,
            lambda theta: self.at(theta, widths),
            step,
            lambda before, after, _: after.loss > before.loss,
            worthwhile=_WORTHWHILE,
            max_steps=_MAX_STEPS,
        )
        return theta, None if converged else "the correction stopped short of its optimum."

    def at(self, theta: Floats, widths: Floats) -> _Point:
        """Return the loss and its derivatives."""
        d, near = len(self.x), theta.astype(np.float32)
        log_odds = near[:d] @ self.x + self.base + np.repeat(near[d:], self.counts)
        p = expit(log_odds)
        loss = float(total(np.logaddexp(0, np.where(self.correct, -log_odds, log_odds)), self.weight))
        loss += float(np.sum((theta / widths) ** 2)) / 2
        residual, bend = times(p - self.correct, self.weight), times(p * (1 - p), self.weight)
        of_effects = np.add.reduceat(residual, self.begin, dtype=np.float64)
        gradient = np.append((self.x @ residual).astype(np.float64), of_effects) + theta / widths**2
        bent = self.x * bend
        curvature, mixed = bent @ self.x.T, np.add.reduceat(bent, self.begin, axis=1)
        bends = np.add.reduceat(bend, self.begin, dtype=np.float64)
        return _Point(loss, gradient, curvature.astype(np.float64), mixed.astype(np.float64), bends)


def _largest(z: Floats) -> Floats:
    """Return the largest logits of each row in descending order, of shape (ranks, n)."""
    n, k = z.shape
    if k > 2 * _MOST_RANKS:
        z = np.partition(z, k - _MOST_RANKS, axis=1)[:, k - _MOST_RANKS :]
    elif n > FEW_ROWS:
        return _sorted_down(np.ascontiguousarray(z.T))[:_MOST_RANKS]
    return np.sort(z, axis=1)[:, : -_MOST_RANKS - 1 : -1].T


def _sorted_down(columns: Floats) -> Floats:
    """Sort each column in place, largest first: all columns at once, which for few rows is three times as fast."""
    less = np.empty_like(columns[0])
    for i, j in _comparisons(len(columns)):
        np.minimum(columns[i], columns[j], out=less)
        np.maximum(columns[i], columns[j], out=columns[i])
        columns[j] = less
    return columns


@cache
def _comparisons(n: int) -> tuple[tuple[int, int], ...]:
    """Return the pairs that Batcher's network for n numbers compares, one after the other."""
    return tuple(
        (i + j, i + j + k)
        for p in _powers_of_two(n)
        for k in reversed(list(_powers_of_two(2 * p)))
        for j in range(k % p, n - k, 2 * k)
        for i in range(min(k, n - j - k))
        if (i + j) // (2 * p) == (i + j + k) // (2 * p)
    )


def _powers_of_two(below: int) -> Iterator[int]:
    return takewhile(lambda power: power < below, (1 << i for i in count()))
