"""What to expect of new rows without labels: the accuracy by each reading of the change, and how far off they are."""

from __future__ import annotations

import math

import numpy as np

from auxcal._core.arrays import Floats
from auxcal._core.text import percent
from auxcal.metrics.intervals import Estimate
from auxcal.monitoring._mix import ShareEstimate, TargetMix
from auxcal.monitoring._two_samples import Comparison, Verdict, level_of_each
from auxcal.reference import ramps

Z_90 = 1.645
"""90 % of the standard normal distribution lie within so many standard deviations."""

BEYOND = 0.2
"""How far beyond what changed shares or inputs imply the accuracy is at most, in nine of ten made shifts that no mix
explains; measured on random states below 8, and reported by benchmarks/without_labels/natural.py on others."""

MOST_UNSEEN = 0.5
"""Share of rows without a counterpart in the fit from which on there is no accuracy to expect: by judgement."""

_GAP_IF_NEW = 0.06  # the mean gap of rows that no mix explains, beyond that of their mix; as BEYOND
_WIDER = 1.15  # than by the first-order variances: measured on random states that are not reported
_THREE = 3.0  # the rule of three: n rows without an error leave an error rate of 3 / n open, at 95 %
_POWER = 0.9  # of the smallest change that is reported: nine of ten checks
_USUAL = 0.99  # of the rows of the fit have another one this near; farther away a row has no counterpart. By hand
_MOST_NEIGHBOURS = 5000  # new rows whose nearest row of the fit is looked for: as many as a reference has

# Numerical.
_LEAST = 1e-9  # of a standard deviation
_RIDGE, _STEPS, _ENOUGH, _HALVINGS = 1e-3, 50, 1e-9, 20  # of Newton's method for the weights


def as_estimate(value: float | Floats, low: float | Floats, high: float | Floats) -> Estimate:
    """Return numbers as shares, from 0 to 1."""
    return Estimate(*(abs(float(np.clip(number, 0, 1))) for number in (value, low, high)))  # no -0


def expected_accuracy(
    compared: Comparison, verdict: Verdict, confident: Floats, shares: Estimate, inputs: Estimate, unseen: float
) -> tuple[Estimate, str, float | None]:
    """Return the accuracy by the verdict, what it rests on, and the mean gap of such rows to it, where it is known.

    `confident` is the confidence in each row; `shares` and `inputs` are the accuracy if only these changed.
    """
    rows, groups, between = compared.estimate.rows, compared.estimate.groups, compared.between
    confidence = float(confident.mean())
    if verdict == "new":
        ends = sorted([shares.value, inputs.value])
        low, high = (ends[0] - BEYOND) * (1 - unseen), (ends[1] + BEYOND) * (1 - unseen) + unseen
        assumption = (
            f"it is within {100 * BEYOND:.0f} points of what changed shares or changed inputs imply, as in nine of "
            f"ten made shifts; {percent(unseen)} of the rows have no counterpart in the fit"
        )
        return as_estimate(sum(ends) / 2, low, high), assumption, _GAP_IF_NEW + abs(confidence - shares.value)
    if between is None:
        strata = "each class, and samples of none," if groups.by_class else "right and wrong predictions each"
        return shares, f"{strata} look as they did in the fit; only their shares changed", None
    assumption = f"these rows are a group like the {between.n_groups:,} of the fit"
    if verdict == "mix":  # unlike theirs: the spread of the groups adds to the error of the mix
        reach = math.hypot((shares.high - shares.low) / 2, Z_90 * between.spread)
        return as_estimate(shares.value, shares.value - reach, shares.value + reach), assumption, None
    by_chance = float(np.mean(confident * (1 - confident))) / len(confident)
    gap, expected = between.forecast(rows, by_chance)
    return as_estimate(*(confidence - number for number in (gap.value, gap.high, gap.low))), assumption, expected


def accuracy_of_mix(estimate: ShareEstimate) -> Estimate:
    """Estimate the share of right predictions among the new rows, if only the shares of the strata changed.

    It is the mean of the confidence after Bayes' rule with the new shares, plus the mean error of such a confidence in
    each stratum of the reference. The shares are shrunk, so that where rows can't tell a mix, the estimate is that of
    the mix of the fit. The interval is that of the shares before shrinking, with the errors of both sides.
    """
    errors, new = _confidence_errors(estimate, estimate.shares)
    difference, deviations = estimate.difference(errors[:, None], -new[:, None])
    variance = ((deviations * estimate.variance_weight[:, None]).T @ deviations)[0, 0]
    interval = _interval_of(estimate, -difference[0], variance)
    errors, new = _confidence_errors(estimate, estimate.shrunk)
    value = new.mean() + estimate.shrunk @ estimate.groups.means(errors[:, None])[:, 0]
    return interval._replace(value=float(np.clip(value, interval.low, interval.high)))


def _confidence_errors(estimate: ShareEstimate, shares: Floats) -> tuple[Floats, Floats]:
    """Return the error of the confidence with these shares in each row of the reference, and that of the new rows."""
    groups, reference, rows = estimate.groups, estimate.groups.reference, estimate.rows
    old = groups.confidence(reference.strata, reference.prediction, shares)
    return reference.correct - old, groups.confidence(rows.strata, rows.prediction, shares)


