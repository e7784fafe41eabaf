"""Bets against "nothing has changed": their wealth, on the readings of rows and on labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import Bools, Floats, Ints
from auxcal.adaptation import Adaptation
from auxcal.reference import READINGS, Reference, stratum_of

Numbers: TypeAlias = NDArray[np.float64]
RowCells: TypeAlias = NDArray[np.uint8]
"""The cell of each reading of some rows."""
Suspicion: TypeAlias = Callable[[Numbers], Numbers]

# The settings of the bets were chosen with benchmarks/monitoring, on random states that it does not report.
AT_ONCE = 0.5
"""The share of its money that a bettor stakes at the first row."""
HALF_STAKED = 2000
"""The row by which half of the rest is staked."""
N_CELLS = 128
"""Of a reading, about equally likely in the fit; a cell fits into a byte."""
PREDICTION = "predicted class"
FAVOURITE, FAVOURED = "energy", 0.5
"""The reading that shows out-of-distribution samples best, over many classifiers, and its share of the rows' level."""
POINTS = 0.06
"""The mean error that a bettor suspects: one of half as much gains nothing, one of 5 points does soon."""
_DIFFERENT = 0.3  # the share of the rows that a bettor takes for different
_POWERS = (0.2, 0.5)  # of the densities that expect more rows at one end
_KAPPAS = (0.1, 0.3, 0.5, 0.7)  # the powers of bets on p-values, from few that are tiny to many that are small: a grid
_HALF = 0.5  # of the errors, at most, are gone where the confidence is suspected to be too low
_FARTHEST_MOVE = 3.0  # of log-odds that are shifted or stretched
_STANDARD_ERRORS = 3  # what an error of the fit may be; see `RecalibrationPosterior`
_WIDEST = 4.0  # prior variance, where few rows of the fit are informative

_THREE, _MOST = 3, 0.05  # the rule of three: n rows without an error leave 3 / n open; no fit is surer than that

# Numerical.
_MOST_WEALTH = 1e300  # more wealth is no more evidence
_LEAST = 1e-6  # no probability is 0
_FARTHEST = 50.0  # log-odds; where exp is still far from its end
_LEAST_SPREAD = 0.1  # of the log-odds, where all rows have nearly the same
_LEAST_VARIANCE = 1e-12
_N_NODES = 12  # of the quadrature; twice as many change nothing that shows


class Wealth:
    r"""The wealth of bettors in groups, each of whom began with 1.

    At row t a bettor's stakes are multiplied by a factor whose mean is at most 1 while the hypothesis holds. A bettor
    who stakes all at the first row is ruined before a change that comes late. So a part :math:`w_t` of the money is
    staked at every row, :math:`\sum_t w_t = 1`:

    .. math:: W_t = (W_{t-1} + w_t) e_t

    With the money that is not yet staked, this is a martingale from 1. By Ville's inequality it ever reaches
    :math:`1 / \alpha` with a probability of at most :math:`\alpha`, however long the stream is and however often one
    looks. `sizes` is how many bettors each group has; the wealth of a group is the mean of theirs.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.monitoring._bets import Wealth
    >>> wealth = Wealth([2])
    >>> wealth.grow(np.array([[1.5, 0.5], [1.5, 0.5], [1.5, 0.5]])).round(3)
    array([[1.   ],
           [1.125],
           [1.375]])
    """

    _CHANGING: ClassVar[dict[str, Any]] = {"staked": np.ndarray, "n_rows": int}

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = np.asarray(sizes)
        self.staked: Numbers = np.zeros(int(self._sizes.sum()))
        self.n_rows = 0

    def grow(self, factors: Numbers) -> Numbers:
        """Multiply the stakes by the factors, of shape (n, bettors), and return each group's wealth after every row."""
        rows = self.n_rows + np.arange(len(factors) + 1)
        left = np.where(rows == 0, 1.0, (1 - AT_ONCE) * HALF_STAKED / (HALF_STAKED + rows))  # not yet staked
        grown = np.empty_like(factors)
        staked = self.staked
        for row, stake, factor in zip(grown, left[:-1] - left[1:], factors, strict=True):
            staked = np.minimum((staked + stake) * factor, _MOST_WEALTH, out=row)
        self.staked, self.n_rows = staked.copy(), self.n_rows + len(factors)
        starts = np.cumsum(self._sizes) - self._sizes
        return np.add.reduceat(grown, starts, axis=1) / self._sizes + left[1:, None]


