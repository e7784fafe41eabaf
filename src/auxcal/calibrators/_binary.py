"""Calibrators that map one score to a probability: one map for all predictions, or one for each class."""

from abc import abstractmethod
from typing import Literal, get_args

import numpy as np

from auxcal._arrays import Bools, Floats, Ints
from auxcal._errors import InvalidInputError
from auxcal.calibrators._base import Calibrator
from auxcal.calibrators._softmax import log_odds, top_log_odds
from auxcal.predictions import Predictions

Scheme = Literal["top-label", "per-class"]


class BinaryCalibrator(Calibrator):
    """Maps the log-odds of the predicted class's softmax probability to a confidence.

    "top-label" learns one map of the prediction's score against correctness. "per-class" learns a map for each class,
    of its score against y being that class, and reads the one of the predicted class. Either way a row with `NO_CLASS`
    is a miss.

    A method supplies `_fit_maps` and `_apply_maps`.
    """

    scheme: Scheme

    def _fit(self, data: Predictions, select: Predictions | None) -> str | None:
        if self.scheme not in get_args(Scheme):
            raise InvalidInputError(f"scheme must be 'top-label' or 'per-class'; got {self.scheme!r}.")
        if self.scheme == "top-label":
            scores, hits = top_log_odds(data.logits)[None, :], data.correct[None, :]
        else:
            scores = np.ascontiguousarray(log_odds(data.logits.astype(np.float64)).T)
            hits = data.y == np.arange(data.n_classes)[:, None]
        return self._fit_maps(scores, hits)

    def _confidence(self, logits: Floats) -> Floats:
        maps = logits.argmax(axis=1) if self.scheme == "per-class" else np.zeros(len(logits), dtype=np.intp)
        return self._apply_maps(top_log_odds(logits), maps).astype(logits.dtype)

    @abstractmethod
    def _fit_maps(self, scores: Floats, hits: Bools) -> str | None:
        """Learn from the scores and hits of each map, both (m, n); return what is wrong with the fit, if anything."""

    @abstractmethod
    def _apply_maps(self, scores: Floats, maps: Ints) -> Floats:
        """Return the probability for each score under the map of that row."""
