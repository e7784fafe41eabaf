"""The true classes in a file: indices or names, some of no class, some missing."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auxcal._arrays import NO_CLASS, Bools, Ints
from auxcal._did_you_mean import did_you_mean, some
from auxcal._errors import InputWarning, InvalidInputError

MISSING = frozenset(["", "NA", "N/A", "n/a", "#NA", "#N/A", "NULL", "null", "nan", "NaN"])
"""How programs write that there is no label, where no class has that name."""

_LEFT_OUT = np.iinfo(np.int64).min  # the code of a missing label


@dataclass(frozen=True)
class Labels:
    """How a column says which class is right.

    Parameters
    ----------
    name : str
        The column.
    class_names : sequence of str, optional
        The names of the classes, in order. If they are whole numbers, a number in the column is a name, else an index.
    no_class : sequence of str
        The labels that mean none of the classes; -1 always does, unless a class has that name.
    unknown_is_no_class : bool
        Whether every label that is none of the classes means that too.
    """

    name: str
    class_names: Sequence[str] | None = None
    no_class: Sequence[str] = ()
    unknown_is_no_class: bool = False

    def __post_init__(self) -> None:
        both = [name for name in self.no_class if name in (self.class_names or ())]
        if both:
            raise InvalidInputError(
                f"no_class (--no-class) names what is none of the classes; {both[0]!r} is one of them. Leave it out."
            )

    def read(self, column: Any, n_classes: int | None) -> tuple[Ints, Bools]:
        """Return the class of every row, and which rows have one; warn of the others.

        Examples
        --------
        >>> import numpy as np
        >>> from auxcal.formats._labels import Labels
        >>> Labels("y", ["cat", "dog"], no_class=["bus"]).read(np.array(["dog", "bus", "cat"]), 2)
        (array([ 1, -1,  0]), array([ True,  True,  True]))
        """
        codes = self.codes(values_of_column(column), n_classes)
        kept = codes != _LEFT_OUT
        warn_of_unlabelled(kept, self.name)
        return codes, kept

    def required(self, values: NDArray[Any]) -> Ints:
        """Return the class of every row; raise an error where there is none."""
        codes = self.codes(values, None)
        if (codes == _LEFT_OUT).any():
            row = int(np.argmax(codes == _LEFT_OUT))
            raise InvalidInputError(f"{self.name} must have a class in every row; got nothing in row {row}.")
        return codes

    def codes(self, values: NDArray[Any], n_classes: int | None) -> Ints:
        """Return an index, `NO_CLASS`, or what stands for a missing label."""
        if values.dtype.kind in "iuf" and not self.no_class and not _are_numbers(self.class_names or ()):
            return self._checked(_whole(values, self.name), n_classes)
        if values.dtype.kind not in "iufO":
            raise InvalidInputError(f"{self.name} must hold class indices or names; got dtype {values.dtype}.")
        text = _as_text(values)
        meant = self._meanings(text)
        codes = np.fromiter((meant[value] for value in text), np.int64, len(text))
        return self._checked(codes, n_classes)

    def _meanings(self, text: list[str]) -> dict[str, int]:
        """Return the code of every label that there is."""
        names = {name: place for place, name in enumerate(self.class_names or ())}
        known = dict.fromkeys(MISSING, _LEFT_OUT) | {str(NO_CLASS): NO_CLASS}
        known |= dict.fromkeys(self.no_class, NO_CLASS) | names
        distinct = dict.fromkeys(text)
        others = [value for value in distinct if value not in known]
        if not _are_numbers(names) and not names.keys() & distinct.keys() and _are_numbers(others):
            return known | {value: self._index(value, text) for value in others}
        if others and not self.unknown_is_no_class:
            raise InvalidInputError(self._unknown(text, others[0], set(others)))
        return known | dict.fromkeys(others, NO_CLASS)

    def _index(self, value: str, text: list[str]) -> int:
        if not float(value).is_integer():
            raise InvalidInputError(_not_whole(self.name, value, text.index(value), text.count(value)))
        return int(np.clip(float(value), -(2**53), 2**53))

    def _checked(self, codes: Ints, n_classes: int | None) -> Ints:
        if self.unknown_is_no_class and n_classes is not None:
            outside = ((codes < NO_CLASS) & (codes != _LEFT_OUT)) | (codes >= n_classes)
            return np.where(outside, NO_CLASS, codes)
        return codes

    def _unknown(self, text: list[str], value: str, others: set[str]) -> str:
        row, count = text.index(value), sum(each in others for each in text)
        got = f"got {value!r} in row {row} ({count} such rows)"
        if self.class_names is None:
            return (
                f"{self.name} must hold class indices, whole numbers from 0, or {NO_CLASS} for none of the classes; "
                f"{got}. Name the classes in order with class_names (--class-names), or let the columns of logits bear "
                f"their names, and list them with columns (--columns)."
            )
        return (
            f"{self.name} must hold one of the classes {some(self.class_names)}; {got}"
            f"{did_you_mean(value, self.class_names)}. If that is none of the classes, say so with no_class=[{value!r}]"
            f" (--no-class {value}), or for all such labels with unknown_is_no_class=True (--unknown-is-no-class)."
        )


def warn_of_unlabelled(kept: Bools, name: str) -> None:
    """Say how many rows have no label; raise an error if none has."""
    if kept.all():
        return
    if not kept.any():
        raise InvalidInputError(f"no row has a label in {name!r}. Name the column of the true classes (--label).")
    missing = int((~kept).sum())
    warnings.warn(
        f"{missing:,} of {len(kept):,} rows have no label in {name!r} and are left out.", InputWarning, stacklevel=2
    )


def values_of_column(column: Any) -> NDArray[Any]:
    """Return numbers as they are, and text as objects."""
    if not isinstance(column, np.ndarray):
        from auxcal.formats._arrow import values_of

        return values_of(column)
    if isinstance(column, np.ma.MaskedArray):
        return np.where(column.mask, np.nan, column.data)
    return column.astype(str).astype(object) if column.dtype.kind in "US" else column


def are_indices(values: NDArray[Any]) -> bool:
    """Whether a column holds nothing but whole numbers, however they are written, and missing values."""
    return values.dtype.kind in "iuf" or _are_numbers({value for value in _as_text(values) if value not in MISSING})


def names_in(values: NDArray[Any]) -> tuple[str, ...]:
    """Return the names that a column holds, sorted."""
    return tuple(sorted({value for value in _as_text(values) if value not in MISSING}))


def _as_text(values: NDArray[Any]) -> list[str]:
    """Return labels without the blanks around them; 3 and 3.0 are "3", and a missing number is empty."""
    if values.dtype.kind in "iu":
        return [str(value) for value in values.tolist()]
    if values.dtype.kind == "f":
        return ["" if value != value else f"{value:.15g}" for value in values.tolist()]
    return ["" if value is None or value != value else str(value).strip() for value in values.tolist()]


def _are_numbers(names: Any) -> bool:
    return bool(names) and all(_is_number(name) for name in names)


def _is_number(text: str) -> bool:
    try:
        return np.isfinite(float(text))
    except ValueError:
        return False


def _whole(values: NDArray[Any], name: str) -> Ints:
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    missing = np.isnan(values)
    whole = missing | (np.isfinite(values) & (values == np.round(values)))
    if not whole.all():
        row = int(np.argmin(whole))
        raise InvalidInputError(_not_whole(name, f"{values[row]}", row, int((~whole).sum())))
    return np.where(missing, _LEFT_OUT, np.where(missing, 0, values).astype(np.int64))


def _not_whole(name: str, value: str, row: int, rows: int) -> str:
    return (
        f"{name} must hold class indices, whole numbers from 0, or {NO_CLASS} for none of the classes; got {value} in "
        f"row {row} ({rows} such rows). Label those rows, or leave them out."
    )
