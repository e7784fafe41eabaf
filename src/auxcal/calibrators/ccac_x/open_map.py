"""The open map: a linear map of the logits onto the K classes and one more, for samples of none of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from auxcal._core.arrays import Floats, Ints, Weight
from auxcal._core.logits import RelativeLogits, softplus
from auxcal._core.threads import cached_property
from auxcal.calibrators.solvers.linear import MOST_BLOCKS, weighted_gram
from auxcal.calibrators.solvers.newton import Blocks
from auxcal.calibrators.solvers.targets_and_weights import deviation, mean, times
from auxcal.predictions import Predictions
from auxcal.programs import Operations, Rows, Value, without

_ALL_COMPONENTS = 100  # logits or features up to which all principal components are kept
_COMPONENTS = 32  # of more, the leading ones
_ROWS_FOR_COMPONENTS = 4000  # enough for as many directions


class Coordinates(NamedTuple):
    """Logits, and features if there are any, as a few numbers of unit mean squared length: (x − centre) basis."""

    centre: Floats
    basis: Floats

    def __call__(self, logits: Floats, features: Floats | None, dtype: DTypeLike = np.float32) -> Floats:
        """Return the coordinates of each row.

        A direction in which rows hardly differ can get a large weight, which multiplies its rounding. So where it costs
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
    """K + 1 scores, of which the last is for none of the classes: own_k φ_k + shared_k · coordinates + bias_k.

    φ_k is z_k − z_ŷ. "None" has no logit; the log-odds of the prediction take its place, so that a few rows are enough
    to learn that uncertain predictions more often have no class. All numbers are float32.
    """

    own: Floats
    shared: Floats
    bias: Floats
    coordinates: Coordinates

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
    """Return the leading principal components of centred rows, by the smaller of the two products x xᵀ and xᵀ x."""
    n, d = x.shape
    most = d if d <= _ALL_COMPONENTS else _COMPONENTS
    if n >= d:
        return np.asarray(np.linalg.eigh(x.T @ x)[1][:, : -most - 1 : -1])
    values, vectors = np.linalg.eigh(x @ x.T)
    values, vectors = values[: -most - 1 : -1], vectors[:, : -most - 1 : -1]
    kept = values > np.finfo(x.dtype).eps * n * values[0]
    return np.asarray(x.T @ (vectors[:, kept] / np.sqrt(values[kept])))
