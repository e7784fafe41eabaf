"""Adaptation to another mix: new shares of the strata, applied by Bayes' rule."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auxcal._core.arrays import Floats, Ints
from auxcal._core.errors import InvalidInputError
from auxcal._core.state import Shape, check_learned
from auxcal.programs import Operations, Value

_TINY = 1e-30  # a share that no rows can have; avoids a division by zero


class Adaptation(NamedTuple):
    """The shares of the strata that a calibrator was adapted to, and those before, in the fit.

    The strata are the classes and none, or right and wrong predictions. The shares were estimated from `n_rows` rows
    without labels and `n_labelled` with labels; the date is in UTC.
    """

    shares: Floats
    before: Floats
    n_rows: int
    n_labelled: int
    date: str

    @property
    def ratio(self) -> Floats:
        """The factor by which the odds of each stratum change."""
        return np.where(self.before > 0, self.shares / np.maximum(self.before, _TINY), 1.0)

    def as_json(self) -> dict[str, object]:
        """Return it ready for JSON."""
        return self._asdict() | {"shares": self.shares.tolist(), "before": self.before.tolist()}

    def check(self, n_strata: int) -> None:
        """Reject shares that don't fit the strata."""
        shapes: dict[str, Shape] = {"shares": (n_strata,), "before": (n_strata,), "n_rows": (), "n_labelled": ()}
        check_learned(shapes | {"date": None}, self._asdict(), {})

    def confidence(self, confidence: Floats) -> Floats:
        """Adapt the confidence if the strata are right and wrong predictions."""
        right, wrong = (confidence.dtype.type(ratio) for ratio in self.ratio[:2])
        return confidence * right / (confidence * right + (1 - confidence) * wrong)

    def proba(self, proba: Floats, prediction: Ints) -> Floats:
        """Adapt the distribution over the classes, and over none of them if the calibrator has that column."""
        ratio = self.ratio.astype(proba.dtype)
        if len(ratio) == proba.shape[1] > 2:
            weighed = proba * ratio
        else:
            weighed = proba * ratio[1]
            if len(ratio) == 3:
                weighed[:, -1] = proba[:, -1] * ratio[2]
            at = np.arange(len(proba)), prediction
            weighed[at] = proba[at] * ratio[0]
        return weighed / weighed.sum(axis=1, keepdims=True)

    def program(self, ops: Operations, confidence: Value) -> Value:
        """Write `confidence` as a program for torch and ONNX."""
        if len(self.ratio) > 2:
            raise InvalidInputError(
                "a calibrator that was adapted to shares of the classes can't become a torch module or an ONNX graph: "
                "its program gives no distribution. Score with predict_confidence, or adapt one whose strata are right "
                "and wrong alone, such as PlattScaling."
            )
        right, wrong = map(float, self.ratio)
        return confidence * right / (confidence * right + (1.0 - confidence) * wrong)
