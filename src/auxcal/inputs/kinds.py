"""What a row is: the kind of a classifier's output, and the names of its columns."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auxcal._core.arrays import Floats, Ints
from auxcal._core.errors import InvalidInputError
from auxcal._core.state import from_json
from auxcal.inputs.names import Names, are_names
from auxcal.signals import FeatureTable, SignalColumns

Kind = Literal["logits", "probabilities", "signals"]


@dataclass(frozen=True)
class Inputs(ABC):
    """What is known of the columns that a row has; None if not known.

    Its two implementations are `LogitInputs`, for logits, probabilities and what is not known, and `SignalInputs`.

    Parameters
    ----------
    kind : {"logits", "probabilities", "signals"} or None
        Whether the numbers are raw scores, or probabilities, whose logarithms are then the logits, or signals.
    class_names : tuple of str or None
        The names of the K classes, in the order of the columns.
    column_names : tuple of str or None
        The names of the K columns in their table or DataFrame, or of the one of a binary classifier.
    feature_names : tuple of str or None
        The names of the columns of the features.
    label_name : str or None
        The name of the column of the true classes.
    no_class : tuple of str or None
        The labels that mean none of the classes, besides -1.
    feature_table : FeatureTable or None
        How a fit made numbers of features with categories or gaps.
    raw_table : SignalColumns or None
        The columns of signals, or of features that no fit has turned into numbers yet.
    array_name : str or None
        The name of the array that holds the logits of all classes, where it is not the usual one.
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
    feature_table: FeatureTable | None = None
    raw_table: SignalColumns | None = None
    array_name: str | None = None
    answers: Names | None = None

    numbers_of_classes: ClassVar[range]
    """How many classes there can be."""
    wrong_share: ClassVar[str]
    """What the share of the rows is called whose label is `NO_CLASS`."""

    _of_kind: ClassVar[dict[Any, type[Inputs]]] = {}

    def __init_subclass__(cls, kinds: tuple[Kind | None, ...] = ()) -> None:
        cls._of_kind.update(dict.fromkeys(kinds, cls))

    @classmethod
    def from_state(cls, **known: Any) -> Inputs:
        """Return what `as_state` gave, with tuples in place of lists, as the implementation of its kind."""
        kind = known.get("kind")
        if not isinstance(kind, str | None) or kind not in cls._of_kind:
            raise InvalidInputError(f"the kind must be one of {', '.join(map(str, cls._of_kind))}; got {kind!r}.")
        for name, table in {"feature_table": FeatureTable, "raw_table": SignalColumns}.items():
            if name in known:
                known[name] = table(*known[name])
        return cls._of_kind[kind](**known)

    def as_state(self) -> dict[str, Any]:
        """Return all that is known, ready for JSON."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_text(cls, text: Any, n_classes: int, n_features: int) -> Inputs:
        """Return what `as_text` wrote; nothing means logits without names."""
        if text is None:
            return cls.from_state(kind="logits")
        inputs = cls.from_state(**from_json(json.loads(str(text)), {}))
        inputs.check(n_classes, n_features)
        return inputs

    def as_text(self) -> NDArray[np.str_] | None:
        """Return all that is known as JSON, in an array without dimensions; None for logits without names."""
        known = self.as_state()
        return None if known == {"kind": "logits"} else np.array(json.dumps(known))

    @property
    def names(self) -> Names | None:
        """What `y` may call the classes: their names, or those of their columns, where each has one."""
        one_each = self.column_names is not None and len(self.column_names) > 1
        return self.class_names or (self.column_names if one_each else None)

    @property
    def signal_columns(self) -> SignalColumns:
        """The columns of signals, or of features that no fit has turned into numbers yet."""
        return self.raw_table or SignalColumns((), (), ())

    @property
    @abstractmethod
    def needs_numbers(self) -> bool:
        """Whether a fit must turn the features into numbers first."""

    def check(self, n_classes: int, n_features: int) -> None:
        """Reject names that do not fit the columns, and an unknown kind."""
        counts = {"class_names": n_classes, "column_names": n_classes, "feature_names": n_features}
        if n_classes == 2 and self.column_names is not None:
            counts["column_names"] = max(1, min(2, len(self.column_names)))  # one column of the second class is enough
        wrong = [name for name, n in counts.items() if not are_names(getattr(self, name), n)]
        wrong += [name for name in ("no_class", "answers") if not are_names(getattr(self, name))]
        wrong += [name for name in ("label_name", "array_name") if not isinstance(getattr(self, name), str | None)]
        if self.feature_table is not None:
            self.feature_table.check(n_features)
        if self.raw_table is not None:
            self.raw_table.check(n_features)
        if n_classes not in self.numbers_of_classes:
            wrong.append("kind")
        if wrong:
            raise InvalidInputError(f"the names and the kind must fit the columns; {wrong[0]} does not.")

    @abstractmethod
    def rows(
        self, given: Any, features: Any, *, n_classes: int, n_features: int, stacklevel: int = 1
    ) -> tuple[Floats, Floats | None]:
        """Check rows to score, and return their logits and features as arrays, columns taken by name."""

    @abstractmethod
    def as_y(self, y: ArrayLike, *, n_rows: int, n_classes: int) -> Ints:
        """Check labels, and return the class of each row, or `NO_CLASS`."""

    @abstractmethod
    def described(self, n_classes: int, n_features: int) -> dict[str, str]:
        """Return in words what a calibrator takes."""

    def as_proba(self, given: bool | None) -> bool:
        """Whether rows hold probabilities: as given, or else as in the fit."""
        return self.kind == "probabilities" if given is None else given


def listed(names: Sequence[str] | None) -> str:
    """Return names in words."""
    return NOT_KNOWN if names is None else ", ".join(names)


NOT_KNOWN = "not known"
