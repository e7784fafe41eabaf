"""Columns as the fields of a CSV file: text in quotes, numbers no longer than it takes to read them back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auxcal._errors import InvalidInputError


def fields_of(column: Any, name: str) -> list[str]:
    """Return a field for each value of a column.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.formats._csv_fields import fields_of
    >>> fields_of(np.array(["a", "b"], dtype=object), "id"), fields_of(np.float32([0.1, 2]), "confidence")
    (['"a"', '"b"'], ['0.1', '2.0'])
    """
    if not isinstance(column, np.ndarray):
        from auxcal.formats._arrow import decoded, is_text, written

        plain = decoded(column)
        text = written(plain, name)
        return _quoted(text) if is_text(plain) else ["" if value is None else value for value in text]
    if isinstance(column, np.ma.MaskedArray):
        return ["" if value is None else str(value) for value in column.tolist()]
    if column.dtype.kind in "OUS":
        return _quoted(column.astype(str).tolist() if column.dtype.kind == "S" else column.tolist())
    return _numbers(column)


def _quoted(values: Iterable[str | None]) -> list[str]:
    return ["" if value is None else '"' + value.replace('"', '""') + '"' for value in values]


def _numbers(column: NDArray[Any]) -> list[str]:
    if column.dtype.kind not in "biufmM":
        raise InvalidInputError(
            f"these columns can't be written (dtype {column.dtype}). Leave out what is neither number nor text."
        )
    text: list[str] = column.astype(str).tolist()
    return [value.lower() for value in text] if column.dtype.kind == "b" else text
