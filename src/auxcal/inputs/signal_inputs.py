"""Rows of signals: numbers and categories that are known of an answer, where there are no logits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import NO_CLASS, Floats, Ints, as_correct
from auxcal._core.errors import InvalidInputError
from auxcal.inputs.kinds import Inputs, listed


class SignalInputs(Inputs, kinds=("signals",)):
    """An answer is a prediction of the one class "the answer"; all that is known of it are its features."""

    numbers_of_classes = range(1, 2)
    wrong_share = "wrong"

    @property
    def needs_numbers(self) -> bool:
        """Whether a fit must turn the features into numbers first: never, since the method reads the table."""
        return False

    def rows(
        self, given: Any, features: Any, *, n_classes: int = 1, n_features: int = 0, stacklevel: int = 1
    ) -> tuple[Floats, Floats]:
        """Return answers as the one class of a classifier, and their signals as a matrix."""
        if features is not None:
            raise InvalidInputError("signals hold all that is known of an answer; got features too. Make them signals.")
        x = self.signal_columns.encode(given)
        return np.zeros((len(x), 1), np.float32), x

    def as_y(self, y: ArrayLike, *, n_rows: int, n_classes: int = 1) -> Ints:
        """Return whether each answer is right as the one class, or none."""
        return np.where(as_correct(y, n_rows=n_rows), 0, NO_CLASS)

    def described(self, n_classes: int, n_features: int) -> dict[str, str]:
        """Return in words what a calibrator takes."""
        return {"takes": f"{n_features} signals of each answer", "signals": listed(self.feature_names)}
