"""A threshold with its promise, kept with the calibrator whose confidence it is about."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from auxcal._arrays import Bools, Floats
from auxcal._errors import InvalidInputError
from auxcal._formatting import percent
from auxcal._inputs import time_now
from auxcal.calibrators._learned import check_learned, numbers
from auxcal.metrics import Threshold


@dataclass(frozen=True)
class Certificate:
    """From which confidence on predictions are accepted, and which risk that is promised to keep.

    It holds for rows of the same kind as those that it was found on. `auxcal check` tells whether new rows are.

    Parameters
    ----------
    threshold : float
        Accept a prediction if its confidence is at least this.
    risk : float
        The share of the accepted predictions that may be wrong.
    level : float
        The probability, over the draw of the labelled rows, that no more are.
    n_rows : int
        How many labelled rows it was found on; none of them was in the fit.
    coverage : float
        The share of these that are accepted.
    date : str or None
        When it was found, in UTC. Equal certificates of another time compare equal.

    Examples
    --------
    >>> from auxcal import Certificate
    >>> from auxcal.metrics import threshold_at_risk
    >>> found = threshold_at_risk([0.9] * 50 + [0.4] * 50, [True] * 100, risk=0.05)
    >>> certificate = Certificate.of(found, n_rows=100)
    >>> certificate.threshold, certificate.risk, certificate.level
    (0.0, 0.05, 0.95)
    """

    threshold: float
    risk: float
    level: float
    n_rows: int
    coverage: float
    date: str | None = field(default=None, compare=False)

    @classmethod
    def of(cls, found: Threshold, *, n_rows: int) -> Certificate:
        """Return the certificate of a threshold that is promised."""
        if not found.promised:
            raise InvalidInputError(
                "a certificate is for a threshold that is promised; got one that only looks good on its rows. "
                "Leave promise=False (--empirical) out."
            )
        return cls(found.threshold, found.risk_upper, found.level, n_rows, found.coverage, time_now())

    def check(self) -> None:
        """Refuse what no rows can promise."""
        share = numbers(least=0, most=1)
        checks = dict.fromkeys(("risk", "level", "coverage"), share)
        checks |= {"threshold": numbers(least=0, most=np.inf), "n_rows": numbers(least=1)}
        check_learned(checks, {name: getattr(self, name) for name in checks}, {})
        if not isinstance(self.date, str | None):
            raise ValueError("the date of the certificate must be text")

    def accepts(self, confidence: Floats) -> Bools:
        """Return which confidences reach the threshold."""
        return confidence >= confidence.dtype.type(self.threshold)

    def __str__(self) -> str:
        return (
            f"from {self.threshold:.6g} up at most {100 * self.risk:g} % are wrong, with a probability of "
            f"{100 * self.level:g} %; found on {self.n_rows:,} labelled rows, of which it accepts "
            f"{percent(self.coverage)}"
        )
