"""The open map: a linear map of the logits onto the K classes and one more, for samples of none of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag

from auxcal._arrays import NO_CLASS, Floats, Ints
from auxcal.calibrators._binary import Relative, relative
from auxcal.calibrators._linear import MOST_BLOCKS, Ridge, definite, weighted_gram
from auxcal.calibrators._newton import minimise
from auxcal.calibrators._stack import by_evidence, log_losses
from auxcal.predictions import Predictions

N_READINGS = 3

WIDTHS = (0.03, 0.1, 0.3, 1.0, 3.0)
"""How far a weight may go from its centre: the deviations of the prior that are tried, from strict to lenient."""

_NONE_WIDTH, _NONE_BIAS_WIDTH = 0.3, 3.0  # at least, of "none", which starts from nothing
_MOST_LOGITS = 100  # classes beyond which the leading principal components take the place of the logits
_COMPONENTS_OF_LOGITS, _COMPONENTS_OF_FEATURES = 32, 64
_ROWS_FOR_COMPONENTS = 4000
_FEW = 3000  # rows up to which every fold judges every width
_HOPELESS = 20.0  # nats over all rows
_OF_FEW, _OF_MANY = (0.5, 1.0), (1.0, 3.0)  # the widths of the weight of the own logit, and of the bias


class Coordinates(NamedTuple):
    """Logits and features as a few numbers of about unit size: (x − centre) basis."""

    centre: Floats
    basis: Floats

    def __call__(self, logits: Floats, features: Floats | None) -> Floats:
        """Return the coordinates of each row, in float32."""
        k = logits.shape[1]
        x = _centred(logits, self.centre[:k])
        if features is not None:
            x = np.concatenate([x, _centred(features, self.centre[k:])], axis=1)
        return x @ self.basis


class OpenMap(NamedTuple):
    """θ, a row [own, shared .., bias] for each of K + 1 scores: own_k φ_k + shared_k · coordinates + bias_k.

    φ_k is (z_k − z_ŷ) / T. "None" has no logit, and sees the log-odds of the prediction over T in its place: a few rows
    are enough to learn how much the classifier's own doubt speaks for it.
    """

    theta: Floats
    temperature: float
    coordinates: Coordinates

    def scores(self, x: Floats, near: Relative) -> Floats:
        """Return the K + 1 scores of each row, in float32, given its coordinates; their softmax is μ.

        They are of shape (K + 1, n): where classes are few, that is the faster way round.
        """
        own, shared, bias = (part.astype(np.float32) for part in np.split(self.theta, [1, -1], axis=1))
        own /= np.float32(self.temperature)
        z = np.array(near.z.T, order="C")
        z *= own[:-1]
        scores = shared @ x.T
        scores += bias
        scores[:-1] += z
        scores[-1] += near.top_scores() * own[-1]
        return scores

    def design(self, x: Floats, near: Relative) -> OpenDesign:
        """Return what the scores depend on, given the coordinates."""
        own = np.column_stack([near.z, near.top_scores()])
        own /= np.float32(self.temperature)
        return OpenDesign(own, np.column_stack([x, np.ones_like(x[:, 0])]))


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
        """Return Σ_n residual_nk φ_nk, for residuals that add up to nought over the classes."""
        image = (residual.T @ self.shared).astype(np.float64)
        own = np.einsum("nk,nk->k", residual, self.own)
        return np.column_stack([own, image - image.mean(axis=0)])

    def curvature(self, weight: Floats) -> Floats:
        """Return Σ_n weight_nk φ_nk φ_nkᵀ, where classes are many with the mean weight for what they share."""
        k = self.own.shape[1]
        if weight.shape[1] == k <= MOST_BLOCKS:
            parts = (np.column_stack([own, self.shared]) for own in self.own.T)
            return definite(np.stack([weighted_gram(part, weight[:, j], self.sizes) for j, part in enumerate(parts)]))
        blocks = np.zeros((weight.shape[1], *2 * (self.shared.shape[1] + 1,)))
        blocks[:, 1:, 1:] = weighted_gram(self.shared, weight.mean(axis=1), self.sizes)
        squares = np.einsum("nk,nk->k", np.broadcast_to(weight, self.own.shape), self.own**2)
        blocks[:, 0, 0] = squares.mean() if weight.shape[1] == 1 else squares
        return definite(blocks)


def start_map(data: Predictions, temperature: float) -> OpenMap:
    """Return the map from which a fit starts and which few rows hardly leave: softmax(z / T), with "none" beside it."""
    k = data.n_classes
    parts = [_of_unit_size(data.logits, _MOST_LOGITS, _COMPONENTS_OF_LOGITS)]
    if data.features is not None:
        deviation = data.features.std(axis=0, dtype=np.float64)
        varying = float(np.mean(deviation > 0))  # the others are no reason to make these larger
        deviation[deviation == 0] = 1
        centre, basis = _of_unit_size(data.features / deviation, 0, _COMPONENTS_OF_FEATURES)
        parts.append((centre * deviation, np.sqrt(varying) * basis / deviation[:, None]))
    centres, bases = zip(*parts, strict=True)
    basis = block_diag(*bases).astype(np.float32)
    theta = np.zeros((k + 1, basis.shape[1] + 2))
    theta[:k, 0] = 1
    return OpenMap(theta, temperature, Coordinates(np.concatenate(centres), basis))


def _centred(x: Floats, centre: Floats) -> Floats:
    """Take the centre off in the precision of x, which float32 may not have: a time in seconds, for instance."""
    return (x - centre.astype(x.dtype)).astype(np.float32, copy=False)


def _of_unit_size(x: Floats, most: int, n_components: int) -> tuple[Floats, Floats]:
    """Return the centre and a basis: the columns themselves or, of more than `most`, the leading components of them."""
    centre = x.mean(axis=0, dtype=np.float64)
    scale = float(np.sqrt(np.mean((x - centre) ** 2))) or 1.0
    if x.shape[1] <= most:
        return centre, np.eye(x.shape[1]) / scale
    few = x[:: 1 + len(x) // _ROWS_FOR_COMPONENTS] - centre
    _, components = np.linalg.eigh(few.T @ few)
    return centre, components[:, : -n_components - 1 : -1] / scale


class CrossFitted(NamedTuple):
    """The map, what those that had not seen a row read there, the width of the prior, and what is wrong if any."""

    map: OpenMap
    readings: Floats
    width: float
    problem: str | None


def cross_fit(data: Predictions, folds: Ints, start: OpenMap) -> CrossFitted:
    """Fit a map without each fold in turn, and take their mean, which is one map and no slower to apply."""
    fits = _Fits(data, folds, start)
    n_folds = int(folds.max()) + 1
    thetas, width = (_over_widths if len(data) <= _FEW else _with_best_width)(fits, n_folds)
    mean = start._replace(theta=np.mean(thetas, axis=0))
    return CrossFitted(mean, fits.readings(thetas), width, next(filter(None, fits.problems), None))


class _Fits:
    """Fits of the map without one fold of the rows."""

    def __init__(self, data: Predictions, folds: Ints, start: OpenMap) -> None:
        self.prediction, self.correct, self.folds, self.start = data.prediction, data.correct, folds, start.theta
        self.design = start.design(start.coordinates(data.logits, data.features), relative(data.logits))
        self.y = np.where(data.y == NO_CLASS, data.n_classes, data.y)
        self.own_and_bias = _OF_FEW if len(data) <= _FEW else _OF_MANY
        self.problems: list[str | None] = []

    def fit(self, fold: int, width: float, theta: Floats) -> Floats:
        """Return θ without a fold, by a search from the given one."""
        rows = np.flatnonzero(self.folds != fold)
        prior = _prior(self.start, width, *self.own_and_bias, n=len(rows))
        theta, _, problem = minimise(self.design.take(rows), self.y[rows], theta, prior)
        self.problems.append(problem)
        return theta

    def readings(self, thetas: Sequence[Floats]) -> Floats:
        """Return what the map without each of the first folds reads on its rows."""
        readings = np.empty((len(self.folds), N_READINGS), dtype=np.float32)
        for fold, theta in enumerate(thetas):
            rows = np.flatnonzero(self.folds == fold)
            readings[rows] = read(self.design.take(rows).scores(theta).T, self.prediction[rows])
        return readings

    def first_loss(self, theta: Floats) -> float:
        """Return the log-loss of "the prediction is right" on the first fold."""
        rows = self.folds == 0
        return float(log_losses(self.readings([theta])[rows, :1], self.correct[rows])[0])


def _over_widths(fits: _Fits, n_folds: int) -> tuple[list[Floats], float]:
    """Return the mean over all widths, each weighed by its loss on all rows: of few rows one is chosen by chance.

    From strict to lenient, each from the one before, until one is so much worse that the next would weigh nothing.
    """
    thetas, tried, log_odds = [fits.start] * n_folds, [], []
    for width in WIDTHS:
        thetas = [fits.fit(fold, width, theta) for fold, theta in enumerate(thetas)]
        tried.append(thetas)
        log_odds.append(fits.readings(thetas)[:, 0])
        losses = log_losses(np.stack(log_odds, axis=1), fits.correct)
        if losses[-1] > losses.min() + _HOPELESS:
            break
    weights = by_evidence(losses)
    mean = np.tensordot(weights, np.array(tried), axes=1)
    return list(mean), float(np.exp(weights @ np.log(WIDTHS[: len(tried)])))


def _with_best_width(fits: _Fits, n_folds: int) -> tuple[list[Floats], float]:
    """Try widths from strict to lenient, each from the one before, until the loss of the first fold grows."""
    best, theta, least = (fits.start, WIDTHS[0]), fits.start, np.inf
    for width in WIDTHS:
        theta = fits.fit(0, width, theta)
        loss = fits.first_loss(theta)
        if loss >= least:
            break
        best, least = (theta, width), loss
    first, width = best
    return [first, *(fits.fit(fold, width, first) for fold in range(1, n_folds))], width


def _prior(centre: Floats, width: float, own: float, bias: float, *, n: int) -> Ridge:
    widths = np.full(centre.shape, width)
    widths[:, 0], widths[:, -1] = own, bias
    widths[-1, 1:-1], widths[-1, -1] = max(width, _NONE_WIDTH), _NONE_BIAS_WIDTH
    return Ridge(centre, 1 / (2 * n * widths**2))


def read(scores: Floats, prediction: Ints) -> Floats:
    """Return the log-odds of the prediction, and the log-probabilities of "none" and of the likeliest other class.

    The scores are of shape (K + 1, n), what is returned of shape (n, 3).
    """
    at = prediction, np.arange(len(prediction))
    others = scores - scores[at]  # so that the prediction's own is 0
    others[at] = -np.inf
    none, second = others[-1].copy(), others[:-1].max(axis=0)
    most = np.maximum(second, none)
    others -= most
    log_rest = most + np.log(np.exp(others, out=others).sum(axis=0))
    log_total = np.logaddexp(0, log_rest)
    return np.stack([-log_rest, none - log_total, second - log_total], axis=1)
