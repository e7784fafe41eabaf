"""What kind of output a classifier gives, the names of its columns, and what a calibrator was fitted on."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from numbers import Integral
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auxcal._core.arrays import (
    LEAST_PROBABILITY,
    NO_CLASS,
    Bools,
    Floats,
    Ints,
    as_class_names,
    as_correct,
    as_log_probabilities,
    as_logits,
    look_like_percentages,
    look_like_probabilities,
)
from auxcal._core.deferred_warnings import warn
from auxcal._core.errors import InputWarning, InvalidInputError
from auxcal._core.float_errors import undecorated
from auxcal._core.labels import as_y, from_names
from auxcal._core.state import from_json
from auxcal._core.text import did_you_mean, percent, some
from auxcal.signals import FeatureTable, SignalColumns

Kind = Literal["logits", "probabilities", "signals"]
Names = tuple[str, ...]

ADVISED_ROWS = 100
"""The fewest labels for which docs/explain/which-method.md advises more than temperature or Platt scaling."""
_MANY_ZEROS = 0.05
"""The share of probabilities of 0 from which on they are worth a warning."""


@dataclass(frozen=True)
class Inputs:
    """The kind of a classifier's output, and the names of its columns; None if not known.

    Parameters
    ----------
    kind : {"logits", "probabilities", "signals"} or None
        Whether the numbers are raw scores, or probabilities, whose logarithms are then the logits, or signals.
    class_names : tuple of str or None
        The names of the K classes, in the order of the columns.
    column_names : tuple of str or None
        The names of the K columns in their table or DataFrame, or of the one of a binary classifier.
    array_name : str or None
        The name of the array that holds the logits of all classes, where it is not the usual one.
    feature_names : tuple of str or None
        The names of the columns of the features.
    label_name : str or None
        The name of the column of the true classes.
    no_class : tuple of str or None
        The labels that mean none of the classes, besides -1.
    feature_table : tuple or None
        What a `FeatureTable` holds, if a fit made numbers of features with categories or gaps.
    raw_table : SignalColumns or None
        The columns of signals, or of features of which no fit has made numbers yet.
    answers : tuple of str or None
        What the language model could answer whose signals these are, so that its texts are read in the same way later.

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
    no_class: Names | None = None
    feature_table: tuple[Any, ...] | None = None
    raw_table: SignalColumns | None = None
    array_name: str | None = None
    answers: Names | None = None

    @classmethod
    def of(
        cls,
        logits: Any,
        features: Any,
        *,
        n_classes: int,
        probabilities: bool,
        class_names: Sequence[str] | None,
        no_class: Names = (),
    ) -> Inputs:
        """Return what is known about arrays or DataFrames; only DataFrames have names."""
        kind: Kind = "probabilities" if probabilities else "logits"
        named = None if class_names is None else as_class_names(class_names, n_classes)
        columns = names_of(logits)
        if named is not None and columns is not None and named != columns and set(named) == set(columns):
            raise InvalidInputError(
                f"class_names must be in the order of the columns, {some(columns)}; got {some(named)}. Leave them out: "
                f"the columns name the classes."
            )
        if named is None and columns is not None and columns != (in_order := in_order_of_numbers(columns) or columns):
            raise InvalidInputError(
                f"columns that are numbered must be in the order of their numbers, which y may mean; got "
                f"{some(columns)}. Give the columns {some(in_order)}, or name the classes with class_names."
            )
        return cls(kind, named, columns, names_of(features), no_class=no_class or None)

    @classmethod
    def from_text(cls, text: Any, n_classes: int, n_features: int) -> Inputs:
        """Return what `as_text` wrote; nothing means logits without names."""
        if text is None:
            return cls("logits")
        known: dict[str, Any] = from_json(json.loads(str(text)), {})
        if len(known.get("feature_table") or ()) == len(fields(SignalColumns)):
            known["raw_table"] = SignalColumns(*known.pop("feature_table"))
        inputs = cls(**known)
        inputs.check(n_classes, n_features)
        return inputs

    def as_text(self) -> NDArray[np.str_] | None:
        """Return all that is known as JSON, in an array without dimensions; None for logits without names."""
        known = asdict(self)
        if (raw := known.pop("raw_table")) is not None:  # files of all versions have it here
            known["feature_table"] = tuple(raw.values())
        for name in ("array_name", "answers"):
            if known[name] is None:  # so that most files don't mention it
                del known[name]
        return None if self == Inputs("logits") else np.array(json.dumps(known))

    @property
    def names(self) -> Names | None:
        """What `y` may call the classes: their names, or those of their columns, where each has one."""
        one_each = self.column_names is not None and len(self.column_names) > 1
        return self.class_names or (self.column_names if one_each else None)

    @property
    def signal_columns(self) -> SignalColumns:
        """What the signals are, if the kind is that, or the features of a raw table."""
        return self.raw_table or SignalColumns((), (), ())

    def check(self, n_classes: int, n_features: int) -> None:
        """Reject a wrong number of names, and an unknown kind."""
        counts = {"class_names": n_classes, "column_names": n_classes, "feature_names": n_features}
        if n_classes == 2 and isinstance(self.column_names, tuple):
            counts["column_names"] = max(1, min(2, len(self.column_names)))  # one column of the second class is enough
        for name in ("no_class", "answers"):  # as many as there are
            counts[name] = len(getattr(self, name)) if isinstance(getattr(self, name), tuple) else 0
        wrong = [name for name, n in counts.items() if not _are_names(getattr(self, name), n)]
        wrong += [name for name in ("label_name", "array_name") if not isinstance(getattr(self, name), str | None)]
        if self.feature_table is not None:
            FeatureTable(*self.feature_table).check(n_features)
        if self.raw_table is not None:
            self.raw_table.check(n_features)
        if wrong or self.kind not in (None, *get_args(Kind)):
            raise InvalidInputError(
                f"the names and the kind must fit the columns; {wrong[0] if wrong else 'kind'} does not."
            )

    def as_y(self, y: ArrayLike, *, n_rows: int, n_classes: int) -> Ints:
        """Check true classes, by index or by the names that are known, and return them as indices.

        For signals they say whether each answer is right.
        """
        if self.kind == "signals":
            return np.where(as_correct(y, n_rows=n_rows), 0, NO_CLASS)
        return as_y(from_names(y, self.names, self.no_class or ()), n_rows=n_rows, n_classes=n_classes)

    def as_logits(self, given: ArrayLike, *, n_classes: int) -> Floats:
        """Check rows of the kind that a calibrator was fitted on, and return their logits, columns taken by name."""
        ordered = self.ordered(given, n_classes)
        if self.kind == "probabilities":
            return as_log_probabilities(ordered, n_classes=n_classes)
        array = as_logits(ordered, n_classes=n_classes)
        warn_of_wrong_kind(self.kind, array, stacklevel=4)
        return array

    def ordered(self, logits: Any, n_classes: int) -> Any:
        """Return a table with its columns in the order of the fit: by the names of the columns, or of the classes.

        Where the fit has no names, columns that are numbered from 0 to K-1 are in the order of these numbers.
        """
        given = names_of(logits)
        if self.column_names is not None or given is None:
            return by_name(logits, self.column_names, "logits")
        if self.class_names is not None and set(self.class_names) <= set(given):
            return by_name(logits, self.class_names, "logits")
        numbered = in_order_of_numbers(given, plain=True) if len(given) == n_classes else None
        return logits if numbered is None else by_name(logits, numbered, "logits")

    def places_in(self, part: Inputs, what: str) -> list[int] | None:
        """Return the places of the classes in another part of the data, None where they are in the same order."""
        both = [(self.column_names, part.column_names), (self.class_names, part.class_names)]
        known = [(ours, theirs) for ours, theirs in both if ours is not None and theirs is not None]
        ours, theirs = self.names, part.names
        if not known and ours is not None and theirs is not None and set(ours) == set(theirs):
            known = [(ours, theirs)]
        orders = [places_of(ours, theirs, what) for ours, theirs in known]
        if orders and orders[0] != orders[-1]:
            raise InvalidInputError(
                f"{what}: the columns and the classes must be in one order; got the columns {some(known[0][1])} for "
                f"the classes {some(known[1][1])}. Give the names of the classes in the order of the columns."
            )
        return orders[0] if orders else None

    def as_features(self, given: Any) -> Any:
        """Return features as numbers, columns taken by name; those of a table with categories and gaps filled."""
        if self.feature_table is None or given is None:
            return by_name(given, self.feature_names, "features")
        return FeatureTable(*self.feature_table).encode(given)

    def as_proba(self, given: bool | None) -> bool:
        """Whether rows hold probabilities: as given, or else as in the fit."""
        return self.kind == "probabilities" if given is None else given


