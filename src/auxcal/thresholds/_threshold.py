"""Accept predictions with a bounded error rate: thresholds with a promise, and empirical ones.

A confidence is kept as float32 or float64, or as the shortest text that reads as its float32, and a threshold is
compared with all of these, by programs that round to float32 first and by others that don't. So confidences that are
equal in float32 are ties, and a threshold t is a number that is at most its own float32 and still rounds to it: then no
confidence whose float32 is lower reaches t, and each whose float32 is that of t or higher does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import Floats, check_shares, check_total
from auxcal._core.errors import InvalidInputError
from auxcal._core.float_errors import ignore_float_errors
from auxcal.metrics import risk_coverage
from auxcal.metrics.sample import kernel_of
from auxcal.thresholds._promises import least_rows, promised_rows, rows_needed
from auxcal.thresholds._weighted_sample import (
    WeightedSample,
    as_weighted_sample,
    check_draws,
    check_no_copies,
    singles,
    upper_bounds,
)

_DECIMALS = 7  # which people can read and copy; no two such numbers below 1 have the same float32
_TRIED = 10  # such numbers; about every second one is at most its own float32
_curve = kernel_of(risk_coverage)


@dataclass(frozen=True)
class Threshold:
    """A threshold on the confidence, with what it does to the rows it was chosen on.

    Parameters
    ----------
    threshold : float
        Accept a prediction if its confidence is at least this.
    coverage : float
        The share of predictions that are accepted.
    risk : float
        The share of accepted predictions that are wrong.
    risk_upper : float
        The risk that is not exceeded. With a promise this holds with probability `level` over the draw of the rows.
        Without one it is the upper bound of Clopper and Pearson for a threshold that was fixed beforehand. This one
        was chosen on the same rows, which makes its risk look a little better than it is.
    accepted, errors : float
        The predictions that are accepted, and the wrong ones among them, counted with their weights.
    level : float
        The probability of the promise, or the confidence level of the bound.
    promised : bool
        Whether the risk is promised.
    """

    threshold: float
    coverage: float
    risk: float
    risk_upper: float
    accepted: float
    errors: float
    level: float
    promised: bool


@ignore_float_errors
def threshold_at_risk(
    confidence: ArrayLike,
    correct: ArrayLike,
    risk: float,
    *,
    level: float = 0.95,
    promise: bool = True,
    sample_weight: ArrayLike | None = None,
    max_weight: float | None = None,
    groups: ArrayLike | None = None,
) -> Threshold:
    """Return the lowest threshold that is promised to keep the error of accepted predictions within `risk`.

    The promise holds for new rows of the same kind, with probability `level` over the draw of the labelled rows. They
    must be an even draw, and the calibrator must not have been fitted on them (see `Calibrator.share_in_fit`).
    Predictions of equal confidence, in float32, are accepted together. So the threshold can be used as it is:
    ``confidence >= threshold`` accepts the same rows in float32 and in float64.

    Parameters
    ----------
    confidence : array of shape (n,)
        The probability that each prediction is correct.
    correct : array of shape (n,)
        Whether it is; a sample of none of the classes is an error.
    risk : float
        The allowed error rate, in (0, 1).
    level : float
        The probability of the promise, in (0, 1).
    promise : bool
        With False, return the lowest threshold whose error rate on these rows is within `risk`. It looks better than
        it is: on new rows the error is above `risk` about half of the time.
    sample_weight : array of shape (n,), optional
        The weights of rows that were drawn with known probabilities, such as those of `auxcal.labelling.pick`. For the
        promise a row of weight 2 is still one draw, and fewer rows are accepted than from as many even draws. Without
        a promise it is the same as two rows.
    max_weight : float, optional
        The largest weight that any row could have had, drawn or not: `Picks.max_weight`. A promise from weighted rows
        needs it, since the heaviest rows are drawn most rarely, and an error among them counts most.
    groups : array of shape (n,), optional
        What each row belongs to, such as a patient or a day: rows of one group are one draw. For the promise one row
        of each group is drawn, and stays with a probability in proportion to the size of the group. Without groups,
        rows that look like copies of each other are an error.

    Returns
    -------
    Threshold

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.thresholds import threshold_at_risk
    >>> confidence = np.linspace(0, 1, 500)
    >>> correct = np.random.default_rng(0).random(500) < confidence
    >>> promised = threshold_at_risk(confidence, correct, risk=0.25)
    >>> round(promised.threshold, 2), round(promised.coverage, 2), promised.risk_upper
    (0.61, 0.39, 0.25)
    >>> threshold_at_risk([0.9, 0.8, 0.6, 0.3], [True, True, False, False], risk=0.25, promise=False).threshold
    0.8
    """
    check_shares(risk=risk, level=level)
    sample = as_weighted_sample(confidence, correct, sample_weight, max_weight, groups)
    if not promise:
        if sample.sample_weight is not None:
            check_total(sample.sample_weight)
        return empirical_threshold(sample, risk, level)
    promised = _promised(sample, _ranked(sample, shuffle_ties=True), [risk], level)[risk]
    if promised is None:
        raise InvalidInputError(
            f"no threshold can be promised to keep the error at {risk:.3g} with these {len(sample.correct):,} labelled "
            f"rows: {_why_not(sample, risk, level)}. Label more, allow more risk, or use promise=False (--empirical)."
        )
    return promised


@ignore_float_errors
def why_no_promise(
    confidence: ArrayLike,
    correct: ArrayLike,
    risk: float,
    *,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    max_weight: float | None = None,
    groups: ArrayLike | None = None,
) -> str:
    """Return in a few words why these rows do not promise the risk, with how many labels it would take.

    Examples
    --------
    >>> from auxcal.thresholds import why_no_promise
    >>> why_no_promise([0.9] * 40, [True] * 40, risk=0.05)
    'it would take about 143'
    """
    return _why_not(as_weighted_sample(confidence, correct, sample_weight, max_weight, groups), risk, level)


@ignore_float_errors
def thresholds_at_risks(
    confidence: ArrayLike,
    correct: ArrayLike,
    risks: Sequence[float],
    *,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    max_weight: float | None = None,
    groups: ArrayLike | None = None,
) -> dict[float, Threshold | None]:
    """Return the threshold of `threshold_at_risk` for each of several risks; None where none can be promised.

    Each promise holds with probability `level` on its own. For all of them at once, divide 1 − level by their number.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.thresholds import thresholds_at_risks
    >>> confidence = np.linspace(0, 1, 500)
    >>> correct = np.random.default_rng(0).random(500) < confidence
    >>> thresholds = thresholds_at_risks(confidence, correct, [0.01, 0.2, 0.3])
    >>> thresholds[0.01], round(thresholds[0.2].coverage, 2), round(thresholds[0.3].coverage, 2)
    (None, 0.23, 0.48)
    """
    sample = as_weighted_sample(confidence, correct, sample_weight, max_weight, groups)
    if not np.iterable(risks):
        raise InvalidInputError(f"risks must be several shares; got {risks!r}. Give [0.05], or use threshold_at_risk.")
    for risk in risks:
        check_shares(risk=risk, level=level)
    return _promised(sample, _ranked(sample, shuffle_ties=True), risks, level)


@ignore_float_errors
def thresholds_by_class(
    confidence: ArrayLike,
    correct: ArrayLike,
    prediction: ArrayLike,
    risk: float,
    *,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    max_weight: float | None = None,
    groups: ArrayLike | None = None,
) -> dict[int, Threshold | None]:
    """Return the threshold of `threshold_at_risk` for each predicted class; None where its rows do not allow one.

    Each promise holds with probability `level` on its own, for the error among the accepted predictions of its class.

    Examples
    --------
    >>> from auxcal.thresholds import thresholds_by_class
    >>> thresholds = thresholds_by_class([0.9] * 100 + [0.8] * 9, [True] * 109, [0] * 100 + [1] * 9, risk=0.05)
    >>> thresholds[0].threshold, thresholds[1]
    (0.0, None)
    """
    sample = as_weighted_sample(confidence, correct, sample_weight, max_weight, groups)
    check_shares(risk=risk, level=level)
    of_class = np.asarray(prediction)
    if of_class.shape != sample.confidence.shape or of_class.dtype.kind not in "iu":
        raise InvalidInputError(
            f"prediction must be a class index for each of the {len(sample.correct)} rows; got an array of shape "
            f"{of_class.shape} and type {of_class.dtype}. Give logits.argmax(axis=1)."
        )
    check_draws(sample)
    if sample.groups is None:
        check_no_copies(np.sort(singles(sample.confidence)))
    thresholds: dict[int, Threshold | None] = {}
    for label in np.unique(of_class[sample.weights > 0]).tolist():
        rows = sample.take(of_class == label)
        thresholds[label] = _promised(rows, rows.independent().ranked(shuffle_ties=True), [risk], level)[risk]
    return thresholds


@ignore_float_errors
def risk_at_coverage(
    confidence: ArrayLike,
    correct: ArrayLike,
    coverage: float,
    *,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    max_weight: float | None = None,
    groups: ArrayLike | None = None,
) -> Threshold:
    """Return the least risk that can be promised when at least a share `coverage` of the predictions is accepted.

    The threshold is the confidence of the row at that rank, which does not depend on which rows are correct, and the
    promised risk is the upper bound of Clopper and Pearson for the rows above it. Where confidences tie at the
    threshold, it is the largest of the bounds at which the tie could be cut. Weights and groups are as in
    `threshold_at_risk`; with groups, the rank is that among the rows that stay.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.thresholds import risk_at_coverage
    >>> confidence = np.linspace(0, 1, 500)
    >>> correct = np.random.default_rng(0).random(500) < confidence
    >>> found = risk_at_coverage(confidence, correct, coverage=0.5)
    >>> round(found.threshold, 2), found.coverage, round(found.risk_upper, 2)
    (0.5, 0.502, 0.31)
    """
    check_shares(coverage=coverage, level=level)
    sample = as_weighted_sample(confidence, correct, sample_weight, max_weight, groups)
    rows = _ranked(sample)
    share = np.cumsum(rows.weights) / rows.weights.sum()
    # The rank at which so many are accepted; rounding must not move it.
    rank = min(int(np.searchsorted(share, coverage * (1 - 1e-12))) + 1, len(share) - 1)
    accepted = int(np.searchsorted(-rows.confidence, -rows.confidence[rank], side="right"))
    first = max(rank, 1)  # the row at the threshold itself is not counted
    tied = np.arange(first, max(first + 1, accepted))
    threshold = cut_at(_lowest(sample.confidence, rows.confidence[rank]))
    return _accepting(sample, threshold, risk_upper=rows.risk_upper(tied, level), level=level)


def _ranked(sample: WeightedSample, *, shuffle_ties: bool = False) -> WeightedSample:
    """Return rows that are one draw each, ranked: the one time that rows are sorted."""
    check_draws(sample)
    rows = sample.independent().ranked(shuffle_ties=shuffle_ties)
    if sample.groups is None:
        check_no_copies(rows.confidence)
    return rows


def _promised(
    sample: WeightedSample, rows: WeightedSample, risks: Sequence[float], level: float
) -> dict[float, Threshold | None]:
    """Return the threshold that can be promised for each risk, of rows that are ranked."""
    thresholds: dict[float, Threshold | None] = {}
    for risk in risks:
        begun, rarity = rows.tests(risk, 1 - level)
        accepted, threshold = promised_rows(rows.confidence, rarity, begun), 0.0
        if 0 < accepted < len(rows.correct):
            low, high = rows.confidence[[accepted, accepted - 1]]
            threshold = cut_above(low, _lowest(sample.confidence, high))
        thresholds[risk] = _accepting(sample, threshold, risk_upper=risk, level=level) if accepted else None
    return thresholds


def _lowest(confidence: Floats, single: np.floating) -> float:
    """Return the lowest confidence, as it was given, of those that are equal to one in float32."""
    return float(confidence[singles(confidence) == single].min())


def _why_not(sample: WeightedSample, risk: float, level: float) -> str:
    """Return why rows promise nothing; see `why_no_promise`."""
    rows = sample.independent()
    curve = _curve(singles(rows.confidence), rows.correct, sample_weight=rows.sample_weight)
    needed = rows_needed(curve.accepted, curve.errors, risk, level)
    if needed is None and curve.errors[0]:
        return "even the most confident predictions are wrong too often"
    if needed is None:
        return f"it would take far more, at least {least_rows(risk, 1 - level):,} without an error"
    if sample.sample_weight is not None:
        return f"they are picked, and promise less than even draws; it would take about {needed:,} of those"
    enough = needed <= len(rows.correct)
    why = "so many suffice in most draws, not in this one" if enough else f"it would take about {needed:,}"
    return why if sample.groups is None else f"{why}, and with their groups they count as {len(rows.correct):,}"


def _accepting(sample: WeightedSample, threshold: float, *, risk_upper: float, level: float) -> Threshold:
    """Return a promised threshold, with what it does to the rows."""
    accepted, weights = sample.confidence >= threshold, sample.weights
    number, wrong = weights[accepted].sum(), weights[accepted & ~sample.correct].sum()
    shares = float(number / weights.sum()), float(wrong / number)
    return Threshold(float(threshold), *shares, risk_upper, _count(number), _count(wrong), level, promised=True)


def _count(weight: float) -> float:
    """Return a whole number as such."""
    return int(weight) if weight == int(weight) else float(weight)


def empirical_threshold(sample: WeightedSample, risk: float, level: float) -> Threshold:
    """Return the lowest threshold whose error rate on these rows is within the risk, which promises nothing."""
    curve = _curve(singles(sample.confidence), sample.correct, sample_weight=sample.sample_weight)
    allowed = np.flatnonzero(curve.risk <= risk)
    if not len(allowed):
        least = int(np.argmin(curve.risk))
        raise InvalidInputError(
            f"no threshold keeps the error at {risk:.3g}; the least is {curve.risk[least]:.3g}, with a confidence of "
            f"at least {cut_at(_lowest(sample.confidence, curve.threshold[least]))!r}. Allow more risk, or calibrate "
            f"first."
        )
    last = allowed[-1]
    accepted, wrong = _count(curve.accepted[last]), _count(curve.errors[last])
    upper = float(upper_bounds(np.array(wrong), np.array(accepted), level))
    threshold = cut_at(_lowest(sample.confidence, curve.threshold[last]))
    return Threshold(
        threshold, float(curve.coverage[last]), wrong / accepted, upper, accepted, wrong, level, promised=False
    )


def cut_above(low: np.floating, high: float) -> float:
    """Return a number just above `low`, which all from `high` up reach: with seven decimals if one fits.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.thresholds._threshold import cut_above
    >>> cut_above(np.float32(0.7), 0.8), cut_above(np.float32(0.7), 0.70000005)
    (0.7000001, 0.7000000178813934)
    """
    first = np.floor(float(low) * 10**_DECIMALS)
    for step in range(1, _TRIED + 1):
        short = round((first + step) / 10**_DECIMALS, _DECIMALS)
        if low < np.float32(short) and short <= min(high, float(np.float32(short))):
            return float(short)
    return _least(np.nextafter(low, np.float32(1)))


def cut_at(high: float) -> float:
    """Return a number that this confidence and those of the same float32 reach, and none below.

    Examples
    --------
    >>> from auxcal.thresholds._threshold import cut_at
    >>> cut_at(0.8), cut_at(0.9)
    (0.8, 0.8999999761581421)
    """
    single = np.float32(high)
    for number in (float(str(single)), float(single)):
        if number <= min(high, float(single)):
            return number
    return _least(single)


def _least(single: np.floating) -> float:
    """Return the smallest float64 that rounds to a float32."""
    if single == 0:
        return 0.0
    middle = (float(np.nextafter(single, np.float32(0))) + float(single)) / 2
    return middle if np.float32(middle) == single else float(np.nextafter(middle, 1.0))
