"""A calibrator of your own, which passes the same checks as those of the library."""

from pathlib import Path

import numpy as np

from auxcal import Calibrator, Predictions, evaluate
from auxcal.programs import Operations, Rows, Value, in_bins
from auxcal.testing import check_calibrator
from auxcal_paper.bundles import bundle
from auxcal_paper.suites import suite


# <calibrator>
class MarginBinning(Calibrator):
    """The share of correct predictions among those with a similar margin.

    The margin is the largest logit minus the second largest. Its quantiles cut the
    fit part into bins; the confidence of a bin is (hits + 1) / (rows + 2), so it is
    never 0 or 1. A row with `NO_CLASS` is a miss.

    Parameters
    ----------
    n_bins : int
        The number of bins; each holds about equally many rows of the fit part.
    """

    abbreviation = "Margin"
    reference = "this page"

    def __init__(self, n_bins: int = 15) -> None:
        self.n_bins = n_bins

    def _fit(self, data: Predictions) -> str | None:
        margins = _margin(data.logits)
        shares = np.arange(1, self.n_bins) / self.n_bins
        self.edges_ = np.unique(np.quantile(margins, shares))
        bins = np.digitize(margins, self.edges_)
        rows = np.bincount(bins, minlength=len(self.edges_) + 1)
        hits = np.bincount(bins[data.correct], minlength=len(self.edges_) + 1)
        self.confidences_ = (hits + 1) / (rows + 2)
        return None

    def _confidence(self, logits: np.ndarray) -> np.ndarray:
        bins = np.digitize(_margin(logits), self.edges_)
        return self.confidences_[bins].astype(logits.dtype)

    def _program(self, ops: Operations, rows: Rows) -> Value:
        largest = ops.largest(rows.logits, 2)
        margin = ops.columns(largest, 0, 1) - ops.columns(largest, 1, 2)
        return in_bins(ops, margin, self.edges_[None], self.confidences_[None])


def _margin(logits: np.ndarray) -> np.ndarray:
    largest = np.partition(logits.astype(np.float64), -2, axis=1)
    return largest[:, -1] - largest[:, -2]


# </calibrator>


# <check>
check_calibrator(MarginBinning())  # raises a ConformanceError at the first failure
# </check>

predictions = bundle(suite("cifar10-resnet20"), "OOD", Path("data"), Path("cache"))

# <use>
labelled, test = predictions.split(4_000, 8_000, random_state=0)
calibrator = MarginBinning().fit(labelled.logits, labelled.y)
scores = evaluate(calibrator.predict_confidence(test.logits), test.correct)
print(
    f"AUROC {scores['auroc']:.3f}, ECE {scores['ece']:.1%}, Brier {scores['brier']:.3f}"
)
# </use>
