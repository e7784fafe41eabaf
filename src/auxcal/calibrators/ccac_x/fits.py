"""Fits of the open map: the widths of its prior by evidence, then one fit of all rows and one without each fold."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from auxcal._core.arrays import NO_CLASS, Bools, Floats, Ints, Weight
from auxcal._core.logits import RelativeLogits, softmax
from auxcal.calibrators.ccac_x.evidence import (
    WIDTHS,
    log_likelihoods,
    log_marginal_likelihood,
    weights_by_evidence,
    width_by_evidence,
)
from auxcal.calibrators.ccac_x.open_map import OpenDesign, OpenMap, learn_coordinates, read
from auxcal.calibrators.solvers.linear import MOST_BLOCKS, Ridge
from auxcal.calibrators.solvers.newton import MAX_STEPS, minimise
from auxcal.calibrators.solvers.targets_and_weights import mean, size, times, total
from auxcal.calibrators.temperature_scaling import fit_temperature
from auxcal.predictions import Predictions
from auxcal.reference import MOST_CLASSES

_NONE_LEAST = 1.0  # the least width for "none", which starts from nothing
# The marginal likelihood is about all classes; what is asked is whether the prediction is right. A prior that is wider
# by this factor is taken as far as out-of-fold rows support it, which they must by some 16 nats: doubt times log(199).
_WIDER, _WIDER_PRIOR = 3.0, np.array([0.995, 0.005])
_WORTHWHILE = 1e-4  # nats over all rows for each number of the map
_STEPS_WITHOUT_A_FOLD = 1  # of Newton's method, from the map of all rows, which is near
_HOPELESS = 15.0  # nats below the best: a more lenient prior would weigh nothing
# A width does not depend on the number of rows: so many, with at most so many logits, tell it.
_ROWS_FOR_WIDTHS, _NUMBERS_FOR_WIDTHS = 2000, 10**6
_NUMBERS_FOR_WIDER = 2 * 10**6  # logits; whether the prediction is right says less of a row than its class does


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
    found = OpenMap(split[:, 0] / np.float32(temperature), split[:, 1:-1], split[:, -1], coordinates)
    scores = np.empty((len(split), len(data)), np.float32) if data.n_classes <= MOST_CLASSES else None
    readings = held_out.readings(widths, theta.theta, scores)
    return CrossFitted(found, readings, scores, widths, problem or theta.problem)


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


class _Found(NamedTuple):
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

    def fit(self, widths: Widths, start: Floats, most_steps: int = MAX_STEPS) -> _Found:
        n, k = size(len(self.y), self.weight), len(self.centre) - 1
        prior = Ridge(self.centre, 1 / (2 * n * widths.of(self.design, self.weight) ** 2))
        y = np.where(self.y == NO_CLASS, k, self.y)
        return _Found(*minimise(self.design, y, start, prior, most_steps, _WORTHWHILE, self.weight))

    def evidence(self, widths: Widths, found: _Found) -> float:
        """Return the log marginal likelihood, with a block-diagonal Hessian, one block for each class.

        With many classes the diagonal is enough: the coordinates are uncorrelated.
        """
        p = softmax(self.design.scores(found.theta))
        unseen = 1 / p.shape[1]  # softmax does not see what is added to all K + 1 scores
        loss = size(len(p), self.weight) * found.loss
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
            found = self.problem.design.take(rows).scores(theta).T
            readings[:, rows] = read(found, self.prediction[rows])
            if scores is not None:
                scores[:, rows] = found
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
        found = rows.fit(widths_of(width), theta)
        evidence[i], theta = rows.evidence(widths_of(width), found), found.theta
        if evidence[i] == evidence.max():
            best = theta
        elif evidence[i] < evidence.max() - _HOPELESS:
            break
    return width_by_evidence(evidence), best
