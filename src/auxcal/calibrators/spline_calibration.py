"""Spline calibration: corrects by the derivative of a spline through the cumulative calibration error."""

import numpy as np

from auxcal import programs
from auxcal._core.arrays import Floats, Ints, as_whole
from auxcal._core.logits import expit
from auxcal.calibrators.binary import BinaryCalibrator, Sample, Scheme
from auxcal.calibrators.isotonic_calibration import between_knots
from auxcal.programs import Operations, Value

_POINTS = 1000  # at which a map is kept, 16 KB in a file; between them it is linear


class SplineCalibration(BinaryCalibrator):
    """Spline calibration: p + h′(t) of the predicted class's probability p, whose quantile is t.

    With the rows in the order of p, H(t) is the number of hits minus the sum of p over the first share t of the rows,
    divided by n. h is the natural cubic spline with h(0) = 0 that fits H best in least squares. The map need not be
    monotone, so it can change the order of the rows.

    Parameters
    ----------
    n_knots : int
        The number of knots of h, at equal distances in [0, 1].
    scheme : {"top-label", "per-class"}
        One map for all predictions, or one for each class.

    Attributes
    ----------
    knots_ : tuple of arrays of shape (2, m)
        Scores, as log-odds, and the correction of their probability, which is linear in between.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal import SplineCalibration
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=(20000, 2), scale=2)
    >>> y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    >>> SplineCalibration().fit(3 * logits, y).predict_confidence([[0.0, 6.0]]).round(1)  # p = 1.0, in truth 0.9
    array([0.9])
    """

    abbreviation = "Spline"
    reference = "Gupta et al., ICLR 2021"
    learned = {"knots_": None}  # noqa: RUF012
    uses_weights = True

    def __init__(self, n_knots: int = 6, scheme: Scheme = "top-label") -> None:
        self.n_knots = n_knots
        self.scheme = scheme

    def _fit_maps(self, samples: list[Sample]) -> str | None:
        as_whole(self.n_knots, "n_knots", least=2, advice="Use 6.")
        self.knots_ = tuple(_corrections(sample, self.n_knots) for sample in samples)
        return None

    def _apply_maps(self, scores: Floats, maps: Ints) -> Floats:
        return np.clip(expit(scores) + between_knots(scores, maps, self.knots_), 0, 1)

    def _maps_program(self, ops: Operations, score: Value, maps: Value | None) -> Value:
        return ops.sigmoid(score) + programs.between_knots(ops, score, self.knots_, maps)


def _corrections(sample: Sample, n_knots: int) -> Floats:
    """Return scores and what is added to their probability: the mean of h′ over the rows with that score.

    The authors' code leaves h(0) free and takes h′ at each row, so that ties depend on the order of the rows. Here they
    don't, and with fewer scores than knots each score gets its accuracy.
    """
    from scipy.interpolate import CubicSpline

    scores, of_row = np.unique(sample.ordered, return_inverse=True)
    counts = np.bincount(of_row, sample.weight)
    ends = np.cumsum(counts)
    hits = np.cumsum(np.bincount(np.searchsorted(scores, sample.hits), sample.weight_of_hits, minlength=len(scores)))
    unexpected = (hits - np.cumsum(counts * expit(scores.astype(np.float64)))) / ends[-1]
    # One spline for each knot, which is 1 there and 0 at the others: h is their sum, times its heights at the knots.
    basis = CubicSpline(np.linspace(0, 1, n_knots), np.eye(n_knots), bc_type="natural")
    columns, weight = basis(ends / ends[-1])[:, 1:], np.sqrt(counts)
    heights = np.linalg.lstsq(columns * weight[:, None], unexpected * weight)[0]
    corrections = np.diff(columns @ heights, prepend=0) * ends[-1] / counts
    kept = np.unique(np.linspace(0, len(scores) - 1, _POINTS).astype(int))
    return np.stack([scores[kept], corrections[kept]])
