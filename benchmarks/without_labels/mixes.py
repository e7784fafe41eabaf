"""What benchmarks.without_labels tries: rows of a chosen mix, and the baselines beside `auxcal.check`."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import ks_2samp

from auxcal import Predictions

FIT_SIZES = (100, 300, 1000, 3000)
FOREIGN_IN_FIT = 0.3
FOREIGN = (0.0, 0.05, 0.5, 0.7, 0.9)
TENFOLD, TENTH, HALF = "a class tenfold", "a class a tenth", "half the classes a tenth"
MIXES = (*(f"{share:.0%} foreign" for share in FOREIGN), TENFOLD, TENTH, HALF)
MOST_CLASSES = 128  # with a share each; of more, the strata are right, wrong and none
LEAST_SHARE = 0.03  # of a class: nobody misses a class that has fewer rows of a thousand
MOST_MOVED = 1000  # rows for COT, which takes time that grows with their cube


class Mix(NamedTuple):
    """Shares of three parts of the rows: samples of no class, those of some classes, and those of the others."""

    name: str
    some: np.ndarray  # classes
    shares: np.ndarray

    def chosen(self, y: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray | None:
        """Return so many rows, each at most once and in random order, or nothing where there are too few."""
        part = np.where(y < 0, 0, np.where(np.isin(y, self.some), 1, 2))
        counts = rng.multinomial(n, self.shares)
        if np.any(counts > np.bincount(part, minlength=3)):
            return None
        rows = [rng.choice(np.flatnonzero(part == j), count, replace=False) for j, count in enumerate(counts)]
        return rng.permutation(np.concatenate(rows))

    def draw(self, data: Predictions, n: int, rng: np.random.Generator) -> Predictions | None:
        """Return so many rows of the data, or nothing where there are too few."""
        rows = self.chosen(data.y, n, rng)
        return None if rows is None else data.take(rows)


def as_it_is(data: Predictions) -> Mix:
    """Return the mix of a fit: that of the bundle, but 30 % foreign where it has such samples."""
    none = FOREIGN_IN_FIT if (data.y < 0).any() else 0.0
    return Mix("same", np.arange(data.n_classes), np.array([none, 1 - none, 0.0]))


def other_mixes(data: Predictions) -> Iterator[Mix]:
    """Yield other mixes than that of the fit, as far as the bundle allows."""
    before = as_it_is(data)
    if before.shares[0] > 0:
        for share in FOREIGN:
            yield before._replace(name=f"{share:.0%} foreign", shares=np.array([share, 1 - share, 0.0]))
    if data.n_classes > MOST_CLASSES:
        return
    own = data.y[data.y >= 0]
    among = np.bincount(own, minlength=data.n_classes) / len(own)
    top, odd = np.array([among.argmax()]), np.arange(1, data.n_classes, 2)
    for name, some, factor in ((TENFOLD, top, 10.0), (TENTH, top, 0.1), (HALF, odd, 0.1)):
        share = among[some].sum()
        if name != TENTH or share >= LEAST_SHARE:
            shares = np.array([before.shares[0], (1 - before.shares[0]) * factor * share, 0.0])
            shares[2] = (1 - before.shares[0]) * (1 - share)
            yield Mix(name, some, shares / shares.sum())


class Baselines:
    """Other estimates of the accuracy without labels, from the labelled rows of a fit.

    Parameters
    ----------
    confidence : array of shape (n,)
        What the calibrator said of the rows of the fit when they were held out.
    fit : Predictions
        These rows.
    """

    def __init__(self, confidence: np.ndarray, fit: Predictions) -> None:
        self.confidence, self.fit = confidence, fit
        self.right = float(fit.correct.mean())

    def of(self, confidence: np.ndarray) -> dict[str, float]:
        """Return the mean confidence as it is, which is what CBPE takes, ATC and DoC."""
        return {
            "cbpe": confidence.mean(),
            "atc": float(np.mean(confidence > np.quantile(self.confidence, 1 - self.right))),
            "doc": self.right + confidence.mean() - self.confidence.mean(),
        }

    def cot(self, proba: np.ndarray) -> float:
        """Return 1 less what it costs to move distributions to the labels of the fit, none among them (COT)."""
        n = min(len(proba), MOST_MOVED)
        labels = np.random.default_rng(0).choice(self.fit.y, n)
        costs = 1 - proba[:n, labels]  # half the L1 distance to a one-hot vector; none is the last column, and -1
        return float(1 - costs[linear_sum_assignment(costs)].mean())

    def ks(self, logits: np.ndarray, level: float) -> bool:
        """Whether one of K Kolmogorov-Smirnov tests of the logits fires, with Bonferroni."""
        p = [ks_2samp(old, new).pvalue for old, new in zip(self.fit.logits.T, logits.T, strict=True)]
        return min(p) * len(p) < level
