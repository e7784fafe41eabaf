"""The open map: a linear map of the logits onto the K classes and one more, for samples of none of them.

From top to bottom: the map, the coordinates that its classes share, its design for Newton's method, and its fits. The
widths of the prior are chosen by evidence; then all rows are fitted, and once more without each fold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from auxcal._core.arrays import NO_CLASS, Bools, Floats, Ints, Weight
from auxcal._core.logits import RelativeLogits, expit, softmax, softplus
from auxcal._core.threads import cached_property
from auxcal.calibrators.ccac_x.evidence import (
    WIDTHS,
    log_likelihoods,
    log_marginal_likelihood,
    weights_by_evidence,
    width_by_evidence,
)
from auxcal.calibrators.solvers.linear import MOST_BLOCKS, Ridge, weighted_gram
from auxcal.calibrators.solvers.newton import MAX_STEPS, Blocks, minimise
from auxcal.calibrators.solvers.targets_and_weights import deviation, mean, size, times, total
from auxcal.calibrators.temperature_scaling import fit_temperature
from auxcal.predictions import Predictions
from auxcal.programs import Operations, Rows, Value, without
from auxcal.reference import MOST_CLASSES

# Chosen on other random states than those reported; docs/evidence/design.md lists what else was tried, and
# benchmarks/evidence/ablation.py measures what the widths bring. Numbers of rows and logits bound the time of a fit.
_ALL_COMPONENTS = 100  # logits or features up to which all principal components are kept
_COMPONENTS = 32  # of more, the leading ones
_ROWS_FOR_COMPONENTS = 4000  # enough for as many directions

_NONE_LEAST = 1.0  # the least width for "none", which starts from nothing
# The marginal likelihood is about all classes; what is asked is whether the prediction is right. A prior that is wider
# by this factor is taken as far as out-of-fold rows support it, which they must by some 16 nats: doubt times log(199).
_WIDER, _WIDER_PRIOR = 3.0, np.array([0.995, 0.005])
_WORTHWHILE = 1e-4  # nats over all rows for each number of the map
_STEPS_WITHOUT_A_FOLD = 1  # of Newton's method, from the map of all rows, which is near
_HOPELESS = 15.0  # nats below the best: a more lenient prior would weigh nothing
# A width does not depend on the number of rows: so many, with at most so many logits, suffice.
_ROWS_FOR_WIDTHS, _NUMBERS_FOR_WIDTHS = 2000, 10**6
_NUMBERS_FOR_WIDER = 2 * 10**6  # logits; more rows than above, since a hit or miss holds less information than a class


class Coordinates(NamedTuple):
    """Logits, and features if there are any, as a few numbers of unit mean squared length: (x − centre) basis."""

    centre: Floats
    basis: Floats

    def __call__(self, logits: Floats, features: Floats | None, dtype: DTypeLike = np.float32) -> Floats:
        """Return the coordinates of each row.

        A direction in which rows differ little can get a large weight, which multiplies its rounding. So where it costs
        little, the product is in float64, and the size of a batch makes no difference.
        """
        k = logits.shape[1]
        within = np.float64 if len(self.centre) <= _COMPONENTS else dtype
        x = _centred(logits, self.centre[:k], within)
        if features is not None:
            x = np.concatenate([x, _centred(features, self.centre[k:], within)], axis=1)
        # Each coordinate in one piece, as all that follows reads them.
        return (self.basis.T.astype(within, copy=False) @ x.T).astype(dtype, copy=False).T

    def program(self, ops: Operations, rows: Rows) -> Value:
        """Write the call as a program for torch and ONNX."""
        x = rows.logits if rows.features is None else ops.concatenate([rows.logits, rows.features])
        return ops.matmul(x - ops.constant(self.centre, "centre"), ops.constant(self.basis, "basis"))


class OpenMap(NamedTuple):
    """K + 1 scores, the last for none of the classes: own_k φ_k + shared_k · coordinates + bias_k.

    φ_k is z_k − z_ŷ. "None" has no logit; the log-odds of the prediction take its place, so that a few rows are enough
    to learn that uncertain predictions more often have no class. All numbers are float32.
    """

    own: Floats
    shared: Floats
    bias: Floats
    coordinates: Coordinates

    @classmethod
    def of(cls, state: tuple[Any, ...]) -> OpenMap:
        """Return the map that a fitted attribute holds as plain tuples."""
        own, shared, bias, coordinates = state
        return cls(own, shared, bias, Coordinates(*coordinates))

    def scores(self, x: Floats, near: RelativeLogits) -> Floats:
        """Return the scores of each row, given its coordinates; their softmax is μ.

        They are of shape (K + 1, n), which is faster with few classes.
        """
        scores = self.shared @ x.T
        scores += self.bias[:, None]
        scores[:-1] += np.multiply(near.z.T, self.own[:-1, None], order="C")
        scores[-1] += near.top_scores * self.own[-1]
        return scores

    def program(self, ops: Operations, x: Value, z: Value, score: Value) -> Value:
        """Write `scores` as a program for torch and ONNX, with a row for each sample."""
        own = ops.concatenate([z, score]) * ops.constant(self.own, "own")
        return ops.matmul(x, ops.constant(self.shared.T, "shared")) + ops.constant(self.bias, "bias") + own


def read(scores: Floats, prediction: Ints) -> Floats:
    """Return the log-odds of the prediction, and the log-probabilities of "none" and of the likeliest other class.

    The scores are of shape (K + 1, n), what is returned of shape (3, n).
    """
    at = prediction * len(prediction) + np.arange(len(prediction))
    others = scores - scores.take(at)  # so that the prediction's own is 0
    others.put(at, -np.inf)
    none, second = others[-1].copy(), others[:-1].max(axis=0)
    most = np.maximum(second, none)
    others -= most
    log_rest = most + np.log(np.exp(others, out=others).sum(axis=0))
    log_total = softplus(log_rest)
    return np.concatenate([-log_rest, none - log_total, second - log_total]).reshape(3, -1)


def read_program(ops: Operations, scores: Value, prediction: Value, n_classes: int) -> Value:
    """Write `read` as a program for torch and ONNX."""
    others = without(ops, scores - ops.at(scores, prediction), prediction, n_classes + 1)
    log_rest = ops.logsumexp(others)
    none, second = ops.columns(others, n_classes, n_classes + 1), ops.max(ops.columns(others, 0, n_classes))
    doubts = ops.concatenate([none, second]) - ops.softplus(log_rest)
    return ops.concatenate([0.0 - log_rest, doubts])


class NearLogits(NamedTuple):
    """`RelativeLogits` as values of a program."""

    z: Value
    """The logits minus that of the prediction."""
    others: Value
    """Σ e^z without the prediction."""
    weighted: Value
    """Σ z e^z."""
    score: Value
    """The log-odds of the prediction."""


def near_program(ops: Operations, rows: Rows, n_classes: int) -> NearLogits:
    """Write `relative` as a program for torch and ONNX; exponentials are relative to the largest of the others."""
    z = rows.logits - ops.at(rows.logits, rows.prediction)
    rest = without(ops, z, rows.prediction, n_classes)
    second = ops.max(rest)
    e = ops.exp(rest - second)
    size, unit = ops.sum(e), ops.exp(second)
    return NearLogits(z, size * unit, ops.sum(e * z) * unit, 0.0 - (second + ops.log(size)))


def distribute(confidence: Floats, scores: Floats, near: RelativeLogits) -> Floats:
    """Put the confidence at the prediction, and divide the rest by the softmax of scores of shape (n, K + 1)."""
    scores[near.top] = -np.inf
    proba = softmax(scores) * (1 - confidence)[:, None]
    proba[near.top] = confidence
    return proba


def held_out_strata(confidence: Floats, fits: CrossFitted, near: RelativeLogits) -> Floats:
    """Return the strata of the rows from out-of-fold maps; only the correction was fitted on them."""
    if fits.scores is not None:
        return distribute(confidence, fits.scores.T, near)
    log_odds, none, _ = fits.readings
    none = (1 - confidence) * np.exp(none) / expit(-log_odds)
    return np.stack([confidence, np.maximum(1 - confidence - none, 0), none], axis=1)


def learn_coordinates(data: Predictions) -> Coordinates:
    """Learn the coordinates from the rows."""
    from scipy.linalg import block_diag

    rows = data.spread_rows(_ROWS_FOR_COMPONENTS)
    weight = data.sample_weight
    parts = [_of_unit_length(data.logits, rows, weight)]
    if data.features is not None:
        scale = deviation(data.features, weight)
        scale[scale == 0] = 1
        centre, basis = _of_unit_length(data.features / scale, rows, weight)
        parts.append((centre * scale, basis / scale[:, None]))
    centres, bases = zip(*parts, strict=True)
    return Coordinates(np.concatenate(centres), block_diag(*bases).astype(np.float32))


def _centred(x: Floats, centre: Floats, dtype: DTypeLike) -> Floats:
    """Take the centre off in the precision of x, which float32 may not have: a time in seconds, for instance."""
    return (x - centre.astype(x.dtype)).astype(dtype, copy=False)


def _of_unit_length(x: Floats, rows: Ints, weight: Weight | None) -> tuple[Floats, Floats]:
    """Return the centre and, by some rows, the leading principal components for coordinates of unit mean square."""
    centre = mean(x, weight)
    few, of_few = x[rows] - centre, None if weight is None else weight[rows]
    basis = _components(few if of_few is None else times(few, np.sqrt(of_few)))
    length = np.sqrt(mean(np.vecdot(few @ basis, few @ basis), of_few))
    return centre, basis / (length or 1.0)


def _components(x: Floats) -> Floats:
    """Return the leading principal components of centred rows, by the smaller of the two products x xᵀ and xᵀ x.

    A direction has two signs, and the curves of the correction are not the same for both: a sum with weights that are
    no simple fractions of each other decides.
    """
    n, d = x.shape
    most = d if d <= _ALL_COMPONENTS else _COMPONENTS
    if n >= d:
        components = np.linalg.eigh(x.T @ x)[1][:, : -most - 1 : -1]
    else:
        values, vectors = np.linalg.eigh(x @ x.T)
        values, vectors = values[: -most - 1 : -1], vectors[:, : -most - 1 : -1]
        kept = values > np.finfo(x.dtype).eps * n * values[0]
        components = x.T @ (vectors[:, kept] / np.sqrt(values[kept]))
    return np.asarray(np.where(np.sqrt(np.arange(2, d + 2) + 1 / np.pi) @ components < 0, -components, components))


@dataclass(frozen=True)
class OpenDesign:
    """Every class sees its own number, all see the coordinates: φ_nk = [own_nk, x_n, 1]."""

    own: Floats
    shared: Floats

    @cached_property
    def sizes(self) -> Floats:
        """Return the squared length of the φ of each row, with the mean own logit."""
        return np.vecdot(self.shared, self.shared) + np.vecdot(self.own, self.own) / self.own.shape[1]

    def take(self, rows: Ints | slice) -> OpenDesign:
        """Return the design of some rows."""
        return OpenDesign(self.own[rows], self.shared[rows])

    def scores(self, theta: Floats) -> Floats:
        """Return the K + 1 scores of each row."""
        theta = theta.astype(np.float32)
        scores = self.shared @ theta[:, 1:].T
        scores += self.own * theta[:, 0]
        return scores

    def adjoint(self, residual: Floats) -> Floats:
        """Return Σ_n residual_nk φ_nk, for residuals that add up to zero over the classes."""
        image = (residual.T @ self.shared).astype(np.float64)
        own = np.einsum("nk,nk->k", residual, self.own)
        return np.column_stack([own, image - image.mean(axis=0)])

    def curvature(self, weight: Floats, sample_weight: Weight | None = None) -> Blocks:
        """Return Σ_n weight_nk φ_nk φ_nkᵀ; where classes are many, with the mean weight for what they share.

        Then, and for a weight that is the same for all classes, what they share is apart from what is their own.
        """
        k = self.own.shape[1]
        if weight.shape[1] == k <= MOST_BLOCKS:
            parts = (np.column_stack([own, self.shared]) for own in self.own.T)
            grams = [weighted_gram(part, weight[:, j], self.sizes, sample_weight) for j, part in enumerate(parts)]
            return Blocks(np.stack(grams)).definite()
        shared = weighted_gram(self.shared, weight.mean(axis=1), self.sizes, sample_weight)
        squares = np.einsum("nk,nk->k", np.broadcast_to(weight, self.own.shape), self.own**2)
        if k > MOST_BLOCKS:
            own = squares.mean(keepdims=True) if weight.shape[1] == 1 else squares
            return Blocks(shared[None], own.astype(np.float64)).definite()
        matrix = np.zeros((1, len(shared) + 1, len(shared) + 1))
        matrix[0, 0, 0], matrix[0, 1:, 1:] = squares.mean(), shared
        return Blocks(matrix).definite()

    def diagonal(self, weight: Floats) -> Floats:
        """Return Σ_n weight_nk φ_nk², of the shape of θ."""
        own = np.einsum("nk,nk,nk->k", weight, self.own, self.own)
        return np.column_stack([own, weight.T @ self.shared**2]).astype(np.float64)


class Widths(NamedTuple):
    """The prior's standard deviations: of the biases, and of what each class makes of all coordinates."""

    bias: float
    shared: float

    def of(self, design: OpenDesign, weight: Weight | None) -> Floats:
        """Return the width of every number of θ, whose last row is that of "none".

        The weight of the own logit may change a score by as much as the bias.
        """
        widths = np.full((design.own.shape[1], design.shared.shape[1] + 1), self.shared)
        own = np.sqrt(_mean_square(design.own, weight))
        widths[:, 0], widths[:, -1] = self.bias / np.where(own > 0, own, 1), self.bias
        widths[-1] = np.maximum(widths[-1], _NONE_LEAST)
        return widths

    def times(self, factor: float) -> Widths:
        """Return wider ones, up to the widest candidate."""
        return Widths(*(float(min(factor * width, WIDTHS[-1])) for width in self))


