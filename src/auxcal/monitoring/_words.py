"""A check in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auxcal._formatting import percent

if TYPE_CHECKING:
    from auxcal.monitoring._check import Check
    from auxcal.monitoring._estimates import Estimate


def answer(check: Check) -> str:
    """Return the answer to whether a calibrator still holds."""
    verdicts = _VERDICTS | _AFTER_ADAPTING if check.adapted else _VERDICTS
    return f"{verdicts[check.verdict]} {_accuracy(check)}{_foreign(check)}{_where(check)}{_next(check)}"


_VERDICTS = {
    "same": "The rows are like those of the fit.",
    "mix": "The rows are another mix of what the fit had.",
    "new": "The rows have something that the fit had not, so the confidence is void here.",
}
_AFTER_ADAPTING = {
    "same": "The rows are like those that the calibrator was adapted to.",
    "mix": "The rows are another mix than the one that the calibrator was adapted to.",
}


def _accuracy(check: Check) -> str:
    if check.accuracy is None:
        return "How many predictions are right can't be known without labels."
    return f"About {_interval(check.accuracy)} of the predictions are right"


def _foreign(check: Check) -> str:
    if check.no_class is None or check.no_class_before is None:
        return "" if check.accuracy is None else "."
    return f"; {_interval(check.no_class)} are of none of the classes (in the fit {percent(check.no_class_before)})."


def _interval(estimate: Estimate) -> str:
    return f"{percent(estimate.value)} ({percent(estimate.low)} to {percent(estimate.high)})"


def _where(check: Check) -> str:
    if check.verdict == "same" or not check.differences:
        return ""
    return f" What differs most: {', '.join(each.what for each in check.differences[:3])}."


def _next(check: Check) -> str:
    if check.verdict == "same":
        return f" So many rows would show a change of the accuracy by {100 * check.smallest_change:.1f} points."
    if check.verdict == "mix":
        return " Adapt the calibrator to them: that needs no labels."
    return " Label some of these rows and fit again."