class Cells(NamedTuple):
    r"""One reading, cut into cells at fixed ranks of the reference. Ranks are distribution-free.

    The n values of the reference leave n + 1 slots. While new rows are drawn as those of the reference were, the slot
    of the first is equally likely any of them, and the t-th lies in cell j with probability

    .. math:: P_t(j) = \frac{m_j + c_j}{n + t},

    where :math:`m_j` is the number of the cell's slots, and :math:`c_j` how many of the t - 1 rows before lay there:
    Pólya's urn, whatever the distribution is. Chance breaks ties, so this holds for readings with few values too.
    `edges` are places among `values`, the distinct ones of the reference at edges of cells; `slots` is :math:`m_j`.
    """

    values: Floats
    edges: NDArray[np.float64]
    slots: Ints

    @classmethod
    def of(cls, reading: Floats, chance: NDArray[np.float64]) -> Cells:
        """Cut at the ranks of a reading of the reference; chance, from 0 to 1, breaks ties."""
        below = np.arange(1, N_CELLS) * (len(reading) + 1) // N_CELLS  # slots below each edge
        order = np.lexsort((chance, reading))[np.maximum(below - 1, 0)]
        values, places = np.unique(reading[order], return_inverse=True)
        edges = np.where(below > 0, 2 * places + 1 + chance[order], -1)
        return cls(values, edges, np.diff(below, prepend=0, append=len(reading) + 1))

    def find(self, reading: Floats, chance: NDArray[np.float64]) -> Ints:
        """Return the cell of each new row."""
        place = np.searchsorted(self.values, reading)
        tied = self.values[np.minimum(place, len(self.values) - 1)] == reading
        return np.searchsorted(self.edges, 2 * place + np.where(tied, 1 + chance, 0))


def _bets() -> tuple[Numbers, Numbers]:
    """Return by what each bettor multiplies its stakes in each cell, up to a constant: (cells, bettors).

    The first are for readings that have an order, and expect more rows at one end. The second are for the predicted
    class, and expect more rows in one part of the classes.
    """
    place = (np.arange(N_CELLS) + 0.5) / N_CELLS
    low = [place ** (power - 1) for power in _POWERS]
    parts = [np.floor(place * 2**depth) == part for depth in range(1, 5) for part in range(2**depth)]
    ordered, unordered = (
        np.stack([1 - _DIFFERENT + _DIFFERENT * bet / bet.mean() for bet in bets], axis=1)
        for bets in ([*low, *(bet[::-1] for bet in low)], parts)
    )
    return ordered, unordered


_ORDERED, _UNORDERED = _bets()


