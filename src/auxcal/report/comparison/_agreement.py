"""Whether confidence and accuracy agree, as far as the rows can tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from auxcal._core.arrays import Bools, Floats, Groups, Weight
from auxcal.predictions import Predictions

LEVEL = 0.02
"""How often a calibrated confidence may be called off: rarely, since the best of many methods then often costs."""

EXCEEDED = 0.05
"""How often a limit may be exceeded."""

_CONSTANT = 1e-6  # confidences that spread less are one number, rounded


@dataclass(frozen=True)
class Agreement:
    """How far confidence and accuracy differ: on average, and between rows of low and of high confidence.

    Both differences are means over all rows, so that they need far fewer rows than an ECE over 20 bins: that of
    ``confidence - correct``, and that of its product with the standardised confidence, which is how much the difference
    changes when the confidence rises by one standard deviation.

    Parameters
    ----------
    says, right : float
        The mean confidence, and the accuracy.
    n_rows : int
        The number of rows.
    limit : float
        What neither difference exceeds, with 95 % confidence.
    p_value : float
        How likely differences as large are by chance, where each confidence is the true probability.
    """

    says: float
    right: float
    n_rows: int
    limit: float
    p_value: float

    @property
    def disproved(self) -> bool:
        """Whether the two differ by more than chance explains, at a level of 2 %."""
        return self.p_value < LEVEL

    def within(self, difference: float) -> bool:
        """Whether the rows show that the two differ by this at most."""
        return not self.disproved and self.limit <= difference

    @classmethod
    def of(
        cls, confidence: Floats, correct: Bools, weight: Weight | None = None, groups: Groups | None = None
    ) -> Agreement:
        """Measure it; rows of one group count as dependent."""
        c, share = confidence.astype(np.float64), _shares(len(confidence), weight)
        says, right = float(share @ c), float(share @ correct)
        spread = np.sqrt(share @ (c - says) ** 2)
        by_chance, limit, p_value = c * (1 - c), 0.0, 1.0
        for direction in (np.ones(len(c)), (c - says) / spread if spread > _CONSTANT else np.zeros(len(c))):
            mean, seen = mean_and_error(direction * (c - correct), share, groups)
            # If calibrated, the first is the error; it is too small where confidences are near 1 and mistakes rare.
            error = max(float(np.sqrt(share**2 @ (direction**2 * by_chance))), seen)
            limit = max(limit, abs(mean) + norm.isf(EXCEEDED / 2) * error)
            p_value = min(p_value, 2 * 2 * float(norm.sf(abs(mean) / error)) if error > 0 else 1.0)
        return cls(says, right, len(c), float(limit), p_value)


def proven_gain(before: Floats, after: Floats, test: Predictions, methods: int) -> bool:
    """Whether the best of so many methods lowers the Brier score by more than chance explains."""
    gain = (before.astype(np.float64) - test.correct) ** 2 - (after.astype(np.float64) - test.correct) ** 2
    mean, error = mean_and_error(gain, _shares(len(test), test.sample_weight), test.groups)
    return mean > norm.isf(LEVEL / 2 / methods) * error


def mean_and_error(values: Floats, share: Floats, groups: Groups | None) -> tuple[float, float]:
    """Return the weighted mean of rows and its standard error."""
    mean = float(share @ values)
    deviations = share * (values - mean)
    if groups is not None:
        deviations = np.bincount(np.unique(groups, return_inverse=True)[1], deviations)
    return mean, float(np.sqrt(deviations @ deviations))


def _shares(n_rows: int, weight: Weight | None) -> Floats:
    weight = np.ones(n_rows) if weight is None else weight.astype(np.float64)
    return weight / weight.sum()
