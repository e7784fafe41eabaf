"""An additive model of signals: a curve of each number, a level for its gaps, and a shrunken effect of each category.

log-odds = offset + Σ_j curve_j(x_j) + Σ_k effect_k[level]. All weights have Gaussian priors around nothing; the width
of each signal's prior is chosen by evidence (MacKay's, by expectation maximisation), so that a useless signal
adds nothing, and a level with few answers counts as the average one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from auxcal._core.arrays import Bools, Floats, Ints, Weight
from auxcal._core.logits import expit, logit, softplus
from auxcal.calibrators.solvers.targets_and_weights import quantiles, times
from auxcal.programs import Operations, Value
from auxcal.signals import LARGEST

# Chosen on random states other than those reported, over the sets of benchmarks/evidence/signals.py.
_KNOTS = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95)  # quantiles at which the slope of a curve may change, as in CCAC-X
_ROUNDS, _ROUNDS_WITHOUT_A_FOLD = 12, 3  # of Newton's method and of the widths; the folds start at the optimum of all
_WIDTH = 0.3  # that the widths start from
_OF_LINE = 1.0  # the width of straight lines: that of scikit-learn's logistic regression
_PRIOR_ROWS, _PRIOR_SQUARE = 2.0, 0.1  # of a width's prior: so many weights of this mean square
_OFFSET = 5.0  # the width of the offset: it may be what it will
_FARTHEST = 2.0  # log-odds that an effect may move in a step
_HALVINGS = 10  # of a step that does not lower the loss
_CONSTANT = 1e-9  # of the range: a feature that varies less is constant
_MANY = 500  # features: the equations of fewer take milliseconds; of more, those of the rows if these are fewer
_CLOSED = 1e8  # the precision of a slope that would be negative where it must not be


class AdditiveModel(NamedTuple):
    """A curve is w₀ u + Σ_q w_q max(u, knot_q), where u is the number's place in the range of the fit, from 0 to 1.

    Of m numbers, `least` is the smallest value and `per` one over the range, 0 for a number that does not vary; `knots`
    are of shape (q, m) and `weights` of shape (q + 1, m). A gap adds `gaps` beside the curve at 0. The effects of a
    category are those of its levels, then of a gap, then of a new level, which is 0.
    """

    least: Floats
    per: Floats
    knots: Floats
    weights: Floats
    gaps: Floats
    effects: tuple[Floats, ...]
    offset: float

    def log_odds(self, numbers: Floats, codes: Ints) -> Floats:
        """Return the log-odds of answers, given numbers (n, m) with NaN for gaps, and codes (n, c)."""
        u = _places(numbers.T, self.least, self.per)
        missing = np.isnan(u)
        u[missing] = 0
        log_odds = self.weights[0] @ u + self.gaps @ missing + self.offset
        for knots, weights in zip(self.knots, self.weights[1:], strict=True):
            log_odds += weights @ np.maximum(u, knots[:, None], out=u)  # in order, so that u serves all of them
        return np.asarray(log_odds + self.encode(codes).sum(axis=1))

    def encode(self, codes: Ints) -> Floats:
        """Return the effect of each category, of shape (n, c)."""
        encoded = np.empty(codes.shape)
        for k, effect in enumerate(self.effects):
            encoded[:, k] = effect[codes[:, k]]
        return encoded

    def curve(self, j: int, x: Floats) -> Floats:
        """Return the curve of one number at some values, with NaN for a gap."""
        numbers = np.zeros((len(x), len(self.least)))
        numbers[:, j] = x
        alone = self._replace(weights=self.weights * (np.arange(len(self.least)) == j), effects=(), offset=0.0)
        alone = alone._replace(gaps=self.gaps * (np.arange(len(self.least)) == j))
        return alone.log_odds(numbers, np.empty((len(x), 0), np.intp))

    def program(self, ops: Operations, numbers: Value) -> Value:
        """Write `log_odds` as a program for torch and ONNX, without gaps and categories."""
        u = (numbers - ops.constant(self.least, "least")) * ops.constant(self.per, "per")
        u = ops.minimum(ops.maximum(u, 0.0), 1.0)
        log_odds = ops.matmul(u, ops.constant(self.weights[0][:, None], "weights")) + float(self.offset)
        for knots, weights in zip(self.knots, self.weights[1:], strict=True):
            bent = ops.maximum(u, ops.constant(knots, "knots"))
            log_odds = log_odds + ops.matmul(bent, ops.constant(weights[:, None], "weights"))
        return log_odds


class Widths(NamedTuple):
    """The prior's standard deviation of each number's weights, and of each category's effects."""

    numbers: Floats
    categories: Floats


