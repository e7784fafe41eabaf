"""Formatting of a metric's mean and standard deviation over random states."""

from __future__ import annotations

import math

from auxcal._core.text import PERCENT, write_score
from auxcal_paper.results import Spread


def write_spread(metric: str, spread: Spread) -> str:
    """Return a metric's mean and standard deviation.

    Examples
    --------
    >>> from auxcal_paper.results import Spread
    >>> from auxcal_paper.pages._spread import write_spread
    >>> write_spread("ece", Spread(0.0169, 0.0021)), write_spread("auroc", Spread(0.9476, 0.0031))
    ('1.7 ± 0.2 %', '0.948 ± 0.003')
    """
    if math.isnan(spread.mean):
        return "–"
    if spread.deviation == 0:  # of a single random state
        return write_score(metric, spread.mean)
    if metric in PERCENT:
        return f"{100 * spread.mean:.1f} ± {100 * spread.deviation:.1f} %"
    return f"{spread.mean:.3f} ± {spread.deviation:.3f}"
