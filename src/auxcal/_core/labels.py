"""True classes in any form: indices or names, some of no class, some missing."""

from __future__ import annotations

import warnings
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auxcal._core.arrays import NO_CLASS, Bools, Ints, is_missing, to_numpy
from auxcal._core.errors import InputWarning, InvalidInputError
from auxcal._core.text import did_you_mean, some

MISSING = frozenset(["", "NA", "N/A", "n/a", "#NA", "#N/A", "NULL", "null", "nan", "NaN"])
"""How programs write that there is no label, where no class has that name."""

_MOST = 2**53  # beyond it floats are not exact
_RIGHT_OR_WRONG = {"true": 0, "1": 0, "1.0": 0, "false": NO_CLASS, "0": NO_CLASS, "0.0": NO_CLASS}  # as programs write
LEFT_OUT = np.iinfo(np.int64).min
"""The code of a missing label."""


@dataclass(frozen=True)
class Labels:
    """How to read the true classes from an array or a column of a table, which has this name.

    The class names are in order: if one of them is a number, every number is a name, else an index. The labels
    `no_class` mean none of the classes, as -1 does unless a class has that name; every unknown label does if
    `unknown_is_no_class`, which is None if the caller has no such option. With `says_correct`, labels are whether an
    answer is right, and right is class 0, wrong none. `rows` are the places of the labels in their table, for errors;
    by default there are no others.
    """

    name: str
    class_names: Sequence[str] | None = None
    no_class: Sequence[str] = ()
    unknown_is_no_class: bool | None = False
    says_correct: bool = False
    rows: Ints | None = None

    def __post_init__(self) -> None:
        both = [name for name in self.no_class if name in (self.class_names or ())]
        if both:
            raise InvalidInputError(
                f"no_class (--no-class) names what is none of the classes; {both[0]!r} is one of them. Leave it out."
            )

    def known(self, values: NDArray[Any], n_classes: int | None) -> tuple[Ints, Bools]:
        """Return the class of every row, and which rows have a label."""
        codes = self.codes(values, n_classes)
        return codes, codes != LEFT_OUT

    def are_there(self, values: NDArray[Any]) -> Bools:
        """Return which rows have a label, whatever it is."""
        if values.ndim != 1 or values.dtype.kind not in "fO":  # the others have no missing values, or are no labels
            return np.ones(len(values), np.bool_)
        missing = MISSING.difference(self.class_names or (), self.no_class)
        text = as_text(values)
        return np.fromiter((value not in missing for value in text), np.bool_, len(text))

    def required(self, values: NDArray[Any]) -> Ints:
        """Return the class of every row; raise an error where there is none."""
        codes = self.codes(values, None)
        if (codes == LEFT_OUT).any():
            row = int(np.argmax(codes == LEFT_OUT))
            raise InvalidInputError(f"{self.name} must have a class in every row; got nothing in row {row}.")
        return codes

    def codes(self, values: NDArray[Any], n_classes: int | None) -> Ints:
        """Return an index, `NO_CLASS`, or the code of a missing label for each row."""
        if self.says_correct:
            return self._right_or_wrong(as_text(values))
        if values.dtype.kind in "iuf" and not self.no_class and not has_number(self.class_names):
            return self._checked(self._whole(values), n_classes)
        if values.dtype.kind == "b" and self.class_names is None:
            raise InvalidInputError(
                f"{self.name} must hold class indices or names, the true class and not whether the prediction is right"
                f"; got dtype bool. If they are the two classes, false the first, give "
                f"class_names=['false', 'true'] (--class-names false,true)."
            )
        if values.dtype.kind not in "biufO":
            raise InvalidInputError(f"{self.name} must hold class indices or names; got dtype {values.dtype}.")
        text = as_text(values)
        meant = self._meanings(text)
        codes = np.fromiter((meant[value] for value in text), np.int64, len(text))
        return self._checked(codes, n_classes)

    def _right_or_wrong(self, text: list[str]) -> Ints:
        meant = dict.fromkeys(MISSING, LEFT_OUT) | _RIGHT_OR_WRONG
        unknown = next((value for value in text if value.lower() not in meant and value not in meant), None)
        if unknown is not None:
            raise InvalidInputError(
                f"{self.name} must hold true and false, or 1 and 0, for right and wrong answers; got {unknown!r} "
                f"in row {self._row(text.index(unknown))}. Name the column with --correct."
            )
        return np.fromiter((meant[value if value in meant else value.lower()] for value in text), np.int64, len(text))

    def _meanings(self, text: list[str]) -> dict[str, int]:
        """Return the code of every label that there is."""
        names = {name: place for place, name in enumerate(self.class_names or ())}
        names = {_plain(name): place for name, place in names.items() if _is_number(name)} | names
        known = dict.fromkeys(MISSING, LEFT_OUT) | {str(NO_CLASS): NO_CLASS}
        known |= dict.fromkeys(self.no_class, NO_CLASS) | names
        distinct = dict.fromkeys(text)
        known |= {value: known[_plain(value)] for value in distinct.keys() - known if _plain(value) in known}
        others = [value for value in distinct if value not in known]
        if not has_number(names) and not names.keys() & distinct.keys() and _are_numbers(others):
            return known | self._indices(others, text)
        if others and not self.unknown_is_no_class:
            unknown = others if names else [value for value in others if not _is_number(value)]
            raise InvalidInputError(self._unknown(text, unknown[0], set(unknown)))
        return known | dict.fromkeys(others, NO_CLASS)

    def _indices(self, numbers: list[str], text: list[str]) -> dict[str, int]:
        whole = {value: float(value).is_integer() and abs(float(value)) <= _MOST for value in numbers}
        if not all(whole.values()):
            rows = [row for row, value in enumerate(text) if not whole.get(value, True)]
            raise InvalidInputError(_not_whole(self.name, text[rows[0]], self._row(rows[0]), len(rows)))
        return {value: int(float(value)) for value in numbers}

    def _whole(self, values: NDArray[Any]) -> Ints:
        if values.dtype.kind in "iu":
            # As floats, since small types do not have the bounds; what lies beyond them is no class either.
            return np.clip(values.astype(np.float64), -_MOST, _MOST).astype(np.int64)
        values = values.astype(np.float64)
        missing = np.isnan(values)
        whole = missing | ((np.abs(values) <= _MOST) & (values == np.round(values)))
        if not whole.all():
            first = int(np.argmin(whole))
            raise InvalidInputError(_not_whole(self.name, f"{values[first]}", self._row(first), int((~whole).sum())))
        return np.where(missing, LEFT_OUT, np.where(missing, 0, values).astype(np.int64))

    def _row(self, place: int) -> int:
        """Return where in its table a label is."""
        return place if self.rows is None else int(self.rows[place])

    def _checked(self, codes: Ints, n_classes: int | None) -> Ints:
        if self.unknown_is_no_class and n_classes is not None:
            outside = ((codes < NO_CLASS) & (codes != LEFT_OUT)) | (codes >= n_classes)
            return np.where(outside, NO_CLASS, codes)
        return codes

    def _unknown(self, text: list[str], value: str, others: set[str]) -> str:
        row, count = self._row(text.index(value)), sum(label in others for label in text)
        got = f"got {value!r} in row {row} ({count} such rows)"
        if self.class_names is None:
            return (
                f"{self.name} must hold class indices, whole numbers from 0, or {NO_CLASS} for none of the classes; "
                f"{got}. Name the classes in order with class_names (--class-names), or let the columns of logits bear "
                f"their names, and list them with columns (--columns)."
            )
        or_all = ", or for all such labels with unknown_is_no_class=True (--unknown-is-no-class)"
        return (
            f"{self.name} must hold one of the classes {some(self.class_names)}; {got}"
            f"{did_you_mean(value, self.class_names)}. If that is none of the classes, say so with no_class=[{value!r}]"
            f" (--no-class {value}){'' if self.unknown_is_no_class is None else or_all}."
        )