class RowBets:
    """Bets on the cell that each reading of a row falls into.

    A bettor expects more rows at one end of a reading, or in one part of the classes, than the reference has. Each
    reading is a group of bettors. Its wealth is a martingale as long as only its own ranks are looked at, so readings
    may not be averaged: the evidence of each counts a share, as in Bonferroni's correction. The energy has half, the
    others divide the rest. The confidence is no such reading: a calibrator gives another one for rows of its fit than
    for new rows, whether they were held out or not, and over a long stream that shows.

    After an adaptation, rows of the reference are drawn, so that they are of that mix. Chance breaks ties.
    """

    _CHANGING: ClassVar[dict[str, Any]] = {"_rng": np.random.Generator, "_sums": np.ndarray, "wealth": Wealth}

    def __init__(
        self,
        reference: Reference,
        adaptation: Adaptation | None,
        random_state: int,
        reading_names: tuple[str, ...] = READINGS,
    ) -> None:
        self._rng = np.random.default_rng(random_state)
        self.names = (*reading_names, PREDICTION) if reference.n_classes > 1 else reading_names
        kept: slice | Bools = slice(None)
        if adaptation is not None:  # each row with the probability that makes the kept ones a sample of the new mix
            ratio = adaptation.ratio[stratum_of(reference)]
            kept = self._rng.random(len(ratio)) * ratio.max() < ratio
        readings = [*reference.readings[kept].T, reference.prediction[kept]][: len(self.names)]
        n_rows = len(readings[-1])
        chance = self._rng.random((n_rows, len(readings)))
        self._cells = [Cells.of(reading, chance[:, i]) for i, reading in enumerate(readings)]
        self._bets = [_ORDERED] * len(reading_names) + [_UNORDERED] * (len(self.names) - len(reading_names))
        sums = [cells.slots @ bets for cells, bets in zip(self._cells, self._bets, strict=True)]
        self._sums = np.concatenate(sums)  # of the bets on all slots and on the rows before, for each bettor
        self.wealth = Wealth([bets.shape[1] for bets in self._bets])
        self._n_slots = n_rows + 1
        favoured = FAVOURED if FAVOURITE in self.names and len(self.names) > 1 else 0.0
        even = (1 - favoured) / (len(self.names) - bool(favoured))
        self._shares = np.array([favoured if favoured and name == FAVOURITE else even for name in self.names])

    def cells_of(self, readings: Floats, prediction: Ints) -> RowCells:
        """Return the cell of each reading of new rows, of shape (n, readings): all that a bet needs to know of them."""
        chance = self._rng.random((len(prediction), len(self.names)))
        columns = zip(self._cells, [*readings.T, prediction], chance.T, strict=False)
        return np.stack([cells.find(*column).astype(np.uint8) for cells, *column in columns], axis=1)

    def update(self, cells: RowCells) -> Numbers:
        """Bet on the cells of rows, and return the evidence of each reading after every row, of shape (n, readings).

        The factors are the bets on the cells over their mean in the urn at the time.
        """
        totals = self._n_slots + self.wealth.n_rows + np.arange(len(cells))
        won = np.concatenate([bets[cells[:, i]] for i, bets in enumerate(self._bets)], axis=1)
        sums = np.cumsum(np.concatenate([self._sums[None], won]), axis=0)
        self._sums = sums[-1].copy()
        return self.wealth.grow(won * totals[:, None] / sums[:-1]) * self._shares


class GroupBets:
    r"""Bets on how far each group of rows, such as a day, is from the groups of the fit.

    If a group is like them, its p-value p is uniform, and :math:`\kappa p^{\kappa - 1}` has the mean 1.
    """

    _CHANGING: ClassVar[dict[str, Any]] = {"wealth": Wealth}

    def __init__(self) -> None:
        self.wealth = Wealth([len(_KAPPAS)])

    def update(self, p_value: float) -> float:
        """Bet on a group, and return the evidence."""
        p = max(p_value, _LEAST)
        return float(self.wealth.grow(np.array([[kappa * p ** (kappa - 1) for kappa in _KAPPAS]]))[0, 0])


_PLACES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(_N_NODES)
_NODES = list(zip(_PLACES.tolist(), (_WEIGHTS / _WEIGHTS.sum()).tolist(), strict=True))
"""Nodes, in standard deviations, and weights of the mean over a normal distribution."""


class ReferenceScores(NamedTuple):
    """The confidence in each row of the reference, and how much each row counts."""

    confidence: Numbers
    weight: Numbers

    @classmethod
    def of(cls, reference: Reference, adaptation: Adaptation | None) -> ReferenceScores:
        """Read the confidence from the strata, in the mix that the calibrator is for."""
        ratio = np.ones(reference.strata.shape[1]) if adaptation is None else adaptation.ratio
        weighed = np.maximum(reference.strata * ratio.astype(np.float64), 1e-30)
        by_class = reference.strata.shape[1] == reference.n_classes + 1
        right = weighed[np.arange(len(weighed)), reference.prediction] if by_class else weighed[:, 0]
        weight = ratio[stratum_of(reference)].astype(np.float64)
        return cls(bounded(right / weighed.sum(axis=1)), weight / weight.sum())

    def mean(self, values: Numbers) -> float:
        """Return the mean over the rows."""
        return float(self.weight @ values)


