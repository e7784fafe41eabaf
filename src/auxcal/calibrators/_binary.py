"""Calibrators that map one score to a probability: one map for all predictions, or one for each class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import DTypeLike

from auxcal._core.arrays import Bools, Floats, Ints, Weight
from auxcal._core.errors import InvalidInputError
from auxcal._core.state import Check
from auxcal.calibrators._base import Calibrator
from auxcal.predictions import Predictions
from auxcal.programs import Operations, Rows, Value, log_odds, no_program, without

Scheme = Literal["top-label", "per-class"]

_CHUNK = 2**16  # logits that stay in the processor's cache
_FAINT = 1e-30  # a sum of exponentials below which float32 loses digits


class Sample(NamedTuple):
    """What a map learns from: the sorted scores of all rows, of the hits, and of the rows it will be applied to.

    The weights say how often each of them counts; without weights, once.
    """

    ordered: Floats
    hits: Floats
    predicted: Floats
    weight: Weight | None = None
    weight_of_hits: Weight | None = None
    weight_of_predicted: Weight | None = None

    @classmethod
    def of(cls, scores: Floats, hits: Bools, predicted: Bools | slice, weight: Weight | None) -> Sample:
        """Return the sample of all rows, with their weights."""
        if weight is None:
            return cls(np.sort(scores), scores[hits], scores[predicted])
        order = np.argsort(scores, kind="stable")
        return cls(scores[order], scores[hits], scores[predicted], weight[order], weight[hits], weight[predicted])


class BinaryCalibrator(Calibrator):
    """Maps the log-odds of the predicted class's softmax probability to a confidence.

    "top-label" learns one map of the prediction's score against correctness. "per-class" learns a map for each class,
    of its score against y being that class, and reads the one of the predicted class. Either way a row with `NO_CLASS`
    is a miss.

    A method supplies `_fit_maps` and `_apply_maps`, and the latter as a program in `_maps_program`. The first of its
    `learned` attributes has an entry for each map.
    """

    scheme: Scheme
    learned: ClassVar[Mapping[str, Check]]

    def _fit(self, data: Predictions) -> str | None:
        if self.scheme not in get_args(Scheme):
            raise InvalidInputError(f"scheme must be 'top-label' or 'per-class'; got {self.scheme!r}.")
        if self.scheme == "top-label":
            return self._fit_maps([Sample.of(top_scores(data.logits), data.correct, slice(None), data.sample_weight)])
        return self._fit_maps(
            [
                Sample.of(scores, data.y == k, data.prediction == k, data.sample_weight)
                for k, scores in enumerate(_scores(data.logits))
            ]
        )

    def _confidence(self, logits: Floats) -> Floats:
        maps = logits.argmax(axis=1) if self._is_per_class() else np.zeros(len(logits), dtype=np.intp)
        return self._apply_maps(top_scores(logits), maps).astype(logits.dtype)

    def _n_free(self) -> int:
        return 2 * (self.n_features_in_ if self._is_per_class() else 1)

    def _program(self, ops: Operations, rows: Rows) -> Value:
        maps = rows.prediction if self._is_per_class() else None
        return self._maps_program(ops, log_odds(ops, rows, self.n_features_in_), maps)

    def _is_per_class(self) -> bool:
        """Whether there is a map for each class; `scheme` is that of the next fit."""
        return len(getattr(self, next(iter(self.learned)))) > 1

    @abstractmethod
    def _fit_maps(self, samples: list[Sample]) -> str | None:
        """Learn a map from each sample; return what is wrong with the fit, if anything."""

    @abstractmethod
    def _apply_maps(self, scores: Floats, maps: Ints) -> Floats:
        """Return the probability for each score under the map of that row."""

    def _maps_program(self, ops: Operations, score: Value, maps: Value | None) -> Value:
        """Write `_apply_maps` as a program for torch and ONNX; `maps` is None if there is one map for all rows."""
        raise no_program(self, "_maps_program(ops, score, maps)")


class RelativeLogits(NamedTuple):
    """Logits relative to that of the prediction, in float32: a score must not depend on the precision of the logits.

    Parameters
    ----------
    top : pair of arrays of shape (n,)
        Where the prediction is.
    z : array of shape (n, K)
        The logits minus that of the prediction.
    e : array of shape (n, K)
        e^z, but 0 at the prediction.
    others : array of shape (n,)
        The sum of e.
    top_scores : array of shape (n,)
        The log-odds of the prediction, −log Σ e.
    """

    top: tuple[Ints, Ints]
    z: Floats
    e: Floats
    others: Floats
    top_scores: Floats


def relative(logits: Floats, dtype: DTypeLike = np.float32) -> RelativeLogits:
    """Return the logits relative to that of the prediction."""
    n, k = logits.shape
    top = np.arange(n), logits.argmax(axis=1)
    at = top[0] * k + top[1]  # one index is several times as fast as a pair
    z = (logits - logits.take(at)[:, None]).astype(dtype, copy=False)
    e = np.exp(z)
    e.put(at, 0)
    others = np.einsum("nk->n", e)  # as fast as a product with ones, and the same for a row alone
    return RelativeLogits(top, z, e, others, _top_scores(z, top[1], others))


def _top_scores(z: Floats, prediction: Ints, others: Floats) -> Floats:
    """Return −log Σ e; where e is too small for float32, as a sum of its larger multiple."""
    if others.min() >= _FAINT:
        return -np.log(others)
    faint = others < _FAINT
    rest = z[faint]
    rest[np.arange(len(rest)), prediction[faint]] = -np.inf
    second = rest.max(axis=1)
    scores = np.empty_like(others)
    scores[~faint] = -np.log(others[~faint])
    scores[faint] = -second - np.log(np.exp(rest - second[:, None]).sum(axis=1))
    return scores


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


def top_scores(logits: Floats) -> Floats:
    """Return the log-odds of the prediction, the same number as in `_scores`: bins end at scores of the fit part."""
    return relative(logits).top_scores


def _scores(logits: Floats) -> Floats:
    """Return the log-odds of every class, of shape (K, n)."""
    n, k = logits.shape
    scores = np.empty((k, n), dtype=np.float32)
    chunk = 1 + _CHUNK // k
    for start in range(0, n, chunk):
        part = relative(logits[start : start + chunk])
        score = part.z - np.log(1 + part.others[:, None] - part.e)
        score[part.top] = part.top_scores
        scores[:, start : start + chunk] = score.T
    return scores
