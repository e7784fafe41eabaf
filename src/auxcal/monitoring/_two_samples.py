"""The tests behind a verdict: whether the mix changed, and whether any mix explains the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from auxcal._core.arrays import Floats, Ints
from auxcal._core.errors import InvalidInputError
from auxcal._core.float_errors import ignore_float_errors
from auxcal.calibrators import Calibrator
from auxcal.monitoring._mix import (
    GroupVariation,
    ReferenceGroups,
    Representations,
    ShareEstimate,
    TargetMix,
    counted_once,
    likelihood_ratios,
)
from auxcal.reference import Reference, between_knots, knots_of

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
    """New rows compared with the reference.

    `p_mix` and `p_new` are the p-values of the mix being the one that the calibrator is for, and of the rows being any
    mix. `estimate` holds the rows of both sides without copies. `between` is how groups of the fit differ, if it had
    such; the p-values are then those of a group like them.
    """

    p_mix: float
    p_new: float
    estimate: ShareEstimate
    target: TargetMix
    between: GroupVariation | None

    def verdict_at(self, level: float) -> Verdict:
        """Return the verdict at a level."""
        return verdict_at(level, self.p_mix, self.p_new)


@ignore_float_errors
def compare(calibrator: Calibrator, rows: Representations) -> Comparison:
    """Compare new rows with those that a calibrator was fitted on."""
    reference, between = reference_of(calibrator), groups_of(calibrator)
    if len(rows.prediction) < FEWEST_ROWS:
        raise InvalidInputError(
            f"at least {FEWEST_ROWS} rows are needed to compare them with those of the fit; got "
            f"{len(rows.prediction)}. Collect more rows."
        )
    if reference.n_classes > 1:  # copies count once; signals are equal by themselves
        old, new = counted_once(reference.hashes, rows.hashes), counted_once(rows.hashes, reference.hashes)
        reference, rows = reference.take(old), rows.take(new)
    groups = ReferenceGroups(reference)
    estimate, target = ShareEstimate(groups, rows), TargetMix.of(groups, calibrator.adaptation_)
    if between is None:
        p_mix, p_new = mix_p_value(groups, estimate.new, target), any_mix_p_value(estimate)
    else:
        p_mix, p_new = between.p_values(rows)
    return Comparison(p_mix, p_new, estimate, target, between)


def level_of_each(level: float) -> float:
    """Return the level of each of two independent tests, which have the level together."""
    return float(1 - np.sqrt(1 - level))


def verdict_at(level: float, p_mix: float, p_new: float) -> Verdict:
    """Return the verdict by two p-values."""
    level = level_of_each(level)
    return "new" if p_new < level else "mix" if p_mix < level else "same"


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


def reference_of(calibrator: Calibrator) -> Reference:
    """Return what a calibrator keeps of the rows of its fit; reject one that was not fitted by `fit`."""
    if calibrator.reference_ is None:
        raise InvalidInputError(
            f"this {type(calibrator).__name__} has nothing to compare rows with: it keeps no rows of its fit. Fit it "
            f"again with fit(logits, y) (auxcal fit)."
        )
    return calibrator.reference_


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
    single = fdtrc(1, np.maximum(groups.counts - 1, 1), difference**2 / np.maximum(np.diag(covariance), _ROUNDING))
    ood = [] if groups.ood_group is None else [groups.ood_group]
    classes = np.delete(single, ood)
    return combine([whole, min(1.0, float(classes.min()) * len(classes)), *single[ood]])


def any_mix_p_value(estimate: ShareEstimate) -> float:
    """Return the p-value of the new rows being a mix of the strata of the reference.

    It compares the new rows with those of the reference weighed by the new shares: first their readings, each as three
    numbers (how far it reaches into the lower tail, through the middle, and into the upper one), then these together
    with the predicted classes.
    """
    reference, rows = estimate.groups.reference, estimate.rows
    old, new, n_further = _numbers_of(reference, rows.readings, rows.prediction)
    difference, deviations = estimate.difference(old, new)
    enough = rows_behind(estimate, deviations) >= _FEWEST_BEHIND
    n_readings, n_rows = int(np.sum(enough[: old.shape[1] - n_further])), len(old)
    difference, deviations = difference[enough], deviations[:, enough]
    covariance = (deviations * estimate.variance_weight[:, None]).T @ deviations * estimate.groups.inflation
    most = max(1, n_rows // _ROWS_FOR_EACH)
    return combine([_hotelling(difference[:n], covariance[:n, :n], n_rows, most) for n in (n_readings, None)])


def quick_p_value(reference: Reference, readings: Floats, prediction: Ints) -> float:
    """Return the p-value of new rows having the readings and predicted classes of the reference, whatever the reason.

    It takes no account of copies, groups or an adaptation: only where it is large, nothing else need be asked.
    """
    old, new, _ = _numbers_of(reference, readings, prediction)
    means = [rows.mean(axis=0) for rows in (old, new)]
    deviations = [rows - mean for rows, mean in zip((old, new), means, strict=True)]
    covariance = sum((rows.T @ rows / len(rows) ** 2 for rows in deviations), np.zeros(()))
    return _hotelling(means[1] - means[0], covariance, len(old), most=max(1, len(old) // _ROWS_FOR_EACH))


def _numbers_of(reference: Reference, readings: Floats, prediction: Ints) -> tuple[Floats, Floats, int]:
    """Return what is compared of the reference and of new rows; the last numbers, so many, are of predicted classes."""
    often, knots = np.flatnonzero(np.bincount(reference.prediction) >= _FEWEST_BEHIND), knots_of(reference)
    old, new = (
        np.hstack([between_knots(knots, read), (predicted[:, None] == often).astype(np.float64)])
        for read, predicted in ((reference.readings, reference.prediction), (readings, prediction))
    )
    return old, new, len(often)


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
