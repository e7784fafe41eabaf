"""The rows that a fit learns from; features or weights that the method can't use are rejected, not ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auxcal._core.arrays import check_spread, check_total
from auxcal._core.errors import InvalidInputError
from auxcal.calibrators._features import check_uses_features

if TYPE_CHECKING:
    from auxcal.calibrators._base import Calibrator
    from auxcal.predictions import Predictions


def rows_to_fit(calibrator: Calibrator, data: Predictions) -> Predictions:
    """Return the rows with a weight above 0, and reject features and weights that the method can't use."""
    check_spread(data.logits)
    if data.features is not None:
        check_uses_features(calibrator)
    if data.sample_weight is not None:
        if not calibrator.uses_weights:
            raise InvalidInputError(
                f"{type(calibrator).__name__} counts every row once; got sample_weight. Leave it out, or use one of "
                f"auxcal's own methods. If this one is yours: count data.sample_weight, and set uses_weights = True."
            )
        check_total(data.sample_weight)
    return data.counted()
