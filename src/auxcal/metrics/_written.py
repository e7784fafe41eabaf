"""How a metric's value is written: calibration errors as percentages, all else with three decimals."""

import math

PERCENT = ("ece", "ece_floor_p95", "ece_mass", "mce")


def percent(share: float) -> str:
    """Return a share as a percentage with one decimal.

    Examples
    --------
    >>> from auxcal.metrics._written import percent
    >>> percent(0.0169)
    '1.7 %'
    """
    return f"{100 * share:.1f} %"


def write_score(metric: str, value: float) -> str:
    """Return a metric's value as the paper writes it.

    Examples
    --------
    >>> from auxcal.metrics._written import write_score
    >>> write_score("ece", 0.0169), write_score("auroc", 0.9476)
    ('1.7 %', '0.948')
    """
    if math.isnan(value):
        return "–"
    return percent(value) if metric in PERCENT else f"{value:.3f}"
