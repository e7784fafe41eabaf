"""What can be said of new rows without labels while they are a mix of what was there: accuracy and shares."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auxcal._arrays import Floats
from auxcal.monitoring._known import Seen
from auxcal.monitoring._matching import Matching

_QUANTILE = 1.645  # of the normal distribution: 90 % are within so many standard deviations
_WIDER = 1.15  # than by the first-order variances: measured on random states that are not reported
_POWER = 0.9


class Estimate(NamedTuple):
    """A share, and its 90 % interval."""

    value: float
    low: float
    high: float


def accuracy(matching: Matching, seen: Seen) -> Estimate:
    """Estimate the share of right predictions among the new rows.

    It is the mean of the confidence after Bayes' rule with the new shares, corrected by what such a confidence lacks in
    each stratum of the reference. The interval has the doubt of the reference and of the new rows.
    """
    known = matching.known
    there = known.confidence(known.reference.strata, known.reference.prediction, matching.shares)
    here = known.confidence(seen.strata, seen.prediction, matching.shares)
    difference, deviations = matching.difference((known.reference.correct - there)[:, None], -here[:, None])
    return _estimate(-difference[0], matching.within(deviations)[0, 0])


def foreign_share(matching: Matching) -> Estimate | None:
    """Estimate the share of samples of no class, if the strata tell them and the reference has some."""
    known = matching.known
    none = known.group[-1]
    if not known.none_is_alone:
        return None
    return _estimate(matching.shares[none], matching.covariance[none, none])


def smallest_change(matching: Matching, estimate: Estimate, level: float) -> float:
    """Return the change of the accuracy that is noticed in nine of ten cases, if it is one of the mix."""
    from scipy.special import chdtri, chndtrinc  # scipy.stats takes a second and 50 MB to import

    d = max(len(matching.shares) - 1, 1)
    noticed = chndtrinc(chdtri(d, level), d, 1 - _POWER)  # how far off a χ² must be to be noticed so often
    return float(min(np.sqrt(noticed) * (estimate.high - estimate.low) / (2 * _QUANTILE), 1.0))


def _estimate(value: float | Floats, variance: float | Floats) -> Estimate:
    reach = _WIDER * _QUANTILE * np.sqrt(variance)
    return Estimate(*(float(np.clip(number, 0, 1)) for number in (value, value - reach, value + reach)))