NoClassLabels: TypeAlias = str | int | Sequence[str | int] | None
"""A label that means none of the classes, or several of them."""


def from_names(y: ArrayLike, class_names: Sequence[str] | None, no_class: Sequence[str] = ()) -> ArrayLike:
    """Return the names of classes, and labels that mean none of them, as indices; other labels stay as they are.

    Where a class is called by a number, all numbers are names, as in files.
    """
    values = to_numpy(y, "y")
    if values.ndim != 1:
        return y
    may_be_names = _holds_text(values) or (values.dtype.kind in "iufO" and has_number(class_names))
    if not (no_class or (class_names is not None and may_be_names)):
        return y
    values = values.astype(object) if values.dtype.kind in "UT" else values
    codes, kept = Labels("y", class_names, no_class, unknown_is_no_class=None).known(values, None)
    if not kept.all():
        row, missing = int(kept.argmin()), int((~kept).sum())
        raise InvalidInputError(
            f"y must have a class in every row; got nothing in row {row} ({missing} such rows). Label those rows, or "
            f"leave them out."
        )
    return codes


def are_names(y: ArrayLike, class_names: Sequence[str] | None) -> bool:
    """Whether labels are, or hold, names of classes."""
    values = to_numpy(y, "y")
    if class_names is None or values.ndim != 1 or (values.dtype.kind != "O" and not _holds_text(values)):
        return values.ndim == 1 and has_number(class_names)
    return not set(as_text(values)).isdisjoint(class_names)


