"""All metrics at once, with confidence intervals and the noise floor."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import Bools, Floats, as_groups, as_sample_weight
from auxcal._core.errors import InvalidInputError
from auxcal._core.float_errors import ignore_float_errors
from auxcal._core.progress import Report, silent
from auxcal.metrics._bootstrap import OfTies, Scored, intervals, one_by_one
from auxcal.metrics._calibration_error import ece, ece_mass, mce, noise_floor
from auxcal.metrics._checked import check, kernel_of
from auxcal.metrics._ece_interval import ece_interval
from auxcal.metrics._proper import brier, brier_of, nll, nll_of
from auxcal.metrics._ranking import (
    aupr,
    aupr_of,
    auroc,
    auroc_of,
    fpr95_of,
    fpr_at_tpr,
    is_share,
    p90_of,
    precision_at_recall,
)
from auxcal.metrics._risk_coverage import aurc, aurc_of, excess_aurc, excess_aurc_of
from auxcal.metrics.binning import Strategy


@dataclass(frozen=True)
class Metric:
    """A function of (confidence, correct, *, sample_weight=None), its label, and whether higher is better.

    Parameters
    ----------
    function, label, higher_is_better
        The metric.
    of_ties : callable, optional
        The same of many draws at once, for the intervals; without it they take as many calls of the function.
    is_binned : bool
        Whether it is made of gaps of bins, whose intervals can't be had by resampling: it adds noise to every bin.
    """

    function: Callable[..., float]
    label: str
    higher_is_better: bool
    of_ties: OfTies | None = None
    is_binned: bool = False

    @property
    def kernel(self) -> Callable[..., float]:
        """The function without its checks, for arrays that are already checked."""
        return kernel_of(self.function)


METRICS: dict[str, Metric] = {
    "auroc": Metric(auroc, "AUROC", higher_is_better=True, of_ties=auroc_of),
    "aupr": Metric(aupr, "AUPR", higher_is_better=True, of_ties=aupr_of),
    "p90": Metric(precision_at_recall, "p.9", higher_is_better=True, of_ties=p90_of),
    "ece": Metric(ece, "ECE", higher_is_better=False, is_binned=True),
    "brier": Metric(brier, "Brier", higher_is_better=False, of_ties=brier_of),
    "ece_mass": Metric(ece_mass, "ECE (mass)", higher_is_better=False, is_binned=True),
    "mce": Metric(mce, "MCE", higher_is_better=False, is_binned=True),
    "nll": Metric(nll, "NLL", higher_is_better=False, of_ties=nll_of),
    "fpr95": Metric(fpr_at_tpr, "FPR95", higher_is_better=False, of_ties=fpr95_of),
    "aurc": Metric(aurc, "AURC", higher_is_better=False, of_ties=aurc_of),
    "excess_aurc": Metric(excess_aurc, "E-AURC", higher_is_better=False, of_ties=excess_aurc_of),
}
"""The one list of metrics; the first five are the paper's."""

_GAPS: dict[str, Strategy] = {"ece": "width", "ece_mass": "mass"}  # nothing bounds the MCE: a bin may have no rows