class RecalibrationPosterior:
    r"""The probability of `correct` while the calibrator is as good as a fit on n rows can be.

    The true log-odds are a line in those of the confidence, :math:`l + a + b\,(l - m) / s`, where m and s are mean and
    deviation of l over the reference. How well n rows fix a and b is known: both have the standard error
    :math:`1 / \sqrt{n v}`, with v the mean of c (1 - c). That is the prior. Each label moves mean and covariance of
    (a, b) to those that Bayes' rule gives, by quadrature (assumed density filtering), so that an error which the fit
    left open is learned and adds no evidence. An expansion about the mean would not do where few predictions are
    wrong: the errors that right labels rule out there lie far from it.

    An error beyond three standard errors is none that the fit left open, however many labels show it. Errors are
    counted, and roots of counts have the same standard error, 1/2, whether there are many or three: so s, that of the
    log-odds, allows for 2 log(1 + 3 s / 2) towards more errors, which is 3 s where s is small. With `n_rows` = 0, any
    line is possible, and learned from the labels.
    """

    _CHANGING: ClassVar[dict[str, Any]] = {"line": tuple[float, float, float, float, float]}

    def __init__(self, scores: ReferenceScores, n_rows: float) -> None:
        odds, information = log_odds(scores.confidence), scores.confidence * (1 - scores.confidence)
        v = scores.mean(information)
        self._centre = scores.mean(information * odds) / v
        self._spread = max(float(np.sqrt(scores.mean(information * (odds - self._centre) ** 2) / v)), _LEAST_SPREAD)
        variance = 1 / max(n_rows * v, 1 / _WIDEST)
        self._prior = variance if n_rows else math.inf
        self.line = (0.0, 0.0, variance, 0.0, variance)  # the means of a and b, and their covariance

    def expect(self, confidence: Numbers, correct: Bools) -> Numbers:
        """Return the probability that each row is correct, given the labels before it."""
        odds = log_odds(confidence)
        x = (odds - self._centre) / self._spread
        rows = zip(odds.tolist(), x.tolist(), correct.tolist(), strict=True)
        expected = np.array([self._learn(*row) for row in rows])
        if math.isinf(self._prior):
            return expected
        most = _STANDARD_ERRORS * np.sqrt(self._prior * (1 + x * x))
        return np.clip(expected, from_log_odds(odds - 2 * np.log1p(most / 2)), from_log_odds(odds + most))

    def _learn(self, odds: float, x: float, correct: bool) -> float:
        """Return the probability that a row is correct, and learn from its label."""
        a, b, aa, ab, bb = self.line
        of_a, of_b = aa + ab * x, ab + bb * x
        deviation = math.sqrt(max(of_a + of_b * x, _LEAST_VARIANCE))
        middle = odds + a + b * x
        sign = 1 if correct else -1
        total = first = second = 0.0
        for place, weight in _NODES:
            z = sign * (middle + deviation * place)
            likely = weight * (1 / (1 + math.exp(-min(max(z, -_FARTHEST), _FARTHEST))))
            total += likely
            first += likely * place
            second += likely * place * place
        moved = first / total  # the new mean, in deviations from the old one
        learned, sharper = moved / deviation, (1 + moved * moved - second / total) / deviation**2
        self.line = (
            a + of_a * learned,
            b + of_b * learned,
            aa - sharper * of_a * of_a,
            ab - sharper * of_a * of_b,
            bb - sharper * of_b * of_b,
        )
        return total if correct else 1 - total


def bounded(probability: Floats, least: float = _LEAST) -> Numbers:
    """Return probabilities that are neither 0 nor 1."""
    return np.clip(probability.astype(np.float64), least, 1 - least)


def log_odds(probability: Numbers) -> Numbers:
    """Return log-odds."""
    return np.log(probability / (1 - probability))


def from_log_odds(odds: Numbers) -> Numbers:
    """Return probabilities."""
    return np.asarray(1 / (1 + np.exp(np.clip(-odds, -_FARTHEST, _FARTHEST))))