def as_y(y: ArrayLike, *, n_rows: int, n_classes: int) -> Ints:
    """Check `y` and return it as integers of shape (n,), each a class index or `NO_CLASS`."""
    array = to_numpy(y, "y")
    if array.ndim != 1:
        raise InvalidInputError(
            f"y must have shape (n,), one class index for each row of logits; got shape {array.shape}. "
            f"Use np.ravel(y) on a column, np.where(y.any(axis=1), y.argmax(axis=1), -1) on one-hot labels, where a "
            f"row of zeros is none of the classes."
        )
    if len(array) != n_rows:
        raise InvalidInputError(
            f"y must have one label for each of the {n_rows} rows of logits; got {len(array)}. "
            f"Check that both come from the same samples."
        )
    if not np.issubdtype(array.dtype, np.integer):
        raise InvalidInputError(
            f"y must hold integers, a class index 0..{n_classes - 1} or NO_CLASS = {NO_CLASS}; got dtype "
            f"{array.dtype}. {_advice_on_labels(array)}"
        )
    outside = (array < NO_CLASS) | (array >= n_classes)
    if outside.any():
        row = int(np.argmax(outside))
        raise InvalidInputError(
            f"y must be a class index 0..{n_classes - 1} or NO_CLASS = {NO_CLASS}; got {array[row]} in row {row} "
            f"({int(outside.sum())} such rows). Count classes from 0. Use NO_CLASS for samples of no class of the "
            f"classifier, and leave out those whose class is not known."
        )
    return array.astype(np.intp, copy=False)


def _advice_on_labels(y: NDArray[Any]) -> str:
    if y.dtype.kind == "O" and all(isinstance(value, Decimal) for value in y):
        y = y.astype(np.float64)
    if y.dtype.kind == "f":
        known = y[np.isfinite(y)]
        if (known != np.rint(known)).any():
            return f"{known[known != np.rint(known)][0]} is no index: check that y holds the true classes."
        if len(known) < len(y):
            return (
                "Leave out the rows without a label: known = np.isfinite(np.asarray(y, float)), then logits[known], "
                "np.asarray(y)[known].astype(int)."
            )
        return "If these whole numbers are class indices, give np.asarray(y).astype(int)."
    kinds = {bool} if y.dtype == np.bool_ else set(map(type, y.tolist()))
    if bool in kinds:
        return (
            "y is the true class, not whether the prediction is right. If True means the second of two classes, give "
            "y.astype(int)."
        )
    if kinds == {int}:
        return "Give y.astype(int)."
    if y.dtype.kind == "O" and str not in kinds:
        return "Leave out the rows without a label, and give the labels of the others as integers."
    return "Name the classes in order with class_names if y holds names."


