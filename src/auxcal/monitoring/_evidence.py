"""The two questions of a check: whether the mix changed, and whether there is anything that no mix explains."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from auxcal._core.arrays import Floats, Ints
from auxcal.monitoring._home import Home
from auxcal.monitoring._known import Known, Seen
from auxcal.monitoring._matching import Matching

_KNOTS = (0.02, 0.2, 0.8, 0.98)  # quantiles between which a reading counts: the tails, and what lies between
_SMALLEST = 1e-2  # of the largest eigenvalue: what varies less is rounding, or too rare to be told from chance
_ROWS_FOR_EACH = 20  # of the reference, for each direction that is looked at
_FEWEST_ROWS = 10  # that a variance must rest on: of fewer, chance is not normal
_NUMBERS_OF_EACH = 4  # that a calibrator learned for each stratum: see `_doubt`
_ROUNDING = 1e-12  # of a variance of ψ, which is of order 1
_NOTHING = 1e-24  # of the variance of a mean: the square of what rounding makes of numbers that are all the same
_LEAST, _MOST = 1e-15, 0.9  # of a p-value that is combined with others: one that is 1 must not outweigh one that is 0


def another_mix(known: Known, new: Floats, home: Home) -> float:
    """Return the p-value of the strata having the shares of the mix that the calibrator is for.

    It compares the mean of ψ in the new rows with that in the reference weighed by the mix: where the calibrator's
    distribution is right, no test of shares that change a little has more power. All shares together, each class alone
    and none alone are asked, since a change of one share is lost among many that stay.

    Parameters
    ----------
    known : Known
        The rows of the reference.
    new : array of shape (m, groups)
        How likely each new row is of each group.
    home : Home
        The shares that are held against the new rows.
    """
    mix = home.mix
    matching = Matching(known, new, mix, mix)
    old, ratios = matching.ratios
    means = known.means(old)
    between = means - mix @ means
    spread = (between * mix[:, None]).T @ between * (1 / len(new) + 1 / home.n_rows)
    open_ = home.doubt @ means
    covariance = (matching.within(old - means[known.at]) + spread + np.outer(open_, open_)) * _doubt(known)
    difference = ratios.mean(axis=0) - mix @ means
    whole = _hotelling(difference, covariance, len(old), most=len(mix) - 1)
    return combined([whole, *_one_by_one(known, difference, np.diag(covariance))])


def _one_by_one(known: Known, difference: Floats, variance: Floats) -> list[float]:
    """Return the p-values of the shares of the classes, with Bonferroni, and of the share of none."""
    from scipy.special import fdtrc

    # The variance of ψ_j is mostly that of the rows of stratum j.
    each = fdtrc(1, np.maximum(known.counts - 1, 1), difference**2 / np.maximum(variance, _ROUNDING))
    if not known.none_is_alone:
        return [min(1.0, float(each.min()) * len(each))]
    none = known.group[-1]
    classes = np.delete(each, none)
    return [min(1.0, float(classes.min()) * len(classes)), float(each[none])]


def something_new(matching: Matching, seen: Seen) -> float:
    """Return the p-value of the new rows being a mix of the strata of the reference.

    It compares the new rows with those of the reference weighed by the new shares: first their readings, each as three
    numbers (how far it reaches into the lower tail, through the middle, and into the upper one), then these together
    with the predicted classes.
    """
    reference = matching.known.reference
    knots = np.quantile(reference.readings.astype(np.float64), _KNOTS, axis=0)
    old, new = (_ramps(rows.readings.astype(np.float64), knots) for rows in (reference, seen))
    often = np.flatnonzero(np.bincount(reference.prediction) >= _FEWEST_ROWS)
    with_classes = [
        np.hstack([ramps, _is_one_of(rows.prediction, often)]) for ramps, rows in ((old, reference), (new, seen))
    ]
    return combined([_left_over(matching, old, new), _left_over(matching, *with_classes)])


def _is_one_of(prediction: Ints, classes: Ints) -> Floats:
    return (prediction[:, None] == classes).astype(np.float64)


def _ramps(readings: Floats, knots: Floats) -> Floats:
    """Return where each reading lies between each two knots, from 0 to 1."""
    lower, upper = knots[:-1], knots[1:]
    width = np.where(upper > lower, upper - lower, np.inf)
    ramps = (readings[:, None] - lower) / width
    return np.clip(ramps, 0, 1).reshape(len(readings), -1)


def _left_over(matching: Matching, old: Floats, new: Floats) -> float:
    """Return the p-value of numbers of the new rows being those of the weighed reference."""
    difference, deviations = matching.difference(old, new)
    enough = _rows_behind(matching, deviations) >= _FEWEST_ROWS
    covariance = matching.within(deviations[:, enough]) * _doubt(matching.known)
    return _hotelling(difference[enough], covariance, len(old), most=max(1, len(old) // _ROWS_FOR_EACH))


def _doubt(known: Known) -> float:
    """Return by what variances grow, since ψ was learned from the rows of the reference themselves.

    They were held out when it spoke of them, so it had seen a few rows less than when it speaks of new ones. That
    counts if rows are few; how much was measured on random states that are not reported.
    """
    return 1 + _NUMBERS_OF_EACH * len(known.counts) / len(known.at)


def _rows_behind(matching: Matching, deviations: Floats) -> Floats:
    """Return how many rows the variance of each number rests on: of the reference or the new ones, which are fewer.

    That is 1 if one row makes it all, 0 if there is none. A class of which next to nothing is left in the new mix has
    rows in the reference, but the few new ones that are taken for it are others, whose variance is not known.
    """
    squares, row_share = deviations**2, matching.row_share
    tiny = np.finfo(float).tiny
    old = (matching.weight @ squares) ** 2 / np.maximum(matching.weight**2 @ squares**2, tiny)
    new = len(matching.new) * (row_share @ squares) ** 2 / np.maximum(row_share @ squares**2, tiny)
    return np.minimum(old, new)


def _hotelling(difference: Floats, covariance: Floats, n_rows: int, most: int) -> float:
    """Return the p-value of Hotelling's test, over the directions that vary enough and the most that are allowed."""
    from scipy.special import fdtrc  # scipy.stats takes a second and 50 MB to import

    varies = np.diag(covariance) > _NOTHING
    if not varies.any() or most < 1:
        return 1.0
    covariance = covariance[np.ix_(varies, varies)]
    deviation = np.sqrt(np.diag(covariance))
    z = difference[varies] / deviation
    values, vectors = np.linalg.eigh(covariance / np.outer(deviation, deviation))
    kept = np.flatnonzero(values > _SMALLEST * values[-1])[-most:]
    statistic = float(np.sum((vectors[:, kept].T @ z) ** 2 / values[kept]))
    d, left = len(kept), max(n_rows - len(kept), 1)
    return float(fdtrc(d, left, statistic * left / (d * n_rows)))


def combined(p_values: Sequence[float]) -> float:
    """Return one p-value for several that may depend on each other: Cauchy's combination (Liu and Xie, 2020)."""
    p = np.clip(p_values, _LEAST, _MOST)
    return float(np.arctan2(1, np.mean(1 / np.tan(np.pi * p))) / np.pi)