def _suspicions(scores: ReferenceScores) -> list[tuple[str, Suspicion]]:
    """Return what may be wrong with a confidence, and the probability that a prediction is then correct."""
    right = scores.mean(scores.confidence)
    gain = min(POINTS / (1 - right), _HALF)
    down = _strength(scores, lambda c, x: from_log_odds(log_odds(c) - x), POINTS)
    up = _strength(scores, lambda c, x: from_log_odds(log_odds(c) + x), min(POINTS, _HALF * (1 - right)))
    shrunk = _strength(scores, lambda c, x: from_log_odds(log_odds(c) / (1 + x)), POINTS)
    stretched = _strength(scores, lambda c, x: from_log_odds(log_odds(c) * (1 + x)), POINTS)
    return [
        ("too high", lambda c: c * max(1 - POINTS / right, 1 - _HALF)),
        ("too high", lambda c: from_log_odds(log_odds(c) - down)),
        ("too low", lambda c: c + gain * (1 - c)),
        ("too low", lambda c: from_log_odds(log_odds(c) + up)),
        ("too extreme", lambda c: from_log_odds(log_odds(c) / (1 + shrunk))),
        ("too cautious", lambda c: from_log_odds(log_odds(c) * (1 + stretched))),
    ]


def _strength(scores: ReferenceScores, moved: Callable[[Numbers, float], Numbers], points: float) -> float:
    """Return how strong a change moves the confidence by so much on average over the reference."""
    from scipy.optimize import brentq  # a process that only scores need not wait for it

    def missing(x: float) -> float:
        return scores.mean(np.abs(moved(scores.confidence, x) - scores.confidence)) - points

    return _FARTHEST_MOVE if missing(_FARTHEST_MOVE) <= 0 else float(brentq(missing, 0, _FARTHEST_MOVE, xtol=1e-4))


class LabelBets:
    r"""Bets on whether each prediction is correct, against the confidence in it.

    The hypothesis is that a prediction is correct with the probability p that `RecalibrationPosterior` expects, give or
    take a tolerance. A bettor suspects another probability, q. Its stakes are multiplied by

    .. math:: e = q / p \text{ where it is correct, } (1 - q) / (1 - p) \text{ where not,}

    with the p of the range that is nearest to q, so that the mean of e is at most 1 for every one in it. Both are fixed
    before the label is known. Most suspect an error of some points. Much of a larger one is taken for an error that the
    fit left open, if its rows were few; so one bettor takes any error for possible, and learns it from the labels.
    """

    _CHANGING: ClassVar[dict[str, Any]] = {
        "wealth": Wealth,
        "_posterior": RecalibrationPosterior,
        "_learner": RecalibrationPosterior,
    }

    def __init__(self, scores: ReferenceScores, n_rows: float, tolerance: float) -> None:
        self._tolerance = tolerance
        self._least = min(_THREE / n_rows, _MOST)
        scores = scores._replace(confidence=bounded(scores.confidence, self._least))  # as that of new rows will be
        self._posterior, self._learner = RecalibrationPosterior(scores, n_rows), RecalibrationPosterior(scores, 0)
        self._words, self._suspicions = zip(*_suspicions(scores), strict=True)
        self.wealth = Wealth([len(self._words) + 1])

    def update(self, confidence: Floats, correct: Bools) -> Numbers:
        """Bet on labelled rows, and return the evidence after every one."""
        c = bounded(confidence, self._least)
        p = self._posterior.expect(c, correct)[:, None]
        expected = [*(suspicion(c) for suspicion in self._suspicions), self._learner.expect(c, correct)]
        suspected = bounded(np.stack(expected, axis=1), self._least)
        held = bounded(np.clip(suspected, p - self._tolerance, p + self._tolerance), self._least)
        factors = np.where(correct[:, None], suspected / held, (1 - suspected) / (1 - held))
        return self.wealth.grow(factors)[:, 0]

    @property
    def suspicion(self) -> str:
        """What is wrong with the confidence by those who won most."""
        learned = "too low" if self._learner.line[0] > 0 else "too high"
        return (*self._words, learned)[int(np.argmax(self.wealth.staked))]
