"""Isotonic regression: the best monotone map."""

import numpy as np

from auxcal import programs
from auxcal._core.arrays import Floats, Ints
from auxcal.calibrators.binary import BinaryCalibrator, Sample, Scheme
from auxcal.calibrators.solvers.targets_and_weights import counts
from auxcal.programs import Operations, Value


class IsotonicCalibration(BinaryCalibrator):
    """Isotonic regression: the monotone map of least squared error, interpolated linearly between observed scores.

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
    learned = {"knots_": None}  # noqa: RUF012
    uses_weights = True

    def __init__(self, scheme: Scheme = "top-label") -> None:
        self.scheme = scheme

    def _fit_maps(self, samples: list[Sample]) -> str | None:
        self.knots_ = tuple(fit_isotonic(sample) for sample in samples)
        return None

    def _apply_maps(self, scores: Floats, maps: Ints) -> Floats:
        return between_knots(scores, maps, self.knots_)

    def _n_free(self) -> int:
        return sum(len(np.unique(values)) for _, values in self.knots_)

    def _maps_program(self, ops: Operations, score: Value, maps: Value | None) -> Value:
        return programs.between_knots(ops, score, self.knots_, maps)


def between_knots(scores: Floats, maps: Ints, knots: tuple[Floats, ...]) -> Floats:
    """Return the value at each score of a map that is linear between its knots."""
    out = np.empty_like(scores)
    for index in np.unique(maps):
        rows = maps == index
        out[rows] = np.interp(scores[rows], *knots[index])
    return out


def fit_isotonic(sample: Sample) -> Floats:
    """Return the knots and values of the map."""
    from scipy.optimize import isotonic_regression

    # A level can begin only at a hit, since a miss lowers the mean. So the rows from one hit to the next count as one.
    ordered, hits = sample.ordered, sample.hits
    begin, of_hit = np.unique(np.append(0, np.searchsorted(ordered, hits)), return_inverse=True)
    end = np.append(begin[1:], len(ordered))
    count = np.bincount(of_hit[1:], sample.weight_of_hits, minlength=len(begin))
    rows = np.diff(counts(len(ordered), sample.weight)[np.append(begin, len(ordered))])
    levels = isotonic_regression(count / rows, weights=rows)
    first, after = levels.blocks[:-1], levels.blocks[1:]
    knots = np.stack([ordered[begin[first]], ordered[end[after - 1] - 1]], axis=1).ravel()
    values = levels.x[first].repeat(2)
    kept = np.ediff1d(knots, to_begin=1) > 0  # a level of one score has one knot
    return np.stack([knots[kept], values[kept]])
