"""The verdict of a check: whether the mix changed, whether any mix explains the rows, and what to expect."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from auxcal._core.arrays import Floats, Ints
from auxcal._core.errors import InvalidInputError
from auxcal._core.float_errors import ignore_float_errors
from auxcal._core.text import percent
from auxcal.calibrators import Calibrator
from auxcal.metrics.intervals import Estimate
from auxcal.monitoring._mix import (
    GroupVariation,
    ReferenceGroups,
    Representations,
    ShareEstimate,
    TargetMix,
    counted_once,
    likelihood_ratios,
)
from auxcal.reference import Reference, between_knots, knots_of, ramps

Verdict = Literal["same", "mix", "new"]

FEWEST_ROWS = 20
"""Of new rows; fewer tell next to nothing."""

# Set on random states that are not reported; benchmarks/without_labels measures the false alarms with them.
_SMALLEST = 1e-2  # of the largest eigenvalue: what varies less is rounding, or too rare to differ from chance
_ROWS_FOR_EACH = 20  # of the reference, for each direction that is tested
_FEWEST_BEHIND = 10  # rows that a variance must rest on: with fewer, the mean is not normal

# Numerical.
_ROUNDING = 1e-12  # of a variance of ψ, which is of order 1
_NOTHING = 1e-24  # of the variance of a mean: the square of what rounding makes of numbers that are all the same
_LEAST_P, _MOST_P = 1e-15, 0.9  # that are combined: a p-value of 1 must not outweigh one of 0


class Comparison(NamedTuple):
    """New rows compared with the reference: the verdict, and all that it rests on.

    `p_mix` and `p_new` are the p-values of the mix being the one that the calibrator is for, and of the rows being any
    mix, each tested at `each_level`. `estimate` holds the rows of both sides without copies. `between` is how groups of
    the fit differ, if it had such; the p-values are then those of a group like them.
    """

    verdict: Verdict
    p_mix: float
    p_new: float
    each_level: float
    estimate: ShareEstimate
    target: TargetMix
    between: GroupVariation | None


@ignore_float_errors
def compare(calibrator: Calibrator, rows: Representations, level: float) -> Comparison:
    """Compare new rows with those that a calibrator was fitted on."""
    if calibrator.reference_ is None:
        raise no_reference(calibrator)
    if len(rows.prediction) < FEWEST_ROWS:
        raise InvalidInputError(
            f"at least {FEWEST_ROWS} rows are needed to tell whether they are like others; got {len(rows.prediction)}. "
            f"Collect more rows."
        )
    reference = calibrator.reference_
    between = groups_of(calibrator)
    if reference.n_classes > 1:  # copies count once; signals are equal by themselves
        old, new = counted_once(reference.hashes, rows.hashes), counted_once(rows.hashes, reference.hashes)
        reference, rows = reference.take(old), rows.take(new)
    groups = ReferenceGroups(reference)
    estimate, target = ShareEstimate(groups, rows), TargetMix.of(groups, calibrator.adaptation_)
    if between is None:
        p_mix, p_new = mix_p_value(groups, estimate.new, target), any_mix_p_value(estimate)
    else:
        p_mix, p_new = between.p_values(rows)
    verdict = verdict_at(level, p_mix, p_new)
    return Comparison(verdict, p_mix, p_new, level_of_each(level), estimate, target, between)


def level_of_each(level: float) -> float:
    """Return the level of each of two independent tests, which have the level together."""
    return float(1 - np.sqrt(1 - level))


def verdict_at(level: float, p_mix: float, p_new: float) -> Verdict:
    """Return the verdict by two p-values."""
    each = level_of_each(level)
    return "new" if p_new < each else "mix" if p_mix < each else "same"


def groups_of(calibrator: Calibrator) -> GroupVariation | None:
    """Return how groups of the fit differ; None if it had none, or the mix is another now."""
    reference = calibrator.reference_
    if reference is None or reference.group_facts is None or calibrator.adaptation_ is not None:
        return None
    return GroupVariation(reference)


def as_calibrator(calibrator: object) -> Calibrator:
    """Return a fitted calibrator as it is now, whatever another thread fits it on meanwhile; reject anything else."""
    if not isinstance(calibrator, Calibrator):
        raise InvalidInputError(
            f"calibrator must be a fitted auxcal.Calibrator; got {type(calibrator).__name__}. Fit one, or read a saved "
            f"one with auxcal.load(path)."
        )
    return calibrator._now()


def as_level(level: float) -> float:
    """Validate a level, and return it as a Python float."""
    if not isinstance(level, int | float | np.floating) or not 0 < level < 1:
        raise InvalidInputError(f"level must be a number between 0 and 1, such as 0.05; got {level!r}.")
    return float(level)


def no_reference(calibrator: Calibrator) -> InvalidInputError:
    """Return the error for a calibrator from a file that has no reference."""
    return InvalidInputError(
        f"this {type(calibrator).__name__} has nothing to compare rows with: it was saved before calibrators had a "
        f"reference. Fit it again with fit(logits, y) (auxcal fit)."
    )


def mix_p_value(groups: ReferenceGroups, new: Floats, target: TargetMix) -> float:
    """Return the p-value of the groups having the shares of the mix that the calibrator is for.

    It compares the mean of ψ in the new rows with that in the reference weighed by the mix: if the calibrator's
    distribution is right, no test of shares that change a little has more power. It tests all shares together, each
    class alone and none alone, since a change of one share is lost among many that stay. `new` is how likely each new
    row is of each group.
    """
    from scipy.special import fdtrc  # scipy.stats takes a second and 50 MB to import

    mix = target.shares
    old, ratios = (likelihood_ratios(strata, groups.shares, mix) for strata in (groups.strata, new))
    means = groups.means(old)
    between = means - mix @ means
    spread = (between * mix[:, None]).T @ between * (1 / len(new) + 1 / target.n_rows)
    further = target.error @ means
    deviations = old - means[groups.of_row]
    within = (deviations * groups.variance_weight(mix, len(new))[:, None]).T @ deviations
    covariance = (within + spread + np.outer(further, further)) * groups.inflation
    difference = ratios.mean(axis=0) - mix @ means
    whole = _hotelling(difference, covariance, len(old), most=len(mix) - 1)
    # Each share; those of the classes are corrected by Bonferroni: the variance of ψ_j is mostly that of stratum j.
    each = fdtrc(1, np.maximum(groups.counts - 1, 1), difference**2 / np.maximum(np.diag(covariance), _ROUNDING))
    ood = [] if groups.ood_group is None else [groups.ood_group]
    classes = np.delete(each, ood)
    return combine([whole, min(1.0, float(classes.min()) * len(classes)), *each[ood]])


def any_mix_p_value(estimate: ShareEstimate) -> float:
    """Return the p-value of the new rows being a mix of the strata of the reference.

    It compares the new rows with those of the reference weighed by the new shares: first their readings, each as three
    numbers (how far it reaches into the lower tail, through the middle, and into the upper one), then these together
    with the predicted classes.
    """
    reference = estimate.groups.reference
    often = np.flatnonzero(np.bincount(reference.prediction) >= _FEWEST_BEHIND)
    knots = knots_of(reference)
    old, new = (
        np.hstack([between_knots(knots, rows.readings), (rows.prediction[:, None] == often).astype(np.float64)])
        for rows in (reference, estimate.rows)
    )
    difference, deviations = estimate.difference(old, new)
    enough = rows_behind(estimate, deviations) >= _FEWEST_BEHIND
    n_readings, n_rows = int(np.sum(enough[: old.shape[1] - len(often)])), len(old)
    difference, deviations = difference[enough], deviations[:, enough]
    covariance = (deviations * estimate.variance_weight[:, None]).T @ deviations * estimate.groups.inflation
    most = max(1, n_rows // _ROWS_FOR_EACH)
    return combine([_hotelling(difference[:n], covariance[:n, :n], n_rows, most) for n in (n_readings, None)])


def quick_p_value(reference: Reference, readings: Floats, prediction: Ints) -> float:
    """Return the p-value of new rows having the readings and predicted classes of the reference, whatever the reason.

    It takes no account of copies, groups or an adaptation: only where it is large, nothing else need be asked.
    """
    often, knots = np.flatnonzero(np.bincount(reference.prediction) >= _FEWEST_BEHIND), knots_of(reference)
    old, new = (
        np.hstack([between_knots(knots, read), (predicted[:, None] == often).astype(np.float64)])
        for read, predicted in ((reference.readings, reference.prediction), (readings, prediction))
    )
    means = [rows.mean(axis=0) for rows in (old, new)]
    deviations = [rows - mean for rows, mean in zip((old, new), means, strict=True)]
    covariance = sum((rows.T @ rows / len(rows) ** 2 for rows in deviations), np.zeros(()))
    return _hotelling(means[1] - means[0], covariance, len(old), most=max(1, len(old) // _ROWS_FOR_EACH))


def rows_behind(estimate: ShareEstimate, deviations: Floats) -> Floats:
    """Return how many rows the variance of each number rests on: of the reference or the new ones, which are fewer.

    That is 1 if one row makes it all, 0 if there is none. A class with next to nothing left in the new mix has
    rows in the reference, but the few new ones that are taken for it are others, whose variance is not known.
    """
    squares, weight, row_weight = deviations**2, estimate.variance_weight, estimate.row_weight
    tiny = np.finfo(float).tiny
    old = (weight @ squares) ** 2 / np.maximum(weight**2 @ squares**2, tiny)
    new = len(estimate.new) * (row_weight @ squares) ** 2 / np.maximum(row_weight @ squares**2, tiny)
    return np.minimum(old, new)


def _hotelling(difference: Floats, covariance: Floats, n_rows: int, most: int) -> float:
    """Return the p-value of Hotelling's test, over the directions that vary enough and the most that are allowed."""
    from scipy.special import fdtrc

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


