"""Maximum probability (MP): the classifier's own softmax."""

from auxcal._core.arrays import Floats
from auxcal._core.logits import softmax
from auxcal.calibrators.base import DistributionCalibrator
from auxcal.predictions import Predictions
from auxcal.programs import Operations, Rows, Value, softmax_at


class Uncalibrated(DistributionCalibrator):
    """Maximum softmax probability (MP): the classifier's own confidence.

    Examples
    --------
    >>> from auxcal import Uncalibrated
    >>> Uncalibrated().fit([[2.0, 0.0]], [0]).predict_confidence([[2.0, 0.0], [0.0, 0.0]]).round(3)
    array([0.881, 0.5  ])
    """

    abbreviation = "MP"
    reference = "Hendrycks & Gimpel, ICLR 2017"
    enough_rows = 0  # there is nothing to learn
    learned = {}  # noqa: RUF012
    uses_weights = True

    def _fit(self, data: Predictions) -> str | None:
        return None

    def _proba(self, logits: Floats) -> Floats:
        return softmax(logits)

    def _program(self, ops: Operations, rows: Rows) -> Value:
        return softmax_at(ops, rows.logits, rows.prediction)
