"""What can be said of new rows without labels while they are a mix of what was there: accuracy and shares."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auxcal._core.arrays import Floats
from auxcal.monitoring._believed import believed
from auxcal.monitoring._known import Seen
from auxcal.monitoring._matching import Matching

_QUANTILE = 1.645  # of the normal distribution: 90 % are within so many standard deviations
_WIDER = 1.15  # than by the first-order variances: measured on random states that are not reported
_THREE = 3.0  # n rows without a mistake leave 3 / n of them open
_POWER = 0.9


class Estimate(NamedTuple):
    """A share, and its 90 % interval."""

    value: float
    low: float
    high: float


def accuracy(matching: Matching, seen: Seen) -> Estimate:
    """Estimate the share of right predictions among the new rows.

    It is the mean of the confidence after Bayes' rule with the new shares, corrected by what such a confidence lacks in
    each stratum of the reference. The shares are those that are believed, so that where rows can't tell a mix, the
    estimate is that of the mix of the fit. The interval is that of the shares that were found; it has the doubt of the
    reference and of the new rows.
    """
    lacks, here = _lacks(matching, seen, matching.shares)
    difference, deviations = matching.difference(lacks[:, None], -here[:, None])
    found = _estimate(matching, -difference[0], matching.within(deviations)[0, 0])
    shares = _believed(matching)
    lacks, here = _lacks(matching, seen, shares)
    value = here.mean() + shares @ matching.known.means(lacks[:, None])[:, 0]
    return found._replace(value=float(np.clip(value, found.low, found.high)))


def _lacks(matching: Matching, seen: Seen, shares: Floats) -> tuple[Floats, Floats]:
    """Return what the confidence with these shares lacks in each row of the reference, and that of the new rows."""
    known = matching.known
    there = known.confidence(known.reference.strata, known.reference.prediction, shares)
    return known.reference.correct - there, known.confidence(seen.strata, seen.prediction, shares)


def foreign_share(matching: Matching) -> Estimate | None:
    """Estimate the share of samples of no class, if the strata tell them and the reference has some."""
    known = matching.known
    none = known.group[-1]
    if not known.none_is_alone:
        return None
    found = _estimate(matching, matching.shares[none], matching.covariance[none, none])
    return found._replace(value=float(np.clip(_believed(matching)[none], found.low, found.high)))


def _believed(matching: Matching) -> Floats:
    return believed(matching.known, matching.shares, np.diag(matching.doubt), len(matching.new))


def smallest_change(matching: Matching, estimate: Estimate, level: float) -> float:
    """Return the change of the accuracy that is noticed in nine of ten cases, if it is one of the mix."""
    from scipy.special import chdtri, chndtrinc  # scipy.stats takes a second and 50 MB to import

    d = max(len(matching.shares) - 1, 1)
    noticed = chndtrinc(chdtri(d, level), d, 1 - _POWER)  # how far off a χ² must be to be noticed so often
    return float(min(np.sqrt(noticed) * (estimate.high - estimate.low) / (2 * _QUANTILE), 1.0))


def _estimate(matching: Matching, value: float | Floats, variance: float | Floats) -> Estimate:
    reach = _WIDER * _QUANTILE * np.sqrt(variance) if matching.tells_shares else 1.0
    if len(matching.shares) == 1:
        reach = max(reach, _THREE / len(matching.known.at))
    return Estimate(*(abs(float(np.clip(number, 0, 1))) for number in (value, value - reach, value + reach)))  # no -0