def combine(p_values: Sequence[float]) -> float:
    """Return one p-value for several that may depend on each other: Cauchy's combination (Liu and Xie, 2020)."""
    p = np.clip(p_values, _LEAST_P, _MOST_P)
    return float(np.arctan2(1, np.mean(1 / np.tan(np.pi * p))) / np.pi)


# What is to be expected -----------------------------------------------------------------------------------------------

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


class Outlook(NamedTuple):
    """What is to be expected of new rows; `Check` explains each number."""

    accuracy: Estimate | None
    assumption: str
    confidence: float
    harm: Estimate
    if_shares_moved: Estimate
    if_inputs_moved: Estimate
    effective_rows: int
    unseen: float

    @classmethod
    def of(cls, found: Comparison) -> Outlook:
        """Estimate the accuracy by each reading of the change, and choose by the verdict."""
        estimate, between, target = found.estimate, found.between, found.target
        rows, groups = estimate.rows, estimate.groups
        confident = groups.confidence(rows.strata, rows.prediction, target.shares)
        confidence, expected = float(confident.mean()), None
        by_chance = float(np.mean(confident * (1 - confident))) / len(confident)
        accuracy = shares = accuracy_of_mix(estimate)
        inputs, n_effective = _if_inputs_moved(estimate, confident, target)
        unseen = _share_unseen(estimate)
        strata = "each class, and samples of none," if groups.by_class else "right and wrong predictions each"
        assumption = f"{strata} look as they did in the fit; only their shares changed"
        if found.verdict == "new":
            ends = sorted([shares.value, inputs.value])
            low, high = (ends[0] - BEYOND) * (1 - unseen), (ends[1] + BEYOND) * (1 - unseen) + unseen
            accuracy, expected = as_estimate(sum(ends) / 2, low, high), _GAP_IF_NEW + abs(confidence - shares.value)
            assumption = (
                f"it is within {100 * BEYOND:.0f} points of what changed shares or changed inputs imply, as in nine of "
                f"ten made shifts; {percent(unseen)} of the rows have no counterpart in the fit"
            )
        elif between is not None:
            assumption = f"these rows are a group like the {between.n_groups:,} of the fit"
            if found.verdict == "mix":  # unlike theirs: the spread of the groups adds to the error of the mix
                reach = math.hypot((shares.high - shares.low) / 2, Z_90 * between.spread)
                accuracy = as_estimate(shares.value, shares.value - reach, shares.value + reach)
            else:
                gap, expected = between.forecast(rows, by_chance)
                accuracy = as_estimate(*(confidence - number for number in (gap.value, gap.high, gap.low)))
        harm = _harm(confidence, accuracy, expected)
        given = accuracy if unseen <= MOST_UNSEEN or found.verdict != "new" else None
        return cls(given, assumption, confidence, harm, shares, inputs, n_effective, unseen)


