"""Scaling-binning (SB): a Platt map whose output is averaged over bins."""

import numpy as np
from scipy.special import expit

from auxcal._arrays import Bools, Floats, Ints
from auxcal.calibrators._binary import BinaryCalibrator, Scheme
from auxcal.calibrators._logistic import fit_logistic, unconverged
from auxcal.calibrators.histogram_binning import bin_means
from auxcal.metrics._binning import check_bins, equal_mass_edges, index_by_edges


class ScalingBinning(BinaryCalibrator):
    """Scaling-binning (SB): a Platt map, then equal-mass bins whose output is the mean of the map in the bin.

    Parameters
    ----------
    n_bins : int
        M, the number of bins of each map. They hold equally many of the rows that are predicted as the map's class,
        which are the rows whose confidence it gives.
    scheme : {"per-class", "top-label"}
        One map for each class, or one for all predictions.

    Attributes
    ----------
    coefficients_ : array of shape (m, 2)
        a and b of each map σ(a s + b) of the log-odds s.
    edges_ : array of shape (m, M - 1)
        The inner edges of each map's bins, as log-odds.
    values_ : array of shape (m, M)
        The confidence of each bin.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal import ScalingBinning
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=(1000, 2), scale=2)
    >>> y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    >>> confidence = ScalingBinning(n_bins=4, scheme="top-label").fit(logits, y).predict_confidence(logits)
    >>> len(np.unique(confidence))
    4
    """

    abbreviation = "SB"
    reference = "Kumar et al., NeurIPS 2019"

    def __init__(self, n_bins: int = 20, scheme: Scheme = "per-class") -> None:
        self.n_bins = n_bins
        self.scheme = scheme

    def _fit_maps(self, scores: Floats, hits: Bools) -> str | None:
        check_bins(self.n_bins, "mass")
        self.coefficients_, converged = fit_logistic(scores[:, :, None], hits)
        predicted = scores.argmax(axis=0) == np.arange(len(scores))[:, None]
        predicted[~predicted.any(axis=1)] = True  # a class that is never predicted is binned over all rows
        self.edges_ = np.stack(
            [equal_mass_edges(score[rows], self.n_bins) for score, rows in zip(scores, predicted, strict=True)]
        )
        platt = expit(self.coefficients_[:, :1] * scores + self.coefficients_[:, 1:])
        self.values_ = np.stack([bin_means(*map_) for map_ in zip(scores, self.edges_, platt, strict=True)])
        return unconverged(converged)

    def _apply_maps(self, scores: Floats, maps: Ints) -> Floats:
        return np.asarray(self.values_[maps, index_by_edges(scores, self.edges_[maps])])
