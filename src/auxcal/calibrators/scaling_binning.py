"""Scaling-binning (SB): a Platt map whose output is averaged over bins."""

from typing import Literal, get_args

import numpy as np

from auxcal._core.arrays import Floats, Ints
from auxcal._core.errors import InvalidInputError
from auxcal.calibrators.binary import BinaryCalibrator, Sample, Scheme
from auxcal.calibrators.histogram_binning import bin_bounds, bin_means
from auxcal.calibrators.solvers.logistic import fit_logistic, unconverged
from auxcal.calibrators.solvers.targets_and_weights import counts, times
from auxcal.metrics.binning import check_bins, equal_mass_edges, index_by_edges
from auxcal.programs import Operations, Value, in_bins

BinsOf = Literal["all", "predicted"]


class ScalingBinning(BinaryCalibrator):
    """Scaling-binning (SB): a Platt map, then equal-mass bins whose output is the mean of the map in the bin.

    Parameters
    ----------
    n_bins : int
        M, the number of bins of each map.
    scheme : {"per-class", "top-label"}
        One map for each class, or one for all predictions.
    bins_of : {"all", "predicted"}
        Which rows the bins of a class hold equally many of. "all" rows is the method of the paper: the predictions of
        a class then share its last few bins, since most rows are of other classes. "predicted" takes the rows that are
        predicted as the class, which spreads its predictions over all bins. With "top-label" both are the same.

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
    learned = {"coefficients_": ("m", 2), "edges_": ("m", "e"), "values_": ("m", "e+1")}  # noqa: RUF012
    uses_weights = True

    def __init__(self, n_bins: int = 20, scheme: Scheme = "per-class", bins_of: BinsOf = "all") -> None:
        self.n_bins = n_bins
        self.scheme = scheme
        self.bins_of = bins_of

    def _fit_maps(self, samples: list[Sample]) -> str | None:
        check_bins(self.n_bins, "mass")
        if self.bins_of not in get_args(BinsOf):
            raise InvalidInputError(f"bins_of must be 'all' or 'predicted'; got {self.bins_of!r}.")
        coefficients, edges, values, converged = zip(*map(self._fit_map, samples), strict=True)
        self.coefficients_, self.edges_, self.values_ = np.stack(coefficients), np.stack(edges), np.stack(values)
        return unconverged(converged)

    def _fit_map(self, sample: Sample) -> tuple[Floats, Floats, Floats, bool]:
        coefficients, converged = fit_logistic(
            sample.ordered[None], sample.hits[None], sample.weight, sample.weight_of_hits
        )
        binned, weight = sample.ordered, sample.weight
        if self.bins_of == "predicted" and len(sample.predicted):  # else the class is never predicted
            binned, weight = sample.predicted, sample.weight_of_predicted
        edges = equal_mass_edges(binned.astype(np.float64), self.n_bins, weight)
        bounds = bin_bounds(sample.ordered, edges)
        slope, intercept = coefficients.astype(np.float32)
        with np.errstate(over="ignore"):  # two times as fast as expit, and 0 where that is
            platt = 1 / (1 + np.exp(-slope * sample.ordered - intercept))
        platt = np.append(times(platt, sample.weight), np.float32(0))  # the last bin may be empty
        total = np.add.reduceat(platt, bounds[:-1], dtype=np.float64)
        rows = np.diff(counts(len(sample.ordered), sample.weight)[bounds])
        return coefficients, edges, bin_means(total, rows, edges), converged

    def _apply_maps(self, scores: Floats, maps: Ints) -> Floats:
        return np.asarray(self.values_[maps, index_by_edges(scores, self.edges_[maps])])

    def _maps_program(self, ops: Operations, score: Value, maps: Value | None) -> Value:
        return in_bins(ops, score, self.edges_, self.values_, maps)
