"""Suggestions for misspelled names."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from auxcal._errors import InvalidInputError

_MOST_SHOWN = 5


def did_you_mean(name: str, among: Iterable[str]) -> str:
    """Return " (did you mean …?)" with the closest name, or nothing if none is close.

    Examples
    --------
    >>> from auxcal._did_you_mean import did_you_mean
    >>> did_you_mean("Lable", ["id", "label"]), did_you_mean("x", ["id", "label"])
    (" (did you mean 'label'?)", '')
    """
    known = {each.casefold(): each for each in among}
    close = get_close_matches(name.casefold(), known, n=1)
    return f" (did you mean {known[close[0]]!r}?)" if close else ""


def some(names: Sequence[str]) -> str:
    """Return the first few names as a list in words."""
    more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    return ", ".join(names[:_MOST_SHOWN]) + more


def one_of(name: str, abbreviations: Mapping[str, str], what: str) -> str:
    """Return the name that is meant by itself or by its abbreviation, in capitals or not.

    Examples
    --------
    >>> from auxcal._did_you_mean import one_of
    >>> one_of("ts", {"temperature": "TS"}, "the method"), one_of("Temperature", {"temperature": "TS"}, "the method")
    ('temperature', 'temperature')
    """
    written = {short.casefold(): full for full, short in abbreviations.items()}
    written |= {full.casefold(): full for full in abbreviations}
    found = written.get(str(name).strip().casefold())
    if found is None:
        near = did_you_mean(str(name), (*abbreviations, *abbreviations.values()))
        raise InvalidInputError(f"{what} must be one of {', '.join(abbreviations)}; got {name!r}{near}.")
    return found
