"""Isotonic regression: the best monotone map."""

import numpy as np
from sklearn.isotonic import IsotonicRegression

from auxcal._arrays import Bools, Floats, Ints
from auxcal.calibrators._binary import BinaryCalibrator, Scheme


class IsotonicCalibration(BinaryCalibrator):
    """Isotonic regression: the monotone map of least squared error, linear between the scores it has seen.

    Parameters
    ----------
    scheme : {"top-label", "per-class"}
        One map for all predictions, or one for each class.

    Attributes
    ----------
    knots_ : tuple of arrays of shape (2, t)
        The scores and values between which each map is linear.

    Examples
    --------
    >>> from auxcal import IsotonicCalibration
    >>> logits = [[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [0.0, 4.0]]
    >>> IsotonicCalibration().fit(logits, [0, 1, 0, 1]).predict_confidence(logits)
    array([0. , 0.5, 0.5, 1. ])
    """

    abbreviation = "Isotonic"
    reference = "Zadrozny & Elkan, KDD 2002"

    def __init__(self, scheme: Scheme = "top-label") -> None:
        self.scheme = scheme

    def _fit_maps(self, scores: Floats, hits: Bools) -> str | None:
        self.knots_ = tuple(_knots(score, hit) for score, hit in zip(scores, hits, strict=True))
        return None

    def _apply_maps(self, scores: Floats, maps: Ints) -> Floats:
        out = np.empty_like(scores)
        for index in np.unique(maps):
            rows = maps == index
            out[rows] = np.interp(scores[rows], *self.knots_[index])
        return out


def _knots(scores: Floats, hits: Bools) -> Floats:
    regression = IsotonicRegression(y_min=0, y_max=1).fit(scores, hits.astype(np.float64))
    return np.stack([regression.X_thresholds_, regression.y_thresholds_])