def as_estimate(value: float | Floats, low: float | Floats, high: float | Floats) -> Estimate:
    """Return numbers as shares, from 0 to 1."""
    return Estimate(*(abs(float(np.clip(number, 0, 1))) for number in (value, low, high)))  # no -0


def accuracy_of_mix(estimate: ShareEstimate) -> Estimate:
    """Estimate the share of right predictions among the new rows, if only the shares of the strata changed.

    It is the mean of the confidence after Bayes' rule with the new shares, plus the mean error of such a confidence in
    each stratum of the reference. The shares are shrunk, so that where rows can't tell a mix, the estimate is that of
    the mix of the fit. The interval is that of the shares before shrinking, with the errors of both sides.
    """
    errors, new = _confidence_errors(estimate, estimate.shares)
    difference, deviations = estimate.difference(errors[:, None], -new[:, None])
    variance = ((deviations * estimate.variance_weight[:, None]).T @ deviations)[0, 0]
    found = _interval_of(estimate, -difference[0], variance)
    errors, new = _confidence_errors(estimate, estimate.shrunk)
    value = new.mean() + estimate.shrunk @ estimate.groups.means(errors[:, None])[:, 0]
    return found._replace(value=float(np.clip(value, found.low, found.high)))


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
    found = _interval_of(estimate, estimate.shares[ood], estimate.covariance[ood, ood])
    return found._replace(value=float(np.clip(estimate.shrunk[ood], found.low, found.high)))