def as_no_class(no_class: NoClassLabels) -> tuple[str, ...]:
    """Return the labels that mean none of the classes, given as one label or as several, as they are compared."""
    given = () if no_class is None else np.ravel(np.asarray(no_class, dtype=object)).tolist()
    if not all(isinstance(label, str | int) for label in given):
        raise InvalidInputError(
            f"no_class must be the label, or the labels, that mean none of the classes; got {no_class!r}."
        )
    return tuple(str(label).strip() for label in given)


def warn_of_unlabelled(missing: int, n_rows: int, name: str) -> None:
    """Say how many rows have no label; raise an error if none has."""
    if not missing:
        return
    if missing == n_rows:
        raise InvalidInputError(f"no row has a label in {name!r}. Name the column of the true classes (--label).")
    warnings.warn(
        f"{missing:,} of {n_rows:,} rows have no label in {name!r} and are left out.", InputWarning, stacklevel=2
    )


def are_indices(values: NDArray[Any]) -> bool:
    """Whether a column holds nothing but whole numbers, however they are written, and missing values."""
    return values.dtype.kind in "iuf" or _are_numbers({value for value in as_text(values) if value not in MISSING})


def names_in(values: NDArray[Any], missing: Container[str] = MISSING) -> tuple[str, ...]:
    """Return the names that a column holds, sorted."""
    return tuple(sorted({value for value in as_text(values) if value not in missing}))


def _holds_text(values: NDArray[Any]) -> bool:
    return values.dtype.kind in "UT" or (values.dtype.kind == "O" and any(isinstance(value, str) for value in values))


def as_text(values: NDArray[Any]) -> list[str]:
    """Return labels without the blanks around them; 3 and 3.0 are "3", True is "true", a missing number is empty."""
    if values.dtype.kind in "iu":
        return [str(value) for value in values.tolist()]
    if values.dtype.kind == "f":
        return ["" if value != value else f"{value:.15g}" for value in values.tolist()]
    return [_written(value) for value in values.tolist()]


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()  # as CSV files of tables have it
    return "" if is_missing(value) else str(value).strip()


def has_number(class_names: Iterable[str] | None) -> bool:
    """Whether a class is called by a number; then a number among the labels is a name, and no index."""
    return any(map(_is_number, class_names or ()))


def _are_numbers(names: Any) -> bool:
    return bool(names) and all(_is_number(name) for name in names)


def _is_number(text: str) -> bool:
    try:
        return np.isfinite(float(text))
    except ValueError:
        return False


def _plain(text: str) -> str:
    """Return a number as `as_text` writes it: where some are missing, programs write 2 as 2.0; other text as it is."""
    return f"{float(text):.15g}" if _is_number(text) else text


def _not_whole(name: str, value: str, row: int, rows: int) -> str:
    return (
        f"{name} must hold class indices, whole numbers from 0, or {NO_CLASS} for none of the classes; got {value} in "
        f"row {row} ({rows} such rows). Check that {name} holds the true classes, or leave those rows out."
    )


def as_class_names(class_names: Sequence[str] | None, n_classes: int) -> tuple[str, ...]:
    """Check the names of the K classes and return them; the class indices if none are given."""
    if class_names is None:
        return tuple(str(index) for index in range(n_classes))
    if isinstance(class_names, str) or len(class_names) != n_classes:
        raise InvalidInputError(
            f"class_names must be {n_classes} names, one for each column of the logits; got {len(class_names)}."
        )
    named = tuple(str(name) for name in class_names)
    if len(set(named)) < n_classes:
        twice = next(name for place, name in enumerate(named) if name in named[:place])
        raise InvalidInputError(
            f"class_names must differ; got {twice!r} more than once, so a label could be any of these classes. Tell "
            f"them apart, for instance by their indices."
        )
    return named
