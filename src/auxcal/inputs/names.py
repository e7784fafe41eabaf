"""The names of the columns of a table, by which they are known whatever their order."""

from __future__ import annotations

import re
from numbers import Integral
from typing import Any, TypeAlias

from auxcal._core.errors import InvalidInputError
from auxcal._core.text import did_you_mean

Names: TypeAlias = tuple[str, ...]


def names_of(table: Any) -> Names | None:
    """Return the names of the columns of a DataFrame or an Arrow table; None where nothing has a name.

    A number is a name too. But 0, 1, 2 and so on, in this order, is what pandas calls columns without names.
    """
    labels = _labels_of(table)
    are_numbers = all(isinstance(label, Integral) for label in labels)
    if are_numbers and labels == list(range(len(labels))):
        return None
    names = tuple(map(str, labels))
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise InvalidInputError(
            f"every column needs a name of its own, by which it is known; got {twice!r} more than once. Rename one of "
            f"them, or give an array, whose columns have no names."
        )
    return names


def in_order_of_numbers(names: Names, *, plain: bool = False) -> Names | None:
    """Return names such as logit_0, logit_10, logit_2 in the order of their numbers; None if they are none such.

    The numbers are all from 0 to K-1, after one prefix; if they may be `plain`, also after none.
    """
    matches = [match for name in names if (match := re.fullmatch(r"(.*\D|)(\d{1,9})", name, re.DOTALL))]
    numbers = {int(match[2]): match.string for match in matches if plain or match[1]}
    if len({match[1] for match in matches}) != 1 or set(numbers) != set(range(len(names))):
        return None
    return tuple(numbers[place] for place in range(len(names)))


def _labels_of(table: Any) -> list[Any]:
    """Return what the columns of a table are called, which need not be text."""
    columns = getattr(table, "columns", None)
    if not hasattr(table, "iloc"):  # pandas has attributes that are columns
        columns = getattr(table, "column_names", columns)  # of an Arrow table, whose columns are arrays
    return [] if columns is None or callable(columns) else list(columns)


def places_of(wanted: Names, given: Names, what: str) -> list[int] | None:
    """Return the places of the names of the fit among others; None if they are the same, in the same order."""
    if given == wanted:
        return None
    places = {name: place for place, name in enumerate(given)}
    missing = [name for name in wanted if name not in places]
    if missing:
        raise InvalidInputError(
            f"{what} must have the columns of the fit; there is no {missing[0]!r}{did_you_mean(missing[0], given)}. "
            f"Rename the columns, or give an array with the columns in the order of the fit."
        )
    return [places[name] for name in wanted]


def by_name(table: Any, names: Names | None, what: str) -> Any:
    """Return the columns of a table with these names, in this order; other arrays unchanged."""
    given, labels = names_of(table), _labels_of(table)
    if names is not None and given is None and set(names) == set(map(str, labels)):
        given = tuple(map(str, labels))  # the fit had these numbers as names, in another order
    places = None if names is None or given is None else places_of(names, given, what)
    if places is None:
        return table
    chosen = [labels[place] for place in places]
    return table.select(chosen) if hasattr(table, "select") else table[chosen]


def are_names(names: Any, n: int | None = None) -> bool:
    """Whether this is None or a tuple of names, of so many if a number is given."""
    plain = isinstance(names, tuple) and all(isinstance(name, str) for name in names)
    return names is None or (plain and n in (None, len(names)))
