"""How numbers are written: errors of calibration as percentages, other metrics with three decimals; and text."""

import math
import re

_CONTROL = r"\x00-\x08\x0b-\x1f\x7f-\x9f"  # all but the end of a line and the tab
_TURNING = r"\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks that change the direction of the text after them
_INVISIBLE = re.compile(rf"[{_CONTROL}{_TURNING}\ud800-\udfff]")

PERCENT = ("ece", "ece_floor_p95", "ece_mass", "mce")


def percent(share: float, decimals: int = 1) -> str:
    """Format a share as a percentage.

    Examples
    --------
    >>> from auxcal._formatting import percent
    >>> percent(0.0169), percent(0.5, decimals=0)
    ('1.7 %', '50 %')
    """
    return f"{100 * share:.{decimals}f} %"


def whole_percent(share: float) -> str:
    """Format a share as a whole percentage, but never round a part to 0 or 100 %.

    Examples
    --------
    >>> from auxcal._formatting import whole_percent
    >>> whole_percent(0.714), whole_percent(0.9998), whole_percent(1.0)
    ('71 %', 'over 99 %', '100 %')
    """
    if 0.995 <= share < 1:
        return "over 99 %"
    return "under 1 %" if 0 < share < 0.005 else percent(share, decimals=0)


def write_score(metric: str, value: float) -> str:
    """Return a metric's value as the paper writes it.

    Examples
    --------
    >>> from auxcal._formatting import write_score
    >>> write_score("ece", 0.0169), write_score("auroc", 0.9476)
    ('1.7 %', '0.948')
    """
    if math.isnan(value):
        return "–"
    return percent(value) if metric in PERCENT else f"{round(value, 3) + 0.0:.3f}"  # without the sign of -0.0


def write_seconds(seconds: float) -> str:
    """Format a time in at most seven characters.

    Examples
    --------
    >>> from auxcal._formatting import write_seconds
    >>> write_seconds(0.004), write_seconds(14.25), write_seconds(300)
    ('0.0 s', '14.2 s', '300 s')
    """
    return f"{seconds:.1f} s" if seconds < 99.5 else f"{seconds:.0f} s"


def visible(text: str) -> str:
    r"""Escape control characters and invalid text, so that it is safe to print in a terminal.

    Examples
    --------
    >>> from auxcal._formatting import visible
    >>> visible("\x1b[31mred\x1b[0m.csv")
    '\\x1b[31mred\\x1b[0m.csv'
    """
    return _INVISIBLE.sub(lambda found: repr(found.group())[1:-1], text)


def first_line(kind: type, otherwise: str) -> str:
    """Return the first line of a class's own documentation, or something else where `python -OO` took it away.

    Examples
    --------
    >>> from auxcal._formatting import first_line
    >>> first_line(type("Undocumented", (dict,), {}), "UD")
    'UD'
    """
    return (kind.__doc__ or otherwise).strip().partition("\n")[0]
