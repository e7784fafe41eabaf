"""Which rows to label: more uncertain rows, with a known probability for every row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from auxcal._core.arrays import Floats, Ints, as_confidence, as_rng
from auxcal._core.errors import InvalidInputError
from auxcal._core.float_errors import ignore_float_errors

# benchmarks/labelling/picks.py measures the intervals, fits and promises that picks with these give.
EVEN_SHARE = 0.3
"""The part of the labels that is spread evenly, against a confidence that is wrong about where the errors are."""
UNCALIBRATED_EVEN_SHARE = 0.7
"""The same for a classifier's own confidence, which is often sure and wrong."""
LEAST_HARM = 0.1
"""Of the largest harm, which every slice has: it may be wrong about where the confidence is off, and weights stay below
ten times those of the worst slice. A choice."""
PER_STRATUM = 2
"""How many picks a stratum gives: a choice, the fewest above one."""


class Picks(NamedTuple):
    """Rows to label.

    Parameters
    ----------
    rows : array of shape (n,)
        Their places among the rows that were given, in order.
    sample_weight : array of shape (n,)
        1 / probability, scaled to a mean of 1, for fits and metrics.
    probability : array of shape (N,)
        For every row that was given, the probability that it was picked.
    """

    rows: Ints
    sample_weight: Floats
    probability: Floats

    @property
    def max_weight(self) -> float:
        """The largest weight that a row could have had, picked or not: a promise needs to know it."""
        row = self.rows[0]
        return float(self.sample_weight[0] * self.probability[row] / self.probability.min())


@ignore_float_errors
def pick(
    confidence: ArrayLike,
    n: int,
    *,
    none: ArrayLike | None = None,
    harm: ArrayLike | None = None,
    calibrated: bool = True,
    random_state: int | None = 0,
) -> Picks:
    """Pick rows to label so that they show as much as possible of accuracy and calibration.

    The rows are sorted by `none` and by confidence and cut into strata that give two rows each. A row is picked
    with a probability in proportion to the standard deviation of its correctness, sqrt(c (1 − c)), mixed with an even
    share (Neyman's allocation, guarded): a stratum of clear rows is long, one of uncertain rows short.

    Parameters
    ----------
    confidence : array of shape (N,)
        The calibrator's confidence in each unlabelled row, or the classifier's own if there is no calibrator yet.
    n : int
        How many to pick, less than N.
    none : array of shape (N,), optional
        The probability that none of the classes is right. Rows above 1/2 are strata of their own.
    harm : array of shape (N,), optional
        How far the confidence may be off in each row's slice, such as a day: `Check.harm`. Rows of a slice with twice
        the harm are about twice as likely to be picked.
    calibrated : bool
        Whether the confidence is a calibrator's. A classifier's own is often sure and wrong, so more of the labels are
        spread evenly, 70 % instead of 30 %.
    random_state : int or None
        The source of randomness.

    Returns
    -------
    Picks

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.labelling import pick
    >>> confidence = np.repeat([0.99, 0.6], 500)
    >>> picks = pick(confidence, 100)
    >>> len(picks.rows), (confidence[picks.rows] == 0.6).sum(), picks.probability.sum().round()
    (100, np.int64(72), np.float64(100.0))
    >>> picks.sample_weight.max() <= picks.max_weight
    np.True_
    """
    checked = np.asarray(as_confidence(confidence), dtype=np.float64)
    if not isinstance(n, int | np.integer) or not 1 <= n < len(checked):
        raise InvalidInputError(
            f"n must be a number of rows of at least 1 and less than the {len(checked):,} given; got {n!r}. "
            f"With fewer rows than labels, label all of them."
        )
    ood = np.zeros(len(checked)) if none is None else np.asarray(as_confidence(none))
    if len(ood) != len(checked):
        raise InvalidInputError(
            f"none must have one probability for each of the {len(checked):,} rows; got {len(ood):,}. Give the "
            f"last column of predict_proba, or leave it out."
        )
    even_share = EVEN_SHARE if calibrated else UNCALIBRATED_EVEN_SHARE
    probability = _probabilities(np.sqrt(checked * (1 - checked)), n, even_share, _as_harm(harm, len(checked)))
    order, rng = np.lexsort((checked, ood > 0.5)), as_rng(random_state)
    stratum = (np.cumsum(probability[order]) / PER_STRATUM).astype(np.intp)
    order = order[np.lexsort((rng.random(len(order)), stratum))]
    ends = np.cumsum(probability[order])
    # One point in every unit of the cumulated probability: each row has its own, and none comes twice.
    points = (np.arange(n) + rng.random()) * ends[-1] / n
    rows = np.sort(order[np.searchsorted(ends, points, side="right").clip(max=len(ends) - 1)])
    weight = 1 / probability[rows]
    return Picks(rows, weight / weight.mean(), probability)


def _as_harm(harm: ArrayLike | None, n_rows: int) -> Floats:
    """Validate the harm of each row, and return it; it is at least `LEAST_HARM` of the largest."""
    if harm is None:
        return np.ones(n_rows)
    checked = np.asarray(as_confidence(harm), dtype=np.float64)
    if len(checked) != n_rows:
        raise InvalidInputError(
            f"harm must have one number, from 0 to 1, for each of the {n_rows:,} rows; got {len(checked):,}. Give the "
            f"harm of each row's slice, or leave it out."
        )
    return np.maximum(checked, LEAST_HARM * checked.max()) if checked.any() else np.ones(n_rows)


def _probabilities(spread: Floats, n: int, even_share: float, harm: Floats) -> Floats:
    """Return probabilities that add up to n, in proportion to spread and even share, and to harm; none above 1."""
    share = spread / spread.mean() if spread.any() else np.ones(len(spread))
    size = np.asarray(even_share + (1 - even_share) * share) * harm
    probability = np.minimum(n * size / size.sum(), 1.0)
    while (left := n - probability.sum()) > 1e-9 * n:  # what is above 1 goes to the others
        free = probability < 1
        probability[free] = np.minimum(probability[free] * (1 + left / probability[free].sum()), 1.0)
    return probability
