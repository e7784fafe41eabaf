"""Beta calibration: a logistic map of log p and log(1 − p)."""

import numpy as np
from scipy.special import expit, logit

from auxcal._arrays import Bools, Floats, Ints
from auxcal.calibrators._binary import BinaryCalibrator, Scheme
from auxcal.calibrators._logistic import fit_logistic, unconverged


class BetaCalibration(BinaryCalibrator):
    """Beta calibration: σ(a log p − b log(1 − p) + c) of the predicted class's probability p, with a, b ≥ 0.

    Parameters
    ----------
    scheme : {"top-label", "per-class"}
        One map for all predictions, or one for each class.

    Attributes
    ----------
    coefficients_ : array of shape (m, 3)
        a, b and c of each map.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal import BetaCalibration
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=(20000, 2), scale=2)
    >>> y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    >>> BetaCalibration().fit(logits, y).predict_confidence([[0.0, 2.0]]).round(2)  # softmax gives 0.88
    array([0.88])
    """

    abbreviation = "Beta"
    reference = "Kull et al., EJS 2017"

    def __init__(self, scheme: Scheme = "top-label") -> None:
        self.scheme = scheme

    def _fit_maps(self, scores: Floats, hits: Bools) -> str | None:
        self.coefficients_, converged = fit_logistic(_features(scores), hits)
        base_rate = logit((hits.sum(axis=1) + 1) / (hits.shape[1] + 2))
        # Where a or b would be negative the map would not be monotone: the optimum then has a zero there.
        for dropped, kept in ((0, 1), (1, 0)):
            maps = self.coefficients_[:, dropped] < 0
            if maps.any():
                refitted, converged[maps] = fit_logistic(_features(scores[maps])[:, :, [kept]], hits[maps])
                constant = refitted[:, 0] < 0
                refitted[constant] = np.stack([0 * base_rate, base_rate], axis=1)[maps][constant]
                self.coefficients_[maps, dropped] = 0
                self.coefficients_[maps, kept], self.coefficients_[maps, 2] = refitted.T
        return unconverged(converged)

    def _apply_maps(self, scores: Floats, maps: Ints) -> Floats:
        coefficients = self.coefficients_[maps]
        return np.asarray(expit(np.sum(_features(scores) * coefficients[:, :2], axis=1) + coefficients[:, 2]))


def _features(scores: Floats) -> Floats:
    """Return log p and −log(1 − p) along a new last axis."""
    return np.stack([-np.logaddexp(0, -scores), np.logaddexp(0, scores)], axis=-1)