def _interval_of(estimate: ShareEstimate, value: float | Floats, variance: float | Floats) -> Estimate:
    reach = _WIDER * Z_90 * np.sqrt(variance) if estimate.identifies_shares else 1.0
    if len(estimate.shares) == 1:
        reach = max(reach, _THREE / len(estimate.groups.of_row))
    return as_estimate(value, value - reach, value + reach)


def share_of_ood(estimate: ShareEstimate) -> Estimate | None:
    """Estimate the share of samples of no class, if the strata tell them and the reference has some."""
    ood = estimate.groups.ood_group
    if ood is None:
        return None
    interval = _interval_of(estimate, estimate.shares[ood], estimate.covariance[ood, ood])
    return interval._replace(value=float(np.clip(estimate.shrunk[ood], interval.low, interval.high)))


def smallest_change(estimate: ShareEstimate, accuracy: Estimate, level: float) -> float:
    """Return the change of the accuracy that is noticed in nine of ten cases, if it is one of the mix."""
    from scipy.special import chdtri, chndtrinc  # scipy.stats takes a second and 50 MB to import

    d = max(len(estimate.shares) - 1, 1)
    # How far off a χ² must be to be noticed so often.
    noticed = chndtrinc(chdtri(d, level_of_each(level)), d, 1 - _POWER)
    return float(min(np.sqrt(noticed) * (accuracy.high - accuracy.low) / (2 * Z_90), 1.0))


def accuracy_of_inputs(estimate: ShareEstimate, confident: Floats, target: TargetMix) -> tuple[Estimate, int]:
    """Estimate the accuracy if only inputs moved, within what the fit has seen, and the effective sample size.

    Rows of the reference are weighed so that their readings have the means of the new rows (entropy balancing,
    Hainmueller 2012). The accuracy is the mean confidence, less the mean error of the confidence with these weights.
    """
    groups, reference = estimate.groups, estimate.groups.reference
    old, new = (ramps(reference, rows.readings) for rows in (reference, estimate.rows))
    weight = _balance(old, new.mean(axis=0), (target.shares / groups.counts)[groups.of_row])
    error = reference.correct - groups.confidence(reference.strata, reference.prediction, target.shares)
    value = confident.mean() + weight @ error
    reach = Z_90 * math.sqrt(float(weight**2 @ error**2) + float(np.mean(confident * (1 - confident))) / len(confident))
    return as_estimate(value, value - reach, value + reach), int(1 / float(weight @ weight))


def _balance(rows: Floats, means: Floats, weight: Floats) -> Floats:
    """Return weights, as near as possible to those given, with which rows have these means.

    They are the given ones times exp(λ·x), and Newton's method finds λ. Where no weights have these means, they are
    those that come nearest, by a ridge.
    """
    centre, deviation = weight @ rows, np.sqrt(weight @ (rows - weight @ rows) ** 2)
    varies = deviation > _LEAST
    x, goal = (rows - centre)[:, varies] / deviation[varies], (means - centre)[varies] / deviation[varies]

    def weigh(place: Floats) -> tuple[float, Floats]:
        exponent = x @ place
        top = float(exponent.max(initial=0.0))
        weighed = weight * np.exp(exponent - top)
        return top + math.log(weighed.sum()) - float(place @ goal) + _RIDGE / 2 * float(place @ place), weighed

    place: Floats = np.zeros(x.shape[1])
    loss, weighed = weigh(place)
    for _ in range(_STEPS):
        share = weighed / weighed.sum()
        mean = share @ x
        slope = mean - goal + _RIDGE * place
        curvature = (x * share[:, None]).T @ x - np.outer(mean, mean) + _RIDGE * np.eye(len(place))
        step, before = np.linalg.solve(curvature, slope), loss
        for _ in range(_HALVINGS):
            loss, weighed = weigh(place - step)
            if loss <= before:
                break
            step = step / 2
        place = place - step
        if before - loss < _ENOUGH:
            break
    return np.asarray(weighed / weighed.sum())


def share_unseen(estimate: ShareEstimate) -> float:
    """Return the share of new rows that no row of the fit is near, less what rows of the fit themselves have."""
    from scipy.spatial import KDTree  # a process that only scores need not wait for it

    old = estimate.groups.reference.readings.astype(np.float64)
    new = estimate.rows.readings[:: 1 + len(estimate.rows.readings) // _MOST_NEIGHBOURS].astype(np.float64)
    scale = np.maximum(old.std(axis=0), _LEAST)
    tree = KDTree(old / scale)
    usual = np.quantile(tree.query(old / scale, k=2)[0][:, 1], _USUAL)
    far = float(np.mean(tree.query(new / scale)[0] > usual))
    return max(far - (1 - _USUAL), 0.0) / _USUAL


def harm(confidence: float, accuracy: Estimate, expected: float | None) -> Estimate:
    """Return how far the mean confidence is expected to be off, and what the interval of the accuracy leaves."""
    from scipy.special import ndtr

    gap, deviation = confidence - accuracy.value, max((accuracy.high - accuracy.low) / (2 * Z_90), _LEAST)
    if expected is None:  # the mean of the absolute value of a normal number
        density = math.exp(-((gap / deviation) ** 2) / 2) * math.sqrt(2 / math.pi)
        expected = deviation * density + gap * float(1 - 2 * ndtr(-gap / deviation))
    ends = confidence - accuracy.high, confidence - accuracy.low
    least, most = 0.0 if ends[0] <= 0 <= ends[1] else min(map(abs, ends)), max(map(abs, ends))
    return Estimate(float(np.clip(expected, least, most)), least, most)
