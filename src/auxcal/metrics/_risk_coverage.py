"""The risk–coverage curve: the error rate when only the more confident predictions are accepted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Bools, Floats, Weight
from auxcal.metrics._checked import checked
from auxcal.metrics._ties import Ties, ties


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """How many predictions each threshold accepts, and how many of them are wrong.

    Parameters
    ----------
    threshold : array of shape (m,)
        The distinct confidences, the highest first; every prediction at or above one is accepted, so that equal
        confidences are accepted together.
    accepted, errors : arrays of shape (m,), or (draws, m) for many draws of the same rows
        The predictions that each threshold accepts, and the wrong ones among them.
    """

    threshold: Floats
    accepted: NDArray[Any]
    errors: NDArray[Any]

    @property
    def coverage(self) -> Floats:
        """The share of all predictions that are accepted."""
        return self.accepted / self.accepted[..., -1:]

    @property
    def risk(self) -> Floats:
        """The share of accepted predictions that are wrong."""
        return self.errors / self.accepted


@checked
def risk_coverage(confidence: Floats, correct: Bools, *, sample_weight: Weight | None = None) -> RiskCoverage:
    """Return the risk and the coverage at every distinct confidence.

    Examples
    --------
    >>> from auxcal.metrics import risk_coverage
    >>> curve = risk_coverage([0.9, 0.8, 0.8, 0.2], [True, True, False, False])
    >>> curve.threshold.tolist(), curve.coverage.tolist(), curve.risk.round(2).tolist()
    ([0.9, 0.8, 0.2], [0.25, 0.75, 1.0], [0.0, 0.33, 0.5])
    """
    return curve_of(confidence, correct, sample_weight)


@checked
def aurc(confidence: Floats, correct: Bools, *, sample_weight: Weight | None = None) -> float:
    """Area under the risk–coverage curve: the error rate of accepted predictions, averaged over all coverages.

    Errors among equal confidences are spread evenly, so that neither the order of ties nor duplicating the whole sample
    changes the area. With E(c) the errors among the most confident share c, it is the integral of E(c) / c, in closed
    form between neighbouring thresholds.

    Examples
    --------
    >>> from auxcal.metrics import aurc
    >>> round(aurc([0.9, 0.8, 0.3, 0.2], [True, True, True, False]), 4)
    0.0342
    """
    return float(_area(curve_of(confidence, correct, sample_weight)))


@checked
def excess_aurc(confidence: Floats, correct: Bools, *, sample_weight: Weight | None = None) -> float:
    """Excess of the area under the risk–coverage curve over that of a perfect ranking at the same accuracy.

    Examples
    --------
    >>> from auxcal.metrics import excess_aurc
    >>> abs(round(excess_aurc([0.9, 0.8, 0.3, 0.2], [True, True, True, False]), 4))
    0.0
    """
    return float(_excess(curve_of(confidence, correct, sample_weight)))


def aurc_of(drawn: Ties) -> Floats:
    """Return the AURC of many draws."""
    return _area(_curve(drawn))


def excess_aurc_of(drawn: Ties) -> Floats:
    """Return the excess AURC of many draws."""
    return _excess(_curve(drawn))


def curve_of(confidence: Floats, correct: Bools, sample_weight: Weight | None = None) -> RiskCoverage:
    """Return the curve of rows that are already checked; see `risk_coverage`."""
    return _curve(ties(confidence, correct, sample_weight))


def _curve(found: Ties) -> RiskCoverage:
    wrong, right = (np.cumsum(each[..., ::-1], axis=-1) for each in (found.wrong, found.right))
    return RiskCoverage(found.confidence[::-1], wrong + right, wrong)


def _excess(curve: RiskCoverage) -> Floats:
    error = curve.risk[..., -1]
    # A perfect ranking errs from a coverage of 1 − error on: the integral of (c − 1 + error) / c from there to 1.
    with np.errstate(divide="ignore", invalid="ignore"):
        perfect = np.where(error < 1, error + (1 - error) * np.log1p(-error), 1.0)
    return np.asarray(_area(curve) - perfect)


def _area(curve: RiskCoverage) -> Floats:
    # Coverage and errors before and after each tie.
    errors = np.diff(curve.errors, prepend=0)
    end = curve.coverage
    start = np.concatenate([np.zeros_like(end[..., :1]), end[..., :-1]], axis=-1)
    before = (curve.errors - errors) / curve.accepted[..., -1:]
    slope = errors / np.diff(curve.accepted, prepend=0)
    rest = before - slope * start
    with np.errstate(divide="ignore"):
        logs = np.where(start > 0, np.log(end) - np.log(start), 0)
    return np.asarray(np.sum(rest * logs + slope * (end - start), axis=-1))
