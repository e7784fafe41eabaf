"""Predicted and true classes of a table, batch by batch: as indices, or as places in a list of names that grows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import NO_CLASS, Bools, Ints
from auxcal._core.errors import InputWarning, InvalidInputError
from auxcal._core.labels import LEFT_OUT, MISSING, Labels, are_indices, as_text, names_in
from auxcal._core.text import did_you_mean, some
from auxcal.tables.numpy_columns import Column
from auxcal.tables.spec import TableSpec


class Classes:
    """What the columns of the predictions and of the true classes say, with codes that are the same in all batches.

    Where the spec does not name the classes, they are all that are predicted. What reads like a missing value, such as
    NA, is a class too if it is predicted with a score.
    """

    def __init__(self, spec: TableSpec) -> None:
        self._prediction, self._label = spec.prediction, spec.label_name
        self._given = None if spec.class_names is None else tuple(spec.class_names)
        self._labels = Labels(self._label, self._given, spec.no_class, spec.unknown_is_no_class)
        self._places: dict[str, int] = {}  # of the names, in the order in which they come
        self._predicted: set[str] = set()
        self._true: set[str] = set()
        self._indexed: bool | None = None  # whether classes are indices, which the first rows decide
        self._missing = set(MISSING)  # what means that there is no class
        self._unread: set[str] = set()  # labels that were taken for missing ones

    def codes(self, predicted: Column, true: Column, *, scored: Bools) -> tuple[Ints, Ints]:
        """Return the predicted and the true class of each row, equal where the prediction is right.

        `scored` are the rows that have a confidence.
        """
        encoded = predicted.encoded(), true.encoded()
        if self._given is None:
            self._learn_missing(*encoded[0], scored)
        if self._given is None and self._indexed is None:
            self._indexed = self._are_indices(*(distinct for distinct, _ in encoded))
        if self._given is None and not self._indexed:
            for seen, (distinct, _) in zip((self._predicted, self._true), encoded, strict=True):
                seen.update(names_in(distinct, self._missing))
            self._unread.update(set(as_text(encoded[1][0])) & self._missing)
            of_predictions, of_labels = (self._places_of(distinct)[of_row] for distinct, of_row in encoded)
            return of_predictions, of_labels
        n_classes = None if self._given is None else len(self._given)
        y = codes_of(true, self._labels, n_classes)
        if y.size and (least := int(np.min(y, initial=0, where=y != LEFT_OUT))) < NO_CLASS:
            raise InvalidInputError(f"{self._label} must be a class index, or {NO_CLASS} for no class; got {least}.")
        return codes_of(predicted, Labels(self._prediction, self._given), None), y

    @property
    def like_missing(self) -> list[str]:
        """The classes whose names read like a missing value."""
        return sorted(MISSING - self._missing)

    def finalize(self) -> tuple[str, ...] | None:
        """Return the names of the classes, if there are such, once all rows are read; warn of those never predicted."""
        if self._given is not None or not self._places:
            return self._given
        names = tuple(sorted(self._predicted))
        Labels(self._label, names, self._labels.no_class)  # which refuses a name that is both
        self._check_predicted(names)
        return names

    def final_codes(self, codes: Ints, names: tuple[str, ...] | None) -> Ints:
        """Return places among the names for codes; no class for a name that is never predicted."""
        if self._given is not None or names is None:
            return codes
        at = np.full(len(self._places), NO_CLASS, np.intp)
        for place, name in enumerate(names):
            at[self._places[name]] = place
        return at[codes]

    def _learn_missing(self, distinct: NDArray[Any], of_row: Any, scored: Bools) -> None:
        """Take what is predicted with a score for a class, also if it reads like a missing value."""
        doubtful = [place for place, name in enumerate(as_text(distinct)) if name and name in self._missing]
        if not doubtful or isinstance(of_row, slice):
            return
        names = set(as_text(distinct[np.intersect1d(of_row[scored], doubtful)]))
        if names & self._unread:
            name = min(names & self._unread)
            raise InvalidInputError(
                f"{name!r} is predicted, so it is a class; in the rows before, labels {name!r} were taken for missing. "
                f"Name the classes with class_names (--class-names), or give the calibrator (--calibrator)."
            )
        self._missing -= names

    def _are_indices(self, predicted: NDArray[Any], true: NDArray[Any]) -> bool:
        if predicted.dtype.kind in "iu" and true.dtype.kind in "iu":
            return True
        known = (*self._labels.no_class, str(NO_CLASS))
        telling = np.array([name for name in names_in(true, self._missing) if name not in known], dtype=object)
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
        places = (
            LEFT_OUT if name in self._missing else self._places.setdefault(name, len(self._places)) for name in text
        )
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


def codes_of(column: Column, labels: Labels, n_classes: int | None) -> Ints:
    """Return the class of each row; each distinct text is looked up once, however many rows have it."""
    distinct, of_row = column.encoded()
    try:
        return labels.codes(distinct, n_classes)[of_row]
    except InvalidInputError:
        labels.codes(column.values(), n_classes)  # which says in which row
        raise
