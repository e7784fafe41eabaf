"""A check in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auxcal._core.text import percent
from auxcal.reference import READINGS

if TYPE_CHECKING:
    from auxcal.monitoring._check import Check
    from auxcal.monitoring._differences import Difference
    from auxcal.monitoring._estimates import Estimate


_RARE, _RAREST = 1000, 1_000_000  # checks: chance alone hardly explains it; and beyond what a p-value can tell

_VERDICTS = {
    "same": "No difference from the rows of the fit shows.",
    "mix": "The rows look like another mix of the data of the fit ({}).",
    "new": "The rows differ from those of the fit in a way that no other mix explains ({}).",
}
_AFTER_ADAPTING = {
    "same": "No difference from the rows that the calibrator was adapted to shows.",
    "mix": "The rows look like another mix than the one that the calibrator was adapted to ({}).",
}
_IF = {"same": "If there is none", "mix": "If they are"}


def answer(check: Check) -> str:
    """Return the answer to whether a calibrator still holds, with what it rests on."""
    verdicts = _VERDICTS | _AFTER_ADAPTING if check.adapted else _VERDICTS
    parts = [verdicts[check.verdict].format(_by_chance(check)), _accuracy(check), _copies(check), _where(check)]
    return " ".join(filter(None, [*parts, _next(check)]))


def _by_chance(check: Check) -> str:
    """Return how often a check says the like, of either question, where nothing changed."""
    p = check.p_new if check.verdict == "new" else check.p_mix
    checks = 1 / max(p * (2 - p), 1 / _RAREST)
    if checks >= _RAREST:
        return "chance alone does this in less than one of a million checks"
    nightly = "; for a check each night use auxcal monitor, which allows for this" if checks < _RARE else ""
    return f"chance alone does this once in {_two_digits(checks):,} checks{nightly}"


def _two_digits(number: float) -> int:
    return int(float(f"{number:.1e}"))


def _copies(check: Check) -> str:
    copies = check.n_rows - check.n_counted
    return f"Of the {check.n_rows:,} rows, {copies:,} were left out as copies of others." if copies else ""


def _accuracy(check: Check) -> str:
    if check.accuracy is None:
        return "The confidence may be off here, and the accuracy can't be estimated without labels."
    return f"{_IF[check.verdict]}, about {_interval(check.accuracy)} of the predictions are right{_foreign(check)}"


def _foreign(check: Check) -> str:
    if check.no_class is None or check.no_class_before is None:
        return "."
    return f", and {_interval(check.no_class)} have none of the classes (in the fit: {percent(check.no_class_before)})."


def _interval(estimate: Estimate) -> str:
    return f"{percent(estimate.value)} ({percent(estimate.low)} to {percent(estimate.high)})"


def _where(check: Check) -> str:
    if check.verdict == "same" or not check.differences:
        return ""
    return f"The largest differences are in: {', '.join(map(_difference, check.differences[:3]))}."


def _difference(found: Difference) -> str:
    if found.what in READINGS:
        return f"{found.what} ({'higher' if found.deviations > 0 else 'lower'})"
    return f"{found.what} ({percent(found.found)} instead of {percent(found.expected)})"


def _next(check: Check) -> str:
    if check.verdict == "same":
        return f"{_would_show(check)} Only labels tell."
    if check.verdict == "mix":
        return "Adapt the calibrator to them (auxcal adapt); this needs no labels. Only labels tell if it is enough."
    return "Label some of these rows: if the confidence is off, fit again (auxcal fit)."


def _would_show(check: Check) -> str:
    if check.smallest_change >= 1:
        return "With this many rows, no change of the accuracy would show."
    points = f"{100 * check.smallest_change:.1f} points"
    return (
        f"Another mix that moves the accuracy by {points} would show in nine of ten checks; labels that mean something "
        f"else now, or a few rows of something else, would not."
    )
