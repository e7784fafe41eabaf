"""All metrics at once, with confidence intervals and the noise floor."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from auxcal._arrays import Bools, Floats, Ints, as_rng
from auxcal._errors import InvalidInputError, UndefinedMetricWarning
from auxcal._progress import Report, silent
from auxcal.metrics._calibration_error import ece, ece_mass, mce, noise_floor
from auxcal.metrics._checked import check, kernel_of
from auxcal.metrics._proper import brier, nll
from auxcal.metrics._ranking import aupr, auroc, fpr_at_tpr, is_share, precision_at_recall
from auxcal.metrics._risk_coverage import aurc, excess_aurc

_CELLS = 10_000
_ROWS_OF_A_CELL = 10  # with more, resampling cells is faster than resampling rows
_BINS = 20  # of ECE, as in the paper


@dataclass(frozen=True)
class Metric:
    """A function of (confidence, correct, *, weight=None), its label, and whether higher is better."""

    function: Callable[..., float]
    label: str
    higher_is_better: bool

    @property
    def kernel(self) -> Callable[..., float]:
        """The function without its checks, for arrays that are already checked."""
        return kernel_of(self.function)


METRICS: dict[str, Metric] = {
    "auroc": Metric(auroc, "AUROC", higher_is_better=True),
    "aupr": Metric(aupr, "AUPR", higher_is_better=True),
    "p90": Metric(precision_at_recall, "p.9", higher_is_better=True),
    "ece": Metric(ece, "ECE", higher_is_better=False),
    "brier": Metric(brier, "Brier", higher_is_better=False),
    "ece_mass": Metric(ece_mass, "ECE (mass)", higher_is_better=False),
    "mce": Metric(mce, "MCE", higher_is_better=False),
    "nll": Metric(nll, "NLL", higher_is_better=False),
    "fpr95": Metric(fpr_at_tpr, "FPR95", higher_is_better=False),
    "aurc": Metric(aurc, "AURC", higher_is_better=False),
    "excess_aurc": Metric(excess_aurc, "E-AURC", higher_is_better=False),
}
"""The one list of metrics; the first five are the paper's."""


def evaluate(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    metrics: Sequence[str] | None = None,
    bootstrap: int = 0,
    level: float = 0.95,
    random_state: int | None = 0,
    report: Report = silent,
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
        The number of bootstrap resamples. Above 0, `<metric>_low` and `<metric>_high` are the percentile interval.
        Those of ECE and MCE are biased upward, because resampling adds noise to every bin: compare an ECE with its
        noise floor instead.
    level : float
        The confidence level of the intervals.
    random_state : int or None
        The source of the resamples and of the noise floor's draws.
    report : callable
        Called after every resample with the share that is done.

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
    if not isinstance(bootstrap, int | np.integer) or bootstrap < 0 or not is_share(level) or level == 1:
        raise InvalidInputError(
            f"bootstrap must be a number of resamples of at least 0 and level a share in (0, 1); got {bootstrap!r} "
            f"and {level!r}. Use bootstrap=1000, level=0.95."
        )
    chosen = _chosen(metrics)
    order = np.argsort(confidence)
    confidence, correct = confidence[order], correct[order]  # sorted once; ranking metrics notice and don't sort again
    scores = {name: metric.kernel(confidence, correct) for name, metric in chosen.items()}
    floor = noise_floor(confidence, random_state=random_state)
    scores |= {"ece_floor": floor.mean, "ece_floor_p95": floor.p95}
    if not bootstrap:
        return scores
    return scores | _intervals(chosen, confidence, correct, bootstrap, level, random_state, report)


def _chosen(metrics: Sequence[str] | None) -> dict[str, Metric]:
    names = list(METRICS) if metrics is None else list(metrics)
    unknown = [name for name in names if name not in METRICS]
    if unknown:
        raise InvalidInputError(f"metrics must be among {', '.join(METRICS)}; got {', '.join(map(repr, unknown))}.")
    return {name: METRICS[name] for name in names}


def _intervals(
    metrics: dict[str, Metric],
    confidence: Floats,
    correct: Bools,
    bootstrap: int,
    level: float,
    random_state: int | None,
    report: Report,
) -> dict[str, float]:
    rng = as_rng(random_state)
    draws = np.empty((bootstrap, len(metrics)))
    confidence, correct, count = _cells(confidence, correct)
    with warnings.catch_warnings():
        # A resample without a wrong row has no AUROC; it is left out of the interval.
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        for number, (draw, weight) in enumerate(zip(draws, _resamples(count, bootstrap, rng), strict=True), 1):
            drawn = np.flatnonzero(weight)
            some = confidence[drawn], correct[drawn]
            draw[:] = [metric.kernel(*some, weight=weight[drawn]) for metric in metrics.values()]
            report(number / bootstrap)
    low, high = np.full((2, len(metrics)), np.nan)
    for column, values in enumerate(draws.T):
        defined = values[~np.isnan(values)]
        if len(defined):
            low[column], high[column] = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return {
        f"{name}_{end}": float(value)
        for end, values in (("low", low), ("high", high))
        for name, value in zip(metrics, values, strict=True)
    }


def _resamples(count: Ints, number: int, rng: np.random.Generator) -> Iterator[Ints]:
    """Yield how often each cell occurs in each resample."""
    n = int(count.sum())
    if n > _ROWS_OF_A_CELL * len(count):
        for _ in range(number):
            yield rng.multinomial(n, count / n)
    else:
        rows = np.repeat(np.arange(len(count)), count)
        for _ in range(number):
            yield np.bincount(rows[rng.integers(n, size=n)], minlength=len(count))


def _cells(confidence: Floats, correct: Bools) -> tuple[Floats, Bools, Ints]:
    """Return a sorted sample with equal rows merged into cells: resampling their counts is cheap.

    Above `_CELLS` rows, neighbours in the same ECE bin are merged too, with their mean confidence, so that the cost
    does not grow with the rows.
    """
    group = np.arange(len(confidence)) * min(len(confidence), _CELLS) // len(confidence)
    edges = np.searchsorted(confidence, (np.arange(1, _BINS) / _BINS).astype(confidence.dtype))
    group += np.cumsum(np.bincount(edges, minlength=len(confidence) + 1)[:-1])
    _, group, size = np.unique(group, return_inverse=True, return_counts=True)
    mean = np.bincount(group, confidence) / size
    right = np.bincount(group, correct).astype(np.intp)
    count = np.stack([size - right, right], axis=1).ravel()
    used = np.flatnonzero(count)
    return np.clip(mean, 0, 1)[used // 2], used % 2 == 1, count[used]
