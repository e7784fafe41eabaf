"""Features of the rows, for the methods that use them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import Floats, as_features
from auxcal._core.errors import InvalidInputError

if TYPE_CHECKING:
    from auxcal.calibrators._base import Calibrator
    from auxcal.predictions import Predictions


def check_uses_features(calibrator: Calibrator) -> None:
    """Reject features if the method uses logits only."""
    if not calibrator.uses_features:
        from auxcal.calibrators import CALIBRATORS

        others = [f"{kind.__name__} ({name})" for name, kind in CALIBRATORS.items() if kind.uses_features]
        raise InvalidInputError(
            f"{type(calibrator).__name__} reads logits alone; got features too. Leave features out, or use a method "
            f"that uses them: {', '.join(others)}."
        )


def checked_features(calibrator: Calibrator, features: ArrayLike | None, n_rows: int) -> Floats | None:
    """Check the features of rows to score: as many as in the fit, or none."""
    d = calibrator.n_further_features_
    if features is None and d == 0:
        return None
    check_uses_features(calibrator)
    if features is None:
        raise InvalidInputError(
            f"features must have the {d} columns that this {type(calibrator).__name__} was fitted with; got none. Give "
            f"the same features of these samples, or fit a calibrator without."
        )
    if d == 0:
        raise InvalidInputError(
            f"this {type(calibrator).__name__} was fitted without features; got features of shape "
            f"{np.shape(features)}. Leave features out, or fit a calibrator with them."
        )
    return as_features(features, n_rows=n_rows, n_columns=d)


def features_for(calibrator: Calibrator, data: Predictions) -> Floats | None:
    """Return the features of the data if the calibrator uses them."""
    return data.features if calibrator.uses_features else None