@dataclass(frozen=True)
class FittedOn:
    """The rows that a calibrator was fitted on; None if not known.

    Parameters
    ----------
    n_rows : int or None
        The number of rows, including the select part.
    n_no_class : int or None
        The number of rows of no class.
    date : str or None
        When the fit ended, in UTC. The environment variable SOURCE_DATE_EPOCH overrides it, so that the same fit gives
        the same file. The date is ignored in comparisons.

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

    def check(self) -> None:
        """Reject counts that no fit can have."""
        rows, ood = self.n_rows, self.n_no_class
        whole = all(each is None or (type(each) is int and each >= 0) for each in (rows, ood))
        if not whole or (rows is None) != (ood is None) or (ood or 0) > (rows or 0) or rows == 0:
            raise InvalidInputError(f"n_rows and n_no_class must be counts of rows; got {rows!r} and {ood!r}.")
        if not isinstance(self.date, str | None):
            raise InvalidInputError(f"date must be text; got {self.date!r}.")

    @classmethod
    def now(cls, *parts: Ints) -> FittedOn:
        """Count the rows of the parts of a fit that has just ended."""
        return cls(sum(map(len, parts)), sum(int((y == NO_CLASS).sum()) for y in parts), time_now())


def _are_names(names: Any, n: int) -> bool:
    plain = isinstance(names, tuple) and all(isinstance(name, str) for name in names)
    return names is None or (plain and len(names) == n)


def time_now() -> str:
    """Return the time in UTC, or that of SOURCE_DATE_EPOCH, to the second."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        time = datetime.fromtimestamp(int(fixed), UTC) if fixed else datetime.now(UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidInputError(
            f"the environment variable SOURCE_DATE_EPOCH must be a time in whole seconds since 1970; got {fixed!r}. "
            f"Set it as in SOURCE_DATE_EPOCH=$(date +%s), or unset it."
        ) from error
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


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
    found = [re.fullmatch(r"(.*\D|)(\d{1,9})", name, re.DOTALL) for name in names]
    numbers = {int(each[2]): each.string for each in found if each is not None and (plain or each[1])}
    one_prefix = len({each[1] for each in found if each is not None}) == 1
    if not one_prefix or set(numbers) != set(range(len(names))):
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


