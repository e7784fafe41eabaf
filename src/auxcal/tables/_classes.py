"""Predicted and true classes of a table, batch by batch: as indices, or as places in a list of names that grows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import NO_CLASS, Ints
from auxcal._core.errors import InputWarning, InvalidInputError
from auxcal._core.labels import LEFT_OUT, MISSING, Labels, are_indices, as_text, names_in
from auxcal._core.text import did_you_mean, some
from auxcal.tables._column_values import values_of_column


class Classes:
    """What the columns of the predictions and of the true classes say, with codes that are the same in all batches.

    Parameters
    ----------
    prediction, label : str
        The names of the columns.
    class_names : sequence of str or None
        The names of the classes in order; where they are not known, all that are predicted.
    no_class, unknown_is_no_class
        As in `Labels`.
    """

    def __init__(
        self,
        prediction: str,
        label: str,
        class_names: Sequence[str] | None,
        no_class: Sequence[str],
        *,
        unknown_is_no_class: bool,
    ) -> None:
        self._prediction, self._label = prediction, label
        self._given = None if class_names is None else tuple(class_names)
        self._labels = Labels(label, self._given, no_class, unknown_is_no_class)
        self._places: dict[str, int] = {}  # of the names, in the order in which they come
        self._predicted: set[str] = set()
        self._true: set[str] = set()
        self._indexed: bool | None = None  # whether classes are indices, which the first rows decide

    def codes(self, predicted: Any, true: Any) -> tuple[Ints, Ints]:
        """Return the predicted and the true class of each row, equal where the prediction is right."""
        columns = [CodedColumn(predicted), CodedColumn(true)]
        if self._given is None and self._indexed is None:
            self._indexed = self._are_indices(*(column.distinct for column in columns))
        if self._given is None and not self._indexed:
            for seen, column in zip((self._predicted, self._true), columns, strict=True):
                seen.update(names_in(column.distinct))
            of_predictions, of_labels = (self._places_of(column.distinct)[column.of_row] for column in columns)
            return of_predictions, of_labels
        n_classes = None if self._given is None else len(self._given)
        y = columns[1].coded(self._labels, n_classes)
        if y.size and (least := int(np.min(y, initial=0, where=y != LEFT_OUT))) < NO_CLASS:
            raise InvalidInputError(f"{self._label} must be a class index, or {NO_CLASS} for no class; got {least}.")
        return columns[0].coded(Labels(self._prediction, self._given), None), y

    def settle(self) -> tuple[str, ...] | None:
        """Return the names of the classes, if there are such, once all rows are read; warn of those never predicted."""
        if self._given is not None or not self._places:
            return self._given
        names = tuple(sorted(self._predicted))
        Labels(self._label, names, self._labels.no_class)  # which refuses a name that is both
        self._check_predicted(names)
        return names

    def settled(self, codes: Ints, names: tuple[str, ...] | None) -> Ints:
        """Return places among the names for codes; no class for a name that is never predicted."""
        if self._given is not None or names is None:
            return codes
        at = np.full(len(self._places), NO_CLASS, np.intp)
        for place, name in enumerate(names):
            at[self._places[name]] = place
        return at[codes]

    def _are_indices(self, predicted: NDArray[Any], true: NDArray[Any]) -> bool:
        known = (*self._labels.no_class, str(NO_CLASS))
        telling = np.array([name for name in names_in(true) if name not in known], dtype=object)
        indices = [are_indices(predicted), are_indices(telling) if len(telling) else are_indices(predicted)]
        if indices[0] != indices[1]:
            which = self._prediction, self._label
            raise InvalidInputError(
                f"{which[indices[1]]} holds class indices and {which[indices[0]]} holds names, such as "
                f"{names_in((predicted, telling)[indices[0]])[0]!r}. Name the classes in order with class_names "
                f"(--class-names), or another column of the true classes with label (--label)."
            )
        return indices[0]

    def _places_of(self, distinct: NDArray[Any]) -> Ints:
        text = as_text(distinct)
        places = (LEFT_OUT if name in MISSING else self._places.setdefault(name, len(self._places)) for name in text)
        return np.fromiter(places, np.int64, len(text))

    def _check_predicted(self, names: Sequence[str]) -> None:
        """Warn of labels that are never predicted; refuse a column in which all are such."""
        known = {*names, *self._labels.no_class, str(NO_CLASS)}
        never = [name for name in sorted(self._true) if name not in known]
        if never and len(never) == len(self._true):
            raise InvalidInputError(
                f"{self._label} must hold the names that are predicted, {some(names)}; got {some(never)}. Name the "
                f"column of the true classes with label (--label)."
            )
        if never and not self._labels.unknown_is_no_class:
            hints = [f"{name!r}{did_you_mean(name, names)}" for name in never]
            warnings.warn(
                f"{self._label} has labels that are never predicted, which count as wrong: {some(hints)}. List all "
                f"classes with class_names (--class-names), or those that are none with no_class (--no-class).",
                InputWarning,
                stacklevel=2,
            )


class CodedColumn:
    """The values of a column; of text each is looked at once, however many rows have it."""

    def __init__(self, column: Any) -> None:
        self._column = column
        self.distinct, self.of_row = _encoded(column)

    def coded(self, labels: Labels, n_classes: int | None) -> Ints:
        """Return the class of each row."""
        try:
            return labels.codes(self.distinct, n_classes)[self.of_row]
        except InvalidInputError:
            labels.codes(values_of_column(self._column), n_classes)  # which says in which row
            raise


def _encoded(column: Any) -> tuple[NDArray[Any], Any]:
    """Return the values that a column has, and which of them each row has; numbers as they are."""
    if not isinstance(column, np.ndarray):
        from auxcal.tables._arrow import encoded

        return encoded(column)
    values = values_of_column(column)
    if values.dtype != object:
        return values, slice(None)
    places: dict[Any, int] = {}
    of_row = np.fromiter((places.setdefault(value, len(places)) for value in values.tolist()), np.intp, len(values))
    return np.array(list(places), dtype=object), of_row
