"""All metrics at once, with confidence intervals and the noise floor; of all rows, and of each slice of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import as_groups, as_whole, check_shares
from auxcal._core.errors import InvalidInputError
from auxcal._core.float_errors import ignore_float_errors
from auxcal._core.progress import Report, silent
from auxcal.metrics._bootstrap import OfTies, intervals, one_by_one
from auxcal.metrics._calibration_error import ece, ece_interval, ece_mass, mce, noise_floor
from auxcal.metrics._proper import brier, brier_of, nll, nll_of
from auxcal.metrics._ranking import Ties, aupr, aurc, auroc, excess_aurc, fpr_at_tpr, precision_at_recall
from auxcal.metrics.binning import Strategy
from auxcal.metrics.sample import Sample, as_sample, kernel_of


@dataclass(frozen=True)
class Metric:
    """A function of (confidence, correct, *, sample_weight=None), its label, and whether higher is better.

    Parameters
    ----------
    function, label, higher_is_better
        The metric.
    of_ties : callable, optional
        The same of many resamples at once, for the intervals; without it they take as many calls of the function.
    is_binned : bool
        Whether it is made of gaps of bins. Resampling, which adds noise to every bin, gives no intervals of these.
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
    "auroc": Metric(auroc, "AUROC", higher_is_better=True, of_ties=Ties.auroc),
    "aupr": Metric(aupr, "AUPR", higher_is_better=True, of_ties=Ties.aupr),
    "p90": Metric(precision_at_recall, "p.9", higher_is_better=True, of_ties=Ties.p90),
    "ece": Metric(ece, "ECE", higher_is_better=False, is_binned=True),
    "brier": Metric(brier, "Brier", higher_is_better=False, of_ties=brier_of),
    "ece_mass": Metric(ece_mass, "ECE (mass)", higher_is_better=False, is_binned=True),
    "mce": Metric(mce, "MCE", higher_is_better=False, is_binned=True),
    "nll": Metric(nll, "NLL", higher_is_better=False, of_ties=nll_of),
    "fpr95": Metric(fpr_at_tpr, "FPR95", higher_is_better=False, of_ties=Ties.fpr95),
    "aurc": Metric(aurc, "AURC", higher_is_better=False, of_ties=Ties.aurc),
    "excess_aurc": Metric(excess_aurc, "E-AURC", higher_is_better=False, of_ties=Ties.excess_aurc),
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
        all its rows and their weights: rows of one group hold less information than as many independent ones. Where
        weights only make up for how rows were drawn, so that a row of weight 2 is still one row, give each row a group
        of its own.

    Returns
    -------
    dict of str to float
        The metrics by name; `ece_floor` and `ece_floor_p95` are the mean and the 95th percentile of the ECE that
        these confidences would have if they were perfectly calibrated. An undefined metric is NaN, and a warning
        gives the reason.

    Examples
    --------
    >>> import auxcal
    >>> scores = auxcal.evaluate([0.9, 0.8, 0.6, 0.3], [True, True, False, False])
    >>> scores["auroc"], round(scores["brier"], 4)
    (1.0, 0.125)
    """
    rows = as_sample(confidence, correct, sample_weight, groups)
    how: dict[str, Any] = {"bootstrap": bootstrap, "level": level, "random_state": random_state, "report": report}
    return evaluate_sample(rows, metrics, **how)


def evaluate_sample(
    rows: Sample,
    metrics: Sequence[str] | None = None,
    *,
    bootstrap: int = 0,
    level: float = 0.95,
    random_state: int | None = 0,
    report: Report = silent,
) -> dict[str, float]:
    """Return what `evaluate` does of rows that are already checked."""
    check_resamples(bootstrap, level)
    rows = rows.counted()
    chosen = chosen_metrics(metrics)
    weight = {} if rows.sample_weight is None else {"sample_weight": rows.sample_weight}
    scores = {name: metric.kernel(rows.confidence, rows.correct, **weight) for name, metric in chosen.items()}
    floor = noise_floor(rows, random_state=random_state)
    scores |= {"ece_floor": floor.mean, "ece_floor_p95": floor.p95}
    return scores | interval_ends(scores, chosen, rows, bootstrap, level, random_state, report)


def interval_ends(
    scores: Mapping[str, float],
    chosen: Mapping[str, Metric],
    rows: Sample,
    bootstrap: int,
    level: float,
    random_state: int | None,
    report: Report,
) -> dict[str, float]:
    """Return the ends of the intervals of the chosen metrics, NaN where undefined; none without resamples."""
    if not bootstrap:
        return {}
    resampled = {name: metric for name, metric in chosen.items() if not metric.is_binned}
    intervals_of = dict.fromkeys(resampled, (math.nan, math.nan))
    intervals_of |= {name: ece_interval(rows, strategy, level) for name, strategy in _GAPS.items() if name in chosen}
    defined = {
        name: metric.of_ties or one_by_one(metric.kernel)
        for name, metric in resampled.items()
        if not math.isnan(scores[name])
    }
    if defined:
        intervals_of |= intervals(defined, rows, bootstrap, level, random_state, report)
    return {
        f"{name}_{end}": ends[place] for place, end in enumerate(("low", "high")) for name, ends in intervals_of.items()
    }


def check_resamples(bootstrap: int, level: float) -> None:
    """Check the number of resamples, and the level of the intervals."""
    as_whole(int(bootstrap) if isinstance(bootstrap, bool) else bootstrap, "bootstrap", least=0, advice="Use 1000.")
    check_shares(level=level)


def chosen_metrics(metrics: Sequence[str] | None) -> dict[str, Metric]:
    """Return the named metrics, or all."""
    names = list(METRICS) if metrics is None else list(metrics)
    unknown = [name for name in names if name not in METRICS]
    if unknown:
        raise InvalidInputError(f"metrics must be among {', '.join(METRICS)}; got {', '.join(map(repr, unknown))}.")
    return {name: METRICS[name] for name in names}


@dataclass(frozen=True)
class Slice:
    """The scores of the rows that have the same value.

    Parameters
    ----------
    value : str
        What these rows have in common.
    rows : int
        How many there are, without those of weight 0.
    accuracy, confidence : float
        The share of correct predictions, and the mean confidence.
    scores : dict of str to float
        What `evaluate` gives of them.
    """

    FEW_ROWS: ClassVar[int] = 50
    """The rows below which nothing is concluded from a slice."""

    value: str
    rows: int
    accuracy: float
    confidence: float
    scores: dict[str, float]

    @property
    def is_noise(self) -> bool:
        """Whether its ECE is within its noise floor, or there are fewer than 50 rows."""
        return self.rows < self.FEW_ROWS or self.scores["ece"] <= self.scores["ece_floor_p95"]

    def as_dict(self) -> dict[str, Any]:
        """Return all fields of the slice, for a table or for JSON."""
        facts = {"value": self.value, "rows": self.rows, "accuracy": self.accuracy, "confidence": self.confidence}
        return facts | self.scores | {"noise": self.is_noise}


@ignore_float_errors
def evaluate_by(
    confidence: ArrayLike,
    correct: ArrayLike,
    by: ArrayLike,
    *,
    metrics: Sequence[str] | None = None,
    bootstrap: int = 0,
    level: float = 0.95,
    random_state: int | None = 0,
    report: Report = silent,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> list[Slice]:
    """Return what `evaluate` gives, for each slice of the rows, the largest slice first.

    Parameters
    ----------
    confidence : array of shape (n,)
        The probability that each prediction is correct.
    correct : array of shape (n,)
        Whether it is.
    by : array of shape (n,)
        The slice that each row is in: numbers, strings or dates.
    metrics, bootstrap, level, random_state, sample_weight, groups
        As in `evaluate`. The ECE and its noise floor are always there.
    report : callable
        Called after every slice with the share of the rows that is done.

    Returns
    -------
    list of Slice
        Where many slices are tried, some look bad by chance alone: one in twenty lies above its noise floor. A slice
        whose rows all have weight 0 is left out.

    Examples
    --------
    >>> import auxcal
    >>> confidence, correct = [0.9, 0.8, 0.6, 0.3] * 20, [1, 1, 0, 0] * 20
    >>> time = ["day", "day", "night", "day"] * 20
    >>> slices = auxcal.evaluate_by(confidence, correct, time, metrics=["brier"])
    >>> [(part.value, part.rows, round(part.scores["brier"], 3), part.is_noise) for part in slices]
    [('day', 60, 0.047, False), ('night', 20, 0.36, True)]
    """
    rows = as_sample(confidence, correct, sample_weight, groups)
    n = len(rows.confidence)
    values, of_row = np.unique(as_groups(by, n_rows=n, name="by"), return_inverse=True)
    counted = np.ones(n, dtype=bool) if rows.sample_weight is None else rows.sample_weight > 0
    counts = np.bincount(of_row[counted], minlength=len(values))
    names = None if metrics is None else list(dict.fromkeys([*metrics, "ece"]))
    in_order = np.argsort(of_row[counted], kind="stable")  # once, since a mask for each slice is quadratic
    members = np.split(np.flatnonzero(counted)[in_order], np.cumsum(counts)[:-1])
    slices, done = [], 0
    for place in np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]:
        here = rows.take(members[place])
        scores = evaluate_sample(here, names, bootstrap=bootstrap, level=level, random_state=random_state)
        accuracy, mean = (
            float(np.average(values.astype(np.float64), weights=here.sample_weight))
            for values in (here.correct, here.confidence)
        )
        slices.append(Slice(str(values[place]), len(here.correct), accuracy, mean, scores))
        done += len(here.correct)
        report(done / counts.sum())
    return slices
