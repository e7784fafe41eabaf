"""Which columns hold what, and what they may contain: the same rule for all formats."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auxcal._arrays import NO_CLASS, Floats, Ints, as_features, as_logits
from auxcal._errors import InvalidInputError
from auxcal.formats._format import Columns, Source

LEAST_PROBABILITY = 1e-12
"""Probabilities are clipped here from below, since the logarithm of zero is infinite."""

_FEATURES = "features"
_SUM_TOLERANCE = 1e-3
_MOST_SHOWN = 8


def find_logits(names: Sequence[str], columns: str | Sequence[str] | None, *, probabilities: bool) -> tuple[str, ...]:
    """Return the columns of the classes in order, or the name of the one matrix that holds them all."""
    if columns is not None and not isinstance(columns, str):
        for name in columns:
            check_column(names, name, "Give the columns of the classes in order.")
        return tuple(columns)
    if columns is not None:
        matrix, prefix = columns, columns
    else:
        matrix, prefix = ("proba", "prob_") if probabilities else ("logits", "logit_")
    found = _matrix_or_numbered(
        names, matrix, prefix, "name the columns of the classes in order with columns (--columns)"
    )
    if not found:
        raise InvalidInputError(_not_found(names, matrix, prefix, columns, probabilities=probabilities))
    return found


def find_features(source: Source, features: str | Sequence[str] | None, taken: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of the features, or the name of the one matrix; an empty tuple if there are none."""
    if features is None:  # a vector of that name, such as a table's column, can be anything
        return (_FEATURES,) if _FEATURES in source.names and _FEATURES not in source.passable else ()
    found = tuple(features)
    if isinstance(features, str):
        advice = "name the columns of the features with features (--features)"
        found = _matrix_or_numbered(source.names, features, features, advice) or (features,)
    for name in found:
        check_column(source.names, name, "Name the columns of the features with features (--features).")
        if name in taken or found.count(name) > 1:
            raise InvalidInputError(
                f"the columns of the features must each be named once, and hold neither logits nor true classes; got "
                f"{name!r}. Leave it out of features (--features)."
            )
    return found


def check_column(names: Sequence[str], name: str, advice: str) -> None:
    """Raise an error if a column does not exist."""
    if name not in names:
        raise InvalidInputError(f"there is no column {name!r}; {_listed(names)}. {advice}")


def logits_of(columns: Columns, names: Sequence[str], *, probabilities: bool) -> Floats:
    """Return the columns of the classes as one validated matrix; probabilities become their logarithms."""
    parts = [columns[name] for name in names]
    matrix = parts[0] if parts[0].ndim == 2 else np.column_stack(parts)
    return _log(matrix) if probabilities else as_logits(matrix)


def features_of(columns: Columns, names: Sequence[str], *, n_rows: int) -> Floats | None:
    """Return the columns of the features as one validated matrix, or None if there are none."""
    if not names:
        return None
    parts = [columns[name] for name in names]
    one = len(parts) == 1 and parts[0].ndim > 1
    return as_features(parts[0] if one else np.column_stack(parts), n_rows=n_rows)


def as_classes(column: Any, name: str, class_names: Sequence[str] | None = None) -> Ints:
    """Return class indices, from 3, 3.0, "3" or the names of the columns."""
    values = _as_text_or_numbers(column)
    if values.dtype == object:
        values = _from_text(values, name, class_names)
    if values.dtype.kind in "iu":
        return values
    if values.dtype.kind != "f":
        raise InvalidInputError(f"{name} must hold class indices, whole numbers from 0; got dtype {values.dtype}.")
    whole = np.isfinite(values) & (values == np.round(values))
    if not whole.all():
        row = int(np.argmin(whole))
        raise InvalidInputError(
            f"{name} must hold class indices, whole numbers from 0, or {NO_CLASS} for none of the classes; got "
            f"{'nothing' if np.isnan(values[row]) else values[row]} in row {row} ({int((~whole).sum())} such rows). "
            f"Label those rows, or leave them out."
        )
    return values.astype(np.int64)


