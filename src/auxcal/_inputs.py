"""What the output of a classifier is, what its columns are called, and what a calibrator was fitted on."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from numpy.typing import ArrayLike

from auxcal._arrays import (
    NO_CLASS,
    Floats,
    Ints,
    as_class_names,
    as_log_probabilities,
    as_logits,
    look_like_probabilities,
)
from auxcal._did_you_mean import did_you_mean
from auxcal._errors import InputWarning, InvalidInputError

Kind = Literal["logits", "probabilities"]
Names = tuple[str, ...]


@dataclass(frozen=True)
class Inputs:
    """What the numbers of a classifier's output are, and what its columns are called; None where that is not known.

    Parameters
    ----------
    kind : {"logits", "probabilities"} or None
        Whether they are raw scores or probabilities, whose logarithms are then the logits.
    class_names : tuple of str or None
        The names of the K classes, in the order of the columns.
    column_names : tuple of str or None
        The names of the K columns in their table or DataFrame.
    feature_names : tuple of str or None
        The names of the columns of the features.
    label_name : str or None
        The name of the column of the true classes.

    Examples
    --------
    >>> import auxcal
    >>> proba, y = [[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]] * 2, [0, 1, 1] * 2
    >>> fitted = auxcal.PlattScaling().fit(proba, y, probabilities=True, class_names=["cat", "dog"])
    >>> fitted.inputs_.kind, fitted.inputs_.class_names
    ('probabilities', ('cat', 'dog'))
    """

    kind: Kind | None = None
    class_names: Names | None = None
    column_names: Names | None = None
    feature_names: Names | None = None
    label_name: str | None = None

    @classmethod
    def of(
        cls, logits: Any, features: Any, *, n_classes: int, probabilities: bool, class_names: Sequence[str] | None
    ) -> Inputs:
        """Return what is known of arrays or DataFrames; only these have names of their own."""
        kind: Kind = "probabilities" if probabilities else "logits"
        named = None if class_names is None else as_class_names(class_names, n_classes)
        return cls(kind, named, names_of(logits), names_of(features))

    def check(self, n_classes: int, n_features: int) -> None:
        """Refuse names that are not as many as the columns, and a kind that is none."""
        counts = {"class_names": n_classes, "column_names": n_classes, "feature_names": n_features}
        wrong = [name for name, n in counts.items() if not _are_names(getattr(self, name), n)]
        if wrong or self.kind not in (None, *get_args(Kind)):
            raise InvalidInputError(
                f"the names and the kind must fit the columns; {wrong[0] if wrong else 'kind'} does not."
            )

    def as_logits(self, given: ArrayLike, *, n_classes: int) -> Floats:
        """Check rows of what a calibrator was fitted on, and return their logits, columns taken by name."""
        ordered = by_name(given, self.column_names, "logits")
        if self.kind == "probabilities":
            return as_log_probabilities(ordered, n_classes=n_classes)
        array = as_logits(ordered, n_classes=n_classes)
        if self.kind == "logits" and look_like_probabilities(array):
            warnings.warn(
                "the calibrator was fitted on logits, and every row given looks like probabilities: none is negative, "
                "and they add up to 1. Give the logits, or fit a calibrator with probabilities=True (--probabilities).",
                InputWarning,
                stacklevel=4,
            )
        return array


@dataclass(frozen=True)
class FittedOn:
    """The rows that a calibrator learned from; None where that is not known, as in files from before 0.2.

    Parameters
    ----------
    n_rows : int or None
        How many there were, with those of the select part.
    n_no_class : int or None
        How many of them had none of the classes.
    date : str or None
        When the fit ended, in UTC; the environment variable SOURCE_DATE_EPOCH, where set, is the time to take, so that
        the same fit gives the same file. Equal rows at another time compare equal.

    Examples
    --------
    >>> import auxcal
    >>> fitted = auxcal.PlattScaling().fit([[2.0, 0.0], [0.0, 1.0], [3.0, 0.0]], [0, 1, auxcal.NO_CLASS])
    >>> fitted.fitted_on_.n_rows, fitted.fitted_on_.n_no_class
    (3, 1)
    """

    n_rows: int | None = None
    n_no_class: int | None = None
    date: str | None = field(default=None, compare=False)

    @classmethod
    def now(cls, *parts: Ints) -> FittedOn:
        """Return what is known of the true classes of the parts that a fit has just ended on."""
        return cls(sum(map(len, parts)), sum(int((y == NO_CLASS).sum()) for y in parts), _time())


def _are_names(names: Any, n: int) -> bool:
    plain = isinstance(names, tuple) and all(isinstance(name, str) for name in names)
    return names is None or (plain and len(names) == n)


def _time() -> str:
    """Return the time in UTC, or that of SOURCE_DATE_EPOCH, to the second."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH")
    time = datetime.fromtimestamp(int(fixed), UTC) if fixed else datetime.now(UTC)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def names_of(table: Any) -> Names | None:
    """Return the names of the columns of a DataFrame; None for other arrays, and where they are not different texts.

    Examples
    --------
    >>> from auxcal._inputs import names_of
    >>> names_of([[2.0, 0.1]])
    """
    columns = getattr(table, "columns", None)
    if columns is None or callable(columns):
        return None
    names = tuple(columns)
    plain = all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
    return tuple(str(name) for name in names) if plain else None


def by_name(table: Any, names: Names | None, what: str) -> Any:
    """Return the columns of a DataFrame that have these names, in their order; other arrays as they are."""
    given = names_of(table)
    if names is None or given is None or given == names:
        return table
    missing = [name for name in names if name not in given]
    if missing:
        raise InvalidInputError(
            f"{what} must have the columns that the calibrator was fitted with; there is no "
            f"{missing[0]!r}{did_you_mean(missing[0], given)}. Rename the columns, or give an array without names."
        )
    return table[list(names)]


def warn_of_probabilities(kind: Kind | None, logits: Floats, *, stacklevel: int) -> None:
    """Warn where what is called logits looks like probabilities."""
    if kind == "logits" and look_like_probabilities(logits):
        warnings.warn(
            "the logits look like probabilities: in every row none is negative, and they add up to 1. If they are, "
            "give probabilities=True (--probabilities).",
            InputWarning,
            stacklevel=stacklevel + 1,
        )
