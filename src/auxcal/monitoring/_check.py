"""auxcal.check: new rows without labels look like those of the fit, are another mix, or something new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import Floats
from auxcal._core.float_errors import ignore_float_errors
from auxcal._core.text import percent
from auxcal.calibrators import Calibrator
from auxcal.metrics.intervals import Estimate
from auxcal.monitoring._accuracy import (
    BEYOND,
    MOST_UNSEEN,
    accuracy_of_inputs,
    accuracy_of_mix,
    expected_accuracy,
    harm,
    share_of_ood,
    share_unseen,
    smallest_change,
)
from auxcal.monitoring._mix import Representations, represent_some
from auxcal.monitoring._two_samples import Comparison, Verdict, as_calibrator, as_level, compare, verdict_at

_MOST_DIFFERENCES, _NOTEWORTHY = 5, 2.0  # how many are listed, and from how many standard deviations on; by judgement
_NOTEWORTHY_SHARE = 0.005  # of rows without a counterpart; less is not a row of a hundred. By judgement

_RARE, _RAREST = 1000, 1_000_000  # checks: from here on chance is no explanation; beyond, p-values are inexact

_VERDICTS = {
    "same": "No difference from the rows of the fit shows.",
    "mix": "The rows look like another mix of the data of the fit ({}).",
    "new": "The rows differ from those of the fit in a way that no other mix explains ({}).",
}
_AFTER_ADAPTING = {
    "same": "No difference from the rows that the calibrator was adapted to shows.",
    "mix": "The rows look like another mix than the one that the calibrator was adapted to ({}).",
}
_AMONG_GROUPS = {
    "same": "The rows differ from those of the fit by no more than its {:,} groups differ from each other.",
    "mix": "The rows are another mix than those of the {:,} groups of the fit ({}).",
    "new": "The rows differ from the {:,} groups of the fit by more than these differ from each other ({}).",
}
_IF = {"same": "If there is none", "mix": "If they are"}
_NEXT = {
    "mix": "Adapt the calibrator to them (auxcal adapt); this needs no labels. Only labels tell if it is enough.",
    "new": "Label some of these rows: if the confidence is off, fit again (auxcal fit).",
}


class Difference(NamedTuple):
    """One thing that differs: what is expected, what was found, and how many standard deviations lie between."""

    what: str
    expected: float
    found: float
    deviations: float


@dataclass(frozen=True)
class Check:
    """What new rows without labels say of a calibrator.

    No look at logits can see that labels mean something else now, and rarely that a few rows of something else are
    among the others: only labels tell. So "same" means that no difference shows, not that there is none, and the
    estimates hold under the `assumption` alone.

    Attributes
    ----------
    verdict : {"same", "mix", "new"}
        No difference from the rows of the fit shows; or they look like another mix of the same data; or no such mix
        explains them.
    p_mix, p_new : float
        The p-values behind it: of the mix being that of the fit, and of the rows being any mix of it.
    level : float
        The probability of another verdict than "same" where nothing changed.
    n_rows, n_reference : int
        How many rows there are: new ones, and those that the calibrator kept of its fit.
    accuracy : Estimate or None
        The share of predictions that are right, with a 90 % interval, if the assumption holds. Where the verdict is
        "new", it lies midway between what changed shares and changed inputs imply, with 20 points on either side; None
        if the fit has nothing like most of these rows, see `unseen`.
    assumption : str
        What the estimate rests on.
    no_class : Estimate or None
        The share of samples of none of the classes; None also where the calibrator does not tell it.
    no_class_before : float or None
        That share in the fit.
    smallest_change : float
        The smallest change of the accuracy, by another mix, that so many rows would show in nine of ten cases.
    adapted : bool
        Whether "same" means the mix that the calibrator was adapted to, not that of the fit.
    differences : tuple of Difference
        Where the rows differ most: readings of the logits and predicted classes, or the strata of the mix.
    n_counted, n_reference_counted : int
        How many of these rows count: copies of a row do once.
    confidence : float
        The mean confidence of the rows, as the reference has it.
    harm : Estimate
        How far the mean confidence is off, whatever the direction: the expected gap to the accuracy, from 0 to 1, and
        the least and the largest that a 90 % interval leaves. It ranks slices of rows: those to label first.
    if_shares_moved, if_inputs_moved : Estimate
        The accuracy if only the shares of the classes changed, and if only inputs moved, within what the fit has seen.
        The farther apart, the more it matters which it was.
    effective_rows : int
        The effective sample size behind the latter: rows of the fit, weighed to look like the new ones.
    unseen : float
        The share of rows without a counterpart in the fit, about which nothing is known.
    n_groups : int
        How many groups of the fit tell what is usual; 0 without groups of at least 20 rows. With groups, the verdict
        compares the rows with what groups are to each other, and the accuracy is that of one more group.
    group_spread : float or None
        How much the gap between confidence and accuracy varies between groups of the fit, beyond chance and what
        their readings explain: one standard deviation.
    """

    verdict: Verdict
    p_mix: float
    p_new: float
    level: float
    n_rows: int
    n_reference: int
    accuracy: Estimate | None
    assumption: str
    no_class: Estimate | None
    no_class_before: float | None
    smallest_change: float
    adapted: bool
    differences: tuple[Difference, ...]
    n_counted: int
    n_reference_counted: int
    confidence: float
    harm: Estimate
    if_shares_moved: Estimate
    if_inputs_moved: Estimate
    effective_rows: int
    unseen: float
    n_groups: int
    group_spread: float | None

    def verdict_at(self, level: float) -> Verdict:
        """Return the verdict at another level."""
        return verdict_at(as_level(level), self.p_mix, self.p_new)

    def as_json(self) -> dict[str, Any]:
        """Return all of it, ready for JSON."""
        fields = {name: _plain(getattr(self, name)) for name in self.__dataclass_fields__}
        return fields | {"differences": [_plain(difference) for difference in self.differences], "answer": str(self)}

    @property
    def sentences(self) -> tuple[str, ...]:
        """In words, whether the calibrator still holds, what that rests on, and what to do."""
        verdicts = _VERDICTS | _AFTER_ADAPTING if self.adapted else _VERDICTS
        first = verdicts[self.verdict].format(_chance(self))
        if self.n_groups:
            first = _AMONG_GROUPS[self.verdict].format(self.n_groups, _chance(self))
        sentences = [first, _estimates(self)]
        if self.verdict == "new":
            sentences.reverse()  # what is to be expected comes first
        if copies := self.n_rows - self.n_counted:
            sentences.append(f"Of the {self.n_rows:,} rows, {copies:,} were left out as copies of others.")
        if self.verdict != "same" and self.differences:
            sentences.append(f"The largest differences are in: {', '.join(map(_difference, self.differences[:3]))}.")
        if self.verdict == "same":
            return (*sentences, _power(self), "Only labels tell.")
        return (*sentences, _NEXT[self.verdict])

    def __str__(self) -> str:
        return " ".join(self.sentences)


def _plain(value: Any) -> Any:
    return value._asdict() if isinstance(value, Estimate | Difference) else value


@ignore_float_errors
def check(
    calibrator: Calibrator, logits: ArrayLike, features: ArrayLike | None = None, *, level: float = 0.05
) -> Check:
    """Check without labels whether a calibrator still holds for new rows.

    Parameters
    ----------
    calibrator : Calibrator
        A fitted one; it knows the rows that it was fitted on.
    logits : array of shape (n, K)
        The raw scores of the same target classifier for the new rows, or probabilities after a fit on such. Beyond
        20,000 rows, a random sample is used.
    features : array of shape (n, d), optional
        The further inputs of each sample, if the calibrator was fitted with any.
    level : float
        The rate of false alarms: of verdicts other than "same" if nothing has changed.

    Returns
    -------
    Check
        Its `verdict` is "same", "mix" (call `calibrator.adapt(logits)`, which needs no labels) or "new" (the confidence
        may be off here: label some of these rows, and fit again if so). Where nothing changes, one check in twenty
        has another verdict all the same, by `level`; for a check each night use `Monitor`, whose level is that of all
        nights.

    Examples
    --------
    >>> import numpy as np
    >>> import auxcal
    >>> rng = np.random.default_rng(0)
    >>> def rows(n, ood):
    ...     y = np.where(rng.random(n) < ood, auxcal.NO_CLASS, rng.integers(3, size=n))
    ...     return (4 * np.eye(4)[y])[:, :3] + rng.normal(size=(n, 3)), y
    >>> calibrator = auxcal.CCACX(random_state=0).fit(*rows(2000, ood=0.2))
    >>> auxcal.check(calibrator, rows(1000, ood=0.2)[0]).verdict
    'same'
    >>> found = auxcal.check(calibrator, rows(1000, ood=0.5)[0])
    >>> found.verdict, round(found.no_class.value, 1)
    ('mix', 0.5)
    >>> auxcal.check(calibrator, rows(1000, ood=0.2)[0] / 2).verdict
    'new'
    """
    calibrator, level = as_calibrator(calibrator), as_level(level)
    return check_rows(calibrator, represent_some(calibrator, *calibrator.validate_rows(logits, features)), level)


@ignore_float_errors
def check_rows(calibrator: Calibrator, rows: Representations, level: float) -> Check:
    """Return the check of rows that are represented already."""
    compared = compare(calibrator, rows)
    estimate, groups, between, target = compared.estimate, compared.estimate.groups, compared.between, compared.target
    verdict, counted = compared.verdict_at(level), estimate.rows
    confident = groups.confidence(counted.strata, counted.prediction, target.shares)
    shares, unseen = accuracy_of_mix(estimate), share_unseen(estimate)
    inputs, effective_rows = accuracy_of_inputs(estimate, confident, target)
    accuracy, assumption, gap = expected_accuracy(compared, verdict, confident, shares, inputs, unseen)
    return Check(
        verdict=verdict,
        p_mix=compared.p_mix,
        p_new=compared.p_new,
        level=level,
        n_rows=len(rows.prediction),
        n_reference=0 if calibrator.reference_ is None else len(calibrator.reference_.y),
        accuracy=None if verdict == "new" and unseen > MOST_UNSEEN else accuracy,
        assumption=assumption,
        no_class=None if verdict == "new" else share_of_ood(estimate),
        no_class_before=None if groups.ood_group is None else float(groups.shares[groups.ood_group]),
        smallest_change=smallest_change(estimate, shares, level),
        adapted=calibrator.adaptation_ is not None,
        differences=_differences(calibrator, compared, verdict),
        n_counted=len(counted.prediction),
        n_reference_counted=len(groups.of_row),
        confidence=float(confident.mean()),
        harm=harm(float(confident.mean()), accuracy, gap),
        if_shares_moved=shares,
        if_inputs_moved=inputs,
        effective_rows=effective_rows,
        unseen=unseen,
        n_groups=0 if between is None else between.n_groups,
        group_spread=None if between is None else between.spread,
    )


def _differences(calibrator: Calibrator, compared: Comparison, verdict: Verdict) -> tuple[Difference, ...]:
    """Return the largest differences: of the shares after another mix, else of what no mix explains."""
    estimate, mix = compared.estimate, compared.target.shares
    reference, rows, weight = estimate.groups.reference, estimate.rows, estimate.row_weight
    k = reference.n_classes
    names = calibrator.inputs_.class_names or [f"class {index}" for index in range(k)]
    if verdict == "mix":
        of_target = mix * (1 - mix) / compared.target.n_rows + compared.target.error**2
        labels = [f"share of {name}" for name in estimate.groups.names(names)]
        differences = _as_differences(labels, mix, estimate.shares, np.diag(estimate.covariance) + of_target)
    else:
        both = 1 / len(rows.prediction) + np.sum(weight**2)  # of a row's variance in a mean, of both sides
        old, new = (side.readings.astype(np.float64) for side in (reference, rows))
        variance = np.maximum(weight @ (old - weight @ old) ** 2 * both, np.finfo(float).tiny)
        differences = _as_differences(calibrator.reading_names, weight @ old, new.mean(axis=0), variance)
        expected = np.bincount(reference.prediction, weight, minlength=k).astype(np.float64)
        share = np.bincount(rows.prediction, minlength=k) / len(rows.prediction)
        pooled = np.clip((expected + share) / 2, 1 / len(weight), 1)
        differences += _as_differences([f"predictions of {name}" for name in names], expected, share, pooled * both)
    differences = [one for one in differences if abs(one.deviations) > _NOTEWORTHY]
    return tuple(sorted(differences, key=lambda one: -abs(one.deviations))[:_MOST_DIFFERENCES])


def _as_differences(names: Sequence[str], expected: Floats, found: Floats, variance: Floats) -> list[Difference]:
    rows = zip(names, expected, found, (found - expected) / np.sqrt(variance), strict=True)
    return [Difference(name, *map(float, numbers)) for name, *numbers in rows]


def _chance(check: Check) -> str:
    """Return how often a check finds the like, by either test, where nothing changed."""
    p = check.p_new if check.verdict == "new" else check.p_mix
    checks = 1 / max(p * (2 - p), 1 / _RAREST)
    if checks >= _RAREST:
        return "chance alone does this in less than one of a million checks"
    nightly = "; for a check each night use auxcal monitor, which allows for this" if checks < _RARE else ""
    return f"chance alone does this once in {int(float(f'{checks:.1e}')):,} checks{nightly}"


def _estimates(check: Check) -> str:
    if check.verdict == "new":
        return _if_new(check)
    accuracy, ood = map(_interval, (check.accuracy, check.no_class))
    text = f"{_IF[check.verdict]}, about {accuracy} of the predictions are right"
    if check.verdict == "same" and check.n_groups:
        text = f"Expect {accuracy} of the predictions to be right"
    if check.no_class is None or check.no_class_before is None:
        return f"{text}."
    return f"{text}, and {ood} have none of the classes (in the fit: {percent(check.no_class_before)})."


def _if_new(check: Check) -> str:
    """Return what each reading of the change implies, and how many rows have no counterpart."""
    inputs, shares = percent(check.if_inputs_moved.value), percent(check.if_shares_moved.value)
    either = f"{inputs} if only inputs moved, within what the fit has seen, and {shares} if only shares did"
    unseen = f"the accuracy of {percent(check.unseen)} of the rows is unknown: the fit has none like them"
    if check.accuracy is None:
        return f"{unseen[0].upper()}{unseen[1:]}. Of all, {either} would be right."
    text = (
        f"Expect {_interval(check.accuracy)} of the predictions to be right: {either}, and {100 * BEYOND:.0f} points "
        f"on either side for what neither explains"
    )
    return f"{text}; {unseen}." if check.unseen >= _NOTEWORTHY_SHARE else f"{text}."


def _interval(estimate: Estimate | None) -> str:
    return "" if estimate is None else "{} ({} to {})".format(*map(percent, estimate))


def _difference(difference: Difference) -> str:
    if difference.what.startswith(("share of ", "predictions of ")):
        return f"{difference.what} ({percent(difference.found)} instead of {percent(difference.expected)})"
    return f"{difference.what} ({'higher' if difference.deviations > 0 else 'lower'})"


def _power(check: Check) -> str:
    """Return what the interval is for, or which change would show."""
    if check.n_groups:
        return (
            f"The interval is for one more such group: between groups, the gap between confidence and accuracy varies "
            f"by {100 * (check.group_spread or 0.0):.1f} points (one standard deviation)."
        )
    if check.smallest_change >= 1:
        return "With this many rows, no change of the accuracy would show."
    return (
        f"Another mix that moves the accuracy by {100 * check.smallest_change:.1f} points would show in nine of ten "
        f"checks; labels that mean something else now, or a few rows of something else, would not."
    )
