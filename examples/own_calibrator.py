"""A calibrator of your own, held to the same promises as those of the library."""

from pathlib import Path

import numpy as np

from auxcal import Calibrator, Predictions, evaluate
from auxcal.experiments.bundles import bundle
from auxcal.experiments.suites import suite
from auxcal.testing import check_calibrator


# --8<-- [start:calibrator]
class MarginBinning(Calibrator):
    """The share of correct predictions among those with a margin alike.

    The margin is the largest logit less the second largest. Its quantiles cut the fit part into bins; the confidence
    of a bin is (hits + 1) / (rows + 2), so that none is ever certain. A row with `NO_CLASS` is a miss.

    Parameters
    ----------
    n_bins : int
        How many bins; each holds about equally many rows of the fit part.
    """

    abbreviation = "Margin"
    reference = "this page"

    def __init__(self, n_bins: int = 15) -> None:
        self.n_bins = n_bins

    def _fit(self, data: Predictions, select: Predictions | None) -> str | None:
        margins = _margin(data.logits)
        self.edges_ = np.unique(np.quantile(margins, np.linspace(0, 1, self.n_bins + 1)[1:-1]))
        bins = np.digitize(margins, self.edges_)
        rows = np.bincount(bins, minlength=len(self.edges_) + 1)
        hits = np.bincount(bins, weights=data.correct, minlength=len(self.edges_) + 1)
        self.shares_ = (hits + 1) / (rows + 2)
        return None

    def _confidence(self, logits: np.ndarray) -> np.ndarray:
        return self.shares_[np.digitize(_margin(logits), self.edges_)].astype(logits.dtype)


def _margin(logits: np.ndarray) -> np.ndarray:
    second, first = np.partition(logits.astype(np.float64), -2, axis=1)[:, -2:].T
    return first - second


# --8<-- [end:calibrator]


# --8<-- [start:check]
check_calibrator(MarginBinning())  # raises a ConformanceError at the first promise that is broken
# --8<-- [end:check]

# --8<-- [start:use]
predictions = bundle(suite("cifar10-resnet20"), "OOD", Path("data"), Path("cache"))
labelled, test = predictions.split(4_000, 8_000, random_state=0)
calibrator = MarginBinning().fit(labelled.logits, labelled.y)
print(evaluate(calibrator.predict_confidence(test.logits), test.correct))
# --8<-- [end:use]
