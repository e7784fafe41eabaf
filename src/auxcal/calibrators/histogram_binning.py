"""Histogram binning: the accuracy of the bin that a score falls into."""

import numpy as np
from scipy.special import expit, logit

from auxcal._arrays import Bools, Floats, Ints
from auxcal.calibrators._binary import BinaryCalibrator, Scheme
from auxcal.metrics._binning import Strategy, check_bins, equal_mass_edges, index_by_edges


class HistogramBinning(BinaryCalibrator):
    """Histogram binning: the share of hits in the bin of the predicted class's probability.

    An empty bin gives the mean probability that its edges stand for.

    Parameters
    ----------
    n_bins : int
        M, the number of bins.
    strategy : {"mass", "width"}
        Bins that hold equally many rows, or bins of equal width.
    scheme : {"top-label", "per-class"}
        One map for all predictions, or one for each class.

    Attributes
    ----------
    edges_ : array of shape (m, M - 1)
        The inner edges of each map's bins, as log-odds.
    values_ : array of shape (m, M)
        The confidence of each bin.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal import HistogramBinning
    >>> logits = np.array([[0.0, 1.0], [0.0, 1.5], [0.0, 3.0], [0.0, 4.0]])
    >>> HistogramBinning(n_bins=2).fit(logits, [0, 1, 1, 1]).predict_confidence(logits)
    array([0.5, 0.5, 1. , 1. ])
    """

    abbreviation = "Histogram"
    reference = "Zadrozny & Elkan, ICML 2001"

    def __init__(self, n_bins: int = 20, strategy: Strategy = "mass", scheme: Scheme = "top-label") -> None:
        self.n_bins = n_bins
        self.strategy = strategy
        self.scheme = scheme

    def _fit_maps(self, scores: Floats, hits: Bools) -> str | None:
        check_bins(self.n_bins, self.strategy)
        if self.strategy == "mass":
            self.edges_ = np.stack([equal_mass_edges(score, self.n_bins) for score in scores])
        else:
            self.edges_ = np.tile(logit(np.arange(1, self.n_bins) / self.n_bins), (len(scores), 1))
        self.values_ = np.stack([bin_means(*map_) for map_ in zip(scores, self.edges_, hits, strict=True)])
        return None

    def _apply_maps(self, scores: Floats, maps: Ints) -> Floats:
        return np.asarray(self.values_[maps, index_by_edges(scores, self.edges_[maps])])


def bin_means(scores: Floats, edges: Floats, targets: Floats | Bools) -> Floats:
    """Return the mean target of each bin; for an empty one the middle of its edges as probabilities."""
    index = np.searchsorted(edges, scores, side="right")
    count = np.bincount(index, minlength=len(edges) + 1)
    bounds = np.concatenate([[0.0], expit(edges), [1.0]])
    total = np.bincount(index, weights=targets, minlength=len(edges) + 1)
    return np.where(count > 0, total / np.maximum(count, 1), (bounds[1:] + bounds[:-1]) / 2)
