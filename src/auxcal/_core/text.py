"""Numbers, names and cards as people read them."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from html import escape
from typing import Any

from auxcal._core.errors import InvalidInputError

_CONTROL = r"\x00-\x08\x0b-\x1f\x7f-\x9f"  # all but the end of a line and the tab
_TURNING = r"\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks that change the direction of the text after them
_INVISIBLE = re.compile(rf"[{_CONTROL}{_TURNING}\ud800-\udfff]")

PERCENT = ("ece", "ece_floor_p95", "ece_mass", "mce")


def percent(share: float, decimals: int = 1) -> str:
    """Format a share as a percentage."""
    return f"{100 * share:.{decimals}f} %"


def whole_percent(share: float) -> str:
    """Format a share as a whole percentage, but never round a part to 0 or 100 %."""
    if 0.995 <= share < 1:
        return "over 99 %"
    return "under 1 %" if 0 < share < 0.005 else percent(share, decimals=0)


def write_score(metric: str, value: float) -> str:
    """Return a metric's value as the paper writes it."""
    if math.isnan(value):
        return "–"
    return percent(value) if metric in PERCENT else f"{round(value, 3) + 0.0:.3f}"  # without the sign of -0.0


def write_seconds(seconds: float) -> str:
    """Format a time in at most seven characters."""
    return f"{seconds:.1f} s" if seconds < 99.5 else f"{seconds:.0f} s"


def without_nan(value: Any) -> Any:
    """Return a value for JSON, which has no NaN: each is None, in mappings and lists too."""
    if isinstance(value, Mapping):
        return {key: without_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_nan(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def visible(text: str) -> str:
    """Escape control characters and invalid text, so that it is safe to print in a terminal."""
    return _INVISIBLE.sub(lambda match: repr(match.group())[1:-1], text)


def utf8(text: str) -> bytes:
    """Encode text; half of a character, as a cut-off escape of JSON leaves it, becomes the sign for a damaged one."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def first_line(kind: type, otherwise: str) -> str:
    """Return the first line of a class's own documentation, or something else where `python -OO` took it away."""
    return (kind.__doc__ or otherwise).strip().partition("\n")[0]


_MOST_SHOWN = 5  # names in a sentence


def did_you_mean(name: str, among: Iterable[str]) -> str:
    """Return " (did you mean …?)" with the closest name, or nothing if none is close."""
    known = {other.casefold(): other for other in among}
    close = get_close_matches(name.casefold(), known, n=1)
    return f" (did you mean {known[close[0]]!r}?)" if close else ""


def some(names: Sequence[str]) -> str:
    """Return the first few names as a list in words."""
    more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    return ", ".join(names[:_MOST_SHOWN]) + more


def one_of(name: str, abbreviations: Mapping[str, str], what: str) -> str:
    """Return the name that is meant by itself or by its abbreviation, in capitals or not."""
    written = {short.casefold(): full for full, short in abbreviations.items()}
    written |= {full.casefold(): full for full in abbreviations}
    full_name = written.get(str(name).strip().casefold())
    if full_name is None:
        near = did_you_mean(str(name), (*abbreviations, *abbreviations.values()))
        raise InvalidInputError(f"{what} must be one of {', '.join(abbreviations)}; got {name!r}{near}.")
    return full_name


_BOX = "font-family:system-ui,sans-serif;font-size:13px;line-height:1.5;max-width:60em;overflow-x:auto"
_TABLE = "border-collapse:collapse;color:inherit;font:inherit;margin:.6em 0 0"
_FADED = "opacity:.7"
_RULE = "border:0;border-bottom:1px solid color-mix(in srgb,currentColor 18%,transparent)"
_CELL = f"padding:.25em .9em .25em 0;background:none;font-variant-numeric:tabular-nums;{_RULE}"


def card(title: str, subtitle: str, *parts: str) -> str:
    """Return a block with a title, a faded line below it, and parts that are HTML already."""
    head = f'<div style="font-size:15px;font-weight:600">{escape(title)}</div>'
    line = f'<div style="{_FADED}">{escape(subtitle)}</div>'
    return f'<div style="{_BOX}">{head}{line}{"".join(parts)}</div>'


def note(text: str) -> str:
    """Return a faded line."""
    return f'<div style="{_FADED};margin-top:.4em">{escape(text)}</div>'


def grid(rows: Iterable[Sequence[str]], head: Sequence[str] = (), bold: int | None = None) -> str:
    """Return a table whose first column is text and whose others are numbers; row `bold` is set in bold."""
    body = "".join(_row(row, "td", 700 if index == bold else 400) for index, row in enumerate(rows))
    top = f"<thead>{_row(head, 'th', 600)}</thead>" if head else ""
    return f'<table style="{_TABLE}">{top}<tbody>{body}</tbody></table>'


def _row(values: Sequence[str], tag: str, weight: int) -> str:
    style = f"{_CELL};font-weight:{weight};text-align"
    cells = (
        f'<{tag} style="{style}:{"right" if column else "left"}">{escape(value)}</{tag}>'
        for column, value in enumerate(values)
    )
    return f'<tr style="background:none">{"".join(cells)}</tr>'
