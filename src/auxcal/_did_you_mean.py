"""Names that were almost right: what they may have been meant to be."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches


def did_you_mean(name: str, among: Iterable[str]) -> str:
    """Return " (did you mean …?)" with the name that is closest, or nothing where none is close.

    Examples
    --------
    >>> from auxcal._did_you_mean import did_you_mean
    >>> did_you_mean("Lable", ["id", "label"]), did_you_mean("x", ["id", "label"])
    (" (did you mean 'label'?)", '')
    """
    known = {each.casefold(): each for each in among}
    close = get_close_matches(name.casefold(), known, n=1)
    return f" (did you mean {known[close[0]]!r}?)" if close else ""


def find_name(name: str, abbreviations: Mapping[str, str]) -> str | None:
    """Return the name that is meant by itself or by its abbreviation, in capitals or not; None where there is none.

    Examples
    --------
    >>> from auxcal._did_you_mean import find_name
    >>> find_name("ts", {"temperature": "TS"}), find_name("Temperature", {"temperature": "TS"})
    ('temperature', 'temperature')
    """
    written = {short.casefold(): full for full, short in abbreviations.items()}
    written |= {full.casefold(): full for full in abbreviations}
    return written.get(name.strip().casefold())
