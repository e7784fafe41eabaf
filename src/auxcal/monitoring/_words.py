"""A check in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auxcal._formatting import percent
from auxcal.calibrators._reference import READINGS

if TYPE_CHECKING:
    from auxcal.monitoring._check import Check
    from auxcal.monitoring._differences import Difference
    from auxcal.monitoring._estimates import Estimate


def answer(check: Check) -> str:
    """Return the answer to whether a calibrator still holds."""
    verdicts = _VERDICTS | _AFTER_ADAPTING if check.adapted else _VERDICTS
    return f"{verdicts[check.verdict]} {_accuracy(check)}{_foreign(check)}{_where(check)}{_next(check)}"


_VERDICTS = {
    "same": "The rows look like those of the fit.",
    "mix": "The rows are another mix of the data of the fit.",
    "new": "The rows contain something that the fit did not, so the confidence can't be trusted here.",
}
_AFTER_ADAPTING = {
    "same": "The rows are like those that the calibrator was adapted to.",
    "mix": "The rows are another mix than the one that the calibrator was adapted to.",
}


def _accuracy(check: Check) -> str:
    if check.accuracy is None:
        return "The accuracy can't be estimated without labels."
    return f"About {_interval(check.accuracy)} of the predictions are right"


def _foreign(check: Check) -> str:
    if check.no_class is None or check.no_class_before is None:
        return "" if check.accuracy is None else "."
    return f"; {_interval(check.no_class)} have none of the classes (in the fit: {percent(check.no_class_before)})."


def _interval(estimate: Estimate) -> str:
    return f"{percent(estimate.value)} ({percent(estimate.low)} to {percent(estimate.high)})"


def _where(check: Check) -> str:
    if check.verdict == "same" or not check.differences:
        return ""
    return f" The largest differences are in: {', '.join(map(_difference, check.differences[:3]))}."


def _difference(found: Difference) -> str:
    if found.what in READINGS:
        return f"{found.what} ({'higher' if found.deviations > 0 else 'lower'})"
    return f"{found.what} ({percent(found.found)} instead of {percent(found.expected)})"


def _next(check: Check) -> str:
    if check.verdict == "same" and check.smallest_change >= 1:
        return " With this many rows, no change of the accuracy would show."
    if check.verdict == "same":
        return f" With this many rows, a change of the accuracy by {100 * check.smallest_change:.1f} points would show."
    if check.verdict == "mix":
        return " Adapt the calibrator to them (auxcal adapt); this needs no labels."
    return " Label some of these rows and fit again (auxcal fit)."
