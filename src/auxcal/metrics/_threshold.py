"""The lowest threshold that keeps the error rate of accepted predictions within a limit."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy.special import betaincinv

from auxcal._arrays import Bools, Floats
from auxcal._errors import InvalidInputError
from auxcal.metrics._checked import checked
from auxcal.metrics._risk_coverage import curve_of


@dataclass(frozen=True)
class Threshold:
    """A threshold on the confidence, with coverage and risk on the rows it was chosen on.

    Parameters
    ----------
    threshold : float
        Accept a prediction if its confidence is at least this.
    coverage : float
        The share of predictions that are accepted.
    risk : float
        The share of accepted predictions that are wrong.
    risk_upper : float
        The one-sided Clopper–Pearson upper bound of the risk. It is exact for a threshold fixed beforehand. This one
        was chosen on the same rows, which makes its risk look a little better than it is: check it on other rows.
    accepted, errors : int
        The predictions that are accepted, and the wrong ones among them.
    """

    threshold: float
    coverage: float
    risk: float
    risk_upper: float
    accepted: int
    errors: int


@checked
def threshold_at_risk(confidence: Floats, correct: Bools, risk: float, *, level: float = 0.95) -> Threshold:
    """Return the lowest threshold at which at most a share `risk` of the accepted predictions are wrong.

    Predictions of equal confidence are accepted together, so the threshold can be used as it is:
    ``confidence >= threshold``.

    Parameters
    ----------
    confidence : array of shape (n,)
        The probability that each prediction is correct.
    correct : array of shape (n,)
        Whether it is.
    risk : float
        The allowed error rate, in (0, 1).
    level : float
        The confidence level of the upper bound of the risk.

    Returns
    -------
    Threshold

    Examples
    --------
    >>> from auxcal.metrics import threshold_at_risk
    >>> found = threshold_at_risk([0.9, 0.8, 0.7, 0.6, 0.3], [True, True, True, False, False], risk=0.25)
    >>> found.threshold, found.coverage, found.risk, round(found.risk_upper, 2)
    (0.6, 0.8, 0.25, 0.75)
    """
    for name, share in (("risk", risk), ("level", level)):
        if not isinstance(share, Real) or not 0 < share < 1:
            raise InvalidInputError(f"{name} must be a share in (0, 1); got {share!r}. For 5 % give 0.05.")
    curve = curve_of(confidence, correct)
    allowed = np.flatnonzero(curve.risk <= risk)
    if not len(allowed):
        least = int(np.argmin(curve.risk))
        raise InvalidInputError(
            f"no threshold keeps the error at {risk:.3g}; the least is {curve.risk[least]:.3g}, with a confidence of "
            f"at least {curve.threshold[least]:.6g}. Allow more risk, or calibrate first."
        )
    last = allowed[-1]
    accepted, errors = int(curve.accepted[last]), int(curve.errors[last])
    return Threshold(
        threshold=float(curve.threshold[last]),
        coverage=float(curve.coverage[last]),
        risk=errors / accepted,
        risk_upper=1.0 if errors == accepted else float(betaincinv(errors + 1, accepted - errors, level)),
        accepted=accepted,
        errors=errors,
    )