class CrossFittedModel(NamedTuple):
    """The model of all answers, and out-of-fold log-odds and effects of categories of each."""

    model: AdditiveModel
    widths: Widths
    log_odds: Floats
    effects: Floats


def cross_fit_additive(
    numbers: Floats,
    codes: Ints,
    n_levels: Ints,
    correct: Bools,
    folds: Ints,
    weight: Weight | None = None,
    increasing: Bools | None = None,
    *,
    linear: bool = False,
) -> CrossFittedModel:
    """Fit the model on all answers, and once more without each fold.

    `numbers` (n, m) have NaN for gaps, `codes` (n, c) are the places of levels among the effects, and `n_levels` counts
    them without the gap and new ones. Curves that are `increasing` may only rise. Where the model is `linear`, curves
    are straight lines, of a width that does not depend on the answers: a few answers support no more.
    """
    rises = np.zeros(numbers.shape[1], bool) if increasing is None else increasing
    design = _Design.of(numbers, rises, weight, () if linear else _KNOTS)
    fit = _Fit(design, design.features(numbers), codes, n_levels, correct, weight)
    whole = fit.by_evidence(_OF_LINE if linear else None)
    held = np.empty(len(correct))
    effects = np.empty(codes.shape)
    for fold in range(folds.max() + 1):
        rows = np.flatnonzero(folds == fold)
        model = fit.take(np.flatnonzero(folds != fold)).near(whole).model(design)
        held[rows], effects[rows] = model.log_odds(numbers[rows], codes[rows]), model.encode(codes[rows])
    return CrossFittedModel(whole.model(design), whole.widths, held, effects)


class _Design(NamedTuple):
    """The features of a curve: u and max(u, knot), or ramps between knots if it may only rise; and the gap."""

    least: Floats
    per: Floats
    knots: Floats
    rises: Bools
    centre: Floats
    scale: Floats

    @classmethod
    def of(cls, numbers: Floats, rises: Bools, weight: Weight | None, knots_at: Sequence[float]) -> _Design:
        m = numbers.shape[1]
        least, per, knots = np.zeros(m), np.zeros(m), np.ones((len(_KNOTS), m))
        for j, x in enumerate(numbers.T):
            rows = np.abs(x) < LARGEST  # neither a gap nor an infinity
            known = x[rows]
            if len(known) and known.max() > known.min():
                least[j], per[j] = known.min(), 1 / (known.max() - known.min())
            if per[j] and knots_at:
                u = (known - least[j]) * per[j]
                places = np.unique(quantiles(u[None], knots_at, None if weight is None else weight[rows]))
                places = places[(places > 0) & (places < 1)]
                knots[: len(places), j] = places  # the others are at the end, where nothing bends
        bare = cls(least, per, knots, rises, np.zeros(0), np.zeros(0))
        features = bare._raw(numbers)
        known = (~np.isnan(features)).astype(np.float64) if weight is None else ~np.isnan(features) * weight
        counts = np.maximum(known.sum(axis=1), np.finfo(float).tiny)
        features[np.isnan(features)] = 0
        centre = (known * features).sum(axis=1) / counts
        scale = np.sqrt((known * (features - centre[:, None]) ** 2).sum(axis=1) / counts)
        return bare._replace(centre=centre, scale=np.where(scale > _CONSTANT, scale, np.inf))

    def _raw(self, numbers: Floats) -> Floats:
        """Return the features of all numbers, of shape (m · (q + 1), n), those of a number side by side."""
        u = _places(numbers.T, self.least, self.per)
        ends = np.concatenate([np.zeros((1, len(u))), self.knots, np.ones((1, len(u)))])[:, :, None]
        hinges = np.maximum(u, ends[:-1])
        ramps = np.minimum(hinges, ends[1:])
        chosen = np.where(self.rises[:, None], ramps, hinges)
        return np.moveaxis(chosen, 0, 1).reshape(-1, u.shape[1])

    def features(self, numbers: Floats) -> Floats:
        """Return the standardised features, then those of gaps and a one, as float32 of shape (p, n)."""
        features = (self._raw(numbers) - self.centre[:, None]) / self.scale[:, None]
        features[np.isnan(features)] = 0
        gaps = np.isnan(numbers.T)
        return np.concatenate([features, gaps, np.ones((1, len(numbers)))]).astype(np.float32)

    @property
    def owner(self) -> Ints:
        """The number that each feature belongs to, without the one."""
        m = len(self.least)
        return np.concatenate([np.repeat(np.arange(m), len(_KNOTS) + 1), np.arange(m)])

    @property
    def live(self) -> Bools:
        """Which features vary; a gap's does where there is one."""
        return np.isfinite(self.scale)

    def weights(self, theta: Floats) -> tuple[Floats, Floats, float]:
        """Return the weights of the curves, what gaps add beside the curve at 0, and the offset."""
        m, q = len(self.least), len(_KNOTS)
        slopes = theta[: m * (q + 1)] / self.scale
        shift = (slopes * self.centre).reshape(m, q + 1).sum(axis=1)
        slopes = slopes.reshape(m, q + 1)
        ends = np.concatenate([self.knots, np.ones((1, m))]).T
        # A ramp is max(u, start) − max(u, end) + end.
        ramps = np.column_stack([slopes[:, 0], np.diff(slopes, axis=1)])
        weights = np.where(self.rises[:, None], ramps, slopes)
        shift -= np.where(self.rises, (slopes * ends).sum(axis=1) - slopes[:, -1], 0.0)
        at_zero = (weights[:, 1:] * self.knots.T).sum(axis=1)
        gaps = theta[m * (q + 1) : -1] + shift - at_zero
        return np.ascontiguousarray(weights.T), gaps, float(theta[-1] - shift.sum())


