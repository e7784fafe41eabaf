"""How a number is written: calibration errors as percentages, all else with three decimals."""

from __future__ import annotations

import math

from auxcal.experiments.results import Spread

_PERCENT = ("ece", "ece_floor_p95", "ece_mass", "mce")


def write_score(metric: str, value: float) -> str:
    """Return a metric's value as the paper writes it.

    Examples
    --------
    >>> from auxcal.reports._format import write_score
    >>> write_score("ece", 0.0169), write_score("auroc", 0.9476)
    ('1.7 %', '0.948')
    """
    if math.isnan(value):
        return "–"
    return f"{100 * value:.1f} %" if metric in _PERCENT else f"{value:.3f}"


def write_spread(metric: str, spread: Spread) -> str:
    """Return a metric's mean and standard deviation.

    Examples
    --------
    >>> from auxcal.experiments.results import Spread
    >>> from auxcal.reports._format import write_spread
    >>> write_spread("ece", Spread(0.0169, 0.0021)), write_spread("auroc", Spread(0.9476, 0.0031))
    ('1.7 ± 0.2 %', '0.948 ± 0.003')
    """
    if math.isnan(spread.mean):
        return "–"
    if metric in _PERCENT:
        return f"{100 * spread.mean:.1f} ± {100 * spread.deviation:.1f} %"
    return f"{spread.mean:.3f} ± {spread.deviation:.3f}"
