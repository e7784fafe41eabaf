"""Labelled rows as draws, evenly or with known probabilities, and the tests that each kind allows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auxcal._arrays import Bools, Floats, Ints, Weight
from auxcal.metrics import _promise, _weighted_promise
from auxcal.metrics._promise import Start


class Drawn(NamedTuple):
    """Rows that were drawn evenly, or, where they have weights, with probabilities that these make up for."""

    confidence: Floats
    correct: Bools
    sample_weight: Weight | None = None

    @property
    def weights(self) -> Floats:
        """The weight of each row."""
        return np.ones(len(self.correct)) if self.sample_weight is None else self.sample_weight

    def take(self, rows: Bools | Ints) -> Drawn:
        """Return some of the rows."""
        weight = self.sample_weight
        return Drawn(self.confidence[rows], self.correct[rows], None if weight is None else weight[rows])

    def ranked(self, ties: Floats | None = None) -> Drawn:
        """Return the rows with a weight, the most confident first; equal weights are none.

        Among equal confidences the errors come first; with `ties`, one number for each row in this order, those with
        the lowest numbers. Numbers drawn for rows in this order, not in that of the input, give any order of the rows
        one answer.
        """
        order = np.lexsort((self.weights, self.correct, -self.confidence))
        if ties is not None:
            order = order[np.lexsort((ties, -self.confidence[order]))]
        if self.sample_weight is not None:
            order = order[self.sample_weight[order] > 0]
        found = self.take(order)
        return found._replace(sample_weight=None) if np.ptp(found.weights) == 0 else found

    def tests(self, risk: float, delta: float) -> tuple[list[Start], Floats]:
        """Return where the runs over ranked rows start, and how rare so few errors would be at each rank."""
        sure = _promise.sure_rows(self.confidence, risk)
        if self.sample_weight is None:
            begun = _promise.starts(len(self.correct), risk, delta, sure=sure)
            return begun, _promise.rarities(np.cumsum(~self.correct, dtype=np.intp), risk)
        begun = _weighted_promise.weighted_starts(self.sample_weight, risk, delta, sure=sure)
        return begun, _weighted_promise.rarities(~self.correct, self.sample_weight, risk)

    def risk_upper(self, ranks: Ints, level: float) -> float:
        """Return the largest of the risks that the first so many ranked rows show not to be exceeded."""
        if self.sample_weight is None:
            errors = np.cumsum(~self.correct, dtype=np.intp)
            return float(np.max(upper_bounds(errors[ranks - 1], ranks, level)))
        wrong, weight = ~self.correct, self.sample_weight
        return max(_weighted_promise.upper_risk(wrong[:rank], weight[:rank], 1 - level) for rank in ranks.tolist())


def upper_bounds(errors: Ints, accepted: Ints, level: float) -> Floats:
    """Return the upper bounds of Clopper and Pearson for shares."""
    from scipy.special import betaincinv

    right = np.where(errors == accepted, 1, accepted - errors)
    return np.where(errors == accepted, 1.0, betaincinv(errors + 1, right, level))