class _Optimum(NamedTuple):
    """The weights of the features, the effects of the categories, and the widths of their priors."""

    theta: Floats
    effects: tuple[Floats, ...]
    widths: Widths

    def model(self, design: _Design) -> AdditiveModel:
        weights, gaps, offset = design.weights(self.theta)
        return AdditiveModel(design.least, design.per, design.knots, weights, gaps, self.effects, offset)


class _Fit(NamedTuple):
    """Answers to learn from."""

    design: _Design
    x: Floats
    codes: Ints
    n_levels: Ints
    correct: Bools
    weight: Weight | None

    def take(self, rows: Ints) -> _Fit:
        weight = None if self.weight is None else self.weight[rows]
        return self._replace(x=self.x[:, rows], codes=self.codes[rows], correct=self.correct[rows], weight=weight)

    def by_evidence(self, width: float | None) -> _Optimum:
        """Return the optimum, with the widths of the priors by evidence unless one is given for all."""
        m = len(self.design.least)
        optimum = _Optimum(
            np.append(np.zeros(len(self.x) - 1), self.base),
            tuple(np.zeros(n + 2) for n in self.n_levels),
            Widths(np.full(m, width or _WIDTH), np.full(len(self.n_levels), width or _WIDTH)),
        )
        for _ in range(_ROUNDS):
            optimum = self.step(optimum, learn=width is None)
        return optimum

    def near(self, optimum: _Optimum) -> _Optimum:
        """Return the optimum with given widths, near that of more answers."""
        for _ in range(_ROUNDS_WITHOUT_A_FOLD):
            optimum = self.step(optimum, learn=False)
        return optimum

    @property
    def base(self) -> float:
        """The log-odds of a right answer."""
        return base_rate(self.correct, self.weight)

    def step(self, optimum: _Optimum, *, learn: bool) -> _Optimum:
        """Take a step of Newton's method for the curves, then one for each category."""
        theta, effects, widths = optimum
        added = np.zeros(len(self.correct))
        for effect, code in zip(effects, self.codes.T, strict=True):
            added += effect[code]
        theta, variance = self._curves(theta, added, widths.numbers)
        log_odds = theta @ self.x + added
        new = []
        of_categories = widths.categories.copy()
        for k, (effect, code) in enumerate(zip(effects, self.codes.T, strict=True)):
            moved, square = self._effect(effect, code, log_odds, of_categories[k])
            log_odds += (moved - effect)[code]
            new.append(moved)
            of_categories[k] = np.sqrt(square)
        if not learn:
            return _Optimum(theta, tuple(new), widths)
        return _Optimum(theta, tuple(new), Widths(self._widths(theta, variance, widths.numbers), of_categories))

    def _curves(self, theta: Floats, added: Floats, widths: Floats) -> tuple[Floats, Floats]:
        """Return the weights of the curves after a step, and their variances."""
        centre = np.append(np.zeros(len(theta) - 1), self.base)
        precision = np.append(widths[self.design.owner] ** -2.0, _OFFSET**-2.0)
        p = expit(theta @ self.x + added)
        bend = times(p * (1 - p), self.weight).astype(np.float32)
        slope = (self.x @ times(self.correct - p, self.weight).astype(np.float32)).astype(np.float64)

        def loss(theta: Floats) -> float:
            return self._loss(theta @ self.x + added) + float(precision @ (theta - centre) ** 2) / 2

        many = len(self.x) > max(_MANY, len(self.correct)) and not self.design.rises.any()
        optimum = self._optimum_by_rows if many else self._optimum
        best, variance = optimum(theta, bend, slope - precision * (theta - centre), precision)
        before, share = loss(theta), 1.0
        for _ in range(_HALVINGS):
            new = theta + share * (best - theta)
            if loss(new) <= before:
                return new, variance
            share /= 2
        return theta, variance

    def _optimum(self, theta: Floats, bend: Floats, slope: Floats, precision: Floats) -> tuple[Floats, Floats]:
        """Return the optimum of a quadratic, given its slope at some weights, and the variances around it."""
        curvature = ((self.x * bend) @ self.x.T).astype(np.float64)
        target = slope + (curvature + np.diag(precision)) @ theta
        inverse = np.linalg.inv(curvature + np.diag(precision))
        return self._closed(inverse @ target, target, curvature, precision), np.diag(inverse)

    def _optimum_by_rows(self, theta: Floats, bend: Floats, slope: Floats, precision: Floats) -> tuple[Floats, Floats]:
        """Return the same by Woodbury's identity, with as many equations as there are rows in place of features."""
        half = self.x * np.sqrt(bend)
        scaled = half / precision[:, None]
        solved = np.linalg.solve(np.eye(len(bend)) + half.T @ scaled, scaled.T)
        step = slope / precision - scaled @ (solved @ slope)
        return theta + step, 1 / precision - (scaled * solved.T).sum(axis=1)

    def _closed(self, best: Floats, target: Floats, curvature: Floats, precision: Floats) -> Floats:
        """Return the optimum with no negative slope where a curve may only rise: those that would be are closed."""
        n_slopes = len(self.design.scale)
        may_not = np.zeros(len(best), bool)
        may_not[:n_slopes] = self.design.rises[self.design.owner[:n_slopes]]
        closed = np.zeros(len(best), bool)
        while (negative := may_not & (best < 0) & ~closed).any():
            closed |= negative
            best = np.linalg.solve(
                curvature + np.diag(np.where(closed, _CLOSED, precision)), np.where(closed, 0, target)
            )
            best[closed] = 0
        return best

    def _widths(self, theta: Floats, variance: Floats, before: Floats) -> Floats:
        """Return the width of each number by evidence, with a prior."""
        n_slopes, m = len(self.design.scale), len(before)
        gaps = self.x[n_slopes:-1].any(axis=1)
        live = np.append(self.design.live, gaps)
        squares = np.where(live, theta[:-1] ** 2 + variance[:-1], 0)
        total = np.bincount(self.design.owner, squares, minlength=m) + _PRIOR_ROWS * _PRIOR_SQUARE
        return np.sqrt(total / (np.bincount(self.design.owner, live, minlength=m) + _PRIOR_ROWS))

    def _effect(self, effect: Floats, code: Ints, log_odds: Floats, width: float) -> tuple[Floats, float]:
        """Return the effects of a category after a step, and the square of their width by evidence."""
        n, p = len(effect), expit(log_odds)
        slope = np.bincount(code, times(self.correct - p, self.weight), minlength=n)
        bend = np.bincount(code, times(p * (1 - p), self.weight), minlength=n)
        change = (slope - effect / width**2) / (bend + width**-2.0)
        new = effect + change.clip(-_FARTHEST, _FARTHEST)
        new[-1] = 0  # a new level is the average one
        seen = bend > 0
        squares = (new**2 + 1 / (bend + width**-2.0))[seen].sum() + _PRIOR_ROWS * _PRIOR_SQUARE
        return new, float(squares / (seen.sum() + _PRIOR_ROWS))

    def _loss(self, log_odds: Floats) -> float:
        losses = softplus(np.where(self.correct, -log_odds, log_odds))
        return float(losses.sum() if self.weight is None else losses @ self.weight)


def base_rate(correct: Bools, weight: Weight | None) -> float:
    """Return the log-odds of a right answer, half an answer of each kind added."""
    counted = np.ones(len(correct)) if weight is None else weight
    return float(logit((counted @ correct + 0.5) / (counted.sum() + 1)))


def _places(x: Floats, least: Floats, per: Floats) -> Floats:
    """Return where numbers of shape (m, n) lie in their ranges, from 0 to 1; NaN stays."""
    return np.asarray(((x - least[:, None]) * per[:, None]).clip(0, 1))