class CrossFitted(NamedTuple):
    """The map, out-of-fold readings of each row, the widths, and what is wrong with a fit, if anything.

    The scores behind the readings, of shape (K + 1, n), are kept unless there are too many classes.
    """

    map: OpenMap
    readings: Floats
    scores: Floats | None
    widths: Widths
    problem: str | None


def cross_fit(data: Predictions, near: RelativeLogits, folds: Ints) -> CrossFitted:
    """Fit the map on all rows, and once more without each fold, whose rows it then reads."""
    temperature, problem = fit_temperature(data.with_class())
    coordinates = learn_coordinates(data)
    x = coordinates(data.logits, data.features)
    own = np.column_stack([near.z, near.top_scores]) / np.float32(temperature)
    design = OpenDesign(own, np.column_stack([x, np.ones_like(x[:, 0])]))
    whole = _Problem(design, data.y, _centre(data, x.shape[1]), data.sample_weight)
    few = data.spread_rows(min(_ROWS_FOR_WIDTHS, _NUMBERS_FOR_WIDTHS // data.n_classes + 1))
    more = data.spread_rows(_NUMBERS_FOR_WIDER // data.n_classes + 1)
    held_out = _HeldOut(whole, data.prediction, data.correct, folds)
    widths, start = held_out.take(more).widen(*_choose_widths(whole.take(few)))
    theta = whole.fit(widths, start)
    split = theta.theta.astype(np.float32)
    open_map = OpenMap(split[:, 0] / np.float32(temperature), split[:, 1:-1], split[:, -1], coordinates)
    scores = np.empty((len(split), len(data)), np.float32) if data.n_classes <= MOST_CLASSES else None
    readings = held_out.readings(widths, theta.theta, scores)
    return CrossFitted(open_map, readings, scores, widths, problem or theta.problem)


def _mean_square(x: Floats, weight: Weight | None) -> float:
    return float(np.mean(x**2) if weight is None else mean(np.mean(x**2, axis=1), weight))


def _centre(data: Predictions, n_coordinates: int) -> Floats:
    """Return the centre of the prior: softmax(z / T), with the observed share of "none"."""
    k = data.n_classes
    centre = np.zeros((k + 1, n_coordinates + 2))
    centre[:k, 0] = 1
    none = float(total(data.y == NO_CLASS, data.sample_weight))
    centre[k, -1] = np.log((none + 0.5) / (data.total_weight + 1))
    return centre


class _Optimum(NamedTuple):
    theta: Floats
    loss: float
    problem: str | None


class _Problem(NamedTuple):
    """Rows to learn from, and the centre of the prior."""

    design: OpenDesign
    y: Ints
    centre: Floats
    weight: Weight | None

    def take(self, rows: Ints) -> _Problem:
        weight = None if self.weight is None else self.weight[rows]
        return self._replace(design=self.design.take(rows), y=self.y[rows], weight=weight)

    def fit(self, widths: Widths, start: Floats, most_steps: int = MAX_STEPS) -> _Optimum:
        n, k = size(len(self.y), self.weight), len(self.centre) - 1
        prior = Ridge(self.centre, 1 / (2 * n * widths.of(self.design, self.weight) ** 2))
        y = np.where(self.y == NO_CLASS, k, self.y)
        return _Optimum(*minimise(self.design, y, start, prior, most_steps, _WORTHWHILE, self.weight))

    def evidence(self, widths: Widths, optimum: _Optimum) -> float:
        """Return the log marginal likelihood, with a block-diagonal Hessian, one block for each class.

        With many classes the diagonal is enough: the coordinates are uncorrelated.
        """
        p = softmax(self.design.scores(optimum.theta))
        unseen = 1 / p.shape[1]  # softmax does not see what is added to all K + 1 scores
        loss = size(len(p), self.weight) * optimum.loss
        varied = times(p * (1 - p), self.weight)
        few = p.shape[1] <= MOST_BLOCKS
        bends = self.design.curvature(varied, self.weight).matrices if few else self.design.diagonal(varied)
        return log_marginal_likelihood(loss, bends, widths.of(self.design, self.weight), 1 - unseen)


class _HeldOut(NamedTuple):
    """Rows to learn from, with the fold that each belongs to."""

    problem: _Problem
    prediction: Ints
    correct: Bools
    folds: Ints

    def take(self, rows: Ints) -> _HeldOut:
        return _HeldOut(self.problem.take(rows), self.prediction[rows], self.correct[rows], self.folds[rows])

    def readings(self, widths: Widths, start: Floats, scores: Floats | None = None) -> Floats:
        """Return the out-of-fold readings of each row, and write the scores if an array is given."""
        readings = np.empty((3, len(self.folds)), dtype=np.float32)
        for fold in range(self.folds.max() + 1):
            rows = np.flatnonzero(self.folds == fold)
            others = self.problem.take(np.flatnonzero(self.folds != fold))
            theta = others.fit(widths, start, _STEPS_WITHOUT_A_FOLD).theta
            out_of_fold = self.problem.design.take(rows).scores(theta).T
            readings[:, rows] = read(out_of_fold, self.prediction[rows])
            if scores is not None:
                scores[:, rows] = out_of_fold
        return readings

    def widen(self, widths: Widths, start: Floats) -> tuple[Widths, Floats]:
        """Widen the prior as far as the data support it; return θ nearby too."""
        log_odds = []
        for candidate in (widths, widths.times(_WIDER)):
            start = self.problem.fit(candidate, start).theta
            log_odds.append(self.readings(candidate, start)[0])
        support = weights_by_evidence(
            log_likelihoods(np.column_stack(log_odds), self.correct, self.problem.weight), _WIDER_PRIOR
        )
        return widths.times(_WIDER ** support[1]), start


def _choose_widths(rows: _Problem) -> tuple[Widths, Floats]:
    """Choose both widths as one, then each given the other; return them and θ nearby."""
    both, theta = _best_width(rows, lambda width: Widths(width, width), rows.centre)
    bias, theta = _best_width(rows, lambda width: Widths(width, both), theta)
    shared, theta = _best_width(rows, lambda width: Widths(bias, width), theta)
    return Widths(bias, shared), theta


def _best_width(rows: _Problem, widths_of: Callable[[float], Widths], theta: Floats) -> tuple[float, Floats]:
    """Weigh the widths by evidence, from narrow to wide, with warm starts; return θ of the best too."""
    evidence, best = np.full(len(WIDTHS), -np.inf), theta
    for i, width in enumerate(WIDTHS):
        optimum = rows.fit(widths_of(width), theta)
        evidence[i], theta = rows.evidence(widths_of(width), optimum), optimum.theta
        if evidence[i] == evidence.max():
            best = theta
        elif evidence[i] < evidence.max() - _HOPELESS:
            break
    return width_by_evidence(evidence), best