@ignore_float_errors
def evaluate(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    metrics: Sequence[str] | None = None,
    bootstrap: int = 0,
    level: float = 0.95,
    random_state: int | None = 0,
    report: Report = silent,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> dict[str, float]:
    """Return every metric of `METRICS`, or the named ones, and the noise floor of ECE.

    Parameters
    ----------
    confidence : array of shape (n,)
        The probability that each prediction is correct.
    correct : array of shape (n,)
        Whether it is.
    metrics : sequence of str, optional
        The names of the metrics; all by default. Intervals of a few metrics take a fraction of the time.
    bootstrap : int
        The number of draws for the intervals. Above 0, `<metric>_low` and `<metric>_high` are the ends of an interval
        that also holds for few rows, and then is wide. That of the ECE is about the true ECE, without the noise of the
        bins, and takes no draws. MCE has none, because nothing bounds the gap of a bin without rows. That of an
        undefined metric is NaN.
    level : float
        The confidence level of the intervals.
    random_state : int or None
        The source of the resamples and of the noise floor's draws.
    report : callable
        Called with the share of the draws that is done.
    sample_weight : array of shape (n,), optional
        How often each row counts; once by default. A row of weight 2 is the same as two rows, also in the intervals.
    groups : array of shape (n,), optional
        What each row belongs to, such as a patient, a camera or a day. The intervals then weigh whole groups, each with
        all its rows and their weights: rows of one group tell less than as many independent ones. Where weights only
        make up for how rows were drawn, so that a row of weight 2 is still one row, give each row a group of its own.

    Returns
    -------
    dict of str to float
        The metrics by name; `ece_floor` and `ece_floor_p95` are the mean and the 95th percentile of the ECE that
        these confidences would have if they were perfectly calibrated. An undefined metric is NaN, and a warning
        says why.

    Examples
    --------
    >>> import auxcal
    >>> scores = auxcal.evaluate([0.9, 0.8, 0.6, 0.3], [True, True, False, False])
    >>> scores["auroc"], round(scores["brier"], 4)
    (1.0, 0.125)
    """
    confidence, correct = check(confidence, correct)
    check_resamples(bootstrap, level)
    chosen = chosen_metrics(metrics)
    rows = _scored(confidence, correct, sample_weight, groups)
    weight = {} if rows.sample_weight is None else {"sample_weight": rows.sample_weight}
    scores = {name: metric.kernel(rows.confidence, rows.correct, **weight) for name, metric in chosen.items()}
    floor = noise_floor(
        rows.confidence, random_state=random_state, sample_weight=rows.sample_weight, groups=rows.groups
    )
    scores |= {"ece_floor": floor.mean, "ece_floor_p95": floor.p95}
    return scores | interval_ends(scores, chosen, rows, bootstrap, level, random_state, report)


def interval_ends(
    scores: Mapping[str, float],
    chosen: Mapping[str, Metric],
    rows: Scored,
    bootstrap: int,
    level: float,
    random_state: int | None,
    report: Report,
) -> dict[str, float]:
    """Return the ends of the intervals of the chosen metrics, NaN of what is undefined; nothing without draws."""
    if not bootstrap:
        return {}
    resampled = {name: metric for name, metric in chosen.items() if not metric.is_binned}
    found = dict.fromkeys(resampled, (math.nan, math.nan))
    found |= {name: ece_interval(rows, strategy, level) for name, strategy in _GAPS.items() if name in chosen}
    defined = {
        name: metric.of_ties or one_by_one(metric.kernel)
        for name, metric in resampled.items()
        if not math.isnan(scores[name])
    }
    if defined:
        found |= intervals(defined, rows, bootstrap, level, random_state, report)
    return {f"{name}_{end}": ends[place] for place, end in enumerate(("low", "high")) for name, ends in found.items()}


def _scored(confidence: Floats, correct: Bools, sample_weight: ArrayLike | None, groups: ArrayLike | None) -> Scored:
    """Return the rows that count, sorted once: ranking metrics notice and don't sort again."""
    weight = as_sample_weight(sample_weight, n_rows=len(confidence))
    labels = None if groups is None else as_groups(groups, n_rows=len(confidence))
    order = np.argsort(confidence)
    if weight is not None:
        order = order[weight[order] > 0]
        weight = weight[order]
    return Scored(confidence[order], correct[order], weight, None if labels is None else labels[order])


def check_resamples(bootstrap: int, level: float) -> None:
    """Refuse what is no number of resamples, or no level."""
    if not isinstance(bootstrap, int | np.integer) or bootstrap < 0 or not is_share(level) or level == 1:
        raise InvalidInputError(
            f"bootstrap must be a number of resamples of at least 0 and level a share in (0, 1); got {bootstrap!r} "
            f"and {level!r}. Use bootstrap=1000, level=0.95."
        )


def chosen_metrics(metrics: Sequence[str] | None) -> dict[str, Metric]:
    """Return the named metrics, or all."""
    names = list(METRICS) if metrics is None else list(metrics)
    unknown = [name for name in names if name not in METRICS]
    if unknown:
        raise InvalidInputError(f"metrics must be among {', '.join(METRICS)}; got {', '.join(map(repr, unknown))}.")
    return {name: METRICS[name] for name in names}