def warn_of_wrong_kind(kind: Kind | None, logits: Floats, *, stacklevel: int) -> None:
    """Warn if rows to score look like probabilities but the calibrator was fitted on logits."""
    if kind != "logits" or not len(logits):
        return
    if look_like_percentages(logits):
        warnings.warn(
            "the calibrator was fitted on logits, and every row given adds up to 100, as percentages do. Give the "
            "logits, or divide by 100 and fit a calibrator with probabilities=True (--probabilities).",
            InputWarning,
            stacklevel=undecorated(stacklevel + 1),
        )
    if look_like_probabilities(logits):
        warnings.warn(
            "the calibrator was fitted on logits, and every row given looks like probabilities: all numbers are from 0 "
            "to 1. Give the logits, or fit a calibrator with probabilities=True (--probabilities).",
            InputWarning,
            stacklevel=undecorated(stacklevel + 1),
        )


def refuse_wrong_kind(kind: Kind | None, logits: Floats) -> None:
    """Refuse probabilities and percentages where a calibrator was fitted on logits."""
    if kind != "logits" or not len(logits):
        return
    if look_like_percentages(logits):
        raise InvalidInputError(
            "the calibrator was fitted on logits, and every row of these adds up to 100, as percentages do. Name the "
            "columns of the logits with columns (--columns), or divide by 100 and fit a calibrator on probabilities."
        )
    if look_like_probabilities(logits):
        raise InvalidInputError(
            "the calibrator was fitted on logits, and these look like probabilities: all numbers are from 0 to 1. Name "
            "the columns of the logits with columns (--columns), or fit a calibrator on probabilities; if it was "
            "fitted on log-probabilities, give probabilities=True (--probabilities)."
        )


