"""A threshold with its promise, kept with the calibrator whose confidence it is about."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from auxcal._core.arrays import Bools, Floats, Groups, Ints, Weight
from auxcal._core.errors import InvalidInputError
from auxcal._core.state import check_learned
from auxcal._core.text import percent
from auxcal.inputs import time_now
from auxcal.thresholds._threshold import Threshold

MOST_ROWS = 2000
"""Confidences that are kept of the rows that a promise was found on: 8 kB of a file."""
RARE = 0.01
"""How often rows of the same kind are taken for others; benchmarks/withdrawals.py measures it."""
FEWEST_ROWS = 20
"""Of new rows. Of fewer, Kolmogorov and Smirnov's distance must exceed 0.39 to be so rare."""
_EXPECTED = 5  # rows that a predicted class must have for its count to be compared alone: the usual rule for chi-square


class FoundOn(NamedTuple):
    """The rows that a promise was found on: what they have in common with others of their kind.

    Kept are confidences in ascending order, as many as there are independent rows, 2,000 at most; and how many of the
    independent rows are predicted as each class, 0 for all where that is not known.
    """

    confidence: Floats
    predicted: Floats

    @classmethod
    def of(
        cls,
        confidence: Floats,
        prediction: Ints | None,
        n_classes: int,
        sample_weight: Weight | None = None,
        groups: Groups | None = None,
    ) -> FoundOn:
        """Return what is kept of rows; those of one group, and those of little weight, count as fewer."""
        weight = np.ones(len(confidence)) if sample_weight is None else sample_weight
        n = weight.sum() ** 2 / (weight**2).sum() if groups is None else len(np.unique(groups))
        order, size = np.argsort(confidence), max(1, min(round(n), MOST_ROWS))
        ends = np.cumsum(weight[order])
        places = np.searchsorted(ends, (np.arange(size) + 0.5) * ends[-1] / size).clip(max=len(ends) - 1)
        counts = np.zeros(n_classes) if prediction is None else np.bincount(prediction, weight, minlength=n_classes)
        return cls(confidence[order[places]].astype(np.float32), counts * (n / weight.sum()))

    def rarity(self, confidence: Floats, prediction: Ints) -> float:
        """Return the p-value of new rows being of the same kind: Kolmogorov and Smirnov's test, and chi-square."""
        from scipy.special import chdtrc, kolmogorov

        kept, new = self.confidence, np.sort(confidence.astype(np.float32))
        both = np.concatenate([kept, new])
        ranks = [np.searchsorted(sample, both, side="right") / len(sample) for sample in (kept, new)]
        size = np.sqrt(len(kept) * len(new) / (len(kept) + len(new)))
        by_confidence = float(kolmogorov(size * np.abs(ranks[0] - ranks[1]).max()))
        counts = np.stack([self.predicted, np.bincount(prediction, minlength=len(self.predicted))])
        n = counts.sum(axis=1)
        if not n.all():
            return by_confidence
        often = counts.sum(axis=0) * n.min() / n.sum() >= _EXPECTED
        cells = np.column_stack([counts[:, often], counts[:, ~often].sum(axis=1)])
        cells = cells[:, cells.sum(axis=0) > 0]
        expected = n[:, None] * cells.sum(axis=0) / n.sum()
        by_class = chdtrc(cells.shape[1] - 1, ((cells - expected) ** 2 / expected).sum()) if cells.shape[1] > 1 else 1.0
        return min(1.0, 2 * min(by_confidence, float(by_class)))

    def check(self, n_classes: int) -> None:
        """Validate saved state."""
        check_learned({"confidence": ("n",), "predicted": (n_classes,)}, self._asdict(), {})


@dataclass(frozen=True)
class Certificate:
    """From which confidence on predictions are accepted, and which risk that is promised to keep.

    It holds for rows of the same kind as those that it was found on, and `auxcal score` compares new rows with them.

    Parameters
    ----------
    threshold : float
        Accept a prediction if its confidence is at least this.
    risk : float
        The share of the accepted predictions that may be wrong.
    level : float
        The probability, over the draw of the labelled rows, that no more are.
    n_rows : int
        How many labelled rows it was found on; none of them was in the fit.
    coverage : float
        The share of these that are accepted.
    date : str or None
        When it was found, in UTC. Equal certificates of another time compare equal.
    found_on : FoundOn or None
        What is kept of the rows that it was found on.

    Examples
    --------
    >>> from auxcal import Certificate
    >>> from auxcal.thresholds import threshold_at_risk
    >>> found = threshold_at_risk([0.9] * 50 + [0.4] * 50, [True] * 100, risk=0.05)
    >>> certificate = Certificate.of(found, n_rows=100)
    >>> certificate.threshold, certificate.risk, certificate.level
    (0.0, 0.05, 0.95)
    """

    threshold: float
    risk: float
    level: float
    n_rows: int
    coverage: float
    date: str | None = field(default=None, compare=False)
    found_on: FoundOn | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, threshold: Threshold, *, n_rows: int, found_on: FoundOn | None = None) -> Certificate:
        """Return the certificate of a threshold that is promised."""
        if not threshold.promised:
            raise InvalidInputError(
                "a certificate is for a threshold that is promised; got one that only looks good on its rows. "
                "Leave promise=False (--empirical) out."
            )
        return cls(
            threshold.threshold, threshold.risk_upper, threshold.level, n_rows, threshold.coverage, time_now(), found_on
        )

    def as_json(self) -> dict[str, Any]:
        """Return all but the rows, ready for JSON."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name != "found_on"}

    def check(self, n_classes: int) -> None:
        """Validate saved state; a threshold that accepts nothing is infinite."""
        names = ("risk", "level", "n_rows", "coverage")
        check_learned(dict.fromkeys(names, ()), {name: getattr(self, name) for name in names}, {})
        if not self.threshold >= 0:
            raise ValueError("threshold must be a number from 0 up")
        if self.found_on is not None:
            self.found_on.check(n_classes)

    def accepts(self, confidence: Floats) -> Bools:
        """Return which confidences reach the threshold."""
        return confidence >= self.threshold

    def holds_for(self, confidence: Floats, prediction: Ints) -> bool | None:
        """Whether new rows are of the kind that it was found on; None where what they were is not known.

        Rows of that kind are taken for others once in a hundred times. Fewer than 20 rows are too few to compare.
        """
        if self.found_on is None:
            return None
        return len(confidence) < FEWEST_ROWS or self.found_on.rarity(confidence, prediction) >= RARE

    def __str__(self) -> str:
        return (
            f"from {self.threshold!r} up at most {100 * self.risk:g} % are wrong, with a probability of "
            f"{100 * self.level:g} %; found on {self.n_rows:,} labelled rows, and accepts "
            f"{percent(self.coverage)}"
        )
