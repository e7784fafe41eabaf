"""The predicted and the true class of each row of a scored table, known when all of its rows are read."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from auxcal._core.arrays import NO_CLASS, Bools, Ints
from auxcal._core.errors import InputWarning, InvalidInputError
from auxcal._core.labels import LEFT_OUT, MISSING, Labels, are_indices, as_text
from auxcal._core.text import did_you_mean, some
from auxcal.tables.spec import TableSpec
from auxcal.tables.values import distinct

if TYPE_CHECKING:
    import pyarrow as pa


class TextCodes:
    """Numbers the different texts of columns, batch by batch; a code takes as few bytes as their number needs."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def add(self, column: pa.Array) -> NDArray[Any]:
        """Return the code of each row."""
        values, of_row = distinct(column)
        places = [self._places.setdefault(text, len(self._places)) for text in as_text(values)]
        return np.array(places, np.min_scalar_type(len(self._places)))[of_row]

    @property
    def texts(self) -> NDArray[Any]:
        """The text of each code."""
        return np.array(list(self._places), dtype=object)


class Classes:
    """What the columns of the predictions and of the true classes mean, decided by all rows, in whatever order.

    Where the spec does not name the classes, they are all that are predicted. What reads like a missing value, such as
    NA, is a class too if it is predicted with a score.

    Parameters
    ----------
    spec : TableSpec
        The names of the two columns, and of the classes, if they are known.
    texts : array of shape (m,)
        What the codes stand for.
    predicted, true : array of shape (n,)
        A code for each row.
    scored : array of shape (n,)
        Which rows have a confidence.
    """

    def __init__(
        self, spec: TableSpec, texts: NDArray[Any], predicted: NDArray[Any], true: NDArray[Any], scored: Bools
    ) -> None:
        self._texts, self._prediction, self._label, self.names = texts, spec.prediction, spec.label_name, None
        given = None if spec.class_names is None else tuple(spec.class_names)
        self._labels = Labels(self._label, given, spec.no_class, spec.unknown_is_no_class)
        if given is not None:
            self.names = given
            self.predicted = self._codes(predicted, Labels(self._prediction, given), None)
            self.y = self._codes(true, self._labels, len(given))
            self._check_indices()
            return
        seen = [{texts[code] for code in np.unique(codes)} for codes in (predicted[scored], predicted, true)]
        missing = MISSING - seen[0] | {""}
        names, labels = seen[1] - missing, seen[2] - missing
        if self._are_indices(names, labels - {*spec.no_class, str(NO_CLASS)}):
            self.predicted = self._codes(predicted, Labels(self._prediction), None)
            self.y = self._codes(true, self._labels, None)
            self._check_indices()
            return
        self.names = tuple(sorted(names)) or None
        Labels(self._label, self.names, spec.no_class)  # refuses a name that is both
        places = {name: place for place, name in enumerate(self.names or ())}
        codes = np.array([LEFT_OUT if t in missing else places.get(t, NO_CLASS) for t in texts], np.int64)
        if missing.isdisjoint(texts):  # a billion rows are some gigabytes
            codes = codes.astype(np.min_scalar_type(-len(places) - 1))
        self.predicted, self.y = codes[predicted], codes[true]
        self._check_predicted(names, labels)

    def _codes(self, codes: NDArray[Any], labels: Labels, n_classes: int | None) -> Ints:
        """Return the class of each row; each text is looked up once, unless one has none."""
        used = np.unique(codes)
        of_text = np.full(len(self._texts), LEFT_OUT)
        try:
            of_text[used] = labels.codes(self._texts[used], n_classes)
        except InvalidInputError:
            return labels.codes(self._texts[codes], n_classes)  # raises the error with the row
        return np.asarray(of_text[codes])

    def _check_indices(self) -> None:
        least = int(np.min(self.y, initial=0, where=self.y != LEFT_OUT))
        if least < NO_CLASS:
            raise InvalidInputError(f"{self._label} must be a class index, or {NO_CLASS} for no class; got {least}.")

    def _are_indices(self, names: set[str], labels: set[str]) -> bool:
        indices = [are_indices(np.array(sorted(each), dtype=object)) for each in (names, labels)]
        if not labels or indices[0] == indices[1]:
            return indices[0]
        numbers, others = (names, labels) if indices[0] else (labels, names)
        if numbers <= others:  # some of the classes have numbers for names
            return False
        which = self._prediction, self._label
        raise InvalidInputError(
            f"{which[indices[1]]} holds class indices and {which[indices[0]]} holds names, such as "
            f"{min(others - numbers)!r}. Name the classes in order with class_names (--class-names), or another "
            f"column of the true classes with label (--label)."
        )

    def _check_predicted(self, names: set[str], labels: set[str]) -> None:
        """Warn of labels that are never predicted; refuse a column in which all are such."""
        never = sorted(labels - names - {*self._labels.no_class, str(NO_CLASS)})
        if never and len(never) == len(labels):
            raise InvalidInputError(
                f"{self._label} must hold the names that are predicted, {some(sorted(names))}; got {some(never)}. Name "
                f"the column of the true classes with label (--label)."
            )
        if never and not self._labels.unknown_is_no_class:
            hints = [f"{name!r}{did_you_mean(name, sorted(names))}" for name in never[:_MOST_HINTS]]
            hints += [repr(name) for name in never[_MOST_HINTS:]]
            warnings.warn(
                f"{self._label} has labels that are never predicted, which count as wrong: {some(hints)}. List all "
                f"classes with class_names (--class-names), or those that are none with no_class (--no-class).",
                InputWarning,
                stacklevel=2,
            )


_MOST_HINTS = 20  # labels for which a similar name is looked up, which takes time for each


def codes_of(column: pa.Array, labels: Labels, n_classes: int | None) -> Ints:
    """Return the class of each row; each distinct value is looked up once, however many rows have it."""
    values, of_row = distinct(column)
    try:
        return labels.codes(values, n_classes)[of_row]
    except InvalidInputError:
        return labels.codes(values[of_row], n_classes)  # raises the error with the row
