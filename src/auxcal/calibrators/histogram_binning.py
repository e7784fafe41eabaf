"""Histogram binning: the accuracy of the bin that a score falls into."""

import numpy as np

from auxcal._core.arrays import Floats, Ints
from auxcal._core.logits import expit, logit
from auxcal.calibrators.binary import BinaryCalibrator, Sample, Scheme
from auxcal.calibrators.solvers.targets_and_weights import counts
from auxcal.metrics.binning import Strategy, check_bins, equal_mass_edges, index_by_edges
from auxcal.programs import Operations, Value, in_bins


class HistogramBinning(BinaryCalibrator):
    """Histogram binning: the share of hits in the bin of the predicted class's probability.

    An empty bin gives the midpoint of its edges, as probabilities.

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
    learned = {"edges_": ("m", "e"), "values_": ("m", "e+1")}  # noqa: RUF012
    uses_weights = True

    def __init__(self, n_bins: int = 20, strategy: Strategy = "mass", scheme: Scheme = "top-label") -> None:
        self.n_bins = n_bins
        self.strategy = strategy
        self.scheme = scheme

    def _fit_maps(self, samples: list[Sample]) -> str | None:
        check_bins(self.n_bins, self.strategy)
        self.edges_ = np.stack([self._edges(sample) for sample in samples])
        self.values_ = np.stack([_shares(sample, edges) for sample, edges in zip(samples, self.edges_, strict=True)])
        return None

    def _edges(self, sample: Sample) -> Floats:
        if self.strategy == "mass":
            return equal_mass_edges(sample.ordered.astype(np.float64), self.n_bins, sample.weight)
        return np.asarray(logit(np.arange(1, self.n_bins) / self.n_bins))

    def _apply_maps(self, scores: Floats, maps: Ints) -> Floats:
        return np.asarray(self.values_[maps, index_by_edges(scores, self.edges_[maps])])

    def _n_free(self) -> int:
        return self.values_.size

    def _maps_program(self, ops: Operations, score: Value, maps: Value | None) -> Value:
        return in_bins(ops, score, self.edges_, self.values_, maps)


def _shares(sample: Sample, edges: Floats) -> Floats:
    """Return the share of hits in each bin."""
    order = np.argsort(sample.hits, kind="stable")
    weight_of_hits = None if sample.weight_of_hits is None else sample.weight_of_hits[order]
    hits, rows = (
        np.diff(counts(len(scores), weight)[bin_bounds(scores, edges)])
        for scores, weight in ((sample.hits[order], weight_of_hits), (sample.ordered, sample.weight))
    )
    return bin_means(hits, rows, edges)


def bin_bounds(ordered: Floats, edges: Floats) -> Ints:
    """Return where among ordered scores each bin begins, and the number of scores."""
    return np.concatenate([[0], np.searchsorted(ordered, edges), [len(ordered)]])


def bin_means(total: Floats | Ints, count: Floats | Ints, edges: Floats) -> Floats:
    """Return the mean of each bin; for an empty one the middle of its edges as probabilities."""
    bounds = np.concatenate([[0.0], expit(edges), [1.0]])
    return np.where(count > 0, total / np.where(count > 0, count, 1), (bounds[1:] + bounds[:-1]) / 2)
