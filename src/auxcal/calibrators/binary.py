"""Calibrators that map one score to a probability: one map for all predictions, or one for each class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Literal, NamedTuple, get_args

import numpy as np

from auxcal._core.arrays import Bools, Floats, Ints, Weight
from auxcal._core.errors import InvalidInputError
from auxcal._core.logits import relative, top_scores
from auxcal._core.state import Shape
from auxcal.calibrators.base import Calibrator
from auxcal.predictions import Predictions
from auxcal.programs import Operations, Rows, Value, log_odds, no_program

Scheme = Literal["top-label", "per-class"]

_CHUNK = 2**16  # logits: 256 KB of float32, which stay in the processor's cache


class Sample(NamedTuple):
    """What a map learns from: the sorted scores of all rows, of the hits, and of the rows it will be applied to.

    The weights are how often each of them counts; without weights, once.
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
    learned: ClassVar[Mapping[str, Shape]]

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


def _scores(logits: Floats) -> Floats:
    """Return the log-odds of every class, of shape (K, n).

    At the prediction they are the same numbers as `top_scores`: bins end at scores of the fit part.
    """
    n, k = logits.shape
    scores = np.empty((k, n), dtype=np.float32)
    chunk = 1 + _CHUNK // k
    for start in range(0, n, chunk):
        part = relative(logits[start : start + chunk])
        score = part.z - np.log(1 + part.others[:, None] - part.e)
        score[part.top] = part.top_scores
        scores[:, start : start + chunk] = score.T
    return scores