def text_of(column: Any) -> list[str] | None:
    """Return the stripped text of each row of a table's column, or None if it holds other values."""
    if isinstance(column, np.ndarray):
        values = column if column.dtype == object else None
    else:
        from auxcal.formats._arrow import is_text, values_of

        values = values_of(column) if is_text(column) else None
    return None if values is None else ["" if value is None else str(value).strip() for value in values]


def _matrix_or_numbered(names: Sequence[str], matrix: str, prefix: str, advice: str) -> tuple[str, ...]:
    """Return the matrix if it exists, else the columns with the prefix in the order of their numbers."""
    if matrix in names:
        return (matrix,)
    numbered = _numbered(names, prefix)
    gap = next((position for position, number in enumerate(sorted(numbered)) if position != number), None)
    if gap is not None:
        raise InvalidInputError(
            f"the columns {prefix}0 to {prefix}{max(numbered)} must all be there; {prefix}{gap} is not. Add it, or "
            f"{advice}."
        )
    return tuple(numbered[number] for number in sorted(numbered))


def _numbered(names: Sequence[str], prefix: str) -> dict[int, str]:
    found: dict[int, str] = {}
    for name in names:
        if re.fullmatch(re.escape(prefix) + r"\d{1,9}", name):
            number = int(name.removeprefix(prefix))
            if number in found:
                raise InvalidInputError(f"{found[number]!r} and {name!r} are the same column. Remove one of them.")
            found[number] = name
    return found


def _not_found(names: Sequence[str], matrix: str, prefix: str, columns: str | None, *, probabilities: bool) -> str:
    wanted = f"an array {matrix!r}, or columns {prefix}0, {prefix}1, …"
    if columns is None and not probabilities and ("proba" in names or _numbered(names, "prob_")):
        return f"expected logits, {wanted}; got probabilities. Give probabilities=True (--probabilities)."
    if columns is None and probabilities and ("logits" in names or _numbered(names, "logit_")):
        return f"expected probabilities, {wanted}; got logits. Leave out probabilities=True (--probabilities)."
    return f"expected {wanted}; {_listed(names)}. Name those of the classes in order with columns (--columns)."


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    return f"found {', '.join(map(repr, names[:_MOST_SHOWN])) or 'none'}{more}"


def _log(proba: NDArray[Any]) -> Floats:
    array = as_logits(proba)  # checks shape, dtype and NaN
    total = array.sum(axis=1, dtype=np.float64)
    wrong = (array < 0).any(axis=1) | (array > 1).any(axis=1) | (np.abs(total - 1) > _SUM_TOLERANCE)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidInputError(
            f"probabilities must be from 0 to 1 and add up to 1 in every row, to within {_SUM_TOLERANCE}; row {row} "
            f"has {array[row].min():.4g} to {array[row].max():.4g} with the sum {total[row]:.4g} ({int(wrong.sum())} "
            f"such rows). If these are logits, leave out probabilities=True (--probabilities)."
        )
    return np.log(np.maximum(array, LEAST_PROBABILITY))


def _as_text_or_numbers(column: Any) -> NDArray[Any]:
    """Return numbers unchanged, and text as objects."""
    if not isinstance(column, np.ndarray):
        from auxcal.formats._arrow import values_of

        return values_of(column)
    array = np.asarray(column)
    return array.astype(str).astype(object) if array.dtype.kind in "US" else array


def _from_text(values: NDArray[Any], name: str, class_names: Sequence[str] | None) -> NDArray[Any]:
    try:
        return np.fromiter(map(float, values), np.float64, len(values))
    except (TypeError, ValueError):
        text = ["" if value is None else str(value).strip() for value in values]
    try:
        return np.array([float(value) if value else np.nan for value in text])
    except ValueError:
        indices = {str(NO_CLASS): NO_CLASS} | {class_name: index for index, class_name in enumerate(class_names or ())}
    row = next((row for row, value in enumerate(text) if value not in indices), None)
    if row is None:
        return np.array([indices[value] for value in text])
    raise InvalidInputError(
        f"{name} must hold class indices, whole numbers from 0, or {NO_CLASS} for none of the classes; got "
        f"{text[row]!r} in row {row}. Replace each name with the index of its logits column, counted from 0; or name "
        f"the logits columns after the classes, and list them with columns (--columns)."
    )
