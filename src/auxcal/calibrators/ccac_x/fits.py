"""Fits of the open map: the widths of its prior by evidence, then one fit of all rows and one without each fold."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from auxcal._arrays import NO_CLASS, Floats, Ints
from auxcal.calibrators._binary import RelativeLogits
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
from auxcal.calibrators.solvers.softmax import softmax
from auxcal.calibrators.temperature_scaling import fit_temperature
from auxcal.predictions import Predictions

_NONE_LEAST = 1.0  # the least width for "none", which starts from nothing
# The marginal likelihood is about all classes; what is asked is whether the prediction is right. A prior that is wider
# by this factor is taken as far as out-of-fold rows support it, which they must by some 10 nats: doubt times log(97/3).
_WIDER, _WIDER_PRIOR = 3.0, np.array([0.97, 0.03])
_STEPS_WITHOUT_A_FOLD = 1  # of Newton's method, from the map of all rows, which is near
_HOPELESS = 15.0  # nats below the best: a more lenient prior would weigh nothing
# A width does not depend on the number of rows: so many, with at most so many logits, tell it.
_ROWS_FOR_WIDTHS, _NUMBERS_FOR_WIDTHS = 2000, 10**6


class Widths(NamedTuple):
    """The prior's standard deviations: of the biases, and of what each class makes of all coordinates."""

    bias: float
    shared: float

    def of(self, design: OpenDesign) -> Floats:
        """Return the width of every number of θ, whose last row is that of "none".

        The weight of the own logit may change a score by as much as the bias.
        """
        widths = np.full((design.own.shape[1], design.shared.shape[1] + 1), self.shared)
        widths[:, 0], widths[:, -1] = self.bias / np.sqrt(np.mean(design.own**2)), self.bias
        widths[-1] = np.maximum(widths[-1], _NONE_LEAST)
        return widths

    def times(self, factor: float) -> Widths:
        """Return wider ones, though none beyond the widest candidate."""
        return Widths(*(min(factor * width, WIDTHS[-1]) for width in self))


class CrossFitted(NamedTuple):
    """The map, what maps that had not seen a row read there, the widths, and what is wrong with a fit, if anything."""

    map: OpenMap
    readings: Floats
    widths: Widths
    problem: str | None


def cross_fit(data: Predictions, near: RelativeLogits, folds: Ints) -> CrossFitted:
    """Fit the map on all rows, and once more without each fold, whose rows it then reads."""
    temperature, problem = fit_temperature(data.with_class())
    coordinates = learn_coordinates(data)
    x = coordinates(data.logits, data.features)
    own = np.column_stack([near.z, near.top_scores()]) / np.float32(temperature)
    whole = _Problem(OpenDesign(own, np.column_stack([x, np.ones_like(x[:, 0])])), data.y, _centre(data, x.shape[1]))
    most = min(_ROWS_FOR_WIDTHS, _NUMBERS_FOR_WIDTHS // data.n_classes)
    widths, start = _choose_widths(whole.take(data.spread_rows(max(most, 1))))
    strict = whole.fit(widths, start)
    wider = whole.fit(widths.times(_WIDER), strict.theta)
    said = [_out_of_fold(whole, data, folds, *of)[0] for of in ((widths, strict), (widths.times(_WIDER), wider))]
    support = weights_by_evidence(log_likelihoods(np.column_stack(said), data.correct), _WIDER_PRIOR)
    widths = widths.times(_WIDER ** support[1])
    theta = whole.fit(widths, strict.theta)
    split = theta.theta.astype(np.float32)
    found = OpenMap(split[:, 0] / np.float32(temperature), split[:, 1:-1], split[:, -1], coordinates)
    return CrossFitted(found, _out_of_fold(whole, data, folds, widths, theta), widths, problem or theta.problem)


def _out_of_fold(whole: _Problem, data: Predictions, folds: Ints, widths: Widths, found: _Found) -> Floats:
    """Return what maps that have not seen a row read there."""
    readings = np.empty((3, len(data)), dtype=np.float32)
    for fold in range(folds.max() + 1):
        rows = np.flatnonzero(folds == fold)
        without = whole.take(np.flatnonzero(folds != fold)).fit(widths, found.theta, _STEPS_WITHOUT_A_FOLD)
        readings[:, rows] = read(whole.design.take(rows).scores(without.theta).T, data.prediction[rows])
    return readings


def _centre(data: Predictions, n_coordinates: int) -> Floats:
    """Return where the prior is centred: softmax(z / T), with "none" beside it as often as it occurs."""
    k = data.n_classes
    centre = np.zeros((k + 1, n_coordinates + 2))
    centre[:k, 0] = 1
    centre[k, -1] = np.log((np.sum(data.y == NO_CLASS) + 0.5) / (len(data) + 1))
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

    def take(self, rows: Ints) -> _Problem:
        return self._replace(design=self.design.take(rows), y=self.y[rows])

    def fit(self, widths: Widths, start: Floats, most_steps: int = MAX_STEPS) -> _Found:
        n, k = len(self.y), len(self.centre) - 1
        prior = Ridge(self.centre, 1 / (2 * n * widths.of(self.design) ** 2))
        y = np.where(self.y == NO_CLASS, k, self.y)
        return _Found(*minimise(self.design, y, start, prior, most_steps))

    def evidence(self, widths: Widths, found: _Found) -> float:
        """Return the log marginal likelihood, with one block of curvature for each class in the place of all pairs.

        Of many classes the diagonal is enough: the coordinates are uncorrelated.
        """
        p = softmax(self.design.scores(found.theta))
        curvature = self.design.curvature if p.shape[1] <= MOST_BLOCKS else self.design.diagonal
        unseen = 1 / p.shape[1]  # softmax does not see what is added to all K + 1 scores
        widths_of_theta = widths.of(self.design)
        return log_marginal_likelihood(len(p) * found.loss, curvature(p * (1 - p)), widths_of_theta, 1 - unseen)


def _choose_widths(rows: _Problem) -> tuple[Widths, Floats]:
    """Choose both widths as one, then each given the other; return them and θ nearby."""
    both, theta = _best_width(rows, lambda width: Widths(width, width), rows.centre)
    bias, theta = _best_width(rows, lambda width: Widths(width, both), theta)
    shared, theta = _best_width(rows, lambda width: Widths(bias, width), theta)
    return Widths(bias, shared), theta


def _best_width(rows: _Problem, widths_of: Callable[[float], Widths], theta: Floats) -> tuple[float, Floats]:
    """Weigh the widths by evidence, from strict to lenient, each fit from the one before; return θ of the best too."""
    evidence, best = np.full(len(WIDTHS), -np.inf), theta
    for i, width in enumerate(WIDTHS):
        found = rows.fit(widths_of(width), theta)
        evidence[i], theta = rows.evidence(widths_of(width), found), found.theta
        if evidence[i] == evidence.max():
            best = theta
        elif evidence[i] < evidence.max() - _HOPELESS:
            break
    return width_by_evidence(evidence), best
