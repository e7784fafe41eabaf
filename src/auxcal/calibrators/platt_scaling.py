"""Platt scaling: a logistic map of the log-odds."""

import numpy as np

from auxcal._core.arrays import Floats, Ints
from auxcal._core.logits import expit
from auxcal.calibrators.binary import BinaryCalibrator, Sample, Scheme
from auxcal.calibrators.solvers.logistic import fit_logistic, unconverged
from auxcal.programs import Operations, Value, of_map


class PlattScaling(BinaryCalibrator):
    """Platt scaling: σ(a s + b) of the log-odds s of the predicted class's probability.

    Parameters
    ----------
    scheme : {"top-label", "per-class"}
        One map for all predictions, or one for each class.

    Attributes
    ----------
    coefficients_ : array of shape (m, 2)
        a and b of each map.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal import PlattScaling
    >>> logits = np.array([[0.0, 3.0], [0.0, 3.0], [0.0, 3.0], [0.0, -1.0]] * 50)
    >>> y = np.array([1, 1, 0, 1] * 50)
    >>> PlattScaling().fit(logits, y).predict_confidence([[0.0, 3.0], [0.0, -1.0]]).round(2)
    array([0.66, 0.01])
    """

    abbreviation = "Platt"
    reference = "Platt, 1999"
    enough_rows = 20  # for the one or two numbers that it learns
    learned = {"coefficients_": ("m", 2)}  # noqa: RUF012
    uses_weights = True

    def __init__(self, scheme: Scheme = "top-label") -> None:
        self.scheme = scheme

    def _fit_maps(self, samples: list[Sample]) -> str | None:
        fits = [
            fit_logistic(sample.ordered[None], sample.hits[None], sample.weight, sample.weight_of_hits)
            for sample in samples
        ]
        self.coefficients_ = np.stack([coefficients for coefficients, _ in fits])
        return unconverged([converged for _, converged in fits])

    def _apply_maps(self, scores: Floats, maps: Ints) -> Floats:
        slope, intercept = self.coefficients_[maps].T
        return np.asarray(expit(slope * scores + intercept))

    def _maps_program(self, ops: Operations, score: Value, maps: Value | None) -> Value:
        slope, intercept = (
            of_map(ops, self.coefficients_[:, [column]], maps, name)
            for column, name in enumerate(("slope", "intercept"))
        )
        return ops.sigmoid(slope * score + intercept)