def warn_of_few_rows(n_rows: int, enough: int = ADVISED_ROWS, *, signals: bool = False, stacklevel: int) -> None:
    """Warn of fewer rows than a method should learn from."""
    instead = ", or use temperature scaling, or Platt scaling if some samples have no class"
    if n_rows < enough:
        warn(
            f"{n_rows} rows are few to learn from: label {ADVISED_ROWS} or more{'' if signals else instead}. auxcal "
            f"plan says what more labels would bring.",
            InputWarning,
            stacklevel=stacklevel + 1,
        )


def warn_of_no_errors(kind: Kind | None, correct: Bools, *, stacklevel: int) -> None:
    """Warn if all predictions are right, so that there is nothing to learn from; of few rows, that is no surprise."""
    if len(correct) < ADVISED_ROWS or not correct.all():
        return
    what = "Is y what the classifier predicts? Give the true classes (--label)"
    if kind == "signals":
        what = "Check the column that says whether an answer is right (--correct)"
    warn(
        f"all {len(correct):,} predictions are right, so nothing can be learned of errors. {what}, of rows that it was "
        f"not trained on.",
        InputWarning,
        stacklevel=stacklevel + 1,
    )


def warn_of_probabilities(kind: Kind | None, logits: Floats, *, stacklevel: int) -> None:
    """Warn if the given logits look like probabilities."""
    if kind == "logits" and look_like_percentages(logits):
        warn(
            "every row of the logits adds up to 100, as percentages do. If they are such, divide them by 100 and give "
            "probabilities=True (--probabilities).",
            InputWarning,
            stacklevel=stacklevel + 1,
        )
    if kind == "logits" and look_like_probabilities(logits):
        warn(
            "the logits look like probabilities: all numbers are from 0 to 1. If they are, give "
            "probabilities=True (--probabilities).",
            InputWarning,
            stacklevel=stacklevel + 1,
        )


def warn_of_zeros(kind: Kind | None, logits: Floats, *, stacklevel: int) -> None:
    """Warn if many probabilities were clipped: their logarithms, -27.6, rule the fit of a temperature.

    With two classes nothing is left out: a 0 is the classifier's own word.
    """
    if kind != "probabilities" or logits.shape[1] == 2:
        return
    clipped = float(np.mean(logits < np.log(LEAST_PROBABILITY) + 1e-3))
    if clipped > _MANY_ZEROS:
        warn(
            f"{percent(clipped)} of the probabilities are 0, or below {LEAST_PROBABILITY:.0e}, and count as that. If "
            f"they were left out or rounded away, give the logits auxcal.floor_logits(proba, probabilities=True) "
            f"instead, to fit and to score.",
            InputWarning,
            stacklevel=stacklevel + 1,
        )
