"""How far a confidence may be off because the fit had only so many rows."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from auxcal._core.arrays import Bools, Floats
from auxcal.adaptation import Adaptation
from auxcal.monitoring._wealth import Numbers
from auxcal.reference import Reference, stratum_of

LEAST = 1e-6
"""No probability is 0."""

_FARTHEST = 50.0  # log-odds; where exp is still far from its end
_LEAST_SPREAD = 0.1  # of the log-odds, where all rows have nearly the same
_ROUNDING = 1e-6
_LEAST_VARIANCE = 1e-12
_N_NODES = 12  # of the quadrature; twice as many change nothing that is seen
_STANDARD_ERRORS = 3
_WIDEST = 4.0  # variance of the doubt, where hardly any row of the fit tells something


def _nodes() -> list[tuple[float, float]]:
    """Return places, in standard deviations, and weights whose mean is that over a normal distribution."""
    places, weights = np.polynomial.hermite_e.hermegauss(_N_NODES)
    return list(zip(places.tolist(), (weights / weights.sum()).tolist(), strict=True))


_NODES = _nodes()


class Said(NamedTuple):
    """What the calibrator says of the rows of its reference, and how much each row counts."""

    confidence: Numbers
    weight: Numbers

    @classmethod
    def of(cls, reference: Reference, adaptation: Adaptation | None) -> Said:
        """Read it from the strata, in the mix for which the calibrator holds."""
        ratio = np.ones(reference.strata.shape[1]) if adaptation is None else adaptation.ratio
        weighed = np.maximum(reference.strata * ratio.astype(np.float64), 1e-30)
        by_class = reference.strata.shape[1] == reference.n_classes + 1
        right = weighed[np.arange(len(weighed)), reference.prediction] if by_class else weighed[:, 0]
        weight = ratio[stratum_of(reference)].astype(np.float64)
        return cls(bounded(right / weighed.sum(axis=1)), weight / weight.sum())

    def mean(self, values: Numbers) -> float:
        """Return the mean over the rows."""
        return float(self.weight @ values)


class FitDoubt:
    r"""What `correct` is like while the calibrator holds as well as a fit on n rows can.

    The true log-odds are a line in those of the confidence, :math:`l + a + b\,(l - m) / s`, where m and s are mean and
    deviation of l over the reference. How well n rows fix a and b is known: both have the standard error
    :math:`1 / \sqrt{n v}`, with v the mean of c (1 - c). That is the prior. Each label moves mean and covariance of
    (a, b) to those that Bayes' rule gives, by quadrature (assumed density filtering), so that an error which the fit
    left open is learned and wins nobody anything. An expansion about the mean would not do where hardly any prediction
    is wrong: the errors that right labels rule out there lie far from it.

    An error beyond three standard errors is none that the fit left open, however many labels show it. Mistakes are
    counted, and roots of counts have the same standard error, 1/2, whether there are many or three: so s, that of the
    log-odds, allows for 2 log(1 + 3 s / 2) towards more mistakes, which is 3 s where s is small.

    Parameters
    ----------
    said : Said
        What the calibrator says of its reference.
    n_rows : float
        How many rows it was fitted on; none for one who takes any line for possible, and learns it from the labels.
    """

    def __init__(self, said: Said, n_rows: float) -> None:
        odds, known = log_odds(said.confidence), said.confidence * (1 - said.confidence)
        v = said.mean(known)
        self._centre = said.mean(known * odds) / v
        self._spread = max(float(np.sqrt(said.mean(known * (odds - self._centre) ** 2) / v)), _LEAST_SPREAD)
        variance = 1 / max(n_rows * v, 1 / _WIDEST)
        self._prior = variance if n_rows else math.inf
        self.state = (0.0, 0.0, variance, 0.0, variance)  # the means of a and b, and their covariance

    def restore(self, state: tuple[float, float, float, float, float]) -> None:
        """Go on where another one was."""
        a, b, aa, ab, bb = state
        if not (all(map(math.isfinite, state)) and aa >= 0 and bb >= 0 and ab * ab <= aa * bb * (1 + _ROUNDING)):
            raise ValueError("the doubt of the labels must have a covariance")
        self.state = (a, b, aa, ab, bb)

    def expect(self, confidence: Numbers, correct: Bools) -> Numbers:
        """Return the probability that each row is correct, given the labels before it."""
        odds = log_odds(confidence)
        x = (odds - self._centre) / self._spread
        rows = zip(odds.tolist(), x.tolist(), correct.tolist(), strict=True)
        expected = np.array([self._expect_one(*row) for row in rows])
        if not math.isfinite(self._prior):
            return expected
        most = _STANDARD_ERRORS * np.sqrt(self._prior * (1 + x * x))
        return np.clip(expected, from_log_odds(odds - 2 * np.log1p(most / 2)), from_log_odds(odds + most))

    def _expect_one(self, odds: float, x: float, correct: bool) -> float:
        a, b, aa, ab, bb = self.state
        of_a, of_b = aa + ab * x, ab + bb * x
        deviation = math.sqrt(max(of_a + of_b * x, _LEAST_VARIANCE))
        middle = odds + a + b * x
        sign = 1 if correct else -1
        total = first = second = 0.0
        for place, weight in _NODES:
            likely = weight * _probability(sign * (middle + deviation * place))
            total += likely
            first += likely * place
            second += likely * place * place
        moved = first / total  # the new mean, in deviations from the old one
        learned, known = moved / deviation, (1 + moved * moved - second / total) / deviation**2
        self.state = (
            a + of_a * learned,
            b + of_b * learned,
            aa - known * of_a * of_a,
            ab - known * of_a * of_b,
            bb - known * of_b * of_b,
        )
        return total if correct else 1 - total


def _probability(odds: float) -> float:
    return 1 / (1 + math.exp(-min(max(odds, -_FARTHEST), _FARTHEST)))


def bounded(probability: Floats, least: float = LEAST) -> Numbers:
    """Return probabilities that are neither 0 nor 1."""
    return np.clip(probability.astype(np.float64), least, 1 - least)


def log_odds(probability: Numbers) -> Numbers:
    """Return log-odds."""
    return np.log(probability / (1 - probability))


def from_log_odds(odds: Numbers) -> Numbers:
    """Return probabilities."""
    return np.asarray(1 / (1 + np.exp(np.clip(-odds, -_FARTHEST, _FARTHEST))))
