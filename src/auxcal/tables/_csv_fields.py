"""The fields of a CSV file: columns from plain lines, and columns as fields."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auxcal._core.errors import InvalidInputError
from auxcal._core.threads import fork_safe_lock
from auxcal.tables._column_values import times_as_text

_LONGEST_FIELD = 2**24  # characters: enough for any cell, and few enough to find out soon that a quote is never closed

_lock = fork_safe_lock()
_limits: list[int] = []  # what was before, of everybody who is inside


@contextmanager
def long_fields() -> Iterator[None]:
    """Give a context in which `csv` takes fields of any sensible length; the last to leave restores its limit."""
    with _lock:
        _limits.append(csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_FIELD)))
    try:
        yield
    finally:
        with _lock:
            before = _limits.pop()  # the first of them is the last to be popped
            if not _limits:
                csv.field_size_limit(before)


def plain_columns(lines: bytes, delimiter: str, n_columns: int, positions: Sequence[int]) -> list[list[str]] | None:
    r"""Return the fields of the columns at some positions, or None if the lines need a parser.

    They do if they have quotes, a blank row, or a row of another length.

    Examples
    --------
    >>> from auxcal.tables._csv_fields import plain_columns
    >>> plain_columns(b"1,a,2\n3,b,4\n", ",", n_columns=3, positions=[0, 2])
    [['1', '3'], ['2', '4']]
    """
    lines = lines.replace(b"\r\n", b"\n")
    letters = np.frombuffer(lines, np.uint8)
    ends = np.flatnonzero((letters == ord(delimiter)) | (letters == ord("\n")))
    if not lines or b'"' in lines or b"\r" in lines or len(ends) % n_columns:
        return None
    ends_line = (letters[ends] == ord("\n")).reshape(-1, n_columns)
    lengths = np.diff(ends, prepend=-1).reshape(-1, n_columns) - 1
    if ends_line[:, :-1].any() or not ends_line[:, -1].all() or not lengths.any(axis=1).all():
        return None
    fields = lines[:-1].decode("utf-8", errors="surrogateescape").replace("\n", delimiter).split(delimiter)
    return [fields[position::n_columns] for position in positions]


def fields_of(column: Any, name: str) -> list[str]:
    """Return a field for each value of a column: text in quotes, numbers with no more digits than they need.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.tables._csv_fields import fields_of
    >>> fields_of(np.array(["a", "b"], dtype=object), "id"), fields_of(np.float32([0.1, 2]), "confidence")
    (['"a"', '"b"'], ['0.1', '2.0'])
    """
    if not isinstance(column, np.ndarray):
        from auxcal.tables._arrow import as_text, decoded, needs_quotes

        plain = decoded(column)
        text = as_text(plain, name)
        return _quoted(text) if needs_quotes(plain) else ["" if value is None else value for value in text]
    if isinstance(column, np.ma.MaskedArray):
        return ["" if value is None else str(value) for value in column.tolist()]
    if column.dtype.kind in "OUS":
        return _quoted(_decoded(column, name) if column.dtype.kind == "S" else column.tolist())
    return _numbers(column)


def _decoded(column: NDArray[Any], name: str) -> list[str]:
    try:
        return [value.decode() for value in column.tolist()]
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{name!r} holds bytes that are no text in UTF-8. Write .parquet or .npz.") from error


def _quoted(values: Iterable[str | None]) -> list[str]:
    return ["" if value is None else '"' + value.replace('"', '""') + '"' for value in values]


def _numbers(column: NDArray[Any]) -> list[str]:
    if column.dtype.kind not in "biufmM":
        raise InvalidInputError(
            f"these columns can't be written (dtype {column.dtype}). Leave out what is neither number nor text."
        )
    if column.dtype.kind in "mM":
        return [text or "" for text in times_as_text(column)]
    text: list[str] = column.astype(str).tolist()
    return [value.lower() for value in text] if column.dtype.kind == "b" else text
