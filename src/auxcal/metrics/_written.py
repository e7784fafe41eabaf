"""How a metric's value is written: calibration errors as percentages, all else with three decimals."""

import math

PERCENT = ("ece", "ece_floor_p95", "ece_mass", "mce")


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
    return f"{100 * value:.1f} %" if metric in PERCENT else f"{value:.3f}"