def smallest_change(estimate: ShareEstimate, accuracy: Estimate, level: float) -> float:
    """Return the change of the accuracy that is noticed in nine of ten cases, if it is one of the mix."""
    from scipy.special import chdtri, chndtrinc  # scipy.stats takes a second and 50 MB to import

    d = max(len(estimate.shares) - 1, 1)
    noticed = chndtrinc(chdtri(d, level), d, 1 - _POWER)  # how far off a χ² must be to be noticed so often
    return float(min(np.sqrt(noticed) * (accuracy.high - accuracy.low) / (2 * Z_90), 1.0))


def _if_inputs_moved(estimate: ShareEstimate, confident: Floats, target: TargetMix) -> tuple[Estimate, int]:
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
    loss, found = weigh(place)
    for _ in range(_STEPS):
        found = found / found.sum()
        mean = found @ x
        slope = mean - goal + _RIDGE * place
        curvature = (x * found[:, None]).T @ x - np.outer(mean, mean) + _RIDGE * np.eye(len(place))
        step, before = np.linalg.solve(curvature, slope), loss
        for _ in range(_HALVINGS):
            loss, found = weigh(place - step)
            if loss <= before:
                break
            step = step / 2
        place = place - step
        if before - loss < _ENOUGH:
            break
    return np.asarray(found / found.sum())


def _share_unseen(estimate: ShareEstimate) -> float:
    """Return the share of new rows that no row of the fit is near, less what rows of the fit themselves have."""
    from scipy.spatial import KDTree  # a process that only scores need not wait for it

    old = estimate.groups.reference.readings.astype(np.float64)
    new = estimate.rows.readings[:: 1 + len(estimate.rows.readings) // _MOST_NEIGHBOURS].astype(np.float64)
    scale = np.maximum(old.std(axis=0), _LEAST)
    tree = KDTree(old / scale)
    usual = np.quantile(tree.query(old / scale, k=2)[0][:, 1], _USUAL)
    far = float(np.mean(tree.query(new / scale)[0] > usual))
    return max(far - (1 - _USUAL), 0.0) / _USUAL


def _harm(confidence: float, accuracy: Estimate, expected: float | None) -> Estimate:
    """Return how far the mean confidence is expected to be off, and what the interval of the accuracy leaves."""
    from scipy.special import ndtr

    gap, deviation = confidence - accuracy.value, max((accuracy.high - accuracy.low) / (2 * Z_90), _LEAST)
    if expected is None:  # the mean of the absolute value of a normal number
        density = math.exp(-((gap / deviation) ** 2) / 2) * math.sqrt(2 / math.pi)
        expected = deviation * density + gap * float(1 - 2 * ndtr(-gap / deviation))
    ends = confidence - accuracy.high, confidence - accuracy.low
    least, most = 0.0 if ends[0] <= 0 <= ends[1] else min(map(abs, ends)), max(map(abs, ends))
    return Estimate(float(np.clip(expected, least, most)), least, most)
